package combine

import (
	"cmp"
	"slices"
)

// symmetry is which providers of a tree are interchangeable: options of the same kinds of requirements, which meet the
// same trait sets there. If such providers have the same remaining capacity, exchanging them in a solution gives another
// solution. So if a choice of one has no solution, neither has the choice of the other.
//
// It is used to prove that there is no solution, never to leave one out: both choices are solutions of their own.
type symmetry struct {
	// isKnown is true once the classes of the current tree are determined. That waits until a dead end was expensive.
	isKnown bool
	// class is, by provider, the same number for interchangeable ones.
	class []int32
	last  int32
	fits  []int32
}

// learn determines the classes of a tree. Providers that trees or subtrees tell apart are interchangeable with none.
func (y *symmetry) learn(s *Search) {
	y.isKnown, y.last = true, 0
	y.class = sized(y.class, s.providers)
	clear(y.class)
	for i := range s.domains {
		d := &s.domains[i]
		if d.free {
			continue
		}
		y.fits = append(y.fits[:0], s.identity[d.start:d.end]...)
		isUnique := d.rooted || len(d.subtreeSets)+len(d.outsides) > 0
		slices.SortFunc(y.fits, func(a, b int32) int {
			return cmp.Or(cmp.Compare(y.class[s.place[a]], y.class[s.place[b]]), slices.Compare(s.metBy(d, a), s.metBy(d, b)))
		})
		before := int32(-1)
		for j, fit := range y.fits {
			own := y.class[s.place[fit]]
			if isUnique || j == 0 || own != before || !slices.Equal(s.metBy(d, y.fits[j-1]), s.metBy(d, fit)) {
				y.last++
			}
			before, y.class[s.place[fit]] = own, y.last
		}
	}
}

// metBy returns the trait sets that an option meets, as far as they matter.
func (s *Search) metBy(d *domain, fit int32) []uint64 {
	if !d.collective {
		return nil
	}
	words := s.plan.words
	return s.met[int(fit)*words : (int(fit)+1)*words]
}

// areTwins reports whether the choices of two options of a kind lead to the same states, but for the exchange of their
// providers.
func (s *Search) areTwins(a, b int32) bool {
	number, other := s.place[a], s.place[b]
	if s.symmetry.class[number] != s.symmetry.class[other] {
		return false
	}
	for _, constraint := range s.tight {
		if s.roomOf(number, constraint) != s.roomOf(other, constraint) {
			return false
		}
	}
	return true
}

// roomOf returns the remaining capacity of a provider for a constraint; 0 if no option needs it.
func (s *Search) roomOf(place, constraint int32) int64 {
	return s.room[int(place)*len(s.plan.constraints)+int(constraint)]
}
