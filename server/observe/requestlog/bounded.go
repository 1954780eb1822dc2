package requestlog

import (
	"strings"
	"unicode/utf8"
)

// cutMark marks a truncated text.
const cutMark = "…"

// Bounded returns a text that takes at most size bytes in JSON without its quotes. It truncates between characters and
// appends a mark; bytes that are not UTF-8 are replaced. size must be larger than the mark.
func Bounded(text string, size int) string {
	if len(text) <= size && !strings.ContainsFunc(text, func(r rune) bool { return costInJSON(r) != 1 }) {
		return text
	}
	var result strings.Builder
	used, fits := 0, 0 // fits is the length up to which the mark fits
	for _, r := range text {
		cost := costInJSON(r)
		if used+cost > size {
			return result.String()[:fits] + cutMark
		}
		used += cost
		result.WriteRune(r)
		if used+len(cutMark) <= size {
			fits = result.Len()
		}
	}
	return result.String()
}

// costInJSON returns the maximum number of bytes of a character in JSON.
func costInJSON(r rune) int {
	switch {
	case r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029':
		return len(`\u0000`)
	case r == '"' || r == '\\':
		return 2
	default:
		return utf8.RuneLen(r)
	}
}
