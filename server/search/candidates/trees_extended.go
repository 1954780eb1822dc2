package candidates

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/candidates/combine"
)

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
