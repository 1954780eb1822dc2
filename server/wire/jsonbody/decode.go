package jsonbody

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"
)

// maxDepth is the maximum nesting of arrays and objects. The deepest body of the API has seven levels; the bound
// prevents a stack overflow.
const maxDepth = 100

// Decode parses one JSON text. Its result consists of map[string]any, []any, string, bool, nil, int64 and float64; see
// parseNumber for the types of numbers.
//
// It is stricter than encoding/json: invalid UTF-8, a byte order mark, duplicate keys in one object, NUL characters and
// unpaired surrogates are errors. The text of the error is the reason, written for the client.
func Decode(raw []byte) (any, error) {
	if err := checkEncoding(raw); err != nil {
		return nil, err
	}
	p := &parser{data: raw}
	p.skipSpace()
	if p.atEnd() {
		return nil, errors.New("the body is empty")
	}
	value, err := p.value()
	if err != nil {
		return nil, err
	}
	p.skipSpace()
	if !p.atEnd() {
		return nil, p.unexpected("after the end of the document")
	}
	return value, nil
}

// checkEncoding returns an error for bytes that encoding/json would replace or skip silently.
func checkEncoding(raw []byte) error {
	if bytes.HasPrefix(raw, []byte("\xef\xbb\xbf")) {
		return errors.New("the body starts with a byte order mark")
	}
	if utf8.Valid(raw) {
		return nil
	}
	for rest := raw; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size == 1 {
			return fmt.Errorf("the body is not UTF-8: invalid byte at position %d", len(raw)-len(rest))
		}
		rest = rest[size:]
	}
	return nil
}

// parser parses one JSON text. Its methods start at the first byte of what they parse and stop after the last.
type parser struct {
	data  []byte
	pos   int
	depth int
}

func (p *parser) atEnd() bool { return p.pos >= len(p.data) }

// peek returns the current byte, or 0 at the end. A NUL byte is not part of any JSON text, so the two need not be
// distinguished.
func (p *parser) peek() byte {
	if p.atEnd() {
		return 0
	}
	return p.data[p.pos]
}

func (p *parser) skipSpace() {
	for !p.atEnd() {
		switch p.data[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

func (p *parser) value() (any, error) {
	switch c := p.peek(); {
	case c == '{':
		return p.object()
	case c == '[':
		return p.array()
	case c == '"':
		return p.str()
	case c == '-' || isDigit(c):
		return p.number()
	case c == 't':
		return true, p.word("true")
	case c == 'f':
		return false, p.word("false")
	case c == 'n':
		return nil, p.word("null")
	}
	return nil, p.unexpected("where a value should be")
}

// word parses one of the three literal names.
func (p *parser) word(name string) error {
	if !bytes.HasPrefix(p.data[p.pos:], []byte(name)) {
		return p.unexpected("where a value should be")
	}
	p.pos += len(name)
	return nil
}

func (p *parser) object() (any, error) {
	object := map[string]any{}
	err := p.members(func(key string) error {
		if _, seen := object[key]; seen {
			return duplicateKey(key)
		}
		value, err := p.value()
		object[key] = value
		return err
	})
	if err != nil {
		return nil, err
	}
	return object, nil
}

// members calls read at the value of each member of an object; read must leave the parser after the value.
func (p *parser) members(read func(key string) error) error {
	return p.list('}', func() error {
		if p.peek() != '"' {
			return p.unexpected("where a quoted key should be")
		}
		key, err := p.str()
		if err != nil {
			return err
		}
		p.skipSpace()
		if p.peek() != ':' {
			return p.unexpected("where a colon should be")
		}
		p.pos++
		p.skipSpace()
		return read(key)
	})
}

func (p *parser) array() (any, error) {
	array := []any{}
	err := p.list(']', func() error {
		value, err := p.value()
		array = append(array, value)
		return err
	})
	if err != nil {
		return nil, err
	}
	return array, nil
}

// list parses the brackets and commas around the elements of an array or the members of an object.
func (p *parser) list(closing byte, element func() error) error {
	if p.depth++; p.depth > maxDepth {
		return fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	defer func() { p.depth-- }()
	p.pos++
	p.skipSpace()
	if p.peek() == closing {
		p.pos++
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		p.skipSpace()
		switch p.peek() {
		case closing:
			p.pos++
			return nil
		case ',':
			p.pos++
			p.skipSpace()
		default:
			return p.unexpected(fmt.Sprintf("where a comma or %q should be", closing))
		}
	}
}

func duplicateKey(key string) error {
	return fmt.Errorf("duplicate key %s", repr(key))
}

// unexpected describes the current character and its position.
func (p *parser) unexpected(where string) error {
	line := 1 + bytes.Count(p.data[:p.pos], []byte{'\n'})
	column := 1 + utf8.RuneCount(p.data[bytes.LastIndexByte(p.data[:p.pos], '\n')+1:p.pos])
	if p.atEnd() {
		return fmt.Errorf("unexpected end %s: line %d column %d", where, line, column)
	}
	r, _ := utf8.DecodeRune(p.data[p.pos:])
	return fmt.Errorf("unexpected character %s %s: line %d column %d", repr(string(r)), where, line, column)
}
