package combine_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/berthd/berth/server/search/candidates/combine"
)

// forest returns providers from words like "numa0<cn": a name and that of its parent, which comes before.
func forest(t *testing.T, words string) *combine.Tree {
	t.Helper()
	tree := &combine.Tree{}
	ids := map[string]int64{}
	paths := map[int64][]int64{}
	for i, word := range strings.Fields(words) {
		name, parent, nested := strings.Cut(word, "<")
		id := int64(i + 1)
		ids[name] = id
		if nested {
			paths[id] = slices.Clone(paths[ids[parent]])
			if len(paths[id]) == 0 {
				t.Fatalf("no %q before %q", parent, word)
			}
		}
		paths[id] = append(paths[id], id)
		tree.Providers = append(tree.Providers, combine.Provider{ID: id, Root: paths[id][0], Path: paths[id]})
	}
	return tree
}

// slot adds a row of options from words like "cn:4,2:0": the index of a provider's name in the words of its forest is
// its id. The free amount of each use follows, and the trait sets that are met, after a second colon.
func slot(t *testing.T, tree *combine.Tree, names, words string) {
	t.Helper()
	row := []combine.Option{}
	for word := range strings.FieldsSeq(words) {
		parts := strings.Split(word, ":")
		fit := combine.Option{Provider: slices.Index(namesOf(names), parts[0])}
		if fit.Provider < 0 {
			t.Fatalf("no %q in %q", parts[0], names)
		}
		if len(parts) > 1 && parts[1] != "" {
			for number := range strings.SplitSeq(parts[1], ",") {
				fit.Free = append(fit.Free, number64(t, number))
			}
		}
		if len(parts) > 2 {
			for number := range strings.SplitSeq(parts[2], ",") {
				fit.Met = append(fit.Met, int32(number64(t, number)))
			}
		}
		row = append(row, fit)
	}
	tree.Options = append(tree.Options, row)
}

func number64(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// namesOf returns the names in the words of a forest.
func namesOf(words string) []string {
	names := strings.Fields(words)
	for i, word := range names {
		names[i], _, _ = strings.Cut(word, "<")
	}
	return names
}

// named returns the solutions of a tree with names, in alphabetical order.
func named(request combine.Request, tree *combine.Tree, words string) []string {
	names := namesOf(words)
	var found []string
	for _, chosen := range all(combine.NewPlan(request).NewSearch(), tree) {
		var solution []string
		for _, place := range chosen {
			solution = append(solution, names[place])
		}
		found = append(found, strings.Join(solution, " "))
	}
	slices.Sort(found)
	return found
}

// suffixed and unsuffixed return requirements of a slot: pairs of class and amount.
func suffixed(slot int, uses ...int64) combine.Requirement {
	want := unsuffixed(slot, uses...)
	want.Suffixed = true
	return want
}

func unsuffixed(slot int, uses ...int64) combine.Requirement {
	want := combine.Requirement{Slot: slot}
	for pair := range slices.Chunk(uses, 2) {
		want.Uses = append(want.Uses, combine.Use{Class: int32(pair[0]), Amount: pair[1]})
	}
	return want
}

// devices returns a tree of n devices with this much of class 1, and a slot for each of the groups, with all devices as
// options.
func devices(n, slots int, free int64) *combine.Tree {
	tree := &combine.Tree{Options: make([][]combine.Option, slots)}
	for i := range n {
		id := int64(i + 1)
		tree.Providers = append(tree.Providers, combine.Provider{ID: id, Root: 1, Path: []int64{1, id}})
		for slot := range slots {
			tree.Options[slot] = append(tree.Options[slot], combine.Option{Provider: i, Free: []int64{free}})
		}
	}
	return tree
}

// groups returns a request of n suffixed groups for one unit of class 1 each.
func groups(n, slots int) combine.Request {
	var request combine.Request
	for i := range n {
		request.Requirements = append(request.Requirements, combine.Requirement{
			Suffixed: true, Slot: i % slots, Uses: []combine.Use{{Class: 1, Amount: 1}},
		})
	}
	return request
}

// numa returns a tree of n NUMA nodes with this many network functions below each.
func numa(n, below int) *combine.Tree {
	tree := &combine.Tree{Providers: []combine.Provider{{ID: 1, Root: 1, Path: []int64{1}}}, Options: make([][]combine.Option, 2)}
	for i := range n {
		node := int64(100 * (i + 1))
		tree.Options[0] = append(tree.Options[0], combine.Option{Provider: len(tree.Providers), Free: []int64{8}})
		tree.Providers = append(tree.Providers, combine.Provider{ID: node, Root: 1, Path: []int64{1, node}})
		for j := range below {
			id := node + int64(j) + 1
			tree.Options[1] = append(tree.Options[1], combine.Option{Provider: len(tree.Providers), Free: []int64{2}})
			tree.Providers = append(tree.Providers, combine.Provider{ID: id, Root: 1, Path: []int64{1, node, id}})
		}
	}
	return tree
}

// pairs returns a request for n NUMA nodes with two network functions each.
func pairs(n int) combine.Request {
	var request combine.Request
	for i := range n {
		request.Requirements = append(request.Requirements,
			combine.Requirement{Suffixed: true, Slot: 0, Uses: []combine.Use{{Class: 2, Amount: 4}}},
			combine.Requirement{Suffixed: true, Slot: 1, Uses: []combine.Use{{Class: 1, Amount: 1}}},
			combine.Requirement{Suffixed: true, Slot: 1, Uses: []combine.Use{{Class: 1, Amount: 1}}})
		request.Subtrees = append(request.Subtrees, combine.Subtree{Inside: []int{3 * i, 3*i + 1, 3*i + 2}})
	}
	return request
}

// flat returns a request for three classes, and a tree of one provider that has them.
func flat() (combine.Request, *combine.Tree) {
	request := combine.Request{Sets: 1}
	tree := &combine.Tree{Providers: []combine.Provider{{ID: 1, Root: 1}}}
	for slot := range 3 {
		request.Requirements = append(request.Requirements, combine.Requirement{Slot: slot, Uses: []combine.Use{{Class: int32(slot), Amount: 1}}})
		tree.Options = append(tree.Options, []combine.Option{{Free: []int64{8}, Met: []int32{0}}})
	}
	return request, tree
}

// first walks the first solutions, up to limit.
func first(search *combine.Search, tree *combine.Tree, limit int) (found int) {
	search.Reset(tree)
	for found < limit && search.Next() {
		found++
	}
	return found
}
