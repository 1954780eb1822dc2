package candidates

import (
	"math"
	"slices"
)

// fitSums sums up the free capacity of the providers that can serve the members of a query.
type fitSums struct {
	classes []summedClass
	// seen are the inventories of providers that several trees can use.
	seen map[usedClass]bool
	// usable are the providers that a tree can use.
	usable treeBuilder
}

// summedClass is the sums of a class of the query.
type summedClass struct {
	id int32
	// asks are the requirements for the class, by slot and amount. isDivided is true if the class alone does not determine how many
	// members a provider can serve: several requirements, or several providers, share what it has.
	asks      []requestedAmount
	isDivided bool
	amount    int64
	// free and units are the sums of what is free and of how many members it serves.
	free, units int64
}

// requestedAmount is an amount of a class for which a slot asks. isPart is true if a provider can give a part of it.
type requestedAmount struct {
	slot   int
	amount int64
	isPart bool
}

// countClasses lists the classes of the query in its order.
func (f *fit) countClasses() {
	for i := range f.search.query.Groups {
		for _, wanted := range f.search.query.Groups[i].Resources {
			at := slices.IndexFunc(f.found.Classes, func(c FitClass) bool { return c.Class == wanted.Class })
			if at < 0 {
				at = len(f.found.Classes)
				f.found.Classes = append(f.found.Classes, FitClass{Class: wanted.Class})
			}
			f.found.Classes[at].Amount += wanted.Amount
		}
	}
}

// begin lists the classes of a search, in the order of countClasses, and what asks for them.
func (c *fitSums) begin(s *candidateSearch) {
	c.seen, c.usable.search = map[usedClass]bool{}, s
	for i := range s.wants {
		want := &s.asked.Requirements[i]
		for _, use := range want.Uses {
			at := slices.IndexFunc(c.classes, func(of summedClass) bool { return of.id == use.Class })
			if at < 0 {
				at = len(c.classes)
				c.classes = append(c.classes, summedClass{id: use.Class})
			}
			of, isPart := &c.classes[at], s.splitOf(i) >= 0
			of.isDivided = of.isDivided || len(of.asks) > 0 || isPart
			of.asks = append(of.asks, requestedAmount{slot: want.Slot, amount: use.Amount, isPart: isPart})
			of.amount += use.Amount
		}
	}
}

// addSums adds the providers that a tree can use, those of a copied tree as often as there are copies.
func (f *fit) addSums(p *page, root, copies int64) {
	c, s, anchor := &f.sums, f.search, p.tree(root)
	c.usable.collectUsable(p, root, anchor.tree)
	for i := range c.classes {
		of := &c.classes[i]
		for _, row := range c.usable.usable {
			provider := &p.providers[row]
			key := usedClass{provider.id, of.id}
			set, has := f.settings[key]
			if !has || !of.canServe(s, p, row, anchor, &set) {
				continue
			}
			times, isOwnCopy := copies, f.isCopy && provider.root == root
			if s.isSharing(p, provider) && !isOwnCopy {
				if c.seen[key] {
					continue
				}
				c.seen[key], times = true, 1
			}
			free := max(0, p.inventoryOf(row, of.id).unused())
			of.free = sumOf(of.free, productOf(free, times))
			of.units = sumOf(of.units, productOf(free/max(1, of.amount), times))
		}
	}
}

// canServe reports whether a provider meets the conditions of a requirement for the class, and has units that permit its amount.
func (c *summedClass) canServe(s *candidateSearch, p *page, row int32, anchor *provider, set *fitSettings) bool {
	return slices.ContainsFunc(c.asks, func(ask requestedAmount) bool {
		permits := ask.isPart || set.MinUnit <= ask.amount && ask.amount <= set.MaxUnit && ask.amount%set.StepSize == 0
		return permits && p.matches(&s.slots[ask.slot], &bits{}, row, anchor)
	})
}

// finish completes the result: the limits of classes, and the upper bound.
func (f *fit) finish() {
	if f.found.Stopped != StoppedAtEnd {
		return
	}
	f.found.AtMost = f.most
	for i := range f.sums.classes {
		of, to := &f.sums.classes[i], &f.found.Classes[i]
		to.Free, to.Limit = of.free, of.units
		if of.isDivided {
			to.Limit = of.free / max(1, of.amount)
		}
		f.found.AtMost = min(f.found.AtMost, to.Limit)
	}
	if len(f.sums.classes) == 0 {
		f.found.AtMost = 0
	}
	f.found.AtMost = min(f.found.AtMost, math.MaxInt64)
}
