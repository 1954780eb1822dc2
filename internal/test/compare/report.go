package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// maxShown is the maximum number of differences of a source that the report shows.
const maxShown = 10

// tally is the result of one source.
type tally struct {
	source              string
	compared, different int
	// statuses are the numbers of responses of the old build by the first digit of the status; 0: no response.
	statuses [6]int
	notes    []string
}

// report prints differences as they are found, and a table at the end.
type report struct {
	out     io.Writer
	tallies []*tally
}

func (r *report) begin(source string) { r.tallies = append(r.tallies, &tally{source: source}) }

func (r *report) current() *tally { return r.tallies[len(r.tallies)-1] }

func (r *report) note(format string, values ...any) {
	r.current().notes = append(r.current().notes, fmt.Sprintf(format, values...))
}

func (r *report) different() bool {
	return slices.ContainsFunc(r.tallies, func(t *tally) bool { return t.different > 0 })
}

// compared counts a comparison, and shows the texts if they differ. status is that of the old build; -1: none.
func (r *report) compared(label, request string, status int, old, new string) {
	t := r.current()
	t.compared++
	if at := status / 100; status >= 0 && at < len(t.statuses) {
		t.statuses[at]++
	}
	if old == new {
		return
	}
	t.different++
	if t.different <= maxShown {
		fmt.Fprintf(r.out, "DIFFERENT: %s\n%s%s\n", label, indented("  > ", abridged(request, 0)), difference(old, new))
	}
}

// table prints the result of each source.
func (r *report) table() {
	to := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(to, "SOURCE\tCOMPARED\tDIFFERENT\t2XX\t3XX\t4XX\t5XX\tNO RESPONSE\tNOTES")
	for _, t := range r.tallies {
		fmt.Fprintf(to, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n", t.source, t.compared, t.different,
			t.statuses[2], t.statuses[3], t.statuses[4], t.statuses[5], t.statuses[0], strings.Join(t.notes, "; "))
	}
	_ = to.Flush() // an error of standard output has no other place to go
}

// difference returns the lines that differ, without equal lines at the begin and the end.
func difference(old, new string) string {
	before, after := strings.Split(old, "\n"), strings.Split(new, "\n")
	for len(before) > 0 && len(after) > 0 && before[0] == after[0] {
		before, after = before[1:], after[1:]
	}
	for len(before) > 0 && len(after) > 0 && before[len(before)-1] == after[len(after)-1] {
		before, after = before[:len(before)-1], after[:len(after)-1]
	}
	old, new = strings.Join(before, "\n"), strings.Join(after, "\n")
	at := 0
	for at < min(len(old), len(new)) && old[at] == new[at] {
		at++
	}
	return indented("  - ", abridged(old, at)) + indented("  + ", abridged(new, at))
}

// abridged returns the part of a text around a place.
func abridged(text string, at int) string {
	const before, limit = 300, 1500
	from := max(0, at-before)
	to := min(len(text), from+limit)
	text, isCut := text[from:to], to < len(text)
	if from > 0 {
		text = "…" + text
	}
	if isCut {
		text += "…"
	}
	return text
}

// indented quotes the lines of a text, so that each byte is readable.
func indented(prefix, text string) string {
	if text == "" {
		return ""
	}
	var to strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(text, "\r\n"), "\n") {
		fmt.Fprintf(&to, "%s%q\n", prefix, strings.TrimSuffix(line, "\r"))
	}
	return to.String()
}
