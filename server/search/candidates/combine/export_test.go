package combine

import "math"

// RememberAll makes the search remember the smallest dead ends too.
func (s *Search) RememberAll() { s.dead.minDeadEndSteps = 0 }

// RememberNone makes the search remember no dead end.
func (s *Search) RememberNone() { s.dead.minDeadEndSteps = math.MaxInt }

// DeadEnds returns the number of dead ends that the search remembers.
func (s *Search) DeadEnds() int { return len(s.dead.states) }
