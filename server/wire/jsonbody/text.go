package jsonbody

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// str parses a string. It returns a part of the text up to the first escape, and uses a buffer from there on, since
// most strings have no escapes.
func (p *parser) str() (string, error) {
	p.pos++
	start := p.pos
	for !p.atEnd() {
		switch c := p.data[p.pos]; {
		case c == '"':
			p.pos++
			return string(p.data[start : p.pos-1]), nil
		case c == '\\':
			return p.escapedString(append([]byte(nil), p.data[start:p.pos]...))
		case c < ' ':
			return "", p.unexpected("in a string")
		}
		p.pos++
	}
	return "", p.unexpected("in a string")
}

// escapedString continues at the first backslash.
func (p *parser) escapedString(text []byte) (string, error) {
	for !p.atEnd() {
		switch c := p.data[p.pos]; {
		case c == '"':
			p.pos++
			return string(text), nil
		case c == '\\':
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			text = utf8.AppendRune(text, r)
		case c < ' ':
			return "", p.unexpected("in a string")
		default:
			text = append(text, c)
			p.pos++
		}
	}
	return "", p.unexpected("in a string")
}

// simpleEscapes maps the letter after a backslash to its character.
var simpleEscapes = map[byte]rune{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

func (p *parser) escape() (rune, error) {
	p.pos++
	if r, ok := simpleEscapes[p.peek()]; ok {
		p.pos++
		return r, nil
	}
	if p.peek() != 'u' {
		return 0, p.unexpected("after a backslash")
	}
	return p.unicodeEscape()
}

// unicodeEscape parses the escapes of one code point, which are two if it is beyond the basic plane.
//
// NUL characters and single surrogates are legal JSON. PostgreSQL stores neither, and encoding/json would convert the
// latter to replacement characters.
func (p *parser) unicodeEscape() (rune, error) {
	first, err := p.hex4()
	if err != nil {
		return 0, err
	}
	if first == 0 {
		return 0, errors.New(`a string contains the NUL character (\u0000), which cannot be stored`)
	}
	if !utf16.IsSurrogate(first) {
		return first, nil
	}
	if p.pos+1 < len(p.data) && p.data[p.pos] == '\\' && p.data[p.pos+1] == 'u' {
		p.pos++
		second, err := p.hex4()
		if err != nil {
			return 0, err
		}
		if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
			return r, nil
		}
	}
	return 0, fmt.Errorf(`a string contains half of a surrogate pair (\u%04x), which cannot be stored`, first)
}

// hex4 starts at the u of an escape and parses it and the four digits after it.
func (p *parser) hex4() (rune, error) {
	end := p.pos + 5
	if end > len(p.data) {
		p.pos = len(p.data)
		return 0, p.unexpected("in a string")
	}
	var code rune
	for p.pos++; p.pos < end; p.pos++ {
		digit, err := strconv.ParseUint(string(p.data[p.pos]), 16, 8)
		if err != nil {
			return 0, p.unexpected("in an escape")
		}
		code = code<<4 | rune(digit)
	}
	return code, nil
}
