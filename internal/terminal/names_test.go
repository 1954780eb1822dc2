package terminal

import (
	"strings"
	"testing"
)

func TestCLI_TreeControlCharacters_Escaped(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"compute-17":                      "compute-17",
		"\x1b[31mred":                     `\x1b[31mred`,
		"two\nlines\ttabbed\r":            `two\nlines\ttabbed\r`,
		"\u009b31m":                       `\u009b31m`,
		"\x9b31m":                         `\x9b31m`,
		"del\x7f":                         `del\x7f`,
		"a\u202eb\u2066c\u200fd":          `a\u202eb\u2066c\u200fd`,
		"zero\u200bwidth\ufeff":           `zero\u200bwidth\ufeff`,
		"計算ノード":                           "計算ノード",
		"naïve é":                         "naïve é",
		"z\u0301\u0301\u0301\u0301\u0301": "z\u0301\u0301\u0301" + `\u0301\u0301`,
		"\u0301first":                     `\u0301first`,
		`quote " and \ stay`:              `quote " and \ stay`,
	} {
		if got := Escape(text, false); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
		if got := Escape(text, true); strings.IndexFunc(got, func(r rune) bool { return r < ' ' || r > '~' }) >= 0 {
			t.Errorf("%q became %q, which is not ASCII", text, got)
		}
	}
}

func TestCLI_TreeWideCharacters_CountTwoColumns(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "numa0": 5, "計算": 4, "ｱ": 1, "Ａ": 2, "e\u0301": 1, "é": 1, "…▇░│": 4, "🚀": 2} {
		if got := Cells(text); got != want {
			t.Errorf("%q takes %d columns, want %d", text, got, want)
		}
	}
}
