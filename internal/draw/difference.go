package draw

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/terminal"
)

// Text draws the trees that have changed providers, without unchanged branches, and then the changed allocations of
// each consumer. It marks lines with + for added, - for removed and ~ for changed. Without changes it writes one line.
func (c *Changes) Text(w io.Writer, style Style) error {
	d := &difference{canvas: newCanvas(w, style), Changes: c, byID: map[uuid.UUID]*ProviderChange{}, names: map[uuid.UUID]string{}}
	if c.Empty() {
		d.put(line{{"No differences.", plain}})
		return d.out.Flush()
	}
	for i, change := range c.Providers {
		d.byID[change.UUID] = &c.Providers[i]
	}
	first := true
	for _, tree := range c.all.trees() {
		tree.walk(0, func(b *treeNode, _ int) { d.names[b.UUID] = b.Name })
		if !d.prune(tree) {
			continue
		}
		if !first {
			d.put(nil)
		}
		first = false
		d.nameEnd = 0
		tree.walk(0, func(b *treeNode, depth int) {
			d.nameEnd = max(d.nameEnd, d.endOfName(b, gutterCells+depth*len(d.blank)))
		})
		d.provider(tree, nil, nil)
	}
	d.moves(first)
	first = first && len(d.Moves) == 0
	d.owners(first)
	d.resourceNames(first && len(d.Consumers) == 0)
	d.put(nil)
	d.put(line{{c.Summary() + ".", plain}})
	return d.out.Flush()
}

// gutterCells is the width of the column of marks.
const gutterCells = 2

// difference is a canvas for changes.
type difference struct {
	*canvas
	*Changes
	byID    map[uuid.UUID]*ProviderChange
	names   map[uuid.UUID]string
	nameEnd int
}

// mark is the sign and color of a kind of change.
type mark struct {
	sign  string
	paint paint
}

// markOf returns the mark of a kind of change; of no change for any other text.
func markOf(change string) mark {
	switch change {
	case Added:
		return mark{"+ ", green}
	case Removed:
		return mark{"- ", red}
	case Changed:
		return mark{"~ ", yellow}
	default:
		return mark{"  ", dim}
	}
}

// gutter returns the line with the mark in front of it.
func (m mark) gutter(rest line) line { return line{{m.sign, m.paint}}.with(rest...) }

// prune removes the branches without a change. It reports whether the tree has a change.
func (d *difference) prune(b *treeNode) bool {
	b.children = slices.DeleteFunc(b.children, func(child *treeNode) bool { return !d.prune(child) })
	return len(b.children) > 0 || d.byID[b.UUID] != nil
}

// provider draws a provider and its descendants like picture.provider, with a mark before each line.
func (d *difference) provider(b *treeNode, head, base line) {
	body := base.with(span{d.bodyGlyph(b), dim})
	change := d.byID[b.UUID]
	if change == nil {
		unmarked := markOf("")
		d.heading(b, d.nameEnd+2, unmarked.gutter(head), unmarked.gutter(body), dim, b.generation())
	} else {
		m := markOf(change.Change)
		d.heading(b, d.nameEnd+2, m.gutter(head), m.gutter(body), m.paint, d.generations(b))
		d.previousPlace(change, body)
		d.inventories(b, change, body)
		d.sets(change, body)
	}
	for i, child := range b.children {
		if i == len(b.children)-1 {
			d.provider(child, base.with(span{d.last, dim}), base.with(span{d.blank, plain}))
			continue
		}
		d.provider(child, base.with(span{d.fork, dim}), base.with(span{d.down, dim}))
	}
}

// generations returns the generation of a provider, or both generations if they differ.
func (d *difference) generations(b *treeNode) string {
	was, existed := d.old[b.UUID]
	if !existed || was.Generation == nil || b.Generation == nil || *was.Generation == *b.Generation {
		return b.generation()
	}
	return fmt.Sprintf("gen %d %s %d", *was.Generation, d.arrow, *b.Generation)
}

// previousPlace draws the previous name and parent of a provider that is renamed or re-parented.
func (d *difference) previousPlace(change *ProviderChange, body line) {
	if change.Was == nil {
		return
	}
	m := markOf(Changed)
	if was := change.Was.Name; was != change.Name {
		d.put(m.gutter(body).with(span{"previous name: " + d.safe(was), m.paint}))
	}
	switch was, is := change.Was.Parent, change.Parent; {
	case was == nil && is != nil:
		d.put(m.gutter(body).with(span{"previous parent: none", m.paint}))
	case was != nil && (is == nil || *was != *is):
		d.put(m.gutter(body).with(span{"previous parent: " + d.name(*was, true), m.paint}))
	}
}

// name returns the name of a provider in the earlier or later forest, or its UUID if neither forest has it.
func (d *difference) name(id uuid.UUID, before bool) string {
	if node, existed := d.old[id]; before && existed {
		return d.safe(node.Name)
	}
	if name, known := d.names[id]; known {
		return d.safe(name)
	}
	return id.String()
}

// inventories draws the changed inventories of a provider.
func (d *difference) inventories(b *treeNode, change *ProviderChange, body line) {
	column := 0
	for _, inventory := range change.Inventories {
		column = max(column, body.cells()+gutterCells+terminal.Cells(d.safe(inventory.Class))+2)
	}
	for _, inventory := range change.Inventories {
		m := markOf(inventory.Change)
		start := m.gutter(body).with(span{d.safe(inventory.Class), m.paint}).padTo(column)
		var items []string
		switch inventory.Change {
		case Changed:
			for _, f := range inventory.Fields {
				items = append(items, d.field(f))
			}
		default:
			record, kept := b.Inventories[inventory.Class]
			if inventory.Change == Removed || !kept {
				record = d.old[b.UUID].Inventories[inventory.Class]
			}
			h := inventoryUsage{class: inventory.Class, record: record}
			items = append([]string{strconv.FormatInt(h.total(), 10)}, h.notes()...)
			if h.readable() != "" {
				items = append([]string{items[0] + " " + items[1]}, items[2:]...)
			}
		}
		d.list(start, m.gutter(body), items, ", ", m.paint)
	}
}

// field returns the text of a changed field, for example "total 32 → 64".
func (d *difference) field(f FieldChange) string {
	name := strings.TrimPrefix(f.Field, "allocation_")
	text := func(value *float64) string {
		switch {
		case value == nil:
			return "default"
		case name == "ratio":
			return ratioText(*value)
		default:
			return strconv.FormatFloat(*value, 'f', -1, 64)
		}
	}
	return name + " " + text(f.From) + " " + d.arrow + " " + text(f.To)
}

// sets draws the added and removed traits and aggregates of a provider.
func (d *difference) sets(change *ProviderChange, body line) {
	show := func(label, change string, items func(column int) []string) {
		m := markOf(change)
		start := m.gutter(body).with(span{label, m.paint}).padTo(0)
		if all := items(start.cells()); len(all) > 0 {
			d.list(start, m.gutter(body), all, " ", m.paint)
		}
	}
	show("traits", Removed, func(at int) []string { return d.someTraits(change.Traits.Removed, at) })
	show("traits", Added, func(at int) []string { return d.someTraits(change.Traits.Added, at) })
	show("aggregates", Removed, func(int) []string { return d.aggregates(change.Aggregates.Removed) })
	show("aggregates", Added, func(int) []string { return d.aggregates(change.Aggregates.Added) })
}

// moves draws the changed allocations of each consumer. first is set if no tree is drawn above them.
func (d *difference) moves(first bool) {
	if len(d.Moves) == 0 {
		return
	}
	if !first {
		d.put(nil)
	}
	d.put(line{{"Allocations that " + d.verb() + ":", bold}})
	amountCells, classCells := 0, 0
	for _, m := range d.Moves {
		amountCells = max(amountCells, len(strconv.FormatInt(m.Amount, 10)))
		classCells = max(classCells, terminal.Cells(d.classText(m)))
	}
	var last uuid.UUID
	for i, m := range d.Moves {
		if i == 0 || m.Consumer != last {
			d.put(line{{"  " + m.Consumer.String(), bold}, {"  " + d.safe(m.Type), dim}})
			last = m.Consumer
		}
		amount := strconv.FormatInt(m.Amount, 10)
		start := line{{"    " + pad(amountCells-len(amount)) + amount + " " + d.classText(m), plain}}
		d.list(start.padTo(5+amountCells+classCells+2), line{{"    ", plain}}, d.providersText(m), " ", cyan)
	}
}

// classText returns the class of a move, or both classes if the class changes.
func (d *difference) classText(m Move) string {
	if m.Becomes == "" {
		return d.safe(m.Class)
	}
	return d.safe(m.Class) + " " + d.arrow + " " + d.safe(m.Becomes)
}

// providersText returns the providers of a move as parts between which a line may be wrapped.
func (d *difference) providersText(m Move) []string {
	switch {
	case m.From == nil:
		return []string{"added on", d.name(*m.To, false)}
	case m.To == nil:
		return []string{"removed from", d.name(*m.From, true)}
	case *m.From == *m.To:
		return []string{"on", d.name(*m.To, false)}
	default:
		return []string{d.name(*m.From, true), d.arrow + " " + d.name(*m.To, false)}
	}
}

// Summary returns the numbers of changes in one line without a period, for example "2 providers added, 1 changed; 3
// allocations of 2 consumers move".
func (c *Changes) Summary() string {
	if c.Empty() {
		return "no differences"
	}
	counts := map[string]int{}
	for _, change := range c.Providers {
		counts[change.Change]++
	}
	var parts []string
	for _, kind := range []string{Added, Removed, Changed} {
		if n := counts[kind]; n > 0 && len(parts) == 0 {
			parts = append(parts, plural(n, "provider")+" "+kind)
		} else if n > 0 {
			parts = append(parts, count(n)+" "+kind)
		}
	}
	var sentences []string
	if len(parts) > 0 {
		sentences = append(sentences, strings.Join(parts, ", "))
	}
	if len(c.Moves) > 0 {
		sentences = append(sentences, c.summaryOfMoves())
	}
	if n := len(c.Consumers); n > 0 {
		sentences = append(sentences, plural(n, "consumer")+" changed")
	}
	return strings.Join(append(sentences, c.summaryOfNames()...), "; ")
}

// summaryOfMoves returns the numbers of changed allocations and their consumers.
func (c *Changes) summaryOfMoves() string {
	consumers := map[uuid.UUID]bool{}
	for _, m := range c.Moves {
		consumers[m.Consumer] = true
	}
	verb := c.verb()
	if len(c.Moves) == 1 {
		verb += "s"
	}
	return plural(len(c.Moves), "allocation") + " of " + plural(len(consumers), "consumer") + " " + verb
}

// verb returns "move" if all changes of allocations are from one provider to another, otherwise "change".
func (c *Changes) verb() string {
	for _, m := range c.Moves {
		if m.From == nil || m.To == nil || m.Becomes != "" {
			return "change"
		}
	}
	return "move"
}

// plural returns a number with its noun.
func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return count(n) + " " + noun
}
