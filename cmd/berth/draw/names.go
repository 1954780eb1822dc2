package draw

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// mostMarks is how many combining marks one character keeps: enough for every
// script, too few to paint over the lines above.
const mostMarks = 3

// Safe makes text from the network harmless in a terminal, for commands that print
// names elsewhere than in pictures.
func Safe(text string) string { return safe(text, false) }

// safe makes text from the network harmless in a terminal. Whatever is not plainly
// visible (control characters and with them escape sequences, marks that turn the
// direction of writing, invisible characters, bytes that are no UTF-8) is written
// as Go would write it in a string: \x1b, \u202e. With ascii so is all that is not
// ASCII.
func safe(text string, ascii bool) string {
	var out strings.Builder
	marks := 0
	visible := false // a mark needs something that it stands on
	for i, size := 0, 0; i < len(text); i += size {
		var r rune
		r, size = utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			out.WriteString(`\x` + hex(text[i]))
		case r >= utf8.RuneSelf && ascii, !strconv.IsPrint(r):
			out.WriteString(escaped(r))
		case unicode.In(r, unicode.M) && (!visible || marks >= mostMarks):
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

// Cells is how many columns of a terminal a text takes that Safe has made.
func Cells(text string) int { return cells(text) }

// cells is how many columns of a terminal a text takes: two for wide characters
// of East Asia, none for marks that stand on the character before.
func cells(text string) int {
	n := 0
	for _, r := range text {
		n += runeCells(r)
	}
	return n
}

func runeCells(r rune) int {
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
