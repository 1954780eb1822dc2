package combine

import "math"

// RememberAll makes the search remember the smallest dead ends, too.
func (s *Search) RememberAll() { s.dead.costly = 0 }

// RememberNone makes it enter all dead ends again.
func (s *Search) RememberNone() { s.dead.costly = math.MaxInt }

// DeadEnds is the number of dead ends that the search remembers.
func (s *Search) DeadEnds() int { return len(s.dead.states) }
