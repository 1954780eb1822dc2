package candidates

import "math"

// placementBound is an upper bound of the members that any placement has. Each requirement of a member is served by one
// provider, so the members are at most those that all providers together can serve with one requirement. A provider that
// several trees can use counts once; those of a tree count up to the most members of the tree.
type placementBound struct {
	// members is the sum of the most members of each tree; sums are by requirement.
	members int64
	sums    []int64
	seen    map[servedBy]bool
}

// servedBy is a requirement and a provider that can serve it.
type servedBy struct {
	want     int
	provider int64
}

// addToBound adds a tree that has at most a number of members. It is only needed if providers share.
func (p *placer) addToBound(tree *candidateTree, limit int) {
	s := p.search
	if !s.ids.sharing {
		return
	}
	if p.upper.sums == nil {
		p.upper = placementBound{sums: make([]int64, len(s.asked.Requirements)), seen: map[servedBy]bool{}}
	}
	taken := p.taken
	p.taken = usage{}
	defer func() { p.taken = taken }()
	most := int64(p.bound(tree, limit))
	p.upper.members = sumOf(p.upper.members, most)
	for want := range s.asked.Requirements {
		sum := &p.upper.sums[want]
		if s.splitOf(want) >= 0 {
			*sum = sumOf(*sum, most)
			continue
		}
		own := int64(0)
		slot := s.asked.Requirements[want].Slot
		for i, option := range tree.Options[slot] {
			provider := &tree.Providers[option.Provider]
			key := servedBy{want, provider.ID}
			switch count := p.countOn(tree, slot, want, i); {
			case !provider.Shared:
				own = sumOf(own, count)
			case most > 0 && !p.upper.seen[key]:
				p.upper.seen[key] = true
				*sum = sumOf(*sum, count)
			}
		}
		*sum = sumOf(*sum, min(own, most))
	}
}

// countOn returns for how many members an option of a tree can serve a requirement.
func (p *placer) countOn(tree *candidateTree, slot, want, option int) int64 {
	count := int64(math.MaxInt64)
	for _, use := range p.search.asked.Requirements[want].Uses {
		if use.Amount > 0 {
			count = min(count, max(0, p.freeOf(tree, tree.Options[slot][option].Provider, use.Class)/use.Amount))
		}
	}
	return count
}

// atMost returns the number of members that no placement exceeds, up to those wanted.
func (p *placer) atMost() int {
	most := min(int64(p.wanted), p.upper.members)
	for _, sum := range p.upper.sums {
		most = min(most, sum)
	}
	return int(most)
}

// mayPlaceMore reports whether an exhaustiveSearch can place more members. A class that several providers of a tree can share
// is divided only if no provider has the whole amount, so members must not leave a provider to others for it.
func (p *placer) mayPlaceMore() bool {
	if len(p.members) == p.wanted || p.isExact || p.relation == RelationTogether || !p.search.ids.sharing {
		return false
	}
	p.isExact = len(p.members) >= p.atMost()
	return !p.isExact && len(p.search.splits) == 0
}
