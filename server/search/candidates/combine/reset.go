package combine

import "slices"

// Reset starts the search of another tree. It keeps no reference to tree: the caller may reuse its memory as soon as it
// does not need it to interpret Chosen.
func (s *Search) Reset(tree *Tree) {
	s.err, s.steps, s.found, s.stepsToStop, s.depth = nil, 0, 0, StopInterval, -1
	s.dead.clear()
	s.symmetry.isKnown, s.providers = false, len(tree.Providers)
	if len(s.levels) == 0 {
		return
	}
	s.roots.reset(tree.Providers, s.plan.request.OneOfATree)
	if !s.collect(tree) {
		return
	}
	s.subtrees = len(s.plan.subtreeSets) > 0
	if s.subtrees {
		s.forest.reset(tree.Providers)
		s.replacedAncestors = s.replacedAncestors[:0]
		for family := range s.commonAncestors {
			s.commonAncestors[family] = commonAncestor{node: none}
		}
		for want := range s.places {
			s.places[want] = none
		}
	}
	loose := s.constrain()
	if !loose {
		s.live = sized(s.live, len(s.place))
		s.flow.reset(len(tree.Providers))
		s.packing.reset(len(tree.Providers))
		var ok bool
		if ok, loose = s.feasible(0); !ok {
			return
		}
		s.keepLive()
	}
	s.arrange()
	first := &s.levels[0]
	first.taken, first.unconstrained, first.next, first.list = false, loose, 0, first.base
	first.steps, first.found, first.failed = 0, 0, none
	s.depth = 0
}

// collect copies the options, and their capacity for the constraints. It returns false if a requirement has no option.
func (s *Search) collect(tree *Tree) bool {
	s.room = sized(s.room, len(tree.Providers)*len(s.plan.constraints))
	clear(s.room)
	clear(s.scarce)
	s.place, s.met = s.place[:0], s.met[:0]
	s.traits = s.plan.words > 0
	for i := range s.plan.kinds {
		k, d := &s.plan.kinds[i], &s.domains[i]
		d.start, d.rest = int32(len(s.place)), k.wants
		complete := true // every option meets all trait sets
		fits := tree.Options[k.slot]
		for j := range fits {
			fit := &fits[j]
			if !suffices(fit, k.uses) {
				continue
			}
			s.place = append(s.place, int32(fit.Provider))
			s.makeRoom(k, fit)
			if s.plan.words > 0 {
				complete = s.meet(fit.Met) && complete
			}
		}
		d.end = int32(len(s.place))
		if d.start == d.end {
			return false
		}
		if complete && !k.suffixed {
			s.traits = false
		}
	}
	return true
}

// suffices reports whether the free capacity suffices for one requirement.
func suffices(fit *Option, uses []use) bool {
	for i := range uses {
		if fit.free(uses[i].place) < uses[i].amount {
			return false
		}
	}
	return true
}

// free returns what a candidate may allocate, by index in Requirement.Uses. It is less than infinite.
func (f *Option) free(place int) int64 { return min(f.Free[place], infinite-1) }

// makeRoom records the capacity of a provider for the constraints of a kind.
func (s *Search) makeRoom(k *kind, fit *Option) {
	for i := range k.demands {
		d := &k.demands[i]
		room := int64(1)
		switch {
		case d.place != isolation:
			room = fit.free(d.place)
			if room < s.plan.constraints[d.constraint].most {
				s.scarce[d.constraint] = true
			}
		case d.byRoot && !s.roots.matter:
			continue
		default:
			s.scarce[d.constraint] = true
		}
		*s.roomFor(d, int32(fit.Provider)) = room
	}
}

// meet records which trait sets the newest option meets, and reports whether these are all.
func (s *Search) meet(sets []int32) bool {
	from := len(s.met)
	for range s.plan.words {
		s.met = append(s.met, 0)
	}
	for _, set := range sets {
		s.met[from+int(set)/64] |= 1 << (set % 64)
	}
	for i, all := range s.plan.all {
		if s.met[from+i] != all {
			return false
		}
	}
	return true
}

// constrain determines which constraints matter in this tree. It returns true if none does, so that every choice leads
// to a solution.
func (s *Search) constrain() bool {
	s.tight, s.demands = s.tight[:0], s.demands[:0]
	for contest, scarce := range s.scarce {
		if scarce {
			s.tight = append(s.tight, int32(contest))
		}
	}
	loose := true
	for i := range s.domains {
		k, d := &s.plan.kinds[i], &s.domains[i]
		from := len(s.demands)
		d.weight = 0
		for _, demand := range k.demands {
			if s.scarce[demand.constraint] {
				s.demands = append(s.demands, demand)
				d.weight = add(d.weight, demand.units)
			}
		}
		d.demands = s.demands[from:]
		d.collective = s.traits && !k.suffixed
		d.rooted = s.roots.matter && len(k.uses) > 0
		d.subtreeSets, d.outsides = nil, nil
		if s.subtrees {
			d.subtreeSets, d.outsides = k.subtreeSets, k.outsides
		}
		d.free = len(d.demands) == 0 && len(d.subtreeSets)+len(d.outsides) == 0 && !d.collective && !d.rooted
		loose = loose && d.free
	}
	// A request of suffixed requirements only meets no traits of Sets.
	return loose && !s.traits
}

// keepLive removes the options that are impossible from the beginning.
func (s *Search) keepLive() {
	words := s.plan.words
	for i := range s.domains {
		d := &s.domains[i]
		if d.free {
			continue
		}
		for j, fit := range d.live {
			to := int(d.start) + j
			s.place[to] = s.place[fit]
			copy(s.met[to*words:(to+1)*words], s.met[int(fit)*words:])
		}
		d.end = d.start + int32(len(d.live))
	}
}

// arrange orders the requirements and lists the options of each.
func (s *Search) arrange() {
	total := 0
	for want, kind := range s.plan.kindOf {
		d := &s.domains[kind]
		total += int(d.end - d.start)
		to := want
		for ; to > 0 && s.before(kind, s.levels[to-1].kind); to-- {
			s.levels[to].want, s.levels[to].kind = s.levels[to-1].want, s.levels[to-1].kind
		}
		s.levels[to].want, s.levels[to].kind = int32(want), kind
	}
	if first := s.plan.request.First; first != nil {
		at := slices.IndexFunc(s.levels, func(l level) bool { return int(l.want) == *first })
		for to := s.levels[at]; at > 0; at-- {
			s.levels[at].want, s.levels[at].kind = s.levels[at-1].want, s.levels[at-1].kind
			s.levels[at-1].want, s.levels[at-1].kind = to.want, to.kind
		}
	}
	for i := len(s.identity); i < len(s.place); i++ {
		s.identity = append(s.identity, int32(i))
	}
	s.lists = sized(s.lists, total)
	free := s.lists
	for i := range s.levels {
		l := &s.levels[i]
		d := &s.domains[l.kind]
		l.base = s.identity[d.start:d.end]
		l.narrow, free = free[:len(l.base)], free[len(l.base):]
	}
	if s.plan.request.Shuffle != nil {
		s.shuffle(total)
	}
}

// before reports whether requirements of one kind are decided before those of another. The order puts first those that
// can fail without detection by the lookahead, because the search would repeat such a failure for every choice of the
// requirements before them. These are requirements that meet traits together, then members of subtree sets, then those
// with the largest demands in scarce constraints. The remaining ones are mostly in one constraint only, where no choice
// is wrong. Of equals, those with fewer options come first.
func (s *Search) before(kind, other int32) bool {
	d, o := &s.domains[kind], &s.domains[other]
	if d.collective != o.collective {
		return d.collective
	}
	if a, b := len(d.subtreeSets) > 0, len(o.subtreeSets) > 0; a != b {
		return a
	}
	if d.weight != o.weight && len(d.subtreeSets) == 0 {
		return d.weight > o.weight
	}
	return d.end-d.start < o.end-o.start
}

// shuffle orders the options of every requirement at random.
func (s *Search) shuffle(total int) {
	s.permuted = sized(s.permuted, total)
	s.marks = sized(s.marks, len(s.place))
	clear(s.marks)
	s.mark = 0
	free := s.permuted
	for i := range s.levels {
		l := &s.levels[i]
		n := copy(free, l.base)
		l.base, free = free[:n], free[n:]
		s.plan.request.Shuffle.Shuffle(n, func(a, b int) { l.base[a], l.base[b] = l.base[b], l.base[a] })
	}
}

// sized returns a slice of this length, with any content.
func sized[T any](s []T, length int) []T {
	if cap(s) < length {
		return make([]T, length, length+length/2)
	}
	return s[:length]
}
