package combine_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/berthd/berth/server/search/candidates/combine"
)

// TestCombine_Infeasible_RejectedInZeroSteps: the search does not try 8! or 15! dead ends.
func TestCombine_Infeasible_RejectedInZeroSteps(t *testing.T) {
	t.Parallel()
	isolated := func(request combine.Request) combine.Request {
		isolateAll(&request)
		return request
	}
	oneOfATree := func(request combine.Request) combine.Request {
		request.OneOfATree = true
		return request
	}
	hosts := devices(16, 9, 9)
	for i := range hosts.Providers {
		hosts.Providers[i].Root = int64(i / 2)
	}
	mixed := groups(16, 16)
	for i := range mixed.Requirements {
		mixed.Requirements[i].Uses[0].Amount = int64(2 + 2*(i%2))
	}
	for _, test := range []struct {
		name    string
		request combine.Request
		tree    *combine.Tree
	}{
		{"9 isolated groups on 8 devices", isolated(groups(9, 9)), devices(8, 9, 9)},
		{"9 equal isolated groups on 8 devices", isolated(groups(9, 1)), devices(8, 1, 9)},
		{"16 equal groups on 15 devices of one unit", groups(16, 1), devices(15, 1, 1)},
		{"16 different groups on 15 devices of one unit", groups(16, 16), devices(15, 16, 1)},
		{"16 groups of 2 and 4 units on 15 devices of 3 and some of 5", mixed, devices(11, 16, 5)},
		{"9 isolated groups on 16 devices of 8 trees, one each", oneOfATree(isolated(groups(9, 9))), hosts},
		{"4 pairs of isolated functions on 4 NUMA nodes with one each", isolated(pairs(4)), numa(4, 1)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			search := combine.NewPlan(test.request).NewSearch()
			if found := first(search, test.tree, 1); found != 0 || search.Steps() != 0 {
				t.Errorf("solutions = %d, steps = %d, want 0 and 0", found, search.Steps())
			}
		})
	}
}

// TestCombine_ManySolutions_StepsGrowLinearly: the number of steps is linear with 16! solutions, and with few of them.
func TestCombine_ManySolutions_StepsGrowLinearly(t *testing.T) {
	t.Parallel()
	isolated := groups(16, 16)
	isolateAll(&isolated)
	crowded := devices(16, 16, 1)
	for slot := range crowded.Options {
		// The first groups can use all devices, the last ones only few.
		crowded.Options[slot] = crowded.Options[slot][:16-slot]
	}
	// The upper groups need all devices but 9. The lower ones, which are decided first, would first leave the wrong
	// one.
	halves := devices(16, 16, 1)
	for slot := range halves.Options {
		if slot < 8 {
			halves.Options[slot] = halves.Options[slot][:9]
			slices.Reverse(halves.Options[slot])
		} else {
			halves.Options[slot] = halves.Options[slot][6:]
		}
	}
	// Each class by itself has capacity for the two thirds of the groups that require it, but no two groups can be on
	// one device.
	triangle := groups(24, 3)
	around := devices(16, 3, 1)
	for i := range triangle.Requirements {
		triangle.Requirements[i].Uses = []combine.Use{{Class: int32(i % 3), Amount: 1}, {Class: int32((i + 1) % 3), Amount: 1}}
	}
	for slot := range around.Options {
		for i := range around.Options[slot] {
			around.Options[slot][i].Free = []int64{1, 1}
		}
	}
	for _, test := range []struct {
		name    string
		request combine.Request
		tree    *combine.Tree
		found   int
		steps   int
	}{
		{"16 isolated groups on 16 devices", isolated, devices(16, 16, 1), 1000, 28 * 1000},
		{"16 different groups on 16 devices of one unit", groups(16, 16), devices(16, 16, 1), 1000, 28 * 1000},
		{"16 equal groups on 8 devices of two units", groups(16, 1), devices(8, 1, 2), 1000, 16 * 1000},
		{"16 isolated groups with one way to place them", isolated, crowded, 1, 2 * 16},
		{"16 isolated groups of which the first could take what the last need", isolated, halves, 1000, 28 * 1000},
		{"24 groups for two of three classes on 16 devices", triangle, around, 0, 16},
		{"2 NUMA nodes of 40 with 2 functions each of 40", pairs(2), numa(40, 40), 1000, 2 * 1000},
	} {
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
			if found := first(search, test.tree, 1000); found != test.found || search.Steps() > test.steps {
				t.Errorf("%d solutions in %d steps, want %d in %d", found, search.Steps(), test.found, test.steps)
			}
		})
	}
}

// TestCombine_DeadEnds_NotEnteredTwice: where the lookahead is incomplete, the number of steps grows with the number of
// states and not of permutations.
func TestCombine_DeadEnds_NotEnteredTwice(t *testing.T) {
	t.Parallel()

	// Groups of 3 and of 2 units: two of the latter fit on a device of 4, and no other beside one of 3. One device is
	// missing, although there are units enough.
	packing := groups(16, 16)
	for i := range packing.Requirements {
		packing.Requirements[i].Uses[0].Amount = int64(2 + i%2)
	}
	// The unsuffixed group uses a whole device, which isolation does not detect.
	beside := groups(9, 9)
	beside.Requirements[8] = unsuffixed(8, vcpu, 2)
	isolateAll(&beside)
	besides := devices(9, 9, 2)
	besides.Options[8] = besides.Options[8][:8]
	for slot := range 8 {
		besides.Options[slot] = besides.Options[slot][:8]
	}
	// Two NUMA nodes with three functions each have capacity for three pairs, but not with each pair on one node. Ten
	// unrelated requirements come first.
	odd := pairs(3)
	for i := range 3 {
		odd.Requirements[3*i].Uses = nil
	}
	three := numa(2, 3)
	for i := range three.Options[1] {
		three.Options[1][i].Free[0] = 1
	}
	three.Options = append(three.Options, three.Options[0])
	for range 10 {
		odd.Requirements = append(odd.Requirements, suffixed(2))
	}
	slices.Reverse(odd.Requirements)
	for _, set := range odd.Subtrees {
		for i := range set.Inside {
			set.Inside[i] = len(odd.Requirements) - 1 - set.Inside[i]
		}
	}
	for _, test := range []struct {
		name    string
		request combine.Request
		tree    *combine.Tree
		steps   int
	}{
		{"pairs that cannot be on one node", odd, three, 16},
		{"amounts that do not pack", packing, devices(11, 16, 4), 12_000},
		{"a device that the unsuffixed group needs", beside, besides, 4000},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			search := combine.NewPlan(test.request).NewSearch()
			if found := first(search, test.tree, 1); found != 0 || search.Steps() > test.steps {
				t.Errorf("%d solutions, %d steps, want 0 in %d", found, search.Steps(), test.steps)
			}
		})
	}
}

// crowd returns a request and a tree with many conflicts: nearly every provider is an option for every requirement, and
// capacity is scarce.
func crowd(r *rand.Rand) (combine.Request, *combine.Tree) {
	request := combine.Request{OneOfATree: r.IntN(4) == 0, Sets: r.IntN(5)}
	slots := make([]combine.Requirement, 2+r.IntN(4))
	for i := range slots {
		slots[i] = combine.Requirement{Slot: i, Suffixed: r.IntN(3) > 0}
		for class := range r.IntN(3) {
			use := combine.Use{Class: int32(class), Amount: 1 + r.Int64N(3)}
			slots[i].Uses = append(slots[i].Uses, use)
		}
	}
	wants := 6 + r.IntN(5)
	for range wants {
		request.Requirements = append(request.Requirements, slots[r.IntN(len(slots))])
	}
	switch r.IntN(3) {
	case 0:
		isolateAll(&request)
	case 1:
		request.Isolated = [][]int{r.Perm(wants)[:2+r.IntN(3)], r.Perm(wants)[:2]}
	}
	for range r.IntN(4) {
		order, inside := r.Perm(wants), 2+r.IntN(3)
		request.Subtrees = append(request.Subtrees, combine.Subtree{Inside: order[:inside], Outside: order[inside : inside+r.IntN(3)]})
	}
	tree := &combine.Tree{Options: make([][]combine.Option, len(slots))}
	free := [][2]int64{}
	for i := range 4 + r.IntN(7) {
		id := int64(i + 1)
		p := combine.Provider{ID: id, Root: id, Path: []int64{id}}
		if i > 0 && r.IntN(4) > 0 {
			parent := tree.Providers[r.IntN(i)]
			p.Root, p.Path = parent.Root, append(p.Path, parent.Path...)
		}
		tree.Providers = append(tree.Providers, p)
		free = append(free, [2]int64{1 + r.Int64N(6), 1 + r.Int64N(6)})
	}
	for i, want := range slots {
		for _, place := range r.Perm(len(free)) {
			fit := combine.Option{Provider: place, Free: free[place][:len(want.Uses)]}
			for set := range request.Sets {
				if r.IntN(2) == 0 {
					fit.Met = append(fit.Met, int32(set))
				}
			}
			if r.IntN(6) > 0 {
				tree.Options[i] = append(tree.Options[i], fit)
			}
		}
	}
	return request, tree
}

// TestCombine_DeadEndCache_LosesNoSolution: a search that remembers the smallest dead ends finds the same solutions as
// one that remembers none, as far as that one gets.
func TestCombine_DeadEndCache_LosesNoSolution(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	remembered, saved := 0, 0
	for range 3000 {
		request, tree := crowd(r)
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
		}
		if without.Steps() < 5000 && with.Next() {
			t.Fatalf("%s\ngot  %v beyond the last", show(&request, tree), with.Chosen())
		}
		remembered += with.DeadEnds()
		saved += max(0, without.Steps()-with.Steps())
	}
	if remembered < 1000 || saved < 10_000 {
		t.Errorf("dead ends = %d, saved steps = %d: too few for this test", remembered, saved)
	}
}

// TestCombine_SingleConstraint_NoDeadEnds: with isolation only, or equal amounts of one class, or one subtree, every
// step leads to a solution or is rejected at once. A request without a solution takes no step.
func TestCombine_SingleConstraint_NoDeadEnds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		mould
		isolate bool
		subtree bool
	}{
		{"isolation", mould{providers: 8, wants: 6, free: rapid.Just[int64](9)}, true, false},
		{"a class", mould{providers: 8, wants: 6, classes: 1, amount: 1, free: rapid.Int64Range(0, 3)}, false, false},
		{"a subtree", mould{providers: 8, wants: 4, free: rapid.Just[int64](9)}, false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				request := test.drawRequest(t)
				if request.Isolated = nil; test.isolate {
					isolateAll(&request)
				}
				for i := range request.Requirements {
					// A second amount of the class would differ.
					request.Requirements[i].Uses = request.Requirements[i].Uses[:min(len(request.Requirements[i].Uses), 1)]
					if test.subtree {
						request.Subtrees = insides([]int{0})
						request.Subtrees[0].Inside = append(request.Subtrees[0].Inside, i)
					}
				}
				tree := test.drawTree(t, &request)
				search := combine.NewPlan(request).NewSearch()
				found, fits := len(all(search, tree)), len(tree.Providers)
				if limit := found * len(request.Requirements) * fits; search.Steps() > limit {
					t.Fatalf("%s\n%d solutions in %d steps", show(&request, tree), found, search.Steps())
				}
			})
		})
	}
}
