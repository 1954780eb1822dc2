package combine_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/berthd/berth/server/search/candidates/combine"
)

// naive finds the solutions by trying every combination of options, and checks each as the contract defines it. They
// are sorted.
func naive(request *combine.Request, tree *combine.Tree) [][]int {
	var found [][]int
	fits := make([]*combine.Option, len(request.Requirements))
	var choose func(want int)
	choose = func(want int) {
		if want == len(fits) {
			if len(fits) > 0 && hasRoom(request, fits) && keepsApart(request, tree, fits) &&
				meetsTraits(request, fits) && areSubtrees(request, tree, fits) {
				found = append(found, placesOf(fits))
			}
			return
		}
		row := tree.Options[request.Requirements[want].Slot]
		for i := range row {
			fits[want] = &row[i]
			choose(want + 1)
		}
	}
	choose(0)
	slices.SortFunc(found, slices.Compare)
	return found
}

func placesOf(fits []*combine.Option) []int {
	places := make([]int, len(fits))
	for i, fit := range fits {
		places[i] = fit.Provider
	}
	return places
}

// hasRoom reports whether the amounts of each class on each provider sum up to at most the free capacity.
func hasRoom(request *combine.Request, fits []*combine.Option) bool {
	type cell struct {
		provider int
		class    int32
	}
	taken, free := map[cell]int64{}, map[cell]int64{}
	for want, fit := range fits {
		for place, use := range request.Requirements[want].Uses {
			at := cell{fit.Provider, use.Class}
			taken[at] += use.Amount
			free[at] = fit.Free[place]
		}
	}
	for at, amount := range taken {
		if amount > free[at] {
			return false
		}
	}
	return true
}

// keepsApart reports whether isolated requirements have different providers, and whether each tree gives resources
// through one provider if OneOfATree is set.
func keepsApart(request *combine.Request, tree *combine.Tree, fits []*combine.Option) bool {
	for a, fit := range fits {
		for b, other := range fits[:a] {
			same := fit.Provider == other.Provider
			together := slices.ContainsFunc(request.Isolated, func(set []int) bool { return slices.Contains(set, a) && slices.Contains(set, b) })
			if together && same {
				return false
			}
			used := len(request.Requirements[a].Uses) > 0 && len(request.Requirements[b].Uses) > 0
			oneTree := tree.Providers[fit.Provider].Root == tree.Providers[other.Provider].Root
			if request.OneOfATree && used && oneTree && !same {
				return false
			}
		}
	}
	return true
}

// meetsTraits reports whether the providers of the unsuffixed requirements meet all sets together.
func meetsTraits(request *combine.Request, fits []*combine.Option) bool {
	met := map[int32]bool{}
	for want, fit := range fits {
		if !request.Requirements[want].Suffixed {
			for _, set := range fit.Met {
				met[set] = true
			}
		}
	}
	return len(met) == request.Sets
}

// areSubtrees reports whether, in each set, one of the chosen providers is on the paths of all, and of none outside.
func areSubtrees(request *combine.Request, tree *combine.Tree, fits []*combine.Option) bool {
	for _, set := range request.Subtrees {
		if len(set.Inside) > 0 && !slices.ContainsFunc(set.Inside, func(top int) bool {
			id := tree.Providers[fits[top].Provider].ID
			isBelow := func(want int) bool {
				chosen := tree.Providers[fits[want].Provider]
				return chosen.ID == id || slices.Contains(chosen.Path, id)
			}
			return !slices.ContainsFunc(set.Outside, isBelow) &&
				!slices.ContainsFunc(set.Inside, func(want int) bool { return !isBelow(want) })
		}) {
			return false
		}
	}
	return true
}

// drawProviders draws some providers of a small forest, in any order. Ancestors may be missing.
func (m mould) drawProviders(t *rapid.T) []combine.Provider {
	n := rapid.IntRange(1, m.providers).Draw(t, "providers of all trees")
	ids := rapid.Permutation([]int64{1, 2, 3, 4, 5, 6, 7, 8}).Draw(t, "ids")
	all := make([]combine.Provider, n)
	for i := range all {
		all[i] = combine.Provider{ID: ids[i], Root: ids[i], Path: []int64{ids[i]}}
		if parent := rapid.IntRange(-1, i-1).Draw(t, "parent"); parent >= 0 {
			all[i].Root = all[parent].Root
			all[i].Path = append(all[i].Path, all[parent].Path...)
		}
	}
	for i := range all {
		all[i].Path = rapid.Permutation(all[i].Path).Draw(t, "path")
	}
	return rapid.Permutation(all).Draw(t, "order")[:rapid.IntRange(1, n).Draw(t, "providers")]
}

// mould is the limits of what is drawn.
type mould struct {
	providers, wants, classes, amount, sets, subtrees int
	isolate, oneOfATree, unsuffixed                   bool
	free                                              *rapid.Generator[int64]
}

// anything has no limits except those of naive.
var anything = mould{
	providers: 8, wants: 5, classes: 3, amount: 3, sets: 3, subtrees: 2, isolate: true, oneOfATree: true, unsuffixed: true,
	free: rapid.Int64Range(-1, 7),
}

// drawRequest draws a request whose requirements share some slots.
func (m mould) drawRequest(t *rapid.T) combine.Request {
	slots := rapid.IntRange(1, 4).Draw(t, "slots")
	groups := make([]combine.Requirement, slots)
	for slot := range groups {
		groups[slot] = combine.Requirement{Slot: slot, Suffixed: !m.unsuffixed || rapid.Bool().Draw(t, "suffixed")}
		least := 1
		if groups[slot].Suffixed {
			least = 0
		}
		for range rapid.IntRange(min(least, m.classes), min(2, m.classes)).Draw(t, "uses") {
			groups[slot].Uses = append(groups[slot].Uses, combine.Use{
				Class:  int32(rapid.IntRange(1, m.classes).Draw(t, "class")),
				Amount: int64(rapid.IntRange(1, m.amount).Draw(t, "amount")),
			})
		}
	}
	request := combine.Request{
		OneOfATree: m.oneOfATree && rapid.Bool().Draw(t, "one of a tree"),
		Sets:       rapid.IntRange(0, m.sets).Draw(t, "sets"),
	}
	for range rapid.IntRange(1, m.wants).Draw(t, "wants") {
		request.Requirements = append(request.Requirements, rapid.SampledFrom(groups).Draw(t, "group"))
	}
	if request.Sets > 0 && rapid.Bool().Draw(t, "many sets") {
		request.Sets += manySets
	}
	someWants := rapid.SliceOfN(rapid.IntRange(0, len(request.Requirements)-1), 0, 4)
	for range rapid.IntRange(0, m.subtrees).Draw(t, "subtrees") {
		set := combine.Subtree{Inside: someWants.Draw(t, "inside")}
		if rapid.Bool().Draw(t, "with an outside") {
			set.Outside = slices.DeleteFunc(someWants.Draw(t, "outside"), func(want int) bool { return slices.Contains(set.Inside, want) })
		}
		request.Subtrees = append(request.Subtrees, set)
	}
	if m.isolate {
		switch rapid.SampledFrom([]string{"none", "all", "sets"}).Draw(t, "isolation") {
		case "all":
			isolateAll(&request)
		case "sets":
			request.Isolated = rapid.SliceOfN(someWants, 0, 3).Draw(t, "isolated")
		}
	}
	return request
}

// isolateAll isolates all suffixed requirements.
func isolateAll(request *combine.Request) {
	var all []int
	for i, want := range request.Requirements {
		if want.Suffixed {
			all = append(all, i)
		}
	}
	request.Isolated = [][]int{all}
}

// insides returns subtree sets without an outside.
func insides(sets ...[]int) (all []combine.Subtree) {
	for _, set := range sets {
		all = append(all, combine.Subtree{Inside: set})
	}
	return all
}

// manySets is a number of additional sets that exceeds a machine word. All providers meet them.
const manySets = 63

// drawTree draws providers and the options of each slot.
func (m mould) drawTree(t *rapid.T, request *combine.Request) *combine.Tree {
	tree := &combine.Tree{Providers: m.drawProviders(t)}
	free := make([]map[int32]int64, len(tree.Providers))
	for i := range free {
		free[i] = map[int32]int64{}
		for class := range m.classes {
			free[i][int32(class+1)] = m.free.Draw(t, "free")
		}
	}
	places := make([]int, len(tree.Providers))
	for i := range places {
		places[i] = i
	}
	tree.Options = make([][]combine.Option, 4)
	for _, want := range request.Requirements {
		if tree.Options[want.Slot] != nil {
			continue
		}
		tree.Options[want.Slot] = []combine.Option{}
		fits := rapid.Permutation(places).Draw(t, "fits")
		for _, place := range fits[:rapid.IntRange(len(fits)/2, len(fits)).Draw(t, "number of fits")] {
			fit := combine.Option{Provider: place}
			for _, use := range want.Uses {
				fit.Free = append(fit.Free, free[place][use.Class])
			}
			for set := range request.Sets {
				if request.Sets > manySets && set < manySets || rapid.Bool().Draw(t, "meets") {
					fit.Met = append(fit.Met, int32(set))
				}
			}
			tree.Options[want.Slot] = append(tree.Options[want.Slot], fit)
		}
	}
	return tree
}

// all returns the solutions of a tree in the order of the search.
func all(search *combine.Search, tree *combine.Tree) [][]int {
	var found [][]int
	search.Reset(tree)
	for search.Next() {
		found = append(found, slices.Clone(search.Chosen()))
	}
	return found
}

// sorted returns a sorted copy.
func sorted(found [][]int) [][]int {
	return slices.SortedFunc(slices.Values(found), slices.Compare)
}

func sameSolutions(a, b [][]int) bool {
	return slices.EqualFunc(a, b, slices.Equal)
}

// show formats a request and a tree for a message.
func show(request *combine.Request, tree *combine.Tree) string {
	return fmt.Sprintf("request %+v\nproviders %+v\nfits %+v", *request, tree.Providers, tree.Options)
}

// TestCombine_RandomRequests_MatchNaiveSearch: each solution appears once, none after one that IsLast calls the last. The
// memory of one search serves several trees.
func TestCombine_RandomRequests_MatchNaiveSearch(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		request := anything.drawRequest(t)
		search := combine.NewPlan(request).NewSearch()
		for range rapid.IntRange(1, 3).Draw(t, "trees") {
			tree := anything.drawTree(t, &request)
			want := naive(&request, tree)
			got := all(search, tree)
			if !sameSolutions(sorted(got), want) {
				t.Fatalf("%s\ngot  %v\nwant %v", show(&request, tree), sorted(got), want)
			}
			if again := all(search, tree); !sameSolutions(again, got) {
				t.Fatalf("%s\nfirst %v\nthen  %v", show(&request, tree), got, again)
			}
			isLast := false
			for search.Reset(tree); search.Next(); isLast = search.IsLast() {
				if isLast {
					t.Fatalf("%s\n%v follows a solution that IsLast calls the last", show(&request, tree), search.Chosen())
				}
			}
		}
	})
}

// TestCombine_First_BestOptionFirst: the first solution has the first option of that requirement which any solution has,
// and the solutions are the same as without.
func TestCombine_First_BestOptionFirst(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		request := anything.drawRequest(t)
		plain := combine.NewPlan(request).NewSearch()
		first := rapid.IntRange(0, len(request.Requirements)-1).Draw(t, "first")
		request.First = &first
		tree := anything.drawTree(t, &request)
		want, got := all(plain, tree), all(combine.NewPlan(request).NewSearch(), tree)
		if !sameSolutions(sorted(got), sorted(want)) {
			t.Fatalf("%s\ngot  %v\nwant %v", show(&request, tree), sorted(got), sorted(want))
		}
		for _, option := range tree.Options[request.Requirements[first].Slot] {
			if slices.ContainsFunc(want, func(solution []int) bool { return solution[first] == option.Provider }) {
				if got[0][first] != option.Provider {
					t.Fatalf("%s\nthe first solution is %v, want one with %d for requirement %d", show(&request, tree), got[0], option.Provider, first)
				}
				return
			}
		}
	})
}
