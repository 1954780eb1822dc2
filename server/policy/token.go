package policy

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind tells the words of the check language apart.
type tokenKind int

const (
	tokenCheck  tokenKind = iota // role:admin
	tokenQuoted                  // 'text', which the language has no use for
	tokenAnd
	tokenOr
	tokenNot
	tokenOpen
	tokenClose
)

// token is a word of a check with its place: at counts characters from 1.
type token struct {
	kind tokenKind
	text string
	at   int
}

// tokenize cuts a check at blanks. Parentheses stand at the ends of a word: those in
// its middle, as in %(project_id)s, belong to it.
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

// appendWord adds the tokens of one word: parentheses, what is between them,
// parentheses.
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

// kindOf needs the word with its closing parentheses as well, since quotes count only
// where nothing stands behind them.
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

// isBlank is what separates words: the blanks of Unicode and, since the language was
// born in Python, four control characters.
func isBlank(c rune) bool { return unicode.IsSpace(c) || c >= 0x1c && c <= 0x1f }
