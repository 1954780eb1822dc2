package console

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// maxHolders is the number of consumers in the panel.
const maxHolders = 20

// treePanel is the right side of the page of a tree: one provider.
type treePanel struct {
	Name, UUID  string
	Inventories []panelInventory
	Holders     *Table
	More        Link
	Traits      []Link
	Place       []Field
	Foot        []Link
}

// panelInventory is the inventory of a class.
type panelInventory struct {
	Class  Link
	Fields []Field
}

func textField(name, text, strong string) Field {
	return Field{Name: name, Values: []Link{{Text: text}}, Strong: strong}
}

// treePanel returns the panel of the provider that the address selects, or of the root.
func (v *visit) treePanel(t *treeView, unknown *Notice) treePanel {
	p := t.providers[t.at]
	if p == nil {
		p = &t.Providers[0]
	}
	panel := treePanel{Name: p.Name, UUID: p.UUID.String(), Place: v.place(t, p)}
	classes := classesOf(p.Inventories)
	for _, class := range classes {
		panel.Inventories = append(panel.Inventories, panelInventory{Link{Text: class, Href: v.base + "/classes/" + class}, inventoryFields(class, p)})
	}
	if unknown == nil && len(classes) > 0 {
		panel.Holders, panel.More = v.holders(t, p, classes)
	}
	for _, trait := range p.Traits {
		panel.Traits = append(panel.Traits, Link{Text: trait, Href: v.base + "/traits/" + trait})
	}
	panel.Foot = []Link{{Text: "Inventories as JSON", Href: v.base + "/providers/" + p.UUID.String() + "/api"}}
	return panel
}

// inventoryFields returns the fields of an inventory in the words of the API.
func inventoryFields(class string, p *client.ShownProvider) []Field {
	record, used := p.Inventories[class], p.Usages[class]
	capacity := int64(barOf(record, 0).Capacity)
	largest := number(int64(*record.MaxUnit))
	if *record.MaxUnit == math.MaxInt32 {
		largest = "no limit"
	}
	left := amount(class, capacity-used) + " free"
	if used > capacity {
		left = amount(class, used-capacity) + " over"
	}
	return []Field{
		textField("total", number(int64(record.Total)), ""), textField("reserved", number(int64(*record.Reserved)), ""),
		textField("allocation_ratio", strconv.FormatFloat(*record.AllocationRatio, 'f', -1, 64), ""),
		textField("min_unit, max_unit", number(int64(*record.MinUnit))+", "+largest, ""), textField("step_size", number(int64(*record.StepSize)), ""),
		textField("capacity", amount(class, capacity)+", of which", left),
	}
}

// place returns where a provider is.
func (v *visit) place(t *treeView, p *client.ShownProvider) []Field {
	parent := textField("parent", "none: it is a root", "")
	if above := t.providers[p.Parent]; above != nil {
		parent = Field{Name: "parent", Values: []Link{{Text: above.Name, Href: v.with("at", above.UUID.String())}}}
	}
	aggregates := textField("aggregates", "none of its own", "")
	if len(p.Aggregates) > 0 {
		aggregates.Values = nil
	}
	for _, id := range p.Aggregates {
		aggregates.Values = append(aggregates.Values, v.aggregateLink(id))
	}
	fields := []Field{parent, aggregates, textField("generation", number(*p.Generation), "")}
	if p.Root != t.Root {
		fields = append(fields, Field{Name: "tree", Values: []Link{{Text: "its own", Href: v.base + "/providers/" + p.Root.String()}}})
	}
	return fields
}

// holders returns the table of the consumers of a provider, and a link to all of them. The consumer to highlight comes
// first.
func (v *visit) holders(t *treeView, p *client.ShownProvider, classes []string) (*Table, Link) {
	table := &Table{Caption: "Consumers of " + p.Name, Heads: []Cell{{Link: Link{Text: "Consumer"}}}}
	for _, class := range classes {
		table.Heads = append(table.Heads, Cell{Link: Link{Text: class}, Number: true})
	}
	table.Heads = append(table.Heads, Cell{Link: Link{Text: "Since"}, Number: true})
	ids := slices.Clone(t.holders[p.UUID])
	slices.SortStableFunc(ids, func(x, y uuid.UUID) int { return boolOrder(y == t.chosen) - boolOrder(x == t.chosen) })
	for _, id := range ids[:min(len(ids), maxHolders)] {
		held := t.Consumers[id]
		row := Row{First: Cell{Link: Link{Text: short(id.String()), Href: v.with("consumer", id.String()), Kind: "mono"}, Sub: &Link{Text: held.ProjectID}}}
		if id == t.chosen {
			row.Mode = "mark"
		}
		for _, class := range classes {
			row.Cells = append(row.Cells, Cell{Link: Link{Text: amount(class, held.Allocations[p.UUID][class])}, Number: true, Strong: true})
		}
		row.Cells = append(row.Cells, Cell{Link: Link{Text: age(held.Places[p.UUID].CreatedAt, time.Now())}, Number: true})
		table.Rows = append(table.Rows, row)
	}
	if p.Root == t.Root && len(ids) <= maxHolders {
		return table, Link{}
	}
	return table, Link{Text: "All consumers of its tree", Href: v.base + "/providers/" + p.Root.String() + "/consumers"}
}

func boolOrder(first bool) int {
	if first {
		return 1
	}
	return 0
}

// heldText returns what a consumer has of a tree and its sharing providers.
func (t *treeView) heldText(id uuid.UUID) string {
	sums := map[string]int64{}
	if held := t.Consumers[id]; held != nil {
		for provider, resources := range held.Allocations {
			for class, amount := range resources {
				if t.providers[provider] != nil {
					sums[class] += amount
				}
			}
		}
	}
	if len(sums) == 0 {
		return "has nothing of this tree"
	}
	return "is highlighted: " + heldText(sums)
}

// records returns a row of CSV for each inventory.
func (t *treeView) records() (rows [][]any) {
	for _, p := range slices.Concat(t.Providers, t.Sharing) {
		parent := ""
		if p.Parent != uuid.Nil {
			parent = p.Parent.String()
		}
		for _, class := range classesOf(p.Inventories) {
			record := p.Inventories[class]
			rows = append(rows, []any{p.UUID, p.Name, parent, class, record.Total, *record.Reserved, *record.AllocationRatio, barOf(record, 0).Capacity, p.Usages[class]})
		}
	}
	return rows
}
