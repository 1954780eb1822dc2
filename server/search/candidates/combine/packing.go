package combine

// packing proves that requirements of different amounts cannot be packed into the remaining capacity, where the sums
// suffice: three requirements of 3 units fit on a provider of 10, and no fourth one.
type packing struct {
	// left is, by provider, what it has left in the current pass, if seen is that pass.
	left []int64
	seen []int
	pass int
}

// reset prepares for a number of providers.
func (p *packing) reset(providers int) {
	p.left, p.seen = sized(p.left, providers), sized(p.seen, providers)
	clear(p.seen)
	p.pass = 0
}

// maxPackedAmounts limits the work for requirements with many different amounts.
const maxPackedAmounts = 16

// packs returns false if it can prove that the undecided requirements of a constraint do not fit. For each amount, the
// requirements of at least this amount must not be more than the providers can serve: each serves the most if it takes the
// smallest ones first. So must those of exactly this amount.
func (s *Search) packs(r constraintState) bool {
	kinds := s.plan.constraints[r.constraint].ascending
	if len(kinds) > maxPackedAmounts {
		return true
	}
	for from := range kinds {
		if s.domains[kinds[from].kind].rest > 0 && !s.packsFrom(r, kinds[from:]) {
			return false
		}
	}
	return true
}

// packsFrom checks the requirements of some kinds, the smallest amounts first.
func (s *Search) packsFrom(r constraintState, kinds []member) bool {
	p := &s.packing
	p.pass++
	wanted, served := int64(0), int64(0)
	for i, m := range kinds {
		d := &s.domains[m.kind]
		if d.rest == 0 {
			continue
		}
		wanted += int64(d.rest)
		for _, fit := range d.live {
			place := s.place[fit]
			if p.seen[place] != p.pass {
				p.seen[place], p.left[place] = p.pass, s.roomOf(place, r.constraint)
			}
			count := min(int64(d.rest), p.left[place]/m.amount)
			p.left[place] -= count * m.amount
			served += count
		}
		s.stepsToStop -= len(d.live) / 16
		if i == 0 && served < wanted {
			return false
		}
	}
	return served >= wanted
}
