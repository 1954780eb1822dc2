package frame

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/internal/terminal"
)

// The formats of --output. Commands whose text is no single table do not have OutputCSV.
const (
	OutputTable = "table"
	OutputJSON  = "json"
	OutputYAML  = "yaml"
	OutputCSV   = "csv"
)

// OutputFlag adds --output to a command that prints a table. Without choices these are all formats.
func OutputFlag(c *cobra.Command, choices ...string) *string {
	if choices == nil {
		choices = []string{OutputTable, OutputJSON, OutputYAML, OutputCSV}
	}
	format := &outputFormat{value: choices[0], choices: choices}
	c.Flags().VarP(format, "output", "o", "output `format`: "+strings.Join(choices, ", "))
	CompleteChoices(c, "output", choices...)
	return &format.value
}

// ReportFlag is OutputFlag for a command whose text is no single table.
func ReportFlag(c *cobra.Command) *string { return OutputFlag(c, OutputTable, OutputJSON, OutputYAML) }

// outputFormat is the value of --output.
type outputFormat struct {
	value   string
	choices []string
}

func (o *outputFormat) String() string { return o.value }

// Type implements pflag.Value.
func (o *outputFormat) Type() string { return "string" }

// Set implements pflag.Value.
func (o *outputFormat) Set(text string) error {
	if !slices.Contains(o.choices, text) {
		return WrongFlag("output", text, "is not one of the choices", "write one of "+strings.Join(o.choices, ", "))
	}
	o.value = text
	return nil
}

// IsDocument reports whether a format has the whole document of a command, in place of its text.
func IsDocument(format string) bool { return format == OutputJSON || format == OutputYAML }

// WriteDocument writes a value as JSON or YAML.
func WriteDocument(out io.Writer, format string, value any) error {
	if format == OutputYAML {
		return writeYAML(out, value)
	}
	return terminal.WriteJSON(out, value)
}

// PrintAs writes a value as JSON or YAML, or a table as CSV or for people; the first row is the heading.
func PrintAs(out io.Writer, format string, value any, table [][]string) error {
	switch {
	case IsDocument(format):
		return WriteDocument(out, format, value)
	case format == OutputCSV:
		return csv.NewWriter(out).WriteAll(table)
	}
	_, columns := terminal.Of(out)
	_, err := io.WriteString(out, LayOut(Fit(table, columns)))
	return err
}

// Rows are a table of values: its headings, and the cells of a value.
type Rows[T any] struct {
	Headings []string
	Cells    func(T) []string
}

// Table returns a row for each value below the headings.
func (r Rows[T]) Table(values ...T) [][]string {
	table := [][]string{r.Headings}
	for _, value := range values {
		table = append(table, r.Cells(value))
	}
	return table
}

// Print writes a list of values as PrintAs does.
func (r Rows[T]) Print(out io.Writer, format string, values []T) error {
	return PrintAs(out, format, values, r.Table(values...))
}

// PrintOne writes one value as PrintAs does.
func (r Rows[T]) PrintOne(out io.Writer, format string, value T) error {
	return PrintAs(out, format, value, r.Table(value))
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
