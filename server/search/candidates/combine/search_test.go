package combine_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/berthd/berth/server/search/candidates/combine"
)

const (
	vcpu = 1 + iota
	vf
	disk
)

// TestCombine_ContractExamples_YieldExpectedCandidates runs the worked examples of
// docs/contract/allocation-candidates-examples.md that are about combining groups.
func TestCombine_ContractExamples_YieldExpectedCandidates(t *testing.T) {
	t.Parallel()

	const family = "root child<root"
	const nested = "cn n0<cn n1<cn"
	const host = "cn numa0<cn pf00<numa0 pf01<numa0 numa1<cn pf10<numa1 ss"
	const functions = "pf00:4 pf01:4 pf10:4"
	for _, test := range []struct {
		name, forest string
		request      combine.Request
		slots        []string
		want         []string
	}{
		{
			"adds up amounts within the capacity (8)", "p",
			combine.Request{Requirements: []combine.Requirement{suffixed(0, vcpu, 20), suffixed(1, vcpu, 30)}},
			[]string{"p:50", "p:50"}, []string{"p p"},
		},
		{
			"rejects amounts that fit only one by one (9, 10)", "p",
			combine.Request{Requirements: []combine.Requirement{suffixed(0, vcpu, 30), suffixed(0, vcpu, 30)}},
			[]string{"p:50"}, nil,
		},
		{
			"rejects amounts that do not even fit one by one", "p",
			combine.Request{Requirements: []combine.Requirement{suffixed(0, vcpu, 51)}},
			[]string{"p:50"}, nil,
		},
		{
			"adds up amounts of a class that a requirement contains twice", family,
			combine.Request{Requirements: []combine.Requirement{suffixed(0, vcpu, 3, vcpu, 3)}},
			[]string{"root:5,5 child:6,6"}, []string{"child"},
		},
		{
			"combines classes over the providers of a tree (40)", nested,
			combine.Request{Requirements: []combine.Requirement{unsuffixed(0, vcpu, 1), unsuffixed(1, vf, 2)}},
			[]string{"cn:8", "n0:4 n1:8"}, []string{"cn n0", "cn n1"},
		},
		{
			"uses one provider of a tree only, if it must (41)", "cn n0<cn flat",
			combine.Request{Requirements: []combine.Requirement{unsuffixed(0, vcpu, 1), unsuffixed(1, vf, 2)}, OneOfATree: true},
			[]string{"cn:8 flat:8", "n0:4 flat:8"}, []string{"cn flat", "flat flat", "flat n0"},
		},
		{
			"does not count a provider that gives nothing as used", nested,
			combine.Request{
				Requirements: []combine.Requirement{unsuffixed(0, vcpu, 1), suffixed(1), suffixed(2, vf, 1)},
				OneOfATree:   true,
			},
			[]string{"cn:8", "cn n0", "n0:1 cn:1"}, []string{"cn cn cn", "cn n0 cn"},
		},
		{
			"isolates groups in different trees, if a tree gives through one provider only", "a a0<a b b0<b",
			combine.Request{Requirements: []combine.Requirement{suffixed(0, vf, 1), suffixed(0, vf, 1)}, Isolated: [][]int{{0, 1}}, OneOfATree: true},
			[]string{"a0:2 b0:2 a:2"}, []string{"a b0", "a0 b0", "b0 a", "b0 a0"},
		},
		{
			"meets traits with several providers together (46)", nested,
			combine.Request{Requirements: []combine.Requirement{unsuffixed(0, vcpu, 1), unsuffixed(1, vf, 2)}, Sets: 2},
			[]string{"cn:8:0", "n0:4:1 n1:8"}, []string{"cn n0"},
		},
		{
			"does not count the traits of suffixed groups (45)", nested,
			combine.Request{Requirements: []combine.Requirement{suffixed(0, vcpu, 1), unsuffixed(1, vf, 2)}, Sets: 1},
			[]string{"cn:8:0", "n0:4 n1:8"}, nil,
		},
		{
			"finds nothing that meets traits if there are suffixed groups only", nested,
			combine.Request{Requirements: []combine.Requirement{suffixed(0, vcpu, 1)}, Sets: 1},
			[]string{"cn:8:0"}, nil,
		},
		{
			"isolates groups (62)", family,
			combine.Request{Requirements: []combine.Requirement{suffixed(0, vcpu, 1), suffixed(0, vcpu, 1)}, Isolated: [][]int{{0, 1}}},
			[]string{"root:10 child:10"}, []string{"child root", "root child"},
		},
		{
			"adds up the amounts of groups that are not isolated (64)", family,
			combine.Request{Requirements: []combine.Requirement{suffixed(0, vcpu, 1), suffixed(1, vcpu, 2)}},
			[]string{"root:10 child:10", "root:10 child:10"},
			[]string{"child child", "child root", "root child", "root root"},
		},
		{
			"does not isolate the unsuffixed group (67)", family,
			combine.Request{
				Requirements: []combine.Requirement{unsuffixed(0, vcpu, 1), suffixed(1, vcpu, 1), suffixed(1, vcpu, 1)},
				Isolated:     [][]int{{1, 2}},
			},
			[]string{"root:2 child:1", "root:2 child:1"}, []string{"root child root", "root root child"},
		},
		{
			"requires one of a subtree to be the ancestor of all (69)", host,
			combine.Request{
				Requirements: []combine.Requirement{suffixed(0, vcpu, 1), suffixed(1, vf, 1)},
				Subtrees:     insides([]int{0, 1}),
			},
			[]string{"numa0:4 numa1:4", functions}, []string{"numa0 pf00", "numa0 pf01", "numa1 pf10"},
		},
		{
			"does not take siblings for a subtree (70)", host,
			combine.Request{
				Requirements: []combine.Requirement{suffixed(0, vf, 1), suffixed(0, vf, 1)},
				Isolated:     [][]int{{0, 1}}, Subtrees: insides([]int{0, 1}),
			},
			[]string{functions}, nil,
		},
		{
			"takes one provider for a subtree (71)", host,
			combine.Request{
				Requirements: []combine.Requirement{suffixed(0, vf, 1), suffixed(0, vf, 1)},
				Subtrees:     insides([]int{0, 1}),
			},
			[]string{functions}, []string{"pf00 pf00", "pf01 pf01", "pf10 pf10"},
		},
		{
			"lets a group without resources be the ancestor (72)", host,
			combine.Request{
				Requirements: []combine.Requirement{suffixed(0, vf, 1), suffixed(0, vf, 1), suffixed(1)},
				Isolated:     [][]int{{0, 1, 2}}, Subtrees: insides([]int{0, 1, 2}),
			},
			[]string{functions, "numa0 numa1"}, []string{"pf00 pf01 numa0", "pf01 pf00 numa0"},
		},
		{
			"requires the common ancestor itself", "r a<r b<r c<r",
			combine.Request{
				Requirements: []combine.Requirement{suffixed(0), suffixed(1), suffixed(2), suffixed(3)},
				Subtrees:     insides([]int{0, 1, 2, 3}),
			},
			[]string{"a r", "b", "c", "a b c r"}, []string{"a b c r", "r b c a", "r b c b", "r b c c", "r b c r"},
		},
		{
			"isolates groups without resources (74)", host,
			combine.Request{
				Requirements: []combine.Requirement{suffixed(0, vcpu, 1), suffixed(1)},
				Isolated:     [][]int{{0, 1}}, Subtrees: insides([]int{0, 1}),
			},
			[]string{"numa0:4 numa1:4", "numa0 numa1"}, nil,
		},
		{
			"ties nothing with a subtree of one (76)", host,
			combine.Request{Requirements: []combine.Requirement{unsuffixed(0, vcpu, 1), suffixed(1)}, Subtrees: insides([]int{1}, []int{})},
			[]string{"numa0:4 numa1:4", "numa0 numa1"},
			[]string{"numa0 numa0", "numa0 numa1", "numa1 numa0", "numa1 numa1"},
		},
		{
			"uses no providers of different trees for a subtree (81)", host,
			combine.Request{
				Requirements: []combine.Requirement{suffixed(0, vcpu, 1), suffixed(1, disk, 1)},
				Subtrees:     insides([]int{0, 1}),
			},
			[]string{"numa0:4 numa1:4", "ss:100"}, nil,
		},
		{
			"leaves groups out of a subtree that are not named (82)", host,
			combine.Request{
				Requirements: []combine.Requirement{suffixed(0, vcpu, 1), suffixed(1, vf, 1), suffixed(2, disk, 1)},
				Subtrees:     insides([]int{0, 1}),
			},
			[]string{"numa0:4 numa1:4", "pf00:4 pf10:4", "ss:100"}, []string{"numa0 pf00 ss", "numa1 pf10 ss"},
		},
		{
			"finds nothing if a requirement has no option", nested,
			combine.Request{Requirements: []combine.Requirement{unsuffixed(0, vcpu, 1), unsuffixed(1, vf, 2)}},
			[]string{"cn:8", ""}, nil,
		},
		{
			"finds nothing without requirements", nested, combine.Request{}, nil, nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			tree := forest(t, test.forest)
			for _, words := range test.slots {
				slot(t, tree, test.forest, words)
			}
			if got := named(test.request, tree, test.forest); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestCombine_HugeAmounts_DoNotOverflow: a sum that exceeds an int64 exceeds every capacity.
func TestCombine_HugeAmounts_DoNotOverflow(t *testing.T) {
	t.Parallel()
	const most = math.MaxInt64 - 1
	tree := forest(t, "a b")
	tree.Options = [][]combine.Option{{{Provider: 0, Free: []int64{math.MaxInt64}}, {Provider: 1, Free: []int64{math.MaxInt64}}}}
	for wants, want := range map[int]int{1: 2, 2: 2, 3: 0} {
		request := combine.Request{Requirements: slices.Repeat([]combine.Requirement{suffixed(0, vcpu, most)}, wants)}
		if got := len(all(combine.NewPlan(request).NewSearch(), tree)); got != want {
			t.Errorf("solutions of %d requirements = %d, want %d", wants, got, want)
		}
	}
	request := combine.Request{Requirements: []combine.Requirement{suffixed(0, vcpu, most, vcpu, most)}}
	tree.Options[0] = []combine.Option{{Free: []int64{math.MaxInt64, math.MaxInt64}}}
	if got := all(combine.NewPlan(request).NewSearch(), tree); got != nil {
		t.Errorf("solution for twice the largest amount = %v, want none", got)
	}
}

// TestCombine_InterleavedSearches_Independent: searches of one plan do not affect each other, and a paused search
// continues where it was.
func TestCombine_InterleavedSearches_Independent(t *testing.T) {
	t.Parallel()
	request := groups(4, 2)
	isolateAll(&request)
	plan := combine.NewPlan(request)
	trees := []*combine.Tree{devices(4, 2, 1), devices(3, 2, 1), devices(5, 2, 1), numa(3, 2)}
	var searches []*combine.Search
	var got, want [4][][]int
	for i, tree := range trees {
		want[i] = all(plan.NewSearch(), tree)
		searches = append(searches, plan.NewSearch())
		searches[i].Reset(tree)
	}
	for more := true; more; {
		more = false
		for i, search := range searches {
			if search.Next() {
				more = true
				got[i] = append(got[i], slices.Clone(search.Chosen()))
			}
		}
	}
	for i := range trees {
		if !sameSolutions(got[i], want[i]) {
			t.Errorf("tree %d: got %v, want %v", i, got[i], want[i])
		}
	}
	if len(want[0]) != 24 || len(want[1]) != 0 || len(want[2]) != 120 {
		t.Errorf("4 groups on 4, 3 and 5 devices: %d, %d and %d solutions", len(want[0]), len(want[1]), len(want[2]))
	}
}

// TestCombine_SearchExhausted_NextReturnsFalse, for any number of calls.
func TestCombine_SearchExhausted_NextReturnsFalse(t *testing.T) {
	t.Parallel()
	request, tree := flat()
	search := combine.NewPlan(request).NewSearch()
	if search.Next() {
		t.Error("Next without a tree = true")
	}
	search.Reset(tree)
	if !search.Next() || search.Next() || search.Next() || search.Err() != nil {
		t.Error("solutions of a flat provider: want exactly one")
	}
}

// TestCombine_Shuffle_SameSolutionsInSeededOrder: the order depends on the seed only.
func TestCombine_Shuffle_SameSolutionsInSeededOrder(t *testing.T) {
	t.Parallel()
	for _, isolate := range []bool{false, true} {
		request := pairs(2)
		if isolate {
			isolateAll(&request)
		}
		tree := numa(3, 3)
		plain := all(combine.NewPlan(request).NewSearch(), tree)
		shuffled := func(seed uint64) [][]int {
			request.Shuffle = rand.New(rand.NewPCG(seed, 0))
			return all(combine.NewPlan(request).NewSearch(), tree)
		}
		one, two := shuffled(1), shuffled(2)
		if !sameSolutions(sorted(one), sorted(plain)) || !sameSolutions(sorted(two), sorted(plain)) {
			t.Errorf("%d solutions, shuffled %d and %d", len(plain), len(one), len(two))
		}
		if !sameSolutions(one, shuffled(1)) {
			t.Error("the same seed gives different orders")
		}
		if sameSolutions(one, two) || sameSolutions(one, plain) {
			t.Error("different seeds give the same order")
		}
	}
}

// TestCombine_Options_OrderPreserved: the first option of the first requirement comes first.
func TestCombine_Options_OrderPreserved(t *testing.T) {
	t.Parallel()
	const words = "a b c"
	tree := forest(t, words)
	slot(t, tree, words, "c:1 a:1 b:1")
	slot(t, tree, words, "b:1 a:1")
	request := combine.Request{Requirements: []combine.Requirement{suffixed(0, vcpu, 1), suffixed(1, vf, 1)}}
	// The second requirement has fewer options and is decided first.
	want := [][]int{{2, 1}, {0, 1}, {1, 1}, {2, 0}, {0, 0}, {1, 0}}
	if got := all(combine.NewPlan(request).NewSearch(), tree); !sameSolutions(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestCombine_Stop_EndsSearch: Reset begins another search.
func TestCombine_Stop_EndsSearch(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	var answer error
	asked := 0
	request := groups(16, 16)
	isolateAll(&request)
	request.Stop = func() error {
		asked++
		return answer
	}
	search := combine.NewPlan(request).NewSearch()
	tree := devices(16, 16, 1)
	if found := first(search, tree, 1000); found != 1000 || asked < search.Steps()/1024 || search.Err() != nil {
		t.Fatalf("solutions = %d in %d steps, calls of Stop = %d, error = %v", found, search.Steps(), asked, search.Err())
	}
	answer = enough
	found := first(search, tree, 1000)
	if !errors.Is(search.Err(), enough) || search.Steps() > 1024 || found == 0 || search.Next() {
		t.Errorf("error = %v after %d solutions and %d steps", search.Err(), found, search.Steps())
	}
	answer = nil
	if found := first(search, tree, 1000); found != 1000 || search.Err() != nil {
		t.Errorf("solutions after Reset = %d, error = %v", found, search.Err())
	}
}
