package console

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/draw"
)

// maxHolders is the number of consumers in the panel.
const maxHolders = 20

// treePanel is the right side of the page of a tree: one provider.
type treePanel struct {
	Name, UUID   string
	Inventories  []panelInventory
	Holders      *Table
	Traits, Foot []Link
	Place        []Field
}

// panelInventory is the inventory of a class.
type panelInventory struct {
	Class  Link
	Fields []Field
}

func field(name, text string) Field { return Field{Name: name, Values: []Link{{Text: text}}} }

// treePanel returns the panel of a provider.
func (v *visit) treePanel(t *draw.UsageTree, p *client.ShownProvider, chosen uuid.UUID, knowsHolders bool) treePanel {
	panel := treePanel{Name: p.Name, UUID: p.UUID.String(), Traits: v.traitLinks(p.Traits), Foot: []Link{{Text: "All its consumers", Href: v.href("/consumers", "provider", p.UUID.String())}}}
	panel.Foot = append(panel.Foot, v.historyLinks("provider", p.UUID.String())...)
	classes := draw.Classes(p.Inventories)
	for _, class := range classes {
		panel.Inventories = append(panel.Inventories, panelInventory{Link{Text: class, Href: v.base + "/classes/" + class}, inventoryFields(class, p)})
	}
	if knowsHolders && len(classes) > 0 {
		panel.Holders = v.holders(t, p, chosen, classes)
	}
	parent, aggregates := field("parent", "none: it is a root"), field("aggregates", "none of its own")
	if above := t.ByID[p.Parent]; above != nil {
		parent.Values = []Link{{Text: above.Name, Href: v.with("at", above.UUID.String())}}
	}
	for i, id := range p.Aggregates {
		aggregates.Values = append(aggregates.Values[:i], Link{Text: v.aggregateName(id), Href: v.base + "/aggregates/" + id.String()})
	}
	if p.Root != t.Root {
		panel.Foot = append(panel.Foot, Link{Text: "Its own tree", Href: v.base + "/providers/" + p.UUID.String()})
	}
	panel.Place = []Field{parent, aggregates, field("generation", number(*p.Generation))}
	return panel
}

// traitLinks returns the links of traits.
func (v *visit) traitLinks(traits []string) []Link {
	links := make([]Link, len(traits))
	for i, trait := range traits {
		links[i] = Link{Text: trait, Href: v.href("/traits/" + trait)}
	}
	return links
}

// inventoryFields returns the fields of an inventory in the words of the API.
func inventoryFields(class string, p *client.ShownProvider) []Field {
	record, used := p.Inventories[class], p.Usages[class]
	capacity, largest := whole(draw.InventoryBar(record, 0).Capacity), number(int64(*record.MaxUnit))
	if *record.MaxUnit == math.MaxInt32 {
		largest = "no limit"
	}
	left := amount(class, capacity-used) + " free"
	if used > capacity {
		left = amount(class, used-capacity) + " over"
	}
	return []Field{
		field("total", number(int64(record.Total))), field("reserved", number(int64(*record.Reserved))),
		field("allocation_ratio", strconv.FormatFloat(*record.AllocationRatio, 'f', -1, 64)),
		field("min_unit, max_unit", number(int64(*record.MinUnit))+", "+largest), field("step_size", number(int64(*record.StepSize))),
		{Name: "capacity", Values: []Link{{Text: amount(class, capacity) + ", of which"}}, Strong: left},
	}
}

// holders returns the table of the first consumers of a provider, before them the one to highlight.
func (v *visit) holders(t *draw.UsageTree, p *client.ShownProvider, chosen uuid.UUID, classes []string) *Table {
	table := &Table{Caption: "Consumers of " + p.Name, Heads: heads("Consumer")}
	for _, class := range classes {
		table.Heads = append(table.Heads, figure(class))
	}
	ids := slices.Clone(t.Holders[p.UUID])
	if at := slices.Index(ids, chosen); at > 0 {
		ids = slices.Insert(slices.Delete(ids, at, at+1), 0, chosen)
	}
	ids = ids[:min(len(ids), maxHolders)]
	hasLeases := slices.ContainsFunc(ids, func(id uuid.UUID) bool { return t.Consumers[id].Lease != nil })
	if hasLeases {
		table.Heads = append(table.Heads, figure("Lease"))
	}
	table.Heads = append(table.Heads, figure("Since"))
	for _, id := range ids {
		held, first := t.Consumers[id], linked(short(id.String()), v.with("consumer", id.String()))
		if first.Sub = (&Link{Text: held.ProjectID}); id == chosen {
			first.Kind = "mark"
		}
		row := []Cell{first}
		for _, class := range classes {
			row = append(row, Cell{Link: Link{Text: amount(class, held.Allocations[p.UUID][class])}, Number: true, Strong: true})
		}
		if hasLeases {
			row = append(row, leaseCell(held.Lease, time.Now()))
		}
		var since time.Time
		if at := held.Places[p.UUID].CreatedAt; at != nil {
			since = *at
		}
		table.Rows = append(table.Rows, append(row, figure(age(since, time.Now()))))
	}
	return table
}

// treeTable returns a table with a column for each class of the rows, or for the one that the address selects.
func (v *visit) treeTable(caption string, rows []draw.UsageRow, at uuid.UUID, address func(uuid.UUID) string) *Tree {
	has, depths := map[string]bool{}, []int{}
	for _, row := range rows {
		depths = append(depths, row.Depth)
		for class := range row.Bars {
			if chosen := v.query("class"); chosen == "" || class == chosen {
				has[class] = true
			}
		}
	}
	tree, lines := &Tree{Caption: caption, Classes: draw.Classes(has)}, treeLines(depths)
	for i, row := range rows {
		id := row.Provider.UUID
		shown := TreeRow{Link: Link{Text: row.Provider.Name, Href: address(id)}, Lines: lines[i], Sub: fewTraits(row.Provider.Traits)}
		if row.Shares != nil {
			shown.Mode, shown.Sub = "shared", "shares by aggregate"
			for _, aggregate := range row.Shares {
				shown.Sub += " " + v.aggregateName(aggregate)
			}
		}
		if id == at {
			shown.Mode = "at"
		}
		if row.Closed > 0 {
			shown.Chips = []Link{{Text: "open " + strconv.Itoa(row.Closed), Href: v.with("open", id.String()), Kind: "dashed"}}
		}
		for _, class := range tree.Classes {
			cell := Amount{Class: class}
			if b, has := row.Bars[class]; has {
				cell = amountOf(class, b)
			}
			shown.Amounts = append(shown.Amounts, cell)
		}
		tree.Rows = append(tree.Rows, shown)
	}
	return tree
}

// fewTraits returns the first traits of a provider, and how many more it has.
func fewTraits(traits []string) string {
	if len(traits) <= 2 {
		return strings.Join(traits, " ")
	}
	return traits[0] + " " + traits[1] + " +" + strconv.Itoa(len(traits)-2)
}

// heldText returns amounts of classes as text, such as "VCPU 8, MEMORY_MB 16 GiB".
func heldText(resources map[string]int64) string {
	var texts []string
	for _, class := range draw.Classes(resources) {
		texts = append(texts, class+" "+amount(class, resources[class]))
	}
	return strings.Join(texts, ", ")
}
