package plan

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"
)

// maxNested is the maximum number of nested statements that the page lists for one statement.
const maxNested = 12

// WritePage writes the report as text: the request, and the time, rows and buffers of each statement.
func (r *Report) WritePage(to io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s (microversion %s)\n%d %s",
		printable(r.Request), r.Microversion, r.Status, http.StatusText(r.Status))
	if r.Detail != "" {
		fmt.Fprintf(&text, ": %s", printable(r.Detail))
	}
	var time float64
	for i := range r.Statements {
		time += r.Statements[i].Time
	}
	fmt.Fprintf(&text, "\n%s, %s, %s, %.3f ms in PostgreSQL\n", count(r.Bytes, "byte"), count(r.RoundTrips, "round trip"),
		count(len(r.Statements), "statement"), time)
	if len(r.Statements) > 0 {
		text.WriteString("\n")
		r.writeTable(&text)
	}
	for i := range r.Statements {
		r.Statements[i].writeSummary(&text, i+1, time)
	}
	if r.NoNested != "" {
		fmt.Fprintf(&text, "\nStatements inside functions are not shown: this role can't use auto_explain (%s).\n",
			printable(r.NoNested))
	}
	_, err := io.WriteString(to, text.String())
	return err
}

// writeTable writes a row for each statement and for its slowest nested statements.
func (r *Report) writeTable(to io.Writer) {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\tSTATEMENT\tCALLS\tTIME\tPLANNING\tROWS\tBUFFERS HIT\tREAD\tDIRTIED")
	for i := range r.Statements {
		s := &r.Statements[i]
		if s.Error != "" {
			fmt.Fprintf(table, "%d\t%s\t1\trejected\t\t\t\t\t\n", i+1, s.Name)
		} else {
			fmt.Fprintf(table, "%d\t%s\t1\t%.3f ms\t%.3f ms\t%s\n", i+1, s.Name, s.Time, s.Planning, s.columns())
		}
		for _, nested := range s.slowestNested() {
			fmt.Fprintf(table, "\t  %s\t%d\t%.3f ms\t\t%s\n",
				printable(nested.Name), nested.Calls, nested.Time, nested.columns())
		}
		if more := len(s.Nested) - maxNested; more > 0 {
			fmt.Fprintf(table, "\t  and %d more: see --verbose\n", more)
		}
	}
	_ = table.Flush() // to a strings.Builder
}

// slowestNested returns the slowest statements inside functions, in the order of execution.
func (s *Statement) slowestNested() []Nested {
	if len(s.Nested) <= maxNested {
		return s.Nested
	}
	times := make([]float64, len(s.Nested))
	for i := range s.Nested {
		times[i] = s.Nested[i].Time
	}
	slices.Sort(times)
	var slowest []Nested
	for i := range s.Nested {
		if s.Nested[i].Time >= times[len(times)-maxNested] && len(slowest) < maxNested {
			slowest = append(slowest, s.Nested[i])
		}
	}
	return slowest
}

// columns returns the last four columns of a row, separated by tabs.
func (m *Measured) columns() string {
	return fmt.Sprintf("%d\t%d\t%d\t%d", m.Rows, m.Buffers.Hit, m.Buffers.Read, m.Buffers.Dirtied)
}

// writeSummary writes the error, the rows of common table expressions and the hints of a statement. It lists the slowest
// nodes if the statement takes at least a tenth of the total time.
func (s *Statement) writeSummary(to io.Writer, number int, all float64) {
	var lines []string
	if s.Error != "" {
		lines = append(lines, "rejected: "+printable(s.Error))
	}
	for _, slow := range s.Slowest {
		if s.Time < all/10 {
			break
		}
		lines = append(lines, fmt.Sprintf("%.3f ms  %s, %s in %s",
			slow.Time, printable(slow.Node), count(slow.Rows, "row"), count(slow.Loops, "loop")))
	}
	if len(s.Parts) > 1 {
		lines = append(lines, s.rowsOfParts())
	}
	for _, hint := range s.Hints {
		lines = append(lines, "hint: "+hint)
	}
	for i := range s.Nested {
		for _, hint := range s.Nested[i].Hints {
			lines = append(lines, fmt.Sprintf("hint: %s: %s", printable(s.Nested[i].Name), hint))
		}
	}
	if len(lines) > 0 {
		fmt.Fprintf(to, "\n%d  %s\n     %s\n", number, s.Name, strings.Join(lines, "\n     "))
	}
}

// rowsOfParts returns the row counts of the common table expressions and of the result.
func (s *Statement) rowsOfParts() string {
	text := "rows:"
	for _, part := range s.Parts {
		text += fmt.Sprintf(" %s %d", part.Name, part.Rows)
	}
	return text
}

// WriteDetails writes the text, arguments and plan of each statement.
func (r *Report) WriteDetails(to io.Writer) error {
	var text strings.Builder
	for i := range r.Statements {
		s := &r.Statements[i]
		fmt.Fprintf(&text, "\n== %d. %s\n\n%s\n", i+1, s.Name, s.SQL)
		for i, argument := range s.Arguments {
			fmt.Fprintf(&text, "\n$%d = %s", i+1, printable(argument))
		}
		if s.Text != "" {
			fmt.Fprintf(&text, "\n\n%s\n", printable(s.Text))
		} else {
			fmt.Fprintf(&text, "\n\nrejected: %s\n", printable(s.Error))
		}
		for _, nested := range s.NestedText {
			fmt.Fprintf(&text, "\n-- inside %s: %s\n", s.Name, printable(nested))
		}
	}
	_, err := io.WriteString(to, text.String())
	return err
}

// count returns a number with its noun.
func count[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// printable replaces control characters: a request and an error may contain escape sequences for terminals.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
