package combine

import "encoding/binary"

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
	s.feasible(depth)
	e.describe(s, depth)
	if e.states == nil {
		e.states = map[string]struct{}{}
	}
	e.states[string(e.buffer)] = struct{}{}
	e.bytes += len(e.buffer)
}

// describe writes everything that the solutions below a depth depend on: the live options of the undecided
// requirements, their capacity up to the total demand, the trait sets that are met, and the common ancestors. The live
// options already show which trees give resources, and which tops of subtrees have no provider below them that must be
// outside: the top is one of them.
func (e *deadEnds) describe(s *Search, depth int) {
	b := binary.AppendUvarint(e.buffer[:0], uint64(depth))
	for i := range s.domains {
		d := &s.domains[i]
		if d.rest == 0 || d.free {
			continue
		}
		b = binary.AppendUvarint(b, uint64(len(d.live)))
		for _, fit := range d.live {
			b = binary.AppendUvarint(b, uint64(fit-d.start))
		}
		for j := range d.demands {
			demand := &d.demands[j]
			wanted := s.wanted(demand.constraint)
			for _, fit := range d.live {
				b = binary.AppendUvarint(b, uint64(min(*s.roomFor(demand, s.place[fit]), wanted)))
			}
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

// wanted returns the total demand of the undecided requirements in a constraint.
func (s *Search) wanted(contest int32) int64 {
	sum := int64(0)
	for _, m := range s.plan.constraints[contest].members {
		sum = add(sum, times(m.amount, s.domains[m.kind].rest))
	}
	return sum
}
