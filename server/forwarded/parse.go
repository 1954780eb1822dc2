package forwarded

import "strings"

// First reads the first element of the header Forwarded: what the proxy nearest to
// the client has written. Names are in lower case. ok is false, and nothing is
// read, if that element breaks the grammar (RFC 7239 section 4), or says something
// twice; what stands behind it is not looked at.
func First(header string) (element map[string]string, ok bool) {
	element = map[string]string{}
	rest := trimLeft(header)
	for rest != "" && rest[0] != ',' {
		if rest[0] == ';' { // a pair may be left out
			rest = trimLeft(rest[1:])
			continue
		}
		name, value, after, ok := pair(rest)
		if _, twice := element[name]; !ok || twice {
			return nil, false
		}
		element[name] = value
		rest = trimLeft(after)
		if rest != "" && rest[0] != ';' && rest[0] != ',' {
			return nil, false
		}
	}
	return element, true
}

// pair reads name=value, where the value is a token or in quotes.
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

// token reads as many characters as a name may have (RFC 9110 section 5.6.2).
func token(text string) (found, rest string) {
	end := 0
	for end < len(text) && isTokenByte(text[end]) {
		end++
	}
	return text[:end], text[end:]
}

// bare reads a value without quotes. A colon and brackets may stand in quotes only,
// and many proxies write them without.
func bare(text string) (found, rest string) {
	end := 0
	for end < len(text) && (isTokenByte(text[end]) || strings.IndexByte(":[]", text[end]) >= 0) {
		end++
	}
	return text[:end], text[end:]
}

// quoted reads up to the quote at the end; a backslash takes the character behind it
// as it is.
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
