package combine

// Reset turns to another tree. It keeps nothing of it: the caller may reuse its memory
// as soon as it does not need it any more to make sense of Chosen.
func (s *Search) Reset(tree *Tree) {
	s.err, s.steps, s.found, s.fuel, s.depth = nil, 0, 0, Patience, -1
	s.dead.clear()
	if len(s.levels) == 0 {
		return
	}
	s.roots.reset(tree.Providers, s.plan.request.OneOfATree)
	if !s.collect(tree) {
		return
	}
	// A provider by itself is a subtree.
	s.subtrees = len(s.plan.families) > 0 && len(tree.Providers) > 1
	if s.subtrees {
		s.forest.reset(tree.Providers)
		for family := range s.plan.families {
			s.apexes[family] = apex{node: none}
		}
	}
	loose := s.constrain()
	if !loose {
		s.live = sized(s.live, len(s.place))
		s.flow.reset(len(tree.Providers))
		var ok bool
		if ok, loose = s.feasible(0); !ok {
			return
		}
		s.keepLive()
	}
	s.arrange()
	first := &s.levels[0]
	first.taken, first.loose, first.next, first.list = false, loose, 0, first.base
	first.steps, first.found = 0, 0
	s.depth = 0
}

// collect takes over the fits, and the room that they have for what is contested. It
// returns false if some want has no fit.
func (s *Search) collect(tree *Tree) bool {
	s.room = sized(s.room, len(tree.Providers)*len(s.plan.contests))
	clear(s.scarce)
	s.place, s.met = s.place[:0], s.met[:0]
	s.traits = s.plan.words > 0
	for i := range s.plan.kinds {
		k, d := &s.plan.kinds[i], &s.domains[i]
		d.start, d.rest = int32(len(s.place)), k.wants
		complete := true // every fit meets all sets of traits
		fits := tree.Fits[k.slot]
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

// suffices tells whether there is room for one want.
func suffices(fit *Fit, uses []use) bool {
	for i := range uses {
		if fit.free(uses[i].place) < uses[i].amount {
			return false
		}
	}
	return true
}

// free is what a candidate may take, by place in Want.Uses. It is less than a sum of
// amounts that no int64 can hold.
func (f *Fit) free(place int) int64 { return min(f.Free[place], infinite-1) }

// makeRoom notes what a provider has for the contests that the kind of wants is in.
func (s *Search) makeRoom(k *kind, fit *Fit) {
	for i := range k.demands {
		d := &k.demands[i]
		room := int64(1)
		switch {
		case d.place != isolation:
			room = fit.free(d.place)
			if room < s.plan.contests[d.contest].most {
				s.scarce[d.contest] = true
			}
		case d.byRoot && !s.roots.matter:
			continue
		default:
			s.scarce[d.contest] = true
		}
		*s.roomFor(d, int32(fit.Provider)) = room
	}
}

// meet notes which sets of traits the newest fit meets, and tells whether it is all.
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

// constrain finds out which constraints matter in this tree. It returns true if none
// does, so that any choice is as good as any other.
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
			if s.scarce[demand.contest] {
				s.demands = append(s.demands, demand)
				d.weight = add(d.weight, demand.units)
			}
		}
		d.demands = s.demands[from:]
		d.collective = s.traits && !k.suffixed
		d.rooted = s.roots.matter && len(k.uses) > 0
		d.families = nil
		if s.subtrees {
			d.families = k.families
		}
		d.free = len(d.demands) == 0 && len(d.families) == 0 && !d.collective && !d.rooted
		loose = loose && d.free
	}
	// Traits that nobody can meet are not met by a request of suffixed wants only.
	return loose && !s.traits
}

// keepLive forgets the fits that are impossible from the beginning.
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

// arrange puts the wants in order and lists the fits of each.
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

// before tells whether wants of one kind are decided before wants of another. First
// come those that can fail in ways which looking ahead does not see, because such a
// failure would be found again for every choice of the wants before them: those that
// meet traits together, members of families, and then those that take most of what is
// tight. What is left is mostly in one contest only, where no choice is a mistake. Of
// equals, those with fewer fits come first.
func (s *Search) before(kind, other int32) bool {
	d, o := &s.domains[kind], &s.domains[other]
	if d.collective != o.collective {
		return d.collective
	}
	if a, b := len(d.families) > 0, len(o.families) > 0; a != b {
		return a
	}
	if d.weight != o.weight && len(d.families) == 0 {
		return d.weight > o.weight
	}
	return d.end-d.start < o.end-o.start
}

// shuffle orders the fits of every want at random.
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
