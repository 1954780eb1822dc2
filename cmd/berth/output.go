package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// outputFlag gives a command that prints a table its --output.
func outputFlag(c *cobra.Command) *string {
	return c.Flags().StringP("output", "o", "table", "`format` of the answer: table or json")
}

// printAs writes a value as JSON or as a table whose first row is the heading.
func printAs(out io.Writer, format string, value any, table [][]string) error {
	if format == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(value)
	}
	writer := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range table {
		if _, err := fmt.Fprintln(writer, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return writer.Flush()
}

// checkOutput refuses a format that does not exist, before anything is done.
func checkOutput(format string) error {
	if format == "table" || format == "json" {
		return nil
	}
	return mistakes{&mistake{"output", format, "flag --output", rule{"is not one of the choices", "write table or json"}}}
}
