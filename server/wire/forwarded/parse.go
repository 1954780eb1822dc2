package forwarded

import "strings"

// First parses the first element of the header Forwarded, which the proxy nearest to the client has
// written. Names are in lower case. ok is false, and element is nil, if that element violates the grammar
// (RFC 7239 section 4) or repeats a name. First does not check later elements.
func First(header string) (element map[string]string, ok bool) {
	element, _, ok = next(header)
	return element, ok
}

// next parses the first element of a text. rest is empty or starts with the comma after the element.
func next(text string) (element map[string]string, rest string, ok bool) {
	element = map[string]string{}
	rest = trimLeft(text)
	for rest != "" && rest[0] != ',' {
		if rest[0] == ';' { // a pair may be missing
			rest = trimLeft(rest[1:])
			continue
		}
		name, value, after, ok := pair(rest)
		if _, twice := element[name]; !ok || twice {
			return nil, "", false
		}
		element[name] = value
		rest = trimLeft(after)
		if rest != "" && rest[0] != ';' && rest[0] != ',' {
			return nil, "", false
		}
	}
	return element, rest, true
}

// pair parses name=value, where the value is a token or a quoted string.
func pair(text string) (name, value, rest string, ok bool) {
	name, rest = token(text)
	if name == "" || rest == "" || rest[0] != '=' {
		return "", "", "", false
	}
	name, rest = strings.ToLower(name), rest[1:]
	if strings.HasPrefix(rest, `"`) {
		value, rest, ok = quoted(rest[1:])
		return name, value, rest, ok
	}
	value, rest = bare(rest)
	return name, value, rest, value != ""
}

// token returns the longest prefix that is a token (RFC 9110 section 5.6.2).
func token(text string) (found, rest string) {
	end := 0
	for end < len(text) && isTokenByte(text[end]) {
		end++
	}
	return text[:end], text[end:]
}

// bare parses a value without quotes. The grammar allows a colon and brackets only in quotes, but many
// proxies send them without.
func bare(text string) (found, rest string) {
	end := 0
	for end < len(text) && (isTokenByte(text[end]) || strings.IndexByte(":[]", text[end]) >= 0) {
		end++
	}
	return text[:end], text[end:]
}

// quoted parses up to the closing quote; a backslash escapes the next character.
func quoted(text string) (value, rest string, ok bool) {
	var read strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '"' {
			return read.String(), text[i+1:], true
		}
		if text[i] == '\\' {
			i++
		}
		if i == len(text) || text[i] < ' ' && text[i] != '\t' || text[i] == 0x7f {
			return "", "", false
		}
		read.WriteByte(text[i])
	}
	return "", "", false
}

func isTokenByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

func trimLeft(text string) string { return strings.TrimLeft(text, " \t") }
