package console

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/draw"
)

// treeLine is a row of a tree table before the columns are known.
type treeLine struct {
	TreeRow
	id    uuid.UUID
	depth int
	bars  map[string]Bar
}

// newTree returns a table with a column for each class of the lines, or only one.
func newTree(caption, only string, lines []treeLine) *Tree {
	tree := &Tree{Caption: caption}
	classes, depths := map[string]bool{}, []int{}
	for _, line := range lines {
		depths = append(depths, line.depth)
		for class := range line.bars {
			classes[class] = only == "" || class == only
		}
	}
	for _, class := range classesOf(classes) {
		if classes[class] {
			tree.Classes = append(tree.Classes, class)
		}
	}
	drawn := treeLines(depths)
	for i, line := range lines {
		line.Lines = drawn[i]
		for _, class := range tree.Classes {
			cell := Amount{Class: class}
			if b, has := line.bars[class]; has {
				cell = amountOf(class, b)
			}
			line.Amounts = append(line.Amounts, cell)
		}
		tree.Rows = append(tree.Rows, line.TreeRow)
	}
	return tree
}

// firstClasses are the columns of most hosts, which precede the others.
var firstClasses = []string{"VCPU", "PCPU", "MEMORY_MB", "DISK_GB"}

// classesOf returns the classes in the order of the columns.
func classesOf[T any](of map[string]T) []string {
	place := func(class string) int { return (slices.Index(firstClasses, class) + 5) % 5 }
	return slices.SortedFunc(maps.Keys(of), func(x, y string) int {
		return cmp.Or(cmp.Compare(place(x), place(y)), draw.CompareNames(x, y))
	})
}

// barOf returns the bar of an inventory, of which some is used.
func barOf(record client.InventoryRecord, used int64) Bar {
	reserved := float64(*record.Reserved)
	return Bar{
		Capacity: math.Trunc((float64(record.Total) - reserved) * *record.AllocationRatio), Reserved: reserved * *record.AllocationRatio,
		Pieces: []draw.Piece{{Amount: float64(used), Kind: draw.Used}},
	}
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
	for _, class := range classesOf(resources) {
		texts = append(texts, class+" "+amount(class, resources[class]))
	}
	return strings.Join(texts, ", ")
}

// treeView is a provider tree, and what of it the address selects: a consumer to highlight and a provider to show beside.
type treeView struct {
	*client.ShownTree
	providers map[uuid.UUID]*client.ShownProvider
	children  map[uuid.UUID][]*client.ShownProvider
	// holders are the consumers of each provider, in the order in which they got their allocations.
	holders    map[uuid.UUID][]uuid.UUID
	chosen, at uuid.UUID
	// opened are the providers whose children are rows of a large tree.
	opened map[uuid.UUID]bool
}

func newTreeView(shown *client.ShownTree, at, chosen, opened uuid.UUID) *treeView {
	t := &treeView{
		ShownTree: shown, at: at, chosen: chosen, opened: map[uuid.UUID]bool{}, providers: map[uuid.UUID]*client.ShownProvider{},
		children: map[uuid.UUID][]*client.ShownProvider{}, holders: map[uuid.UUID][]uuid.UUID{},
	}
	for i := range shown.Providers {
		p := &shown.Providers[i]
		t.providers[p.UUID] = p
		t.children[p.Parent] = append(t.children[p.Parent], p)
	}
	for i := range shown.Sharing {
		t.providers[shown.Sharing[i].UUID] = &shown.Sharing[i]
	}
	for id, consumer := range shown.Consumers {
		for provider := range consumer.Allocations {
			t.holders[provider] = append(t.holders[provider], id)
		}
	}
	for provider, ids := range t.holders {
		slices.SortFunc(ids, func(x, y uuid.UUID) int {
			return cmp.Or(shown.Consumers[x].Places[provider].CreatedAt.Compare(shown.Consumers[y].Places[provider].CreatedAt), slices.Compare(x[:], y[:]))
		})
	}
	for _, siblings := range t.children {
		slices.SortFunc(siblings, func(x, y *client.ShownProvider) int { return draw.CompareNames(x.Name, y.Name) })
	}
	for p, isOpen := t.providers[opened], true; p != nil; p = t.providers[p.Parent] {
		t.opened[p.UUID] = isOpen
	}
	if p := t.providers[at]; p != nil {
		for p = t.providers[p.Parent]; p != nil; p = t.providers[p.Parent] {
			t.opened[p.UUID] = true
		}
	}
	return t
}

// bar returns the bar of an inventory, with a piece for each consumer. The bar of a provider of another tree has a piece
// for the chosen consumer only.
func (t *treeView) bar(p *client.ShownProvider, class string) Bar {
	rest := p.Usages[class]
	bar := barOf(p.Inventories[class], rest)
	bar.Pieces = nil
	for _, id := range t.holders[p.UUID] {
		held, kind := t.Consumers[id].Allocations[p.UUID][class], draw.Used
		if id == t.chosen {
			kind = draw.Marked
		}
		if id == t.chosen || p.Root == t.Root {
			bar.Pieces = append(bar.Pieces, draw.Piece{Amount: float64(held), Kind: kind})
			rest -= held
		}
	}
	bar.Pieces = append(bar.Pieces, draw.Piece{Amount: float64(max(rest, 0)), Kind: draw.Used})
	return bar
}

func (t *treeView) line(p *client.ShownProvider, depth int, sub string) treeLine {
	line := treeLine{id: p.UUID, depth: depth, bars: map[string]Bar{}, TreeRow: TreeRow{Link: Link{Text: p.Name}, Sub: sub}}
	if p.UUID == t.at {
		line.Mode = "at"
	}
	for class := range p.Inventories {
		line.bars[class] = t.bar(p, class)
	}
	return line
}
