package combine

// After every choice, feasible looks at the wants that are left. It finds the fits that
// are still live for each of them, and gives up where it can prove that there is no
// solution:
//
//   - a want has no live fit;
//   - traits: a set is met neither by what is chosen nor by any live fit;
//   - subtrees: no provider can be the ancestor that a family needs (subtree.go);
//   - contests: the wants that are left do not fit in the room that is left, even if
//     they could be split (contests.go, and flow.go).
//
// Each of these is exact by itself, with two exceptions where an exact answer is hard to
// have: classes that are asked for in different amounts (packing bins), and traits that
// more than two wants must meet together (covering sets). Several of them together are
// not exact. Fits that a check rules out are gone when the next one looks, which makes
// the rest rare; dead.go is for that rest.
//
// loose is true if it can prove that there is a solution, whatever is chosen from here
// on among what is possible: then nobody need look again further down.
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
		s.fuel -= int(d.end-d.start) / 16
		loose = loose && !d.rooted && len(d.families) == 0
	}
	if missing {
		loose = false
		if !s.narrowTraits(depth) {
			return false, false
		}
	}
	if s.subtrees {
		for family := range s.plan.families {
			if !s.narrowFamily(depth, family) {
				return false, false
			}
		}
	}
	enough, ample := s.enough()
	return enough, loose && ample
}

// covers tells whether all sets of traits are met by what is chosen above this depth.
func (s *Search) covers(depth int) bool {
	covered := s.covered[depth*s.plan.words:]
	for i, all := range s.plan.all {
		if covered[i] != all {
			return false
		}
	}
	return true
}

// cover notes, for the depth below, which sets of traits are met once this fit is
// chosen.
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

// narrowTraits keeps the fits whose sets of traits, with those that are met already
// and those that any other undecided want can meet, are all.
func (s *Search) narrowTraits(depth int) bool {
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

// completes tells whether a fit meets the sets of traits that neither what is chosen
// nor others can meet. The kind of its want has its union at this place; others of the
// same kind may be left.
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
