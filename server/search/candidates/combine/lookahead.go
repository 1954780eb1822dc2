package combine

// feasible checks the undecided requirements after every choice. It finds the options that are still live for each of
// them, and returns false if it can prove that there is no solution:
//
//   - a requirement has no live option;
//   - traits: neither the choices nor any live option meet a set;
//   - subtrees: no provider can be the ancestor that a subtree set needs (subtree.go);
//   - constraints: the undecided requirements exceed the remaining capacity, even if
//     they could be split (constraints.go, and flow.go), or because too few of them fit on a provider (packing.go).
//
// Each of these is exact by itself, with two exceptions where an exact result is expensive: classes with different
// amounts (bin packing), and traits that more than two requirements must meet together (set cover). Several of them
// together are not exact. Each check sees only the options that the checks before it left, so undetected dead ends are
// rare; dead_ends.go handles these.
//
// loose is true if it can prove that every further choice among the live options leads to a solution: then no further
// lookahead is needed below.
func (s *Search) feasible(depth int) (ok, loose bool) {
	loose = true
	missing := s.traits && !s.covers(depth)
	for i := range s.domains {
		d := &s.domains[i]
		if d.rest == 0 || d.free {
			continue
		}
		live := s.live[d.start:d.start]
		for fit := d.start; fit < d.end; fit++ {
			if s.possible(d, s.place[fit]) {
				live = append(live, fit)
			}
		}
		if d.live = live; len(live) == 0 {
			return false, false
		}
		s.stepsToStop -= int(d.end-d.start) / 16
		loose = loose && !d.rooted && len(d.subtreeSets)+len(d.outsides) == 0
	}
	if missing {
		loose = false
		if !s.pruneTraitSets(depth) {
			return false, false
		}
	}
	if s.subtrees {
		s.stepsToStop -= len(s.plan.subtreeSets) / 16
		for family := range s.plan.subtreeSets {
			if !s.pruneSubtreeSet(family) {
				return false, false
			}
		}
	}
	enough, ample := s.capacitySuffices()
	return enough, loose && ample
}

// covers reports whether the choices above this depth meet all trait sets.
func (s *Search) covers(depth int) bool {
	covered := s.covered[depth*s.plan.words:]
	for i, all := range s.plan.all {
		if covered[i] != all {
			return false
		}
	}
	return true
}

// cover records, for the depth below, which trait sets are met once this option is chosen.
func (s *Search) cover(d *domain, fit int32) {
	words := s.plan.words
	above, below := s.covered[s.depth*words:(s.depth+1)*words], s.covered[(s.depth+1)*words:]
	copy(below, above)
	if d.collective {
		for i := range above {
			below[i] |= s.met[int(fit)*words+i]
		}
	}
}

// pruneTraitSets keeps the options with which all trait sets are met: by the option, by the choices, or by any other
// undecided requirement.
func (s *Search) pruneTraitSets(depth int) bool {
	words := s.plan.words
	s.union = s.union[:0]
	for i := range s.domains {
		d := &s.domains[i]
		if !d.collective || d.rest == 0 {
			continue
		}
		from := len(s.union)
		s.union = s.union[:from+words]
		clear(s.union[from:])
		for _, fit := range d.live {
			for w := range words {
				s.union[from+w] |= s.met[int(fit)*words+w]
			}
		}
	}
	if len(s.union) == 0 {
		return false
	}
	at := 0
	for i := range s.domains {
		d := &s.domains[i]
		if !d.collective || d.rest == 0 {
			continue
		}
		live := d.live[:0]
		for _, fit := range d.live {
			if s.completes(depth, fit, at, d.rest > 1) {
				live = append(live, fit)
			}
		}
		if d.live = live; len(live) == 0 {
			return false
		}
		at += words
	}
	return true
}

// completes reports whether an option meets the trait sets that neither the choices nor other requirements can meet. at
// is the index of its kind's union; alike is true if other requirements of the same kind are undecided.
func (s *Search) completes(depth int, fit int32, at int, alike bool) bool {
	words := s.plan.words
	for w, all := range s.plan.all {
		met := s.met[int(fit)*words+w] | s.covered[depth*words+w]
		for from := 0; from < len(s.union); from += words {
			if from != at || alike {
				met |= s.union[from+w]
			}
		}
		if met != all {
			return false
		}
	}
	return true
}
