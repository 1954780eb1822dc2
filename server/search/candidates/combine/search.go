package combine

// StopInterval is the number of steps, or of equivalent other work, after which the search calls Request.Stop. It never
// calls Stop for a tree that needs fewer.
const StopInterval = 1024

// Search iterates over the solutions of one tree after the other. It may be paused between two calls of Next for any
// time.
type Search struct {
	plan *Plan
	err  error

	// levels are the choices to make, in their order. depth is the current level, or -1 after the last solution.
	levels      []level
	depth       int
	chosen      []int
	steps       int
	found       int
	stepsToStop int

	// domains are the options by kind of requirements. The slices below them are by option: the provider, and the trait
	// sets that it meets.
	domains []domain
	place   []int32
	met     []uint64
	// room is the remaining capacity, by provider and constraint. providers is their number.
	room      []int64
	providers int
	// scarce marks, by constraint, those whose capacity this tree could exhaust. tight lists them, and demands are
	// those of the kinds in them.
	scarce  []bool
	tight   []int32
	demands []demand

	roots  roots
	forest forest
	// traits and subtrees are true if Sets and Subtrees matter in this tree.
	traits, subtrees bool
	// covered are the trait sets that are met, by depth.
	covered []uint64
	// commonAncestors are those of the chosen providers of each subtree set; places are the chosen providers by
	// requirement, or none. replacedAncestors undo the choices, so that memory does not grow with requirements times sets.
	commonAncestors   []commonAncestor
	replacedAncestors []replacedAncestor
	places            []int32

	memory
}

// domain is the state of a kind of requirements in a search.
type domain struct {
	// Its options are those from start to end; live are those that the last lookahead found possible.
	start, end int32
	live       []int32
	// rest is the number of undecided requirements.
	rest int32
	// demands are those in scarce constraints; weight is their sum in units.
	demands []demand
	weight  int64
	// collective is true if its requirements are unsuffixed and have to meet trait sets. rooted is true if its
	// requirements use resources of only one provider in a tree.
	collective, rooted bool
	// It belongs to the insides of subtreeSets, and to the outsides of outsides.
	subtreeSets, outsides []int32
	// free is true if no choice for other requirements affects its options.
	free bool
}

// level is the choice for one requirement.
type level struct {
	want, kind int32
	taken      bool
	// unconstrained is true if no choice from here on can lead to a dead end.
	unconstrained bool
	next          int
	list          []int32
	// base are all options; narrow has capacity for as many.
	base, narrow []int32
	// replaced is the number of replaced ancestors before the choice.
	replaced int
	// steps and found are the counters at the time when the search reached this level, foundBefore is that at the time of
	// the choice. failed is the last option without a solution, or none.
	steps, found, foundBefore int
	failed                    int32
}

// memory is kept from one tree to the next.
type memory struct {
	identity       []int32 // 0, 1, 2, …
	permuted       []int32
	lists          []int32
	live           []int32
	union          []uint64
	outside        []int32
	marks          []int
	mark           int
	pendingDemands []pendingDemand
	flow           flow
	dead           deadEnds
	symmetry       symmetry
	packing        packing
}

// NewSearch returns a search without a tree: Reset sets one.
func (p *Plan) NewSearch() *Search {
	wants, kinds := len(p.request.Requirements), len(p.kinds)
	demands, members := 0, 0
	for _, k := range p.kinds {
		demands += len(k.demands)
	}
	for _, c := range p.constraints {
		members = max(members, len(c.members))
	}
	s := &Search{
		plan:            p,
		depth:           -1,
		levels:          make([]level, wants),
		chosen:          make([]int, wants),
		domains:         make([]domain, kinds),
		scarce:          make([]bool, len(p.constraints)),
		tight:           make([]int32, 0, len(p.constraints)),
		demands:         make([]demand, 0, demands),
		covered:         make([]uint64, (wants+1)*p.words),
		commonAncestors: make([]commonAncestor, len(p.subtreeSets)),
	}
	if len(p.subtreeSets) > 0 {
		s.places = make([]int32, wants)
	}
	s.dead.minDeadEndSteps = minDeadEndSteps
	s.union = make([]uint64, kinds*p.words)
	s.pendingDemands = make([]pendingDemand, 0, members)
	return s
}

// Next finds the next solution. It returns false when there is none, or when Request.Stop ended the search; Err
// distinguishes them.
func (s *Search) Next() bool {
	for s.depth >= 0 {
		at := &s.levels[s.depth]
		if at.taken {
			s.untake(at)
			if s.symmetry.isKnown && s.found == at.foundBefore {
				at.failed = at.list[at.next-1]
			}
		}
		if at.next == len(at.list) {
			s.leave(at)
			continue
		}
		fit := at.list[at.next]
		at.next++
		if s.symmetry.isKnown && at.failed != none && s.areTwins(at.failed, fit) {
			s.stepsToStop--
			continue
		}
		s.steps++
		if s.stepsToStop--; s.stepsToStop <= 0 && s.stopped() {
			return false
		}
		if at.unconstrained && !s.possible(&s.domains[at.kind], s.place[fit]) {
			continue
		}
		s.take(at, fit)
		if s.depth == len(s.levels)-1 {
			s.found++
			return true
		}
		s.descend(at.unconstrained)
	}
	return false
}

// Chosen returns, by requirement, the index in Tree.Providers of the provider in the current solution. It is valid
// until Next or Reset.
func (s *Search) Chosen() []int { return s.chosen }

// IsLast reports whether every choice of the current solution was the last possible one, so that Next returns false without
// another step.
func (s *Search) IsLast() bool {
	for i := range s.levels {
		if s.levels[i].next < len(s.levels[i].list) {
			return false
		}
	}
	return true
}

// Err returns the error of Request.Stop that ended the search.
func (s *Search) Err() error { return s.err }

// Steps returns the number of choices that were tried since Reset.
func (s *Search) Steps() int { return s.steps }

// stopped calls Request.Stop at its interval.
func (s *Search) stopped() bool {
	s.stepsToStop = StopInterval
	if s.plan.request.Stop == nil {
		return false
	}
	if s.err = s.plan.request.Stop(); s.err == nil {
		return false
	}
	s.depth = -1
	return true
}

// descend continues with the next requirement, unless that is a dead end.
func (s *Search) descend(loose bool) {
	depth := s.depth + 1
	to := &s.levels[depth]
	list := to.base
	if !loose {
		var ok bool
		if ok, loose = s.feasible(depth); !ok {
			return
		}
		if !loose {
			if s.dead.any() && s.dead.contains(s, depth) {
				return
			}
			list = s.narrowed(to)
		}
	}
	to.taken, to.unconstrained, to.next, to.list = false, loose, 0, list
	to.steps, to.found, to.failed = s.steps, s.found, none
	s.depth = depth
}

// narrowed returns the live options for a level, in the order of all its options.
func (s *Search) narrowed(at *level) []int32 {
	d := &s.domains[at.kind]
	if d.free || len(d.live) == len(at.base) {
		return at.base
	}
	list := at.narrow[:0]
	if s.plan.request.Shuffle == nil {
		return append(list, d.live...)
	}
	s.mark++
	for _, fit := range d.live {
		s.marks[fit] = s.mark
	}
	for _, fit := range at.base {
		if s.marks[fit] == s.mark {
			list = append(list, fit)
		}
	}
	return list
}

// leave returns to the requirement before, after all choices for this one.
func (s *Search) leave(at *level) {
	if !at.unconstrained && at.found == s.found && s.depth > 0 && s.depth < len(s.levels)-1 && s.steps-at.steps >= s.dead.minDeadEndSteps {
		s.dead.remember(s, s.depth)
	}
	s.depth--
}

// take chooses an option for the requirement at the current depth.
func (s *Search) take(at *level, fit int32) {
	place := s.place[fit]
	d := &s.domains[at.kind]
	at.taken, at.foundBefore = true, s.found
	s.chosen[at.want] = int(place)
	d.rest--
	s.stepsToStop -= (len(d.demands) + len(d.subtreeSets)) / 16
	for i := range d.demands {
		*s.roomFor(&d.demands[i], place) -= d.demands[i].amount
	}
	if d.rooted {
		s.roots.enter(place)
	}
	if at.unconstrained {
		return // nothing below depends on it
	}
	if s.traits {
		s.cover(d, fit)
	}
	if s.subtrees {
		s.join(at, d, place)
	}
}

// untake undoes take. The trait sets are stored by depth and need no undoing.
func (s *Search) untake(at *level) {
	place := int32(s.chosen[at.want])
	d := &s.domains[at.kind]
	at.taken = false
	d.rest++
	for i := range d.demands {
		*s.roomFor(&d.demands[i], place) += d.demands[i].amount
	}
	if d.rooted {
		s.roots.leave(place)
	}
	if s.subtrees && !at.unconstrained {
		s.part(at)
	}
}

// roomFor returns a pointer to the capacity that a demand uses on a provider.
func (s *Search) roomFor(d *demand, place int32) *int64 {
	if d.byRoot {
		place = s.roots.of[place]
	}
	return &s.room[int(place)*len(s.plan.constraints)+int(d.constraint)]
}

// possible reports whether a provider has capacity for a requirement of this kind, in addition to the choices.
func (s *Search) possible(d *domain, place int32) bool {
	for i := range d.demands {
		if *s.roomFor(&d.demands[i], place) < d.demands[i].amount {
			return false
		}
	}
	return !d.rooted || s.roots.admits(place)
}
