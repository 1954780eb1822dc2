package draw

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// CSV writes rows with heads that are separated by commas. Cells that a spreadsheet would execute begin with a quote.
func CSV(w io.Writer, heads string, rows [][]any) error {
	out := csv.NewWriter(w)
	_ = out.Write(strings.Split(heads, ",")) // out.Error has the error
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, value := range row {
			cells[i] = fmt.Sprint(value)
			if number, isNumber := value.(float64); isNumber {
				cells[i] = strconv.FormatFloat(number, 'f', -1, 64) // without an exponent
			}
			if text, isText := value.(string); isText && text != "" && strings.Contains("=+-@\t\r", text[:1]) {
				cells[i] = "'" + text
			}
		}
		_ = out.Write(cells)
	}
	out.Flush()
	return out.Error()
}
