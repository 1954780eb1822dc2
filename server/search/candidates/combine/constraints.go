package combine

// pendingDemand is the demand of one kind of requirements in a constraint: need for all its undecided requirements, and
// the capacity that its live options have together. Both are in units.
type pendingDemand struct {
	kind           int32
	need, capacity int64
}

// capacitySuffices reports whether each constraint has capacity for the undecided requirements. ample is true if that
// holds after any choice.
func (s *Search) capacitySuffices() (ok, ample bool) {
	ample = true
	open := 0
	s.stepsToStop -= len(s.tight) / 16
	for _, contest := range s.tight {
		round, wants := s.collectDemands(contest)
		if wants < 2 {
			continue // its live options are those with capacity
		}
		open++
		plenty, hopeless := false, false
		if !round.byRoot {
			plenty, hopeless = s.dropSatisfied(round)
		}
		if hopeless || len(s.pendingDemands) > 0 && !s.flowFeasible(round) || !round.uniform && !s.packs(round) {
			return false, false
		}
		ample = ample && plenty
	}
	// With two constraints, a choice can use the last capacity of one of them that an option for the other one depends
	// on.
	return true, ample && open < 2
}

// constraintState is the remaining demand and capacity of a constraint.
type constraintState struct {
	constraint int32
	byRoot     bool
	// unit divides all amounts; uniform ones are one unit. total is the sum of all needs.
	unit    int64
	uniform bool
	total   int64
}

// collectDemands returns the pending demands of a constraint, and the number of their requirements.
func (s *Search) collectDemands(contest int32) (r constraintState, wants int32) {
	c := &s.plan.constraints[contest]
	r = constraintState{constraint: contest, byRoot: c.byRoot, unit: c.unit, uniform: true}
	if !c.uniform {
		r.unit = 0
		for _, m := range c.members {
			if s.domains[m.kind].rest > 0 {
				r.unit = gcd(r.unit, m.amount)
			}
		}
	}
	s.pendingDemands = s.pendingDemands[:0]
	for _, m := range c.members {
		d := &s.domains[m.kind]
		if d.rest == 0 {
			continue
		}
		need := times(m.amount/r.unit, d.rest)
		s.pendingDemands = append(s.pendingDemands, pendingDemand{kind: m.kind, need: need})
		r.total = add(r.total, need)
		r.uniform = r.uniform && m.amount == r.unit
		wants += d.rest
	}
	return r, wants
}

// dropSatisfied removes the demands that cannot fail. If the options of a demand have capacity for all demands, enough
// remains for it after the others are satisfied. Without it the total is smaller, so that the next one may be satisfied
// too. Mostly none remains.
//
// plenty means that each of them has capacity for all. If amounts are uniform this stays true, because a choice uses at
// most one unit of the capacity of a demand, and one of the total need.
func (s *Search) dropSatisfied(r constraintState) (plenty, hopeless bool) {
	plenty = r.uniform
	for i := range s.pendingDemands {
		e := &s.pendingDemands[i]
		e.capacity = s.capacity(&s.domains[e.kind], r)
		if e.capacity < e.need {
			return false, true
		}
		plenty = plenty && e.capacity >= r.total
	}
	total := r.total
	for before := -1; before != len(s.pendingDemands); {
		before = len(s.pendingDemands)
		kept := s.pendingDemands[:0]
		for _, e := range s.pendingDemands {
			if e.capacity >= total {
				total -= e.need
			} else {
				kept = append(kept, e)
			}
		}
		s.pendingDemands = kept
	}
	return plenty, false
}

// capacity returns the sum of the capacity of a kind's live options, at most the total need.
func (s *Search) capacity(d *domain, r constraintState) int64 {
	sum := int64(0)
	for _, fit := range d.live {
		if sum = add(sum, s.units(fit, r)); sum >= r.total {
			return r.total
		}
	}
	return sum
}

// units returns the capacity of an option in whole units. A remainder below one unit is useless.
func (s *Search) units(fit int32, r constraintState) int64 {
	room := s.room[int(s.cell(fit, r.byRoot))*len(s.plan.constraints)+int(r.constraint)]
	if r.unit == 1 {
		return room
	}
	return room / r.unit
}

// cell returns the place of an option's capacity: its provider, or the root of its tree.
func (s *Search) cell(fit int32, byRoot bool) int32 {
	if byRoot {
		return s.roots.of[s.place[fit]]
	}
	return s.place[fit]
}

// flowFeasible reports whether the capacity suffices for all remaining demands at once.
func (s *Search) flowFeasible(r constraintState) bool {
	s.flow.begin()
	for _, e := range s.pendingDemands {
		s.flow.source(e.need)
		for _, fit := range s.domains[e.kind].live {
			s.flow.edge(s.cell(fit, r.byRoot), s.units(fit, r))
		}
		s.stepsToStop -= len(s.domains[e.kind].live) / 16
	}
	return s.flow.satisfiable()
}
