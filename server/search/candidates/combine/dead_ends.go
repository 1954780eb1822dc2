package combine

import (
	"cmp"
	"encoding/binary"
	"slices"
)

const (
	// minDeadEndSteps is the default minimum: searching a smaller dead end again costs no more than remembering it, and
	// a larger one that consists of many small ones is remembered itself.
	minDeadEndSteps = 32
	// maxDeadEndBytes limits the memory for the dead ends of one tree.
	maxDeadEndBytes = 1 << 20
)

// deadEnds are states of a search without a solution, although the lookahead did not detect that. It does not matter
// for the remaining requirements which requirement used what, so every permutation of the choices reaches the same
// state: n requirements without a solution have n! permutations, but only 2^n states.
//
// A state is stored in full. States are never compared by a hash alone: a collision would lose solutions.
type deadEnds struct {
	// minDeadEndSteps is the number of steps that a dead end must have taken to be remembered.
	minDeadEndSteps int
	states          map[string]struct{}
	bytes           int
	buffer          []byte

	// words are the facts of each provider in a state, width for each. places are the described providers: those of which
	// described is the current pass.
	words     []uint64
	width     int
	places    []int32
	described []int
	pass      int
}

func (e *deadEnds) clear() {
	if len(e.states) > 0 {
		clear(e.states)
		e.bytes = 0
	}
}

// any reports whether any dead end is remembered.
func (e *deadEnds) any() bool { return len(e.states) > 0 }

// contains reports whether the state of a search is a remembered dead end. The lookahead must have run in that state.
func (e *deadEnds) contains(s *Search, depth int) bool {
	e.describe(s, depth)
	_, dead := e.states[string(e.buffer)]
	return dead
}

// remember stores the state of a search as a dead end. It runs the lookahead again, because the last one ran at a
// greater depth.
func (e *deadEnds) remember(s *Search, depth int) {
	if e.bytes >= maxDeadEndBytes {
		return
	}
	if !s.symmetry.isKnown {
		s.symmetry.learn(s)
	}
	s.feasible(depth)
	e.describe(s, depth)
	if e.states == nil {
		e.states = map[string]struct{}{}
	}
	e.states[string(e.buffer)] = struct{}{}
	e.bytes += len(e.buffer)
}

// describe writes everything that the solutions below a depth depend on: the providers that are live options of the
// undecided requirements, the trait sets that are met, and the common ancestors. The live options already show which
// trees give resources, and which tops of subtrees have no provider below them that must be outside: the top is one of
// them.
//
// Interchangeable providers are sorted by what they have. So states that differ in the order of such providers only are
// the same dead end: 8 devices have 8! orders.
func (e *deadEnds) describe(s *Search, depth int) {
	b := binary.AppendUvarint(e.buffer[:0], uint64(depth))
	for _, place := range e.describeProviders(s) {
		b = binary.AppendUvarint(b, uint64(s.symmetry.class[place]))
		for _, word := range e.facts(place) {
			b = binary.AppendUvarint(b, word)
		}
	}
	if s.traits {
		for _, word := range s.covered[depth*s.plan.words : (depth+1)*s.plan.words] {
			b = binary.LittleEndian.AppendUint64(b, word)
		}
	}
	if s.subtrees {
		for _, common := range s.commonAncestors {
			b = binary.AppendVarint(b, int64(common.node))
			if common.chosen {
				b = append(b, 1)
			} else {
				b = append(b, 0)
			}
		}
	}
	e.buffer = b
}

// describeProviders notes the facts of each provider that is a live option, and returns these providers in the order of
// their classes and facts.
func (e *deadEnds) describeProviders(s *Search) []int32 {
	kinds := (len(s.domains) + 63) / 64
	e.width = kinds + len(s.tight)
	e.words = sized(e.words, s.providers*e.width)
	e.described, e.pass = sized(e.described, s.providers), e.pass+1
	e.places = e.places[:0]
	for i := range s.domains {
		d := &s.domains[i]
		if d.rest == 0 || d.free {
			continue
		}
		for _, fit := range d.live {
			place := s.place[fit]
			if e.described[place] != e.pass {
				e.described[place] = e.pass
				e.places = append(e.places, place)
				clear(e.facts(place))
			}
			e.facts(place)[i/64] |= 1 << (i % 64)
		}
	}
	for at, constraint := range s.tight {
		unit, wanted := s.remainingDemand(constraint)
		if wanted == 0 {
			continue
		}
		for _, place := range e.places {
			of := place
			if s.plan.constraints[constraint].byRoot {
				of = s.roots.of[place]
			}
			e.facts(place)[kinds+at] = uint64(min(s.roomOf(of, constraint), wanted) / unit)
		}
	}
	slices.SortFunc(e.places, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.symmetry.class[a], s.symmetry.class[b]), slices.Compare(e.facts(a), e.facts(b)))
	})
	return e.places
}

// facts are which kinds of undecided requirements a provider is a live option of, and its capacity for each constraint up
// to the total demand, in units.
func (e *deadEnds) facts(place int32) []uint64 {
	return e.words[int(place)*e.width : (int(place)+1)*e.width]
}

// remainingDemand returns the total demand of the undecided requirements in a constraint, and the unit that divides each
// demand.
func (s *Search) remainingDemand(constraint int32) (unit, total int64) {
	for _, m := range s.plan.constraints[constraint].members {
		if rest := s.domains[m.kind].rest; rest > 0 {
			unit, total = gcd(unit, m.amount), add(total, times(m.amount, rest))
		}
	}
	return unit, total
}
