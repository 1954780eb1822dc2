package policy

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind is the kind of a word of the check language.
type tokenKind int

const (
	tokenCheck  tokenKind = iota // role:admin
	tokenQuoted                  // 'text', which is not a valid check
	tokenAnd
	tokenOr
	tokenNot
	tokenOpen
	tokenClose
)

// token is a word of a check; at is its position in characters, from 1.
type token struct {
	kind tokenKind
	text string
	at   int
}

// tokenize splits a check at blanks. Parentheses at the ends of a word are tokens; those within a word, as
// in %(project_id)s, belong to it.
func tokenize(text string) []token {
	var tokens []token
	for at := 1; text != ""; {
		blanks := len(text) - len(strings.TrimLeftFunc(text, isBlank))
		at += utf8.RuneCountInString(text[:blanks])
		text = text[blanks:]
		length := strings.IndexFunc(text, isBlank)
		if length < 0 {
			length = len(text)
		}
		if length > 0 {
			tokens = appendWord(tokens, text[:length], at)
		}
		at += utf8.RuneCountInString(text[:length])
		text = text[length:]
	}
	return tokens
}

// appendWord appends the tokens of one word: opening parentheses, the word, closing parentheses.
func appendWord(tokens []token, word string, at int) []token {
	for strings.HasPrefix(word, "(") {
		tokens, word, at = append(tokens, token{tokenOpen, "(", at}), word[1:], at+1
	}
	inner := strings.TrimRight(word, ")")
	if inner != "" {
		tokens = append(tokens, token{kindOf(inner, word), inner, at})
	}
	for at += utf8.RuneCountInString(inner); len(word) > len(inner); word = word[1:] {
		tokens, at = append(tokens, token{tokenClose, ")", at}), at+1
	}
	return tokens
}

// kindOf also takes the word with its closing parentheses, because quotes count only if nothing follows
// them.
func kindOf(inner, word string) tokenKind {
	switch strings.ToLower(inner) {
	case "and":
		return tokenAnd
	case "or":
		return tokenOr
	case "not":
		return tokenNot
	}
	first, last := word[0], word[len(word)-1]
	if len(word) >= 2 && first == last && (first == '"' || first == '\'') {
		return tokenQuoted
	}
	return tokenCheck
}

// isBlank reports whether c separates words: the blanks of Unicode and four control characters, as in
// Python.
func isBlank(c rune) bool { return unicode.IsSpace(c) || c >= 0x1c && c <= 0x1f }
