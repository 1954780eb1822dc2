package combine

// entrant is a kind of wants that is looking for room in a contest: need for all its
// wants that are undecided, and the capacity that its live fits have together. Both
// are counted in units.
type entrant struct {
	kind           int32
	need, capacity int64
}

// enough tells whether each contest has room for the wants that are undecided. There
// is ample room if that will be so after any choice.
func (s *Search) enough() (ok, ample bool) {
	ample = true
	open := 0
	for _, contest := range s.tight {
		round, wants := s.gather(contest)
		if wants < 2 {
			continue // its live fits are those that have room
		}
		open++
		plenty, hopeless := false, false
		if !round.byRoot {
			plenty, hopeless = s.dismiss(round)
		}
		if hopeless || len(s.entrants) > 0 && !s.placeable(round) {
			return false, false
		}
		ample = ample && plenty
	}
	// With two contests, a choice can take the last room in one of them from a fit that
	// the other one counts on.
	return true, ample && open < 2
}

// round is a contest as it stands between the wants that are left.
type round struct {
	contest int32
	byRoot  bool
	// unit divides all amounts; uniform ones are one unit. total is what is needed.
	unit    int64
	uniform bool
	total   int64
}

// gather finds the entrants of a contest, and how many wants they stand for.
func (s *Search) gather(contest int32) (r round, wants int32) {
	c := &s.plan.contests[contest]
	r = round{contest: contest, byRoot: c.byRoot, unit: c.unit, uniform: true}
	if !c.uniform {
		r.unit = 0
		for _, m := range c.members {
			if s.domains[m.kind].rest > 0 {
				r.unit = gcd(r.unit, m.amount)
			}
		}
	}
	s.entrants = s.entrants[:0]
	for _, m := range c.members {
		d := &s.domains[m.kind]
		if d.rest == 0 {
			continue
		}
		need := times(m.amount/r.unit, d.rest)
		s.entrants = append(s.entrants, entrant{kind: m.kind, need: need})
		r.total = add(r.total, need)
		r.uniform = r.uniform && m.amount == r.unit
		wants += d.rest
	}
	return r, wants
}

// dismiss removes the entrants that are no problem. An entrant whose fits have
// capacity for all entrants can wait until the others are served, and there will be
// enough left for it. Without it less is needed in total, so that the next one may be
// no problem either. Mostly nobody remains.
//
// plenty means that all of them have capacity for all. If amounts are uniform this
// stays so, because a choice takes at most one unit from what an entrant can have, and
// one from what is needed.
func (s *Search) dismiss(r round) (plenty, hopeless bool) {
	plenty = r.uniform
	for i := range s.entrants {
		e := &s.entrants[i]
		e.capacity = s.capacity(&s.domains[e.kind], r)
		if e.capacity < e.need {
			return false, true
		}
		plenty = plenty && e.capacity >= r.total
	}
	total := r.total
	for before := -1; before != len(s.entrants); {
		before = len(s.entrants)
		kept := s.entrants[:0]
		for _, e := range s.entrants {
			if e.capacity >= total {
				total -= e.need
			} else {
				kept = append(kept, e)
			}
		}
		s.entrants = kept
	}
	return plenty, false
}

// capacity adds up what the live fits of a kind have room for, at most the total that
// is asked for.
func (s *Search) capacity(d *domain, r round) int64 {
	sum := int64(0)
	for _, fit := range d.live {
		if sum = add(sum, s.units(fit, r)); sum >= r.total {
			return r.total
		}
	}
	return sum
}

// units is the room of a fit. What is less than a unit is of no use to anybody.
func (s *Search) units(fit int32, r round) int64 {
	room := s.room[int(s.cell(fit, r.byRoot))*len(s.plan.contests)+int(r.contest)]
	if r.unit == 1 {
		return room
	}
	return room / r.unit
}

// cell is where the room of a fit is: its provider, or the root of that.
func (s *Search) cell(fit int32, byRoot bool) int32 {
	if byRoot {
		return s.roots.of[s.place[fit]]
	}
	return s.place[fit]
}

// placeable tells whether there is room for the remaining entrants at once.
func (s *Search) placeable(r round) bool {
	s.flow.begin()
	for _, e := range s.entrants {
		s.flow.source(e.need)
		for _, fit := range s.domains[e.kind].live {
			s.flow.edge(s.cell(fit, r.byRoot), s.units(fit, r))
		}
		s.fuel -= len(s.domains[e.kind].live) / 16
	}
	return s.flow.satisfiable()
}
