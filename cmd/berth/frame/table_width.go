package frame

import (
	"slices"
	"strings"

	"github.com/berthd/berth/internal/terminal"
)

// narrowestColumn is the least width to which the last column of a table is wrapped.
const narrowestColumn = 20

// Fit returns a table that is not wider than a terminal, if possible: without columns that have no value, and with the last
// column wrapped between words and after commas. A table that is narrow enough is unchanged, as is each for an unknown width
// of 0.
func Fit(table [][]string, columns int) [][]string {
	if columns <= 0 || len(table) == 0 || tableWidth(table) <= columns {
		return table
	}
	table = withoutEmptyColumns(table)
	last := len(table[0]) - 1
	left := columns
	for j, width := range columnWidths(table) {
		if j < last {
			left -= width + len(columnGap)
		}
	}
	if last < 0 || left < narrowestColumn || left >= columnWidths(table)[last] {
		return table
	}
	var fitted [][]string
	for _, row := range table {
		if len(row) <= last {
			fitted = append(fitted, row)
			continue
		}
		for i, line := range strings.Split(Reflow(strings.TrimSpace(row[last]), left), "\n") {
			wrapped := make([]string, len(row))
			if i == 0 {
				copy(wrapped, row)
			}
			wrapped[last] = line
			fitted = append(fitted, wrapped)
		}
	}
	return fitted
}

// columnGap separates columns.
const columnGap = "  "

// columnWidths returns the width of each column in cells of a terminal.
func columnWidths(table [][]string) (widths []int) {
	for _, row := range table {
		for j, cell := range row {
			if j == len(widths) {
				widths = append(widths, 0)
			}
			widths[j] = max(widths[j], terminal.Cells(terminal.Safe(cell)))
		}
	}
	return widths
}

// tableWidth returns the width of the widest possible line of a table.
func tableWidth(table [][]string) int {
	width := -len(columnGap)
	for _, column := range columnWidths(table) {
		width += column + len(columnGap)
	}
	return width
}

// withoutEmptyColumns returns a table without the columns in which each row below the heading has nothing or a dash.
func withoutEmptyColumns(table [][]string) [][]string {
	if len(table) < 2 {
		return table
	}
	isEmpty := func(j int) bool {
		return !slices.ContainsFunc(table[1:], func(row []string) bool { return j < len(row) && row[j] != "" && row[j] != "-" })
	}
	kept := make([][]string, len(table))
	for j := range table[0] {
		if isEmpty(j) {
			continue
		}
		for i, row := range table {
			if j < len(row) {
				kept[i] = append(kept[i], row[j])
			}
		}
	}
	return kept
}
