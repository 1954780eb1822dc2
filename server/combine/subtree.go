package combine

import (
	"cmp"
	"slices"
)

// none is no provider.
const none = -1

// forest holds what is known of ancestors: only those that are among the tree's
// providers count, as others cannot be chosen.
type forest struct {
	nodes []node
	// pass numbers the walks over the forest, so that no mark needs to be wiped.
	pass int
	// byID and ancestors serve reset; ends are those of each provider's ancestors.
	byID, ancestors, ends []int32
}

// node is a provider in the forest, with the marks of the last walks that came by.
type node struct {
	parent, depth int32
	// In the walk for a family: the number of kinds of its undecided wants with a live
	// fit here or below, and of undecided wants with a live fit here.
	family          int
	reached, takers int32
	// The last walk for a kind that came by, the last one whose kind has a live fit
	// here, and the last one for a family that has chosen providers here or below only.
	kind, self, above int
}

// apex is where the chosen providers of a family come together: their deepest common
// ancestor, or none if nothing is chosen. If that is itself chosen, they are a
// subtree already.
type apex struct {
	node   int32
	chosen bool
}

// reset finds the parents among these providers.
func (f *forest) reset(providers []Provider) {
	f.sortIDs(providers)
	f.nodes = sized(f.nodes, len(providers))
	f.ancestors, f.ends = f.ancestors[:0], f.ends[:0]
	f.pass = 0
	for i := range providers {
		from := len(f.ancestors)
		for _, id := range providers[i].Path {
			if at := f.find(providers, id); at != none && at != int32(i) {
				f.ancestors = append(f.ancestors, at)
			}
		}
		f.ends = append(f.ends, int32(len(f.ancestors)))
		f.nodes[i] = node{parent: none, depth: int32(len(f.ancestors) - from)}
	}
	from := int32(0)
	for i, end := range f.ends {
		// Ancestors are a chain, so the deepest of them is the parent.
		n := &f.nodes[i]
		for _, at := range f.ancestors[from:end] {
			if n.parent == none || f.nodes[at].depth > f.nodes[n.parent].depth {
				n.parent = at
			}
		}
		from = end
	}
}

// sortIDs makes find possible.
func (f *forest) sortIDs(providers []Provider) {
	f.byID = f.byID[:0]
	for i := range providers {
		f.byID = append(f.byID, int32(i))
	}
	slices.SortFunc(f.byID, func(a, b int32) int { return cmp.Compare(providers[a].ID, providers[b].ID) })
}

// find is the place of the provider with an id, or none.
func (f *forest) find(providers []Provider, id int64) int32 {
	at, found := slices.BinarySearchFunc(f.byID, id, func(place int32, id int64) int {
		return cmp.Compare(providers[place].ID, id)
	})
	if !found {
		return none
	}
	return f.byID[at]
}

// meet is the deepest common ancestor of two providers, or none.
func (f *forest) meet(a, b int32) int32 {
	for a != b && a != none {
		if f.nodes[a].depth < f.nodes[b].depth {
			a, b = b, a
		}
		a = f.nodes[a].parent
	}
	return a
}

// join notes, for the depth below, where the families come together once this provider
// is chosen.
func (s *Search) join(d *domain, place int32) {
	families := len(s.plan.families)
	above, below := s.apexes[s.depth*families:(s.depth+1)*families], s.apexes[(s.depth+1)*families:]
	copy(below, above)
	for _, family := range d.families {
		a := &below[family]
		if a.node == none {
			*a = apex{node: place, chosen: true}
			continue
		}
		met := s.forest.meet(a.node, place)
		*a = apex{node: met, chosen: met == place || met == a.node && a.chosen}
	}
}

// narrowFamily keeps the fits with which a family can become a subtree. For that, there
// must be a provider
//   - that is an ancestor of the fit, and of all providers that are chosen;
//   - below which every undecided want of the family has a live fit;
//   - and that is chosen, or is this fit, or is a live fit of another undecided want.
func (s *Search) narrowFamily(depth, family int) bool {
	apex := s.apexes[depth*len(s.plan.families)+family]
	pass, kinds := s.walkFamily(family, apex)
	if kinds == 0 {
		return true
	}
	f := &s.forest
	for _, kind := range s.plan.families[family] {
		d := &s.domains[kind]
		if d.rest == 0 {
			continue
		}
		f.pass++
		for _, fit := range d.live {
			f.nodes[s.place[fit]].self = f.pass
		}
		live := d.live[:0]
		for _, fit := range d.live {
			place := s.place[fit]
			for at := place; at != none; at = f.nodes[at].parent {
				n := &f.nodes[at]
				if n.reached < kinds || apex.node != none && n.above != pass {
					continue
				}
				takers := n.takers
				if n.self == f.pass {
					takers--
				}
				if at == place || takers > 0 || apex.chosen && at == apex.node {
					live = append(live, fit)
					break
				}
			}
		}
		if d.live = live; len(live) == 0 {
			return false
		}
	}
	return true
}

// walkFamily marks the nodes for a family: those above all that is chosen, and what
// its undecided kinds of wants, whose number it returns, can reach.
func (s *Search) walkFamily(family int, apex apex) (pass int, kinds int32) {
	f := &s.forest
	f.pass++
	pass = f.pass
	for at := apex.node; at != none; at = f.nodes[at].parent {
		f.nodes[at].above = pass
	}
	for _, kind := range s.plan.families[family] {
		d := &s.domains[kind]
		if d.rest == 0 {
			continue
		}
		kinds++
		f.pass++
		for _, fit := range d.live {
			place := s.place[fit]
			for at := place; at != none && f.nodes[at].kind != f.pass; at = f.nodes[at].parent {
				n := f.visit(at, pass)
				n.kind = f.pass
				n.reached++
			}
			f.nodes[place].takers += d.rest
		}
	}
	return pass, kinds
}

// visit is a node, its counts at zero if this walk comes by for the first time.
func (f *forest) visit(at int32, pass int) *node {
	n := &f.nodes[at]
	if n.family != pass {
		n.family, n.reached, n.takers = pass, 0, 0
	}
	return n
}
