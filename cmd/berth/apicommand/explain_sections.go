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
