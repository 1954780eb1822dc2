package console

import "strings"

// csvCell returns a cell that spreadsheets show as text: one that they would run as a formula begins with a quote.
func csvCell(text string) string {
	if text != "" && strings.ContainsAny(text[:1], "=+-@\t\r") {
		return "'" + text
	}
	return text
}
