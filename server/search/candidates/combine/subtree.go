package combine

import (
	"cmp"
	"slices"
)

// none stands for no provider.
const none = -1

// forest is the ancestors of the tree's providers. It contains only providers of the tree, because the search cannot
// choose others.
type forest struct {
	nodes []node
	// pass numbers the walks over the forest, so that marks need no reset.
	pass int
	// byID and ancestors are buffers of reset; ends are the ends of each provider's ancestors.
	byID, ancestors, ends []int32
}

// node is a provider in the forest, with the marks of the last walks that visited it.
type node struct {
	parent, depth int32
	// family is the last walk for a subtree set. In it, reached is the number of kinds of undecided requirements with a
	// live option here or below, and takers that of undecided requirements with a live option here.
	family          int
	reached, takers int32
	// The last walk for a kind that visited this node, the last one whose kind has a live option here, and the last one
	// for a subtree set whose chosen providers are all here or below.
	kind, self, above int
}

// commonAncestor is the deepest common ancestor of the chosen providers of a subtree set, or none if nothing is chosen.
// If it is itself chosen, they are a subtree already.
type commonAncestor struct {
	node   int32
	chosen bool
}

// replacedAncestor is what a common ancestor was before a choice.
type replacedAncestor struct {
	family int32
	before commonAncestor
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

// sortIDs sorts the providers by id for find.
func (f *forest) sortIDs(providers []Provider) {
	f.byID = f.byID[:0]
	for i := range providers {
		f.byID = append(f.byID, int32(i))
	}
	slices.SortFunc(f.byID, func(a, b int32) int { return cmp.Compare(providers[a].ID, providers[b].ID) })
}

// find returns the index of the provider with an id, or none.
func (f *forest) find(providers []Provider, id int64) int32 {
	at, found := slices.BinarySearchFunc(f.byID, id, func(place int32, id int64) int {
		return cmp.Compare(providers[place].ID, id)
	})
	if !found {
		return none
	}
	return f.byID[at]
}

// meet returns the deepest common ancestor of two providers, or none.
func (f *forest) meet(a, b int32) int32 {
	for a != b && a != none {
		if f.nodes[a].depth < f.nodes[b].depth {
			a, b = b, a
		}
		a = f.nodes[a].parent
	}
	return a
}

// join updates the common ancestors of the subtree sets of a requirement once this provider is chosen for it.
func (s *Search) join(at *level, d *domain, place int32) {
	at.replaced = len(s.replacedAncestors)
	s.places[at.want] = place
	for _, family := range d.subtreeSets {
		a := &s.commonAncestors[family]
		s.replacedAncestors = append(s.replacedAncestors, replacedAncestor{family, *a})
		if a.node == none {
			*a = commonAncestor{node: place, chosen: true}
			continue
		}
		met := s.forest.meet(a.node, place)
		*a = commonAncestor{node: met, chosen: met == place || met == a.node && a.chosen}
	}
}

// part undoes join.
func (s *Search) part(at *level) {
	s.places[at.want] = none
	for i := len(s.replacedAncestors) - 1; i >= at.replaced; i-- {
		s.commonAncestors[s.replacedAncestors[i].family] = s.replacedAncestors[i].before
	}
	s.replacedAncestors = s.replacedAncestors[:at.replaced]
}

// pruneSubtreeSet keeps the options with which a subtree set can become a subtree. For that, there must be a provider
//   - that is an ancestor of the option, and of all chosen providers;
//   - below which every undecided requirement of the set has a live option;
//   - and that is chosen, or is this option, or is a live option of another undecided requirement.
func (s *Search) pruneSubtreeSet(family int) bool {
	common := s.commonAncestors[family]
	if len(s.plan.subtreeSets[family].outside) > 0 && !s.pruneOutside(&s.plan.subtreeSets[family], common.node) {
		return false
	}
	pass, kinds := s.markSubtreeSet(family, common)
	if kinds == 0 {
		return true
	}
	f := &s.forest
	for _, kind := range s.plan.subtreeSets[family].inside {
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
				if n.reached < kinds || common.node != none && n.above != pass {
					continue
				}
				takers := n.takers
				if n.self == f.pass {
					takers--
				}
				if at == place || takers > 0 || common.chosen && at == common.node {
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

// pruneOutside keeps the options with which the requirements of a subtree set can be outside of it. The common ancestor
// of those chosen for its inside only moves up, so what is at or below it never gets outside.
func (s *Search) pruneOutside(set *subtreeSet, common int32) bool {
	s.outside = s.chosenOutside(s.outside[:0], set)
	f := &s.forest
	reaches := func(top int32) bool {
		return slices.ContainsFunc(s.outside, func(place int32) bool { return f.isAtOrBelow(place, top) })
	}
	if common != none && reaches(common) {
		return false
	}
	for _, kind := range set.outside {
		if common != none && !s.keepOptions(kind, func(place int32) bool { return !f.isAtOrBelow(place, common) }) {
			return false
		}
	}
	for _, kind := range set.inside {
		if len(s.outside) > 0 && !s.keepOptions(kind, func(place int32) bool {
			if common != none {
				place = f.meet(common, place)
			}
			return place != none && !reaches(place)
		}) {
			return false
		}
	}
	return true
}

// keepOptions removes live options of a kind that is undecided. It returns false if none remains.
func (s *Search) keepOptions(kind int32, keeps func(place int32) bool) bool {
	d := &s.domains[kind]
	if d.rest == 0 {
		return true
	}
	d.live = slices.DeleteFunc(d.live, func(fit int32) bool { return !keeps(s.place[fit]) })
	return len(d.live) > 0
}

// chosenOutside appends the providers that are chosen for the outside of a subtree set.
func (s *Search) chosenOutside(to []int32, set *subtreeSet) []int32 {
	for _, want := range set.outsideWants {
		if place := s.places[want]; place != none {
			to = append(to, place)
		}
	}
	return to
}

// isAtOrBelow reports whether a provider is the given one or a descendant of it.
func (f *forest) isAtOrBelow(place, top int32) bool {
	for place != none && place != top && f.nodes[place].depth > f.nodes[top].depth {
		place = f.nodes[place].parent
	}
	return place == top
}

// markSubtreeSet marks the nodes for a subtree set: those above all chosen providers, and those that the options of its
// undecided kinds reach. It returns the number of these kinds.
func (s *Search) markSubtreeSet(family int, common commonAncestor) (pass int, kinds int32) {
	f := &s.forest
	f.pass++
	pass = f.pass
	for at := common.node; at != none; at = f.nodes[at].parent {
		f.nodes[at].above = pass
	}
	for _, kind := range s.plan.subtreeSets[family].inside {
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

// visit returns a node, with its counts reset to zero on the first visit of this walk.
func (f *forest) visit(at int32, pass int) *node {
	n := &f.nodes[at]
	if n.family != pass {
		n.family, n.reached, n.takers = pass, 0, 0
	}
	return n
}
