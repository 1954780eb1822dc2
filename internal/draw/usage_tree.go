package draw

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// UsageTree is a provider tree at one moment for tables whose rows are providers and whose columns are classes.
type UsageTree struct {
	*client.ShownTree
	// ByID has the providers of the tree and its sharing providers.
	ByID map[uuid.UUID]*client.ShownProvider
	// Holders are the consumers of each provider, in the order in which they got their allocations.
	Holders  map[uuid.UUID][]uuid.UUID
	children map[uuid.UUID][]*client.ShownProvider
}

// UsageRow is a provider of such a table.
type UsageRow struct {
	Provider *client.ShownProvider
	Depth    int
	// Closed is the number of children that are not in the table.
	Closed int
	// Shares are the aggregates by which a provider of another tree shares its resources; nil for the others.
	Shares []uuid.UUID
	Bars   map[string]UsageBar
}

// NewUsageTree sorts the providers of a tree.
func NewUsageTree(shown *client.ShownTree) *UsageTree {
	t := &UsageTree{
		ShownTree: shown, ByID: map[uuid.UUID]*client.ShownProvider{},
		Holders: map[uuid.UUID][]uuid.UUID{}, children: map[uuid.UUID][]*client.ShownProvider{},
	}
	for i := range shown.Sharing {
		t.ByID[shown.Sharing[i].UUID] = &shown.Sharing[i]
	}
	for i := range shown.Providers {
		p := &shown.Providers[i]
		t.ByID[p.UUID], t.children[p.Parent] = p, append(t.children[p.Parent], p)
	}
	for _, siblings := range t.children {
		slices.SortFunc(siblings, func(x, y *client.ShownProvider) int { return CompareNames(x.Name, y.Name) })
	}
	for id, consumer := range shown.Consumers {
		for provider := range consumer.Allocations {
			t.Holders[provider] = append(t.Holders[provider], id)
		}
	}
	for provider, ids := range t.Holders {
		since := func(id uuid.UUID) int64 {
			if created := shown.Consumers[id].Places[provider].CreatedAt; created != nil { // a tree as it was does not have all times
				return created.UnixMicro()
			}
			return 0
		}
		slices.SortFunc(ids, func(x, y uuid.UUID) int {
			return cmp.Or(cmp.Compare(since(x), since(y)), slices.Compare(x[:], y[:]))
		})
	}
	return t
}

// Rows returns the providers in depth-first order, siblings by name, and then the sharing providers. The pieces of a
// consumer are marked. Of a tree with more providers than the limit, two levels are open, and the branches to the given
// providers.
func (t *UsageTree) Rows(marked uuid.UUID, limit int, open ...uuid.UUID) (rows []UsageRow) {
	isOpen := map[uuid.UUID]bool{}
	for _, id := range open {
		for p := t.ByID[id]; p != nil; p = t.ByID[p.Parent] {
			isOpen[p.UUID] = true
		}
	}
	var add func(p *client.ShownProvider, depth int)
	add = func(p *client.ShownProvider, depth int) {
		row, children := UsageRow{Provider: p, Depth: depth, Bars: t.bars(p, marked)}, t.children[p.UUID]
		if len(t.Providers) > limit && depth > 0 && !isOpen[p.UUID] {
			row.Closed, children = len(children), nil
		}
		rows = append(rows, row)
		for _, child := range children {
			add(child, depth+1)
		}
	}
	for _, root := range t.children[uuid.Nil] {
		add(root, 0)
	}
	member := map[uuid.UUID]bool{}
	for _, p := range t.Providers {
		for _, aggregate := range p.Aggregates {
			member[aggregate] = true
		}
	}
	for i := range t.Sharing {
		p := &t.Sharing[i]
		common := slices.DeleteFunc(slices.Clone(p.Aggregates), func(id uuid.UUID) bool { return !member[id] })
		rows = append(rows, UsageRow{Provider: p, Shares: common, Bars: t.bars(p, marked)})
	}
	return rows
}

// RowsOf returns the providers that a consumer uses, with the classes of which it has something, and those above them.
func (t *UsageTree) RowsOf(consumer uuid.UUID) []UsageRow {
	uses := map[uuid.UUID]bool{}
	held := t.Consumers[consumer].Allocations
	for provider := range held {
		for p := t.ByID[provider]; p != nil; p = t.ByID[p.Parent] {
			uses[p.UUID] = true
		}
	}
	rows := slices.DeleteFunc(t.Rows(consumer, math.MaxInt), func(row UsageRow) bool { return !uses[row.Provider.UUID] })
	for _, row := range rows {
		maps.DeleteFunc(row.Bars, func(class string, _ UsageBar) bool { return held[row.Provider.UUID][class] == 0 })
	}
	return rows
}

// bars returns the bars of a provider with a piece for each consumer. Those of a provider of another tree have one for the
// marked consumer and one for all others, most of which are not in the tree.
func (t *UsageTree) bars(p *client.ShownProvider, marked uuid.UUID) map[string]UsageBar {
	bars := map[string]UsageBar{}
	for class, record := range p.Inventories {
		bar, rest := InventoryBar(record, 0), p.Usages[class]
		bar.Pieces = nil
		for _, id := range t.Holders[p.UUID] {
			kind := Used
			if id == marked {
				kind = Marked
			}
			if amount := t.Consumers[id].Allocations[p.UUID][class]; id == marked || p.Root == t.Root {
				bar.Pieces = append(bar.Pieces, Piece{Amount: float64(amount), Kind: kind})
				rest -= amount
			}
		}
		bar.Pieces = append(bar.Pieces, Piece{Amount: float64(rest), Kind: Used})
		bars[class] = bar
	}
	return bars
}

// Held returns what a consumer has of the tree and its sharing providers, by class.
func (t *UsageTree) Held(consumer uuid.UUID) map[string]int64 {
	sums := map[string]int64{}
	if held := t.Consumers[consumer]; held != nil {
		for provider, resources := range held.Allocations {
			for class, amount := range resources {
				if t.ByID[provider] != nil {
					sums[class] += amount
				}
			}
		}
	}
	return sums
}

// Inventories returns a row for each inventory, for CSV with InventoryHeads.
func (t *UsageTree) Inventories() (rows [][]any) {
	for _, row := range t.Rows(uuid.Nil, math.MaxInt) {
		parent := ""
		if row.Provider.Parent != uuid.Nil {
			parent = row.Provider.Parent.String()
		}
		for _, class := range Classes(row.Bars) {
			use := inventoryUsage{record: row.Provider.Inventories[class]}
			rows = append(rows, []any{
				row.Provider.UUID, row.Provider.Name, parent, class, use.total(), use.reserved(), use.ratio(),
				row.Bars[class].Capacity, row.Provider.Usages[class],
			})
		}
	}
	return rows
}

// InventoryHeads are the columns of Inventories.
const InventoryHeads = "uuid,name,parent_provider_uuid,resource_class,total,reserved,allocation_ratio,capacity,used"

// InventoryBar returns the bar of an inventory of which an amount is used.
func InventoryBar(record client.InventoryRecord, used int64) UsageBar {
	use := inventoryUsage{record: record}
	return UsageBar{
		Capacity: float64(use.capacity()), Reserved: float64(use.reserved()) * use.ratio(),
		Pieces: []Piece{{Amount: float64(used), Kind: Used}},
	}
}

// firstClasses are the columns of most hosts, which precede the others.
var firstClasses = []string{"VCPU", "PCPU", "MEMORY_MB", "DISK_GB"}

// Classes returns the classes of a map in the order of the columns.
func Classes[T any](of map[string]T) []string {
	place := func(class string) int {
		if at := slices.Index(firstClasses, class); at >= 0 {
			return at
		}
		return len(firstClasses)
	}
	return slices.SortedFunc(maps.Keys(of), func(x, y string) int {
		return cmp.Or(cmp.Compare(place(x), place(y)), CompareNames(x, y))
	})
}
