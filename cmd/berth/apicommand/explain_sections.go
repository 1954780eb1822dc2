package apicommand

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/explaintext"
)

// freed adds the consumers without which the query fits, by tree.
func (e *explanationText) freed(trees []api.ExplanationTree) {
	hasHeading := false
	for _, tree := range trees {
		set, err := tree.FreedBy.Get()
		if err != nil {
			continue // null or missing
		}
		if !hasHeading {
			e.section("WOULD FIT WITHOUT")
			hasHeading = true
		}
		e.wrap("  ", explaintext.Freed(tree.Tree.Name, &set))
		for _, consumer := range set.Consumers {
			e.wrap("    "+consumer.Consumer.String()+"  ", explaintext.Held(&consumer))
		}
	}
}

// plainTime leaves out the words of a time in a sentence.
var plainTime = strings.NewReplacer("on ", "", "at ", "")

// fitsAt adds when the query fits because consumers end, with those that the sentence does not name.
func (e *explanationText) fitsAt(of *client.Explanation) {
	sentence := explaintext.FitsAt(of, e.now)
	if sentence == "" {
		return
	}
	e.section("WOULD FIT AT")
	e.wrap("  ", sentence)
	fit, err := of.FitsAt.Get()
	if err != nil || !explaintext.EndsWithMore(&fit) {
		return
	}
	for i := range fit.Consumers {
		ending := &fit.Consumers[i]
		held := explaintext.Held(&api.ExplanationFreedConsumer{Allocations: ending.Allocations})
		e.wrap("    "+ending.Consumer.String()+"  ", held+" until "+plainTime.Replace(explaintext.Clock(ending.Until, e.now)))
	}
	if fit.More > 0 {
		e.addf("    and %d more", fit.More)
	}
}

// held adds the consumers that hold what the nearest trees lack.
func (e *explanationText) held(by holders) {
	if len(by.holdings) == 0 && by.note == "" {
		return
	}
	heading := "HELD BY"
	if by.now {
		heading += " (now)"
	}
	e.section(heading)
	name, amount := minNameWidth, 0
	for _, holding := range by.holdings {
		name = max(name, len(holding.provider.Name)+2)
		amount = max(amount, len(fmt.Sprint(holding.consumers[0].amount)))
	}
	for _, holding := range by.holdings {
		prefix := "  " + pad(holding.provider.Name, name)
		for _, each := range holding.consumers {
			e.addf("%s%*d %s  %s", prefix, amount, each.amount, holding.class, each.consumer)
		}
		if holding.more > 0 {
			e.addf("%s… and %d more", prefix, holding.more)
		}
	}
	if by.note != "" {
		e.wrap("  ", by.note)
	}
}

// changes adds the changes of the query that give candidates.
func (e *explanationText) changes(of *client.Explanation) {
	isCut := of.RelaxationsComplete != nil && !*of.RelaxationsComplete
	if len(of.Relaxations) == 0 && !isCut {
		return
	}
	e.section("WOULD FIT")
	for i := range of.Relaxations {
		relaxation := &of.Relaxations[i]
		e.wrap(fmt.Sprintf("%8s  ", found(relaxation.Candidates, relaxation.More)), explaintext.Change(relaxation))
	}
	if isCut {
		e.addf("          The service had no time to try all changes.")
	}
}

// items adds the allocations of a rejected claim. Several consumers have a column.
func (e *explanationText) items(all []api.ExplanationClaimItem) {
	if len(all) == 0 {
		return
	}
	consumers := map[uuid.UUID]bool{}
	for i := range all {
		consumers[all[i].Consumer] = true
	}
	table := [][]string{{"PROVIDER", "CLASS", "AMOUNT", "FREE", "USED", "CAPACITY", "VERDICT"}}
	for i := range all {
		item := &all[i]
		verdict := item.Verdict
		if item.SoFar > 0 {
			verdict += fmt.Sprintf(" (%d so far)", item.SoFar)
		}
		row := []string{item.Provider.Name, item.Class}
		for _, number := range []int64{item.Amount, item.Free, item.Used, item.Capacity} {
			row = append(row, fmt.Sprint(number))
		}
		row = append(row, verdict)
		if len(consumers) > 1 {
			row = append(row, item.Consumer.String())
		}
		table = append(table, row)
	}
	if len(consumers) > 1 {
		table[0] = append(table[0], "CONSUMER")
	}
	e.addf("")
	e.lines = append(e.lines, strings.Split(strings.TrimSuffix(frame.LayOut(table), "\n"), "\n")...)
}

// Minimum widths of the columns of the table of parts.
const (
	minPartWidth      = 37
	minProvidersWidth = 11
	minTreesWidth     = 10
)

// partRow is a line of the table of parts.
type partRow struct{ label, providers, trees string }

// parts adds what one provider must meet: the steps that remove providers or trees, or one line if a part removes no tree.
func (e *explanationText) parts(of *client.Explanation) {
	if len(of.Parts) == 0 {
		return
	}
	exact := of.Sample == nil || of.Sample.Exact
	rows := []partRow{{"PART", "PROVIDERS", "TREES"}}
	for i := range of.Parts {
		rows = append(rows, partRows(&of.Parts[i], exact)...)
	}
	label, providers, trees := minPartWidth, minProvidersWidth, minTreesWidth
	for _, row := range rows {
		label = max(label, len(row.label)+1)
		providers, trees = max(providers, len(row.providers)+2), max(trees, len(row.trees)+2)
	}
	e.addf("")
	for _, row := range rows {
		e.addf("%s%*s%*s", pad(row.label, label), providers, row.providers, trees, row.trees)
	}
}

func partRows(of *api.ExplanationPart, exact bool) []partRow {
	if len(of.Steps) == 0 {
		return nil
	}
	last := of.Steps[len(of.Steps)-1]
	left := last.Trees
	if of.SplitTrees != nil {
		left = *of.SplitTrees
	}
	if left == of.Steps[0].Trees {
		return []partRow{{explaintext.Part(of), count(last.Providers, exact), count(left, exact)}}
	}
	rows := []partRow{{explaintext.Part(of), "", ""}}
	for i, step := range of.Steps {
		if i == 0 || step.Providers != of.Steps[i-1].Providers || step.Trees != of.Steps[i-1].Trees {
			rows = append(rows, partRow{"  " + explaintext.Step(&step), count(step.Providers, exact), count(step.Trees, exact)})
		}
	}
	if left < last.Trees {
		rows = append(rows, partRow{"  together " + strings.Join(explaintext.Amounts(of), ", "), "", count(left, exact)})
	}
	return rows
}

// minNameWidth is the minimum width of the names of trees and providers.
const minNameWidth = 13

// nearest adds the trees that fail by least, with what they lack.
func (e *explanationText) nearest(trees []api.ExplanationTree) {
	if len(trees) == 0 {
		return
	}
	e.section("NEAREST")
	width := minNameWidth
	for _, tree := range trees {
		width = max(width, len(tree.Tree.Name)+2)
	}
	for _, tree := range trees {
		var missing []string
		for i := range tree.Missing {
			missing = append(missing, explaintext.Missing(&tree.Missing[i]))
		}
		if len(missing) == 0 {
			missing = append(missing, explaintext.FailedStage(tree.Stage))
		}
		text := strings.Join(missing, " and ")
		if tree.FreedBy.IsNull() {
			text += ", and would not fit even when empty"
		}
		e.wrap("  "+pad(tree.Tree.Name, width), text)
	}
}
