package terminal

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// maxCombiningMarks is the maximum number of combining marks per character: enough for every
// script, too few to overwrite the lines above.
const maxCombiningMarks = 3

// Safe returns text from the network with characters escaped that a terminal may interpret.
func Safe(text string) string { return Escape(text, false) }

// Escape escapes text from the network for a terminal. It writes control characters, and so
// escape sequences, direction marks, invisible characters and invalid UTF-8 as in a Go string:
// \x1b, \u202e. If ascii is true, it does the same for all characters outside ASCII.
func Escape(text string, ascii bool) string {
	var out strings.Builder
	marks := 0
	visible := false // a combining mark needs a base character
	for i, size := 0, 0; i < len(text); i += size {
		var r rune
		r, size = utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			out.WriteString(`\x` + hex(text[i]))
		case r >= utf8.RuneSelf && ascii, !strconv.IsPrint(r):
			out.WriteString(escaped(r))
		case unicode.In(r, unicode.M) && (!visible || marks >= maxCombiningMarks):
			out.WriteString(escaped(r))
		default:
			out.WriteRune(r)
			visible = true
			if !unicode.In(r, unicode.M) {
				marks = 0
				continue
			}
			marks++
		}
	}
	return out.String()
}

func hex(b byte) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[b>>4], digits[b&15]})
}

func escaped(r rune) string {
	quoted := strconv.QuoteRuneToASCII(r)
	if inner := quoted[1 : len(quoted)-1]; inner != string(r) {
		return inner
	}
	return string(r)
}

// Cells returns the width in terminal columns of a text returned by Safe: two for wide East Asian
// characters, zero for combining marks.
func Cells(text string) int {
	n := 0
	for _, r := range text {
		n += RuneCells(r)
	}
	return n
}

// RuneCells returns the width of one character in columns: 0, 1 or 2.
func RuneCells(r rune) int {
	if r < 0x300 {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}
