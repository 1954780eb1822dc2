package combine_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/berthd/berth/server/search/candidates/combine"
)

// sizes returns a request of suffixed groups for class 1: pairs of a number of groups and their amount. Those of an amount
// share a slot.
func sizes(pairs ...int64) combine.Request {
	var request combine.Request
	slot := 0
	for pair := range slices.Chunk(pairs, 2) {
		for range pair[0] {
			request.Requirements = append(request.Requirements, suffixed(slot, vcpu, pair[1]))
		}
		slot++
	}
	return request
}

// without returns a tree whose first devices have less free capacity.
func without(tree *combine.Tree, used ...int64) *combine.Tree {
	for slot := range tree.Options {
		for i, amount := range used {
			tree.Options[slot][i].Free[0] -= amount
		}
	}
	return tree
}

// TestCombine_AmountsThatDoNotPack_RejectedInFewSteps has trees whose free capacity suffices for the sum of all groups, but
// no distribution of the groups fits. The devices are interchangeable, so the steps do not grow with their permutations:
// without that, each of the cases takes more than a million steps.
func TestCombine_AmountsThatDoNotPack_RejectedInFewSteps(t *testing.T) {
	t.Parallel()
	type packed struct {
		name    string
		request combine.Request
		tree    *combine.Tree
		steps   int
	}
	// The groups of two units need a device whose trait the others do not require: half of the devices have it.
	traits := devices(8, 2, 10)
	traits.Options[1] = traits.Options[1][:4]
	// Each device has two classes, of which the groups use different amounts.
	classes, both := sizes(16, 3, 9, 2), devices(8, 2, 10)
	for i := range classes.Requirements {
		use := combine.Use{Class: vf, Amount: 5 - classes.Requirements[i].Uses[0].Amount}
		classes.Requirements[i].Uses = append(classes.Requirements[i].Uses, use)
	}
	for slot := range both.Options {
		for i := range both.Options[slot] {
			both.Options[slot][i].Free = []int64{10, 8}
		}
	}
	cases := []packed{
		{"a trait of half of the devices", sizes(21, 3, 5, 2), without(traits, 1, 1, 1, 1), 12_000},
		{"different free capacity", sizes(24, 3, 1, 2), without(devices(9, 2, 10), 9, 0, 1, 1, 1), 0},
		{"two classes", classes, both, 1500},
		{"25 of 16, 4 of 7 and 4 of 23 on 8 of 65", sizes(25, 16, 4, 7, 4, 23), devices(8, 3, 65), 6000},
		{"36 of 6, 7 of 12 and 7 of 11 on 10 of 38", sizes(36, 6, 7, 12, 7, 11), devices(10, 3, 38), 1000},
		{"24 of 13, 5 of 11, 1 of 6 and 2 of 2 on 12 of 32", sizes(24, 13, 5, 11, 1, 6, 2, 2), devices(12, 4, 32), 0},
	}
	for n := int64(8); n <= 12; n++ {
		cases = append(cases, packed{fmt.Sprintf("%d of 3 and 1 of 2 on %d of 10", 3*n, n), sizes(3*n, 3, 1, 2), devices(int(n), 2, 10), 0})
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			test.request.Stop = func() error {
				if asked++; asked > 1000 {
					return errors.New("lost")
				}
				return nil
			}
			search := combine.NewPlan(test.request).NewSearch()
			if found := first(search, test.tree, 1); found != 0 || search.Err() != nil || search.Steps() > test.steps {
				t.Errorf("%d solutions, %d steps, error %v, want 0 in %d", found, search.Steps(), search.Err(), test.steps)
			}
		})
	}
}

// TestCombine_IdenticalDevices_MatchNaiveSearch: many equal groups on few kinds of devices, where the search uses that
// devices are interchangeable from the first dead end on.
func TestCombine_IdenticalDevices_MatchNaiveSearch(t *testing.T) {
	t.Parallel()
	alike := mould{
		providers: 4, wants: 6, classes: 2, amount: 4, sets: 1, subtrees: 1, isolate: true, oneOfATree: true, unsuffixed: true,
		free: rapid.SampledFrom([]int64{7, 10}),
	}
	rapid.Check(t, func(t *rapid.T) {
		request := alike.drawRequest(t)
		search := combine.NewPlan(request).NewSearch()
		search.RememberAll()
		tree := alike.drawTree(t, &request)
		if got, want := sorted(all(search, tree)), naive(&request, tree); !sameSolutions(got, want) {
			t.Fatalf("%s\ngot  %v\nwant %v", show(&request, tree), got, want)
		}
	})
}

// crates returns a request of few kinds of groups, and a tree of few kinds of devices, that nearly fill each other. Some
// groups require a trait that only some devices have, some are isolated, and some have to be in one subtree.
func crates(r *rand.Rand) (combine.Request, *combine.Tree) {
	var request combine.Request
	kinds, classes := 1+r.IntN(3), 1+r.IntN(2)
	var slots []combine.Requirement
	for slot := range kinds {
		want := combine.Requirement{Slot: slot, Suffixed: r.IntN(8) > 0}
		for class := range classes {
			want.Uses = append(want.Uses, combine.Use{Class: int32(class), Amount: 2 + r.Int64N(4)})
		}
		slots = append(slots, want)
	}
	frees, total := []int64{7 + r.Int64N(5), 7 + r.Int64N(5)}, int64(0)
	free := make([]int64, 3+r.IntN(3))
	for i := range free {
		free[i] = frees[r.IntN(2)]
		total += free[i]
	}
	for left := total - r.Int64N(4); len(request.Requirements) < 2 || left > 0; {
		want := slots[r.IntN(kinds)]
		request.Requirements = append(request.Requirements, want)
		left -= want.Uses[0].Amount
	}
	if r.IntN(6) == 0 {
		request.Isolated = [][]int{r.Perm(len(request.Requirements))[:2+r.IntN(2)]}
	}
	if r.IntN(6) == 0 {
		request.Subtrees = []combine.Subtree{{Inside: r.Perm(len(request.Requirements))[:2]}}
	}
	if r.IntN(4) == 0 {
		request.Sets = 1
	}
	tree := &combine.Tree{Options: make([][]combine.Option, kinds)}
	for i, free := range free {
		id := int64(i + 1)
		tree.Providers = append(tree.Providers, combine.Provider{ID: id, Root: 1, Path: []int64{1, id}})
		hasTrait := r.IntN(2) == 0
		for slot := range kinds {
			if slot == 1 && !hasTrait {
				continue
			}
			option := combine.Option{Provider: i, Free: []int64{free, free + 1}[:classes]}
			if request.Sets > 0 && hasTrait {
				option.Met = []int32{0}
			}
			tree.Options[slot] = append(tree.Options[slot], option)
		}
	}
	return request, tree
}

// TestCombine_InterchangeableDevices_LoseNoSolution: a search that uses the symmetry of devices finds the same solutions in
// the same order as one that does not, as far as that one gets.
func TestCombine_InterchangeableDevices_LoseNoSolution(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(2, 2))
	saved, solved := 0, 0
	for range 3000 {
		request, tree := crates(r)
		plan := combine.NewPlan(request)
		with, without := plan.NewSearch(), plan.NewSearch()
		with.RememberAll()
		with.Reset(tree)
		without.RememberNone()
		without.Reset(tree)
		for without.Steps() < 5000 && without.Next() {
			if !with.Next() || !slices.Equal(with.Chosen(), without.Chosen()) {
				t.Fatalf("%s\ngot  %v\nwant %v", show(&request, tree), with.Chosen(), without.Chosen())
			}
			solved++
		}
		if without.Steps() < 5000 && with.Next() {
			t.Fatalf("%s\ngot  %v beyond the last", show(&request, tree), with.Chosen())
		}
		saved += max(0, without.Steps()-with.Steps())
	}
	if saved < 100_000 || solved < 100_000 {
		t.Errorf("saved steps = %d, solutions = %d: too few for this test", saved, solved)
	}
}
