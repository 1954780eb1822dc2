package combine

// Patience is the number of steps, or of as much work of another kind, after which
// Request.Stop is asked. A tree that needs less is never asked about.
const Patience = 1024

// Search walks the solutions of one tree after the other. Between two calls of Next it
// may rest for as long as the caller likes.
type Search struct {
	plan *Plan
	err  error

	// levels are the choices to make, in their order. The search is at depth, or at
	// -1 when it has come to its end.
	levels []level
	depth  int
	chosen []int
	steps  int
	found  int
	fuel   int

	// domains say, by kind of wants, which fits there are. The arrays below them are
	// by fit: the provider, and the sets of traits that it meets.
	domains []domain
	place   []int32
	met     []uint64
	// room is what is left, by provider and contest.
	room []int64
	// scarce are, by contest, those that this tree does not have plenty for. tight lists
	// them, and demands are those of the kinds in them.
	scarce  []bool
	tight   []int32
	demands []demand

	roots  roots
	forest forest
	// traits and subtrees say whether this tree makes anything of Sets and Subtrees.
	traits, subtrees bool
	// covered holds the sets of traits met, and apexes where the chosen of each family
	// come together, both by depth.
	covered []uint64
	apexes  []apex

	memory
}

// domain is what a search knows of a kind of wants.
type domain struct {
	// Its fits are those from start to end; the live ones were found possible by the
	// last look ahead.
	start, end int32
	live       []int32
	// rest is the number of wants that are undecided.
	rest int32
	// demands are those in tight contests, weight is how many units they are together.
	demands []demand
	weight  int64
	// collective: its wants are unsuffixed and have to meet sets of traits. rooted: its
	// wants take resources, of one provider in a tree.
	collective, rooted bool
	families           []int32
	// free: nothing that is chosen for other wants changes what is possible.
	free bool
}

// level is the choice for one want.
type level struct {
	want, kind int32
	taken      bool
	// loose: no choice from here on can lead to a dead end.
	loose bool
	next  int
	list  []int32
	// base are all fits, narrow has room for as many.
	base, narrow []int32
	// steps and found are as they were when the search came here.
	steps, found int
}

// memory is kept from one tree to the next.
type memory struct {
	identity []int32 // 0, 1, 2, …
	permuted []int32
	lists    []int32
	live     []int32
	union    []uint64
	marks    []int
	mark     int
	entrants []entrant
	flow     flow
	dead     deadEnds
}

// NewSearch makes a search without a tree: Reset gives it one.
func (p *Plan) NewSearch() *Search {
	wants, kinds := len(p.request.Wants), len(p.kinds)
	demands, members := 0, 0
	for _, k := range p.kinds {
		demands += len(k.demands)
	}
	for _, c := range p.contests {
		members = max(members, len(c.members))
	}
	s := &Search{
		plan:    p,
		depth:   -1,
		levels:  make([]level, wants),
		chosen:  make([]int, wants),
		domains: make([]domain, kinds),
		scarce:  make([]bool, len(p.contests)),
		tight:   make([]int32, 0, len(p.contests)),
		demands: make([]demand, 0, demands),
		covered: make([]uint64, (wants+1)*p.words),
		apexes:  make([]apex, (wants+1)*len(p.families)),
	}
	s.dead.costly = costly
	s.union = make([]uint64, kinds*p.words)
	s.entrants = make([]entrant, 0, members)
	return s
}

// Next finds the next solution. It returns false when there is none, or when
// Request.Stop ended the search; Err tells which.
func (s *Search) Next() bool {
	for s.depth >= 0 {
		at := &s.levels[s.depth]
		if at.taken {
			s.untake(at)
		}
		if at.next == len(at.list) {
			s.leave(at)
			continue
		}
		fit := at.list[at.next]
		at.next++
		s.steps++
		if s.fuel--; s.fuel <= 0 && s.stopped() {
			return false
		}
		if at.loose && !s.possible(&s.domains[at.kind], s.place[fit]) {
			continue
		}
		s.take(at, fit)
		if s.depth == len(s.levels)-1 {
			s.found++
			return true
		}
		s.descend(at.loose)
	}
	return false
}

// Chosen holds, by want, the place in Tree.Providers of the provider that the current
// solution has for it. It is valid until Next or Reset.
func (s *Search) Chosen() []int { return s.chosen }

// Err is the error of Request.Stop that ended the search.
func (s *Search) Err() error { return s.err }

// Steps is the number of choices that were tried since Reset.
func (s *Search) Steps() int { return s.steps }

// stopped asks Request.Stop.
func (s *Search) stopped() bool {
	s.fuel = Patience
	if s.plan.request.Stop == nil {
		return false
	}
	if s.err = s.plan.request.Stop(); s.err == nil {
		return false
	}
	s.depth = -1
	return true
}

// descend goes on to the next want, unless that leads nowhere.
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
	to.taken, to.loose, to.next, to.list = false, loose, 0, list
	to.steps, to.found = s.steps, s.found
	s.depth = depth
}

// narrowed lists the live fits for a level, in the order of all its fits.
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

// leave goes back to the want before, all choices for this one having been tried.
func (s *Search) leave(at *level) {
	if !at.loose && at.found == s.found && s.depth > 0 && s.depth < len(s.levels)-1 && s.steps-at.steps >= s.dead.costly {
		s.dead.remember(s, s.depth)
	}
	s.depth--
}

// take chooses a fit for the want at the current depth.
func (s *Search) take(at *level, fit int32) {
	place := s.place[fit]
	d := &s.domains[at.kind]
	at.taken = true
	s.chosen[at.want] = int(place)
	d.rest--
	for i := range d.demands {
		*s.roomFor(&d.demands[i], place) -= d.demands[i].amount
	}
	if d.rooted {
		s.roots.enter(place)
	}
	if at.loose {
		return // what follows is settled by then
	}
	if s.traits {
		s.cover(d, fit)
	}
	if s.subtrees {
		s.join(d, place)
	}
}

// untake undoes take. What is kept by depth needs no undoing.
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
}

// roomFor is where the room that a demand takes from a provider is kept.
func (s *Search) roomFor(d *demand, place int32) *int64 {
	if d.byRoot {
		place = s.roots.of[place]
	}
	return &s.room[int(place)*len(s.plan.contests)+int(d.contest)]
}

// possible tells whether a provider has room for a want of this kind, besides what is
// chosen.
func (s *Search) possible(d *domain, place int32) bool {
	for i := range d.demands {
		if *s.roomFor(&d.demands[i], place) < d.demands[i].amount {
			return false
		}
	}
	return !d.rooted || s.roots.admits(place)
}
