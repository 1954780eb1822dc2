package main

import (
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/cmd/berth/draw"
)

// outputFlag gives a command that prints a table its --output.
func outputFlag(c *cobra.Command) *string {
	format := c.Flags().StringP("output", "o", "table", "`format` of the answer: table or json")
	completeChoices(c, "output", "table", "json")
	return format
}

// printAs writes a value as JSON or as a table whose first row is the heading.
func printAs(out io.Writer, format string, value any, table [][]string) error {
	if format == "json" {
		return draw.WriteJSON(out, value)
	}
	_, err := io.WriteString(out, layOut(table))
	return err
}

// layOut makes a table of columns two blanks apart. Columns of numbers stand on
// the right, so that their digits are one below the other. Cells may come from the
// network: what could move a terminal's cursor is written out.
func layOut(table [][]string) string {
	for i, row := range table {
		table[i] = make([]string, len(row))
		for j, cell := range row {
			table[i][j] = draw.Safe(cell)
		}
	}
	var widths []int
	var numeric, figures []bool
	for i, row := range table {
		for j, cell := range row {
			if j == len(widths) {
				widths, numeric, figures = append(widths, 0), append(numeric, true), append(figures, false)
			}
			widths[j] = max(widths[j], draw.Cells(cell))
			_, err := strconv.ParseFloat(cell, 64)
			figures[j] = figures[j] || err == nil
			// A dash or nothing stands where there is no number.
			numeric[j] = numeric[j] && (i == 0 || err == nil || cell == "-" || cell == "")
		}
	}
	var text strings.Builder
	for _, row := range table {
		var line strings.Builder
		for j, cell := range row {
			padding := strings.Repeat(" ", widths[j]-draw.Cells(cell))
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

// filled breaks a text, such as one that was put together, into lines for help.
func filled(text string) string {
	const width = 86
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) > width:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return strings.Join(append(lines, line), "\n")
}

// checkOutput refuses a format that does not exist, before anything is done.
func checkOutput(format string) error {
	if format == "table" || format == "json" {
		return nil
	}
	return mistakes{&mistake{"output", format, "flag --output", rule{"is not one of the choices", "write table or json"}}}
}
