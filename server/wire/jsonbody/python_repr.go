package jsonbody

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// maxText is the maximum length of each value in an error text, in code points. Names of the API have at most 255, so
// valid names appear completely.
const maxText = 500

// repr formats a decoded value like Python's repr, which is the notation of the API's error texts: 'x', True, None,
// ['a', 1], {'b': 2.5}. Long values are truncated and end with three dots.
func repr(value any) string {
	var b excerpt
	b.value(value)
	return b.String()
}

// excerpt collects text up to maxText code points.
type excerpt struct {
	text  strings.Builder
	count int
}

// full reports whether the excerpt ignores further text, so that a huge value is not traversed to its end.
func (e *excerpt) full() bool { return e.count > maxText }

func (e *excerpt) write(s string) {
	for _, r := range s {
		if e.count++; e.full() {
			return
		}
		e.text.WriteRune(r)
	}
}

// String returns the collected text.
func (e *excerpt) String() string {
	if e.full() {
		return e.text.String() + "..."
	}
	return e.text.String()
}

func (e *excerpt) value(value any) {
	switch value := value.(type) {
	case nil:
		e.write("None")
	case bool:
		if value {
			e.write("True")
		} else {
			e.write("False")
		}
	case string:
		e.str(value)
	case int64:
		e.write(strconv.FormatInt(value, 10))
	case float64:
		e.write(formatFloat(value))
	case json.Number:
		e.write(value.String())
	case []any:
		e.list("[", "]", len(value), func(i int) { e.value(value[i]) })
	case map[string]any:
		// Sort the keys, because equal requests must have equal texts.
		keys := sortedKeys(value)
		e.list("{", "}", len(keys), func(i int) {
			e.str(keys[i])
			e.write(": ")
			e.value(value[keys[i]])
		})
	default:
		e.write(fmt.Sprint(value))
	}
}

// list writes n elements between brackets and separated by commas.
func (e *excerpt) list(opening, closing string, n int, element func(int)) {
	e.write(opening)
	for i := 0; i < n && !e.full(); i++ {
		if i > 0 {
			e.write(", ")
		}
		element(i)
	}
	e.write(closing)
}

// str quotes with ' unless the text contains ' and no ".
func (e *excerpt) str(s string) {
	quote := '\''
	if strings.ContainsRune(s, '\'') && !strings.ContainsRune(s, '"') {
		quote = '"'
	}
	e.write(string(quote))
	for _, r := range s {
		if e.full() {
			return
		}
		e.write(escapeRune(r, quote))
	}
	e.write(string(quote))
}

func escapeRune(r, quote rune) string {
	switch {
	case r == quote || r == '\\':
		return `\` + string(r)
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case unicode.IsPrint(r):
		return string(r)
	case r <= 0xff:
		return fmt.Sprintf(`\x%02x`, r)
	case r <= 0xffff:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// formatFloat uses an exponent where Python does, below 1e-4 and from 1e16 on, and always marks the value as a float.
func formatFloat(f float64) string {
	if abs := math.Abs(f); abs != 0 && (abs < 1e-4 || abs >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.ContainsRune(s, '.') {
		s += ".0"
	}
	return s
}

func sortedKeys(object map[string]any) []string {
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
