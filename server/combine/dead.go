package combine

import "encoding/binary"

const (
	// costly: a smaller dead end is found again as quickly as it is remembered, and a
	// larger one that consists of many small ones is remembered itself.
	costly = 32
	// deadBytes limits what is remembered of one tree.
	deadBytes = 1 << 20
)

// deadEnds remembers states of a search that led nowhere, although looking ahead saw no
// reason. Which want has taken what does not matter for what is left, so the same state
// is reached many times, by every permutation of the choices: n wants that turn out not
// to fit have n! ways to find that out, but only 2^n states.
//
// A state is written down in full. Two states are never taken for the same because a
// hash is: that would lose solutions.
type deadEnds struct {
	// costly is the number of steps that a dead end must have taken to be remembered.
	costly int
	states map[string]struct{}
	bytes  int
	buffer []byte
}

func (e *deadEnds) clear() {
	if len(e.states) > 0 {
		clear(e.states)
		e.bytes = 0
	}
}

// any tells whether there are any.
func (e *deadEnds) any() bool { return len(e.states) > 0 }

// contains tells whether the state of a search leads nowhere. The search must have
// looked ahead in it.
func (e *deadEnds) contains(s *Search, depth int) bool {
	e.describe(s, depth)
	_, dead := e.states[string(e.buffer)]
	return dead
}

// remember that the state of a search led nowhere. It makes the search look ahead once
// more, because since then it has looked from further down.
func (e *deadEnds) remember(s *Search, depth int) {
	if e.bytes >= deadBytes {
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

// describe writes down all that the solutions below a depth depend on: the live fits of
// the undecided wants, their room as far as anybody wants it, the sets of traits that
// are met, and the apexes. Which trees give resources already shows in what is live.
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
			wanted := s.wanted(demand.contest)
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
		families := len(s.plan.families)
		for _, apex := range s.apexes[depth*families : (depth+1)*families] {
			b = binary.AppendVarint(b, int64(apex.node))
			if apex.chosen {
				b = append(b, 1)
			} else {
				b = append(b, 0)
			}
		}
	}
	e.buffer = b
}

// wanted is what the undecided wants demand in a contest altogether.
func (s *Search) wanted(contest int32) int64 {
	sum := int64(0)
	for _, m := range s.plan.contests[contest].members {
		sum = add(sum, times(m.amount, s.domains[m.kind].rest))
	}
	return sum
}
