package reconcile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
)

// exitDifferences is the exit code of a run that leaves differences.
const exitDifferences = 3

// report is the output of a comparison. The names of the JSON members are stable, because scripts read them.
type report struct {
	Source  string `json:"source"`
	Service string `json:"service"`
	// Consumers are those of the server, Servers those of the source.
	Consumers int       `json:"consumers"`
	Servers   int       `json:"servers"`
	Findings  []Finding `json:"findings"`
	// Plan and UndoPlan are the files that were written.
	Plan     string `json:"plan,omitempty"`
	UndoPlan string `json:"undo_plan,omitempty"`

	// hasPlan is true if some finding can be repaired.
	hasPlan bool
}

// note sets the outcome of the findings that a change repairs.
func (r *report) note(change *Change, outcome Outcome) {
	for i := range r.Findings {
		finding := &r.Findings[i]
		isSubject := change.Consumer != nil && finding.Consumer == change.Consumer.UUID ||
			change.Tree != nil && finding.Consumer == uuid.Nil && finding.Root == change.Tree.Root
		if isSubject && slices.Contains(change.Findings, finding.Kind) {
			finding.Outcome = outcome
		}
	}
}

// left returns the number of findings that are not repaired.
func (r *report) left() int {
	count := 0
	for i := range r.Findings {
		if outcome := r.Findings[i].Outcome; outcome != Repaired && outcome != Unneeded {
			count++
		}
	}
	return count
}

// show prints the findings with their repairs, for people: before the repair, so that they see what it does. A document is
// printed afterwards, because it has the outcomes.
func (r *report) show(f *frame.Frame, format string) error {
	if format != frame.OutputTable || len(r.Findings) == 0 {
		return nil
	}
	return frame.PrintAs(f.Stdout, format, r, r.table())
}

// conclude prints the document, or for people the result and what to do next.
func (r *report) conclude(f *frame.Frame, format string) error {
	if format != frame.OutputTable {
		return frame.PrintAs(f.Stdout, format, r, r.table())
	}
	left := r.left()
	if len(r.Findings) == 0 {
		return f.Printf("No differences: %d consumers, and %d in %s.", r.Consumers, r.Servers, r.Source)
	}
	next := ""
	switch {
	case r.Plan == "" && r.hasPlan:
		next = " Nothing was changed; to repair them, add --repair."
	case r.Plan != "" && left == len(r.Findings):
		next = " To repair them: berth reconcile --plan " + r.Plan
	case r.Plan != "":
		next = " To undo: berth reconcile --plan " + r.UndoPlan
	}
	plural := "s"
	if len(r.Findings) == 1 {
		plural = ""
	}
	return f.Printf("\n%d difference%s: %d repaired, %d left.%s", len(r.Findings), plural, len(r.Findings)-left, left, next)
}

// table returns a row for each finding.
func (r *report) table() [][]string {
	return frame.Rows[Finding]{
		Headings: []string{"FINDING", "CONSUMER", "HOST", "RESOURCES", "REASON", "REPAIR"},
		Cells: func(f Finding) []string {
			consumer, repair := "-", f.Repair
			if f.Consumer != uuid.Nil {
				consumer = f.Consumer.String()
			}
			if f.Outcome != "" {
				repair = string(f.Outcome)
			}
			return []string{string(f.Kind), consumer, frame.OrDash(f.Host), frame.OrDash(amountsText(f.Resources)), f.Reason, repair}
		},
	}.Table(r.Findings...)
}

// amountsText returns amounts as in VCPU=2 MEMORY_MB=4096.
func amountsText(amounts client.ClassAmounts) string {
	texts := make([]string, 0, len(amounts))
	for _, amount := range amounts {
		texts = append(texts, fmt.Sprintf("%s=%d", amount.Class, amount.Amount))
	}
	return strings.Join(texts, " ")
}

// executed is a change of a plan and its outcome, as the output of --plan shows it.
type executed struct {
	Findings []Kind  `json:"findings"`
	Subject  string  `json:"subject"`
	Outcome  Outcome `json:"outcome"`
}

// executedRows is the table of changes.
var executedRows = frame.Rows[executed]{
	Headings: []string{"FINDINGS", "SUBJECT", "OUTCOME"},
	Cells: func(e executed) []string {
		texts := make([]string, len(e.Findings))
		for i, kind := range e.Findings {
			texts[i] = string(kind)
		}
		return []string{strings.Join(texts, ","), e.Subject, string(e.Outcome)}
	},
}
