// Package split distributes amounts of resource classes over several providers of a tree
// (docs/contract/berth/search.md#one-class-from-several-providers). It enumerates the smallest sets of providers that
// have the amounts of all classes together, and the parts of each.
//
// It is not for choosing providers of other groups, which is for package combine, nor for finding providers: their
// free capacity comes from the page of the search.
package split

import (
	"cmp"
	"slices"
)

// MaxProviders is the maximum size of a set.
const MaxProviders = 16

// Provider is a provider that can contribute to some classes.
type Provider struct {
	// Rank orders providers of equal free capacity: the lower one gives more.
	Rank int
	// Parts are by class.
	Parts []Range
}

// Range is the amounts of a class that a provider can give: the multiples of Step from Min to Max. It can give none of
// the class if Max is less than Min.
type Range struct {
	Min, Max, Step int64
	// Free is the free capacity. Of the providers of a set, the one with the most gives as much as possible.
	Free int64
}

// RangeOf returns the range of an inventory with this free capacity.
func RangeOf(free, minUnit, stepSize int64) Range {
	step := max(stepSize, 1)
	least := (max(minUnit, 1) + step - 1) / step * step
	return Range{Min: least, Max: max(free, 0) / step * step, Step: step, Free: free}
}

func (r *Range) isEmpty() bool { return r.Max < r.Min }

// Set is a smallest set of providers.
type Set struct {
	// Members are indices of providers, in the order of their shares.
	Members []int
	// Parts are what each member gives, by class and member.
	Parts [][]int64
}

// Search enumerates the smallest sets for one choice of everything else.
type Search struct {
	needs     []int64
	providers []Provider
	// order are the providers that can give anything, those with the largest shares of the needs first.
	order []int
	// best are the sums of the largest maxima, by class, first place in order, and count.
	best [][][]int64
	// stop is called for each set that is tried, and for much work to find its parts.
	stop func(steps int) error

	size   int
	chosen []int
	next   []int
	err    error
	set    Set
}

// sumsPerStep is the number of intervals of possible sums that take as long as a set. Providers whose min_unit is near
// their max_unit have many: 16 of them up to 65,536.
const sumsPerStep = 64

// NewSearch prepares the enumeration of sets for the amounts of some classes. stop is called with 1 for each set that is
// tried, and with the number of sets that would take as long as other work; its error ends the search.
func NewSearch(needs []int64, providers []Provider, stop func(steps int) error) *Search {
	s := &Search{needs: needs, providers: providers, stop: stop, size: 1}
	for i := range providers {
		if slices.ContainsFunc(providers[i].Parts, func(r Range) bool { return !r.isEmpty() }) {
			s.order = append(s.order, i)
		}
	}
	share := func(i int) (sum float64) {
		for class, need := range needs {
			if r := &providers[i].Parts[class]; !r.isEmpty() {
				sum += min(1, float64(r.Max)/float64(need))
			}
		}
		return sum
	}
	slices.SortStableFunc(s.order, func(a, b int) int {
		return cmp.Or(cmp.Compare(share(b), share(a)), cmp.Compare(providers[a].Rank, providers[b].Rank))
	})
	if !s.sufficesAtMost() {
		s.size = MaxProviders + 1
		return s
	}
	s.sumBest()
	s.next = append(s.next, 0)
	return s
}

// sufficesAtMost reports whether all providers together have enough of each class.
func (s *Search) sufficesAtMost() bool {
	for class := range s.needs {
		if s.mostOf(class, s.order) < s.needs[class] {
			return false
		}
	}
	return true
}

// mostOf returns an upper bound of what some providers give of a class.
func (s *Search) mostOf(class int, members []int) (sum int64) {
	for _, i := range members {
		if r := &s.providers[i].Parts[class]; !r.isEmpty() {
			sum += min(r.Max, s.needs[class]-sum)
		}
	}
	return sum
}

// sumBest prepares best.
func (s *Search) sumBest() {
	s.best = make([][][]int64, len(s.needs))
	for class, need := range s.needs {
		s.best[class] = make([][]int64, len(s.order)+1)
		var largest []int64
		s.best[class][len(s.order)] = []int64{0}
		for from := len(s.order) - 1; from >= 0; from-- {
			r := &s.providers[s.order[from]].Parts[class]
			if amount := min(r.Max, need); !r.isEmpty() {
				at, _ := slices.BinarySearchFunc(largest, amount, func(a, b int64) int { return cmp.Compare(b, a) })
				largest = slices.Insert(largest, at, amount)
				largest = largest[:min(len(largest), MaxProviders)]
			}
			sums := []int64{0}
			for _, amount := range largest {
				last := sums[len(sums)-1]
				sums = append(sums, last+min(amount, need-last))
			}
			s.best[class][from] = sums
		}
	}
}

// Next finds the next set, smaller ones first. It returns false after the last one, and when stop ended the search.
func (s *Search) Next() bool {
	for s.size <= min(MaxProviders, len(s.order)) {
		if len(s.next) == 0 {
			s.size++
			s.chosen, s.next = s.chosen[:0], append(s.next, 0)
			continue
		}
		depth := len(s.next) - 1
		s.chosen = s.chosen[:depth]
		at := s.next[depth]
		if at >= len(s.order) || !s.canSuffice(at) {
			s.next = s.next[:depth]
			continue
		}
		s.next[depth]++
		s.chosen = append(s.chosen, s.order[at])
		s.charge(1)
		if len(s.chosen) == s.size {
			if s.take() {
				return true
			}
		} else if !s.suffices(s.chosen) {
			s.next = append(s.next, at+1)
		}
		if s.err != nil {
			s.size = MaxProviders + 1
		}
	}
	return false
}

// charge calls stop, unless an error has ended the search.
func (s *Search) charge(steps int) {
	if s.err == nil && steps > 0 {
		s.err = s.stop(steps)
	}
}

// canSuffice reports whether the chosen providers and the best others from a place on could have enough.
func (s *Search) canSuffice(from int) bool {
	open := s.size - len(s.chosen)
	for class, need := range s.needs {
		best := s.best[class][from]
		if best[min(open, len(best)-1)] < need-s.mostOf(class, s.chosen) {
			return false
		}
	}
	return true
}

// suffices reports whether every class has a split over some providers. It returns false if the search ended.
func (s *Search) suffices(members []int) bool {
	for class := range s.needs {
		if s.err != nil || s.mostOf(class, members) < s.needs[class] || s.partsOf(class, members) == nil {
			return false
		}
	}
	return s.err == nil
}

// take makes the chosen providers the found set, if it suffices and no provider of it can be missing.
func (s *Search) take() bool {
	if !s.suffices(s.chosen) {
		return false
	}
	for i := range s.chosen {
		if rest := slices.Delete(slices.Clone(s.chosen), i, i+1); len(rest) > 0 && s.suffices(rest) {
			return false
		}
	}
	if s.err != nil {
		return false
	}
	s.set = Set{Members: slices.Clone(s.chosen), Parts: make([][]int64, len(s.needs))}
	for class := range s.needs {
		s.set.Parts[class] = s.partsOf(class, s.chosen)
	}
	return true
}

// Set returns the set that Next found.
func (s *Search) Set() *Set { return &s.set }

// Err returns the error that ended the search.
func (s *Search) Err() error { return s.err }
