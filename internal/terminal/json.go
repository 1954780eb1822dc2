package terminal

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
)

// WriteJSON writes a value as indented JSON and escapes characters that a terminal may interpret.
// Commands use it for output other than pictures.
func WriteJSON(w io.Writer, document any) error {
	encoder := json.NewEncoder(visible{w})
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(document)
}

// visible escapes characters that JSON permits unescaped and a terminal should not receive: DEL,
// C1 controls, direction marks and invisible characters. They occur only in strings, so \u is
// always valid.
type visible struct{ out io.Writer }

func (v visible) Write(text []byte) (int, error) {
	var escaped strings.Builder
	for _, r := range string(text) {
		switch {
		case r == '\n' || strconv.IsPrint(r):
			escaped.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&escaped, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&escaped, `\u%04x`, r)
		}
	}
	if _, err := io.WriteString(v.out, escaped.String()); err != nil {
		return 0, err
	}
	return len(text), nil
}
