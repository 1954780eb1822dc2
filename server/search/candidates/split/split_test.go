package split_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/berthd/berth/server/search/candidates/split"
)

// naiveParts tries all amounts of all members and returns the greatest in the order of the members.
func naiveParts(providers []split.Provider, members []int, class int, need int64) (best []int64) {
	parts := make([]int64, len(members))
	var try func(place int, rest, step int64)
	try = func(place int, rest, step int64) {
		if place == len(members) {
			if rest == 0 && (best == nil || slices.Compare(parts, best) > 0) {
				best = slices.Clone(parts)
			}
			return
		}
		parts[place] = 0
		try(place+1, rest, step)
		r := providers[members[place]].Parts[class]
		if step != 0 && r.Step != step {
			return
		}
		for amount := r.Min; amount <= min(r.Max, rest); amount += r.Step {
			parts[place] = amount
			try(place+1, rest-amount, r.Step)
		}
		parts[place] = 0
	}
	try(0, need, 0)
	return best
}

// naiveSets returns all smallest sets with their parts, from all subsets.
func naiveSets(needs []int64, providers []split.Provider) (found []string) {
	suffices := func(subset int) bool {
		for class, need := range needs {
			if naiveParts(providers, membersOf(subset), class, need) == nil {
				return false
			}
		}
		return true
	}
	for subset := 1; subset < 1<<len(providers); subset++ {
		isSmallest := suffices(subset)
		for i := range providers {
			isSmallest = isSmallest && (subset&(1<<i) == 0 || !suffices(subset&^(1<<i)))
		}
		if !isSmallest {
			continue
		}
		given := map[[2]int]int64{}
		for class, need := range needs {
			members := membersOf(subset)
			slices.SortFunc(members, func(a, b int) int {
				return cmp.Or(cmp.Compare(providers[b].Parts[class].Free, providers[a].Parts[class].Free), cmp.Compare(providers[a].Rank, providers[b].Rank))
			})
			for place, amount := range naiveParts(providers, members, class, need) {
				given[[2]int{members[place], class}] = amount
			}
		}
		found = append(found, fmt.Sprint(given))
	}
	return found
}

func membersOf(subset int) (members []int) {
	for i := range 16 {
		if subset&(1<<i) != 0 {
			members = append(members, i)
		}
	}
	return members
}

func TestCandidates_RandomSplits_MatchNaiveSearch(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		classes := rapid.IntRange(1, 2).Draw(t, "classes")
		needs := rapid.SliceOfN(rapid.Int64Range(1, 12), classes, classes).Draw(t, "needs")
		ranks := rapid.Permutation([]int{0, 1, 2, 3, 4}).Draw(t, "ranks")
		var providers []split.Provider
		for i := range rapid.IntRange(0, 5).Draw(t, "providers") {
			made := split.Provider{Rank: ranks[i]}
			for range classes {
				made.Parts = append(made.Parts, split.RangeOf(rapid.Int64Range(-1, 9).Draw(t, "free"),
					rapid.Int64Range(0, 5).Draw(t, "min_unit"), rapid.SampledFrom([]int64{1, 1, 1, 2, 3}).Draw(t, "step_size")))
			}
			providers = append(providers, made)
		}
		search := split.NewSearch(needs, providers, func(int) error { return nil })
		var got []string
		size := 0
		for search.Next() {
			set := search.Set()
			if len(set.Members) < size {
				t.Fatalf("a set of %d came after one of %d", len(set.Members), size)
			}
			size = len(set.Members)
			given := map[[2]int]int64{}
			for class := range needs {
				for i, amount := range set.Parts[class] {
					given[[2]int{set.Members[i], class}] = amount
				}
			}
			got = append(got, fmt.Sprint(given))
		}
		want := naiveSets(needs, providers)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("needs %v of %+v\ngot  %v\nwant %v", needs, providers, got, want)
		}
	})
}

// TestCandidates_SplitOfHugeAmount_NoOverflow has amounts of which two exceed the range of int64.
func TestCandidates_SplitOfHugeAmount_NoOverflow(t *testing.T) {
	t.Parallel()
	provider := split.Provider{Parts: []split.Range{split.RangeOf(math.MaxInt64-1, 1, 1)}}
	search := split.NewSearch([]int64{math.MaxInt64}, []split.Provider{provider, provider, provider}, func(int) error { return nil })
	sets := 0
	for search.Next() {
		if got := search.Set().Parts[0]; got[0] != math.MaxInt64-1 || got[1] != 1 {
			t.Errorf("parts %v, want %d and 1", got, int64(math.MaxInt64-1))
		}
		sets++
	}
	if sets != 3 {
		t.Errorf("%d sets, want 3", sets)
	}
}

// TestCandidates_SplitOverManyProviders_SetsComeLazily finds the first sets of 64 providers, none of which is needed.
func TestCandidates_SplitOverManyProviders_SetsComeLazily(t *testing.T) {
	t.Parallel()
	var providers []split.Provider
	for i := range 64 {
		providers = append(providers, split.Provider{Rank: i, Parts: []split.Range{split.RangeOf(int64(4+i%5), 1, 1), split.RangeOf(int64(9-i%7), 1, 1)}})
	}
	steps := 0
	enough := errors.New("enough")
	search := split.NewSearch([]int64{60, 62}, providers, func(int) error {
		if steps++; steps > 1_000_000 {
			return enough
		}
		return nil
	})
	for range 1000 {
		if !search.Next() {
			t.Fatalf("%v after %d steps", search.Err(), steps)
		}
	}
}

// TestCandidates_SplitWithManySums_StopsEarly has providers that give all or nothing, so that a set has thousands of
// possible sums, none of which is the amount.
func TestCandidates_SplitWithManySums_StopsEarly(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	var providers []split.Provider
	for i := range 20 {
		even := 2 * (500_000_000 + random.Int64N(1_000_000))
		providers = append(providers, split.Provider{Rank: i, Parts: []split.Range{split.RangeOf(even, even, 1)}})
	}
	const budget = 10_000
	steps, calls, enough := 0, 0, errors.New("enough")
	search := split.NewSearch([]int64{15_000_000_001}, providers, func(more int) error {
		calls++
		if steps += more; steps > budget {
			return enough
		}
		return nil
	})
	if search.Next() || search.Err() == nil {
		t.Fatalf("error = %v after %d steps, want %v", search.Err(), steps, enough)
	}
	if calls > budget/20 {
		t.Errorf("%d calls of stop for %d steps: the sums of a set do not count", calls, steps)
	}
}
