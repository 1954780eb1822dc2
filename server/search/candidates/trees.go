package candidates

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/candidates/combine"
)

// candidateTree is the providers that an anchor can use. rows are their indices in the page.
type candidateTree struct {
	combine.Tree
	page *page
	rows []int32
	// shares are the providers that can give a part of an amount, in the order of their UUIDs.
	shares []share
}

// share is a provider that can give parts of amounts, by split: its index in the tree, and its inventories, nil for none.
type share struct {
	provider    int
	inventories []*inventory
}

// treeBuilder builds trees. Its lists grow together for all of them, so that a tree takes few allocations.
type treeBuilder struct {
	search *candidateSearch
	// usable are the providers that the present tree can use, places their indices in the tree, -1 for none.
	usable, places []int32
	rows           []int32
	members        []combine.Provider
	options        []combine.Option
	slots          [][]combine.Option
	free           []int64
	met            []int32
	path           []int64
	tree           candidateTree
	// ownLast lists the providers of the tree after those of other trees, as if they were the newest.
	ownLast bool
}

// forget makes the memory of all trees available for the next ones.
func (b *treeBuilder) forget() { b.reuse(usedMemory{}) }

// usedMemory is how much of the lists of a builder trees use.
type usedMemory struct{ rows, members, options, slots, free, met, path int }

func (b *treeBuilder) used() usedMemory {
	return usedMemory{len(b.rows), len(b.members), len(b.options), len(b.slots), len(b.free), len(b.met), len(b.path)}
}

// reuse makes the memory of the trees that were built since available for the next ones.
func (b *treeBuilder) reuse(since usedMemory) {
	b.rows, b.members, b.options, b.slots = b.rows[:since.rows], b.members[:since.members], b.options[:since.options], b.slots[:since.slots]
	b.free, b.met, b.path = b.free[:since.free], b.met[:since.met], b.path[:since.path]
}

// build returns the tree of a root, nil if a slot has no provider in it. It is valid until the next one, its lists until
// forget.
func (b *treeBuilder) build(p *page, root int64) *candidateTree {
	anchor := p.tree(root)
	if anchor == nil {
		return nil // the root lacks a required trait, or the tree was filtered
	}
	b.collectUsable(p, root, anchor.tree)
	fromRow, fromMember, fromSlot := len(b.rows), len(b.members), len(b.slots)
	for i := range b.search.slots {
		of, start := &b.search.slots[i], len(b.options)
		for j, row := range b.usable {
			if !p.matches(of, &of.amounts, row, anchor) {
				continue
			}
			b.place(p, j, fromRow)
			b.addOption(p, of, row, int(b.places[j]))
		}
		b.choose(p, i, start, fromRow)
		if len(b.options) == start && of.shared.isEmpty() {
			return nil
		}
		b.slots = append(b.slots, b.options[start:len(b.options):len(b.options)])
	}
	shares := b.shares(p, anchor, fromRow)
	b.search.tally.Trees++
	b.tree = candidateTree{page: p, shares: shares, rows: b.rows[fromRow:len(b.rows):len(b.rows)], Tree: combine.Tree{
		Anchor: root, Providers: b.members[fromMember:len(b.members):len(b.members)], Options: b.slots[fromSlot:len(b.slots):len(b.slots)],
	}}
	return &b.tree
}

// collectUsable lists the providers that a tree can use, in the order of their ids.
func (b *treeBuilder) collectUsable(p *page, root int64, own span) {
	b.usable, b.places = b.usable[:0], b.places[:0]
	for row := own.start; row < own.end; row++ {
		b.usable, b.places = append(b.usable, row), append(b.places, -1)
	}
	at, _ := slices.BinarySearchFunc(p.reached, root, func(r reach, root int64) int { return cmp.Compare(r.root, root) })
	foreign := false
	for ; at < len(p.reached) && p.reached[at].root == root; at++ {
		if row, known := p.places[p.reached[at].provider]; known && p.providers[row].root != root {
			b.usable, b.places, foreign = append(b.usable, row), append(b.places, -1), true
		}
	}
	if foreign {
		slices.SortFunc(b.usable, func(i, j int32) int {
			provider, other := &p.providers[i], &p.providers[j]
			if isOwn := provider.root == root; b.ownLast && isOwn != (other.root == root) {
				return map[bool]int{false: -1, true: 1}[isOwn]
			}
			return cmp.Compare(provider.id, other.id)
		})
	}
}

// place adds a usable provider to the tree, unless it is in it.
func (b *treeBuilder) place(p *page, usable, fromRow int) {
	if b.places[usable] < 0 {
		b.places[usable] = int32(len(b.rows) - fromRow)
		b.addProvider(p, b.usable[usable])
	}
}

func (b *treeBuilder) addProvider(p *page, row int32) {
	provider := &p.providers[row]
	b.rows = append(b.rows, row)
	result := combine.Provider{ID: provider.id, Root: provider.root}
	result.Shared = b.search.isSharing(p, provider)
	if len(b.search.asked.Subtrees) > 0 {
		from := len(b.path)
		for known := true; known && len(b.path)-from <= len(p.providers); { // ends at a parent cycle that was made by hand
			b.path = append(b.path, p.providers[row].id)
			row, known = p.places[p.providers[row].parent]
		}
		result.Path = b.path[from:len(b.path):len(b.path)]
	}
	b.members = append(b.members, result)
}

// isSharing reports whether a provider shares its inventory.
func (s *candidateSearch) isSharing(p *page, item *provider) bool {
	return s.ids.sharing && slices.Contains(p.lists[item.traits].ids, s.ids.sharingTraits[0])
}

func (b *treeBuilder) addOption(p *page, of *slot, row int32, place int) {
	fromFree, fromMet := len(b.free), len(b.met)
	for _, class := range of.classes {
		b.free = append(b.free, p.inventoryOf(row, class).free)
	}
	if len(of.classes) == 0 {
		b.free = append(b.free, 1)
	}
	if !of.suffixed {
		for i := range b.search.sets {
			if p.meets(row, &b.search.sets[i]) {
				b.met = append(b.met, int32(i))
			}
		}
	}
	b.options = append(b.options, combine.Option{
		Provider: place, Free: b.free[fromFree:len(b.free):len(b.free)], Met: b.met[fromMet:len(b.met):len(b.met)],
	})
}

// matches reports whether a provider satisfies a slot with some amounts by itself, for a tree with this anchor.
func (p *page) matches(of *slot, amounts *bits, row int32, anchor *provider) bool {
	foreign := p.providers[row].root != anchor.root
	root := p.places[anchor.id]
	return p.fits(row, amounts) && p.meets(row, &of.own) && p.meets(root, &of.anchor) &&
		(p.meets(row, &of.either) || !foreign && p.meets(root, &of.either)) && !(foreign && of.local)
}

// choose reduces the newest slot to one option if it only has to exist, and orders the options of the slot that the search
// decides first. start is the first of its options, fromRow the first row of the tree.
func (b *treeBuilder) choose(p *page, slot, start, fromRow int) {
	options := b.options[start:]
	if b.search.slots[slot].exists && len(options) > 1 {
		options[0] = slices.MinFunc(options, func(x, y combine.Option) int {
			provider, other := &p.providers[b.rows[fromRow+x.Provider]], &p.providers[b.rows[fromRow+y.Provider]]
			return bytes.Compare(provider.uuid[:], other.uuid[:])
		})
		b.options = b.options[:start+1]
	}
	s := b.search
	if s.asked.First == nil || s.asked.Requirements[s.first].Slot != slot {
		return
	}
	place := slices.IndexFunc(s.wants[s.first].resources, func(a store.Amount) bool { return a.Class == s.query.Order.Class })
	slices.SortStableFunc(options, func(x, y combine.Option) int {
		if s.query.Order.By == OrderSpread {
			x, y = y, x
		}
		return cmp.Compare(x.Free[place], y.Free[place])
	})
}

// shares returns the providers that can give a part of an amount. It returns none if those of an amount together have
// too little of it.
func (b *treeBuilder) shares(p *page, anchor *provider, fromRow int) (all []share) {
	s := b.search
	if len(s.splits) == 0 {
		return nil
	}
	for j, row := range b.usable {
		inventories := make([]*inventory, len(s.splits))
		gives := false
		for i := range s.splits {
			of := &s.slots[s.splits[i].slot]
			if !p.matches(of, &of.shared, row, anchor) {
				continue
			}
			if of := p.inventoryOf(row, s.splits[i].class); of.stepSize > 0 {
				inventories[i], gives = of, true
			}
		}
		if gives {
			b.place(p, j, fromRow)
			all = append(all, share{provider: int(b.places[j]), inventories: inventories})
		}
	}
	slices.SortFunc(all, func(x, y share) int {
		provider, other := &p.providers[b.rows[fromRow+x.provider]], &p.providers[b.rows[fromRow+y.provider]]
		return bytes.Compare(provider.uuid[:], other.uuid[:])
	})
	return all
}
