package frame

import (
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/internal/terminal"
)

// OutputFlag adds --output to a command that prints a table.
func OutputFlag(c *cobra.Command) *string {
	format := c.Flags().StringP("output", "o", "table", "output `format`: table or json")
	CompleteChoices(c, "output", "table", "json")
	return format
}

// PrintAs writes a value as JSON or as a table; the first row is the heading.
func PrintAs(out io.Writer, format string, value any, table [][]string) error {
	if format == "json" {
		return terminal.WriteJSON(out, value)
	}
	_, err := io.WriteString(out, LayOut(table))
	return err
}

// LayOut formats a table with columns two blanks apart and numeric columns aligned right. It
// escapes control characters, because cells may come from the network.
func LayOut(table [][]string) string {
	for i, row := range table {
		table[i] = make([]string, len(row))
		for j, cell := range row {
			table[i][j] = terminal.Safe(cell)
		}
	}
	var widths []int
	var numeric, figures []bool
	for i, row := range table {
		for j, cell := range row {
			if j == len(widths) {
				widths, numeric, figures = append(widths, 0), append(numeric, true), append(figures, false)
			}
			widths[j] = max(widths[j], terminal.Cells(cell))
			_, err := strconv.ParseFloat(cell, 64)
			figures[j] = figures[j] || err == nil
			// A dash or an empty cell means that there is no number.
			numeric[j] = numeric[j] && (i == 0 || err == nil || cell == "-" || cell == "")
		}
	}
	var text strings.Builder
	for _, row := range table {
		var line strings.Builder
		for j, cell := range row {
			padding := strings.Repeat(" ", widths[j]-terminal.Cells(cell))
			if numeric[j] && figures[j] {
				line.WriteString(padding + cell + "  ")
			} else {
				line.WriteString(cell + padding + "  ")
			}
		}
		text.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return text.String()
}

// CheckOutput returns an error for an unknown format. Commands call it before they do anything
// else.
func CheckOutput(format string) error {
	if format == "table" || format == "json" {
		return nil
	}
	return InputErrors{&InputError{"output", format, "flag --output", Rule{"is not one of the choices", "write table or json"}}}
}
