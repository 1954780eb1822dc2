package apicommand

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/explaintext"
	"github.com/berthd/berth/internal/terminal"
)

// Widths of the text of an explanation in columns: without a terminal, and the maximum on one.
const (
	explanationWidth    = 80
	maxExplanationWidth = 100
)

// explanationText is the text of an explanation. It has no colors.
type explanationText struct {
	width int
	lines []string
	// now is the time of the command: times of another day have their date.
	now time.Time
}

func newExplanationText(f *frame.Frame) *explanationText {
	_, columns := terminal.Of(f.Stdout)
	if columns == 0 {
		columns = explanationWidth
	}
	return &explanationText{width: min(columns, maxExplanationWidth), now: time.Now()}
}

// print writes the text, with escaped control characters, because names come from the network.
func (e *explanationText) print(out io.Writer) error {
	var text strings.Builder
	for _, line := range e.lines {
		text.WriteString(terminal.Safe(strings.TrimRight(line, " ")) + "\n")
	}
	_, err := io.WriteString(out, text.String())
	return err
}

func (e *explanationText) addf(format string, values ...any) {
	e.lines = append(e.lines, fmt.Sprintf(format, values...))
}

// minWrapped is the minimum width of wrapped text after a long name.
const minWrapped = 30

// wrap adds a text after a prefix, in lines that are indented like the first one.
func (e *explanationText) wrap(prefix, text string) {
	indent := terminal.Cells(prefix)
	width := max(e.width-indent, minWrapped)
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && terminal.Cells(line)+1+terminal.Cells(word) > width {
			e.addf("%s%s", prefix, line)
			prefix, line = strings.Repeat(" ", indent), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	e.addf("%s%s", prefix, line)
}

// pad returns a text with blanks up to a width.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-terminal.Cells(text)))
}

// lateExplanation is the time after a request from which the text warns that the cloud may have changed.
const lateExplanation = 10 * time.Second

// head adds the request of a stored explanation; asked is the id in the command line.
func (e *explanationText) head(of *client.RecordedExplanation, asked string, now time.Time) {
	if !strings.EqualFold(of.RequestID, asked) {
		e.addf("Request %s", of.RequestID)
	}
	at := func(at time.Time) string {
		if at = at.UTC(); at.Format(time.DateOnly) == now.UTC().Format(time.DateOnly) {
			return at.Format(time.TimeOnly)
		}
		return at.Format(time.DateTime)
	}
	version := of.API + " " + of.Microversion
	if of.Berth != nil {
		version += ", berth " + *of.Berth
	}
	first := fmt.Sprintf("Asked %s as %s", at(of.AskedAt), version)
	if of.SameQuestion.Requests > 1 {
		first += fmt.Sprintf(" (%d times since %s)", of.SameQuestion.Requests, at(of.SameQuestion.FirstAskedAt))
	}
	switch {
	case of.MadeAt == nil:
		first += ", not yet explained in full"
	case of.MadeAt.Sub(of.AskedAt) > lateExplanation:
		first += ", explained " + roughly(of.MadeAt.Sub(of.AskedAt)) + " later, when the cloud may have changed"
	case of.MadeAt.Before(of.AskedAt):
		first += ", explained " + roughly(of.AskedAt.Sub(*of.MadeAt)) + " earlier"
	default:
		first += ", explained " + roughly(of.MadeAt.Sub(of.AskedAt)) + " later"
	}
	if of.Explanation != nil && of.Explanation.Kind == "claim" {
		e.wrap("", first+".") // the items are the allocations of the request
	} else {
		e.wrap("", first+":")
		e.addf("  %s", of.Question)
	}
	e.addf("")
}

// roughly returns a duration in its largest unit.
func roughly(of time.Duration) string {
	switch {
	case of >= 2*time.Hour:
		return fmt.Sprintf("%d h", of/time.Hour)
	case of >= 2*time.Minute:
		return fmt.Sprintf("%d min", of/time.Minute)
	}
	return fmt.Sprintf("%d s", of/time.Second)
}

// fitsReason is the reason of an explanation of a query with candidates. What the other trees lack is not missing then.
const fitsReason = "fits"

// explain adds an explanation.
func (e *explanationText) explain(of *client.Explanation, held holders) {
	if of == nil {
		e.addf("The service has no explanation.")
		return
	}
	if of.Reason == fitsReason {
		e.addf("Fits.")
	} else {
		e.addf("Nothing fits: %s", of.Reason)
	}
	e.wrap("", of.Summary)
	if of.Incomplete {
		e.addf("The explanation is incomplete: the service reached a limit.")
	}
	e.trees(of)
	e.parts(of)
	if of.Reason != fitsReason {
		e.nearest(of.Nearest)
		e.freed(of.Nearest)
		e.fitsAt(of)
		e.held(held)
	}
	e.changes(of)
	e.items(of.Items)
	if of.Elsewhere != nil {
		e.section("WOULD FIT ELSEWHERE")
		e.wrap(fmt.Sprintf("%8s  ", found(of.Elsewhere.Candidates, of.Elsewhere.More)), "candidates for "+of.Elsewhere.Query)
	}
}

// section adds the heading of a section.
func (e *explanationText) section(heading string) {
	e.addf("")
	e.addf("%s", heading)
}

// found returns a number of candidates.
func found(candidates int64, more bool) string {
	if more {
		return fmt.Sprintf("%d+", candidates)
	}
	return fmt.Sprint(candidates)
}

// trees adds the stages up to the first one without trees.
func (e *explanationText) trees(of *client.Explanation) {
	if len(of.Funnel) == 0 || of.Sample == nil {
		return
	}
	sample := of.Sample
	if sample.Exact {
		e.section(fmt.Sprintf("TREES (all %d looked at)", sample.Trees))
	} else {
		e.section(fmt.Sprintf("TREES (%d of %d looked at, margin %g %%; 0 means fewer than %d)", sample.LookedAt, sample.Trees, sample.Margin, sample.ZeroAtMost))
	}
	numbers, width := []string{}, 8
	for _, stage := range of.Funnel {
		exact := sample.Exact || stage.Stage == "all" || stage.Stage == "in_tree" || stage.Stage == "candidates" && stage.Trees == 0
		numbers = append(numbers, count(stage.Trees, exact))
		width = max(width, len(numbers[len(numbers)-1]))
		if stage.Trees == 0 {
			break
		}
	}
	for i, number := range numbers {
		e.wrap(fmt.Sprintf("%*s  ", width, number), explaintext.Stage(of, &of.Funnel[i]))
	}
}

// count returns a number of trees or providers.
func count(of int64, exact bool) string {
	if exact {
		return fmt.Sprint(of)
	}
	return fmt.Sprintf("about %d", of)
}
