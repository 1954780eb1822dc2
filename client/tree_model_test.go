package client

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	api "github.com/berthd/berth/gen/client"
)

// naiveForest is a list of providers in no order; every question goes through it
// from the start.
type naiveForest []naiveProvider

type naiveProvider struct {
	number, parent int // parent 0 for a root
	name           string
}

func (f naiveForest) at(number int) int {
	return slices.IndexFunc(f, func(one naiveProvider) bool { return one.number == number })
}

func (f naiveForest) named(name string) int {
	return slices.IndexFunc(f, func(one naiveProvider) bool { return one.name == name })
}

// path is the names from the root to the provider.
func (f naiveForest) path(number int) []string {
	one := f[f.at(number)]
	if one.parent == 0 {
		return []string{one.name}
	}
	return append(f.path(one.parent), one.name)
}

func (f naiveForest) below(number, top int) bool {
	for number != 0 {
		if number == top {
			return true
		}
		number = f[f.at(number)].parent
	}
	return false
}

func (f naiveForest) without(gone func(naiveProvider) bool) naiveForest {
	var left naiveForest
	for _, one := range f {
		if !gone(one) {
			left = append(left, one)
		}
	}
	return left
}

// lines are the paths of all providers; sorted they are top-down by name.
func (f naiveForest) lines() []string {
	var paths []string
	for _, one := range f {
		paths = append(paths, strings.Join(f.path(one.number), "/")+" "+id(one.number).String())
	}
	slices.Sort(paths)
	return paths
}

func treeLines(tree *ProviderTree) []string {
	paths := map[uuid.UUID]string{uuid.Nil: ""}
	var lines []string
	for _, node := range tree.Nodes() {
		above, known := paths[node.Parent]
		if !known {
			return []string{"a provider stands before its parent"}
		}
		paths[node.UUID] = strings.TrimPrefix(above+"/"+node.Name, "/")
		lines = append(lines, paths[node.UUID]+" "+node.UUID.String())
	}
	return lines
}

// TestClient_RandomTreeOperations_MatchNaiveModel does random things to both.
func TestClient_RandomTreeOperations_MatchNaiveModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tree := NewProviderTree()
		var model naiveForest
		number := func(t *rapid.T, what string) int { return rapid.IntRange(1, 9).Draw(t, what) }
		name := func(t *rapid.T) string {
			return rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}).Draw(t, "name")
		}
		// ref is a name or a UUID, and the number of its provider: 0 for none.
		ref := func(t *rapid.T) (string, int) {
			if rapid.Bool().Draw(t, "by name") {
				called := name(t)
				if at := model.named(called); at >= 0 {
					return called, model[at].number
				}
				return called, 0
			}
			drawn := number(t, "ref")
			if model.at(drawn) < 0 {
				return id(drawn).String(), 0
			}
			return id(drawn).String(), drawn
		}
		agree := func(t *rapid.T, err error, fine bool) {
			if (err == nil) != fine {
				t.Fatalf("the forest says %v; it should work: %t", err, fine)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"root": func(t *rapid.T) {
				called, drawn := name(t), number(t, "uuid")
				fine := model.named(called) < 0 && model.at(drawn) < 0
				agree(t, tree.NewRoot(called, id(drawn), nil), fine)
				if fine {
					model = append(model, naiveProvider{number: drawn, name: called})
				}
			},
			"child": func(t *rapid.T) {
				called, drawn := name(t), number(t, "uuid")
				above, parent := ref(t)
				fine := parent != 0 && model.named(called) < 0 && model.at(drawn) < 0
				_, err := tree.NewChild(called, above, id(drawn))
				agree(t, err, fine)
				if fine {
					model = append(model, naiveProvider{number: drawn, name: called, parent: parent})
				}
			},
			"remove": func(t *rapid.T) {
				meant, drawn := ref(t)
				agree(t, tree.Remove(meant), drawn != 0)
				if drawn != 0 {
					whole := model
					model = model.without(func(one naiveProvider) bool { return whole.below(one.number, drawn) })
				}
			},
			"rename": func(t *rapid.T) {
				meant, drawn := ref(t)
				called := name(t)
				holder := model.named(called)
				fine := drawn != 0 && (holder < 0 || model[holder].number == drawn)
				agree(t, tree.Rename(meant, called), fine)
				if fine {
					model[model.at(drawn)].name = called
				}
			},
			"move": func(t *rapid.T) {
				meant, drawn := ref(t)
				above, parent := ref(t)
				if rapid.Bool().Draw(t, "to the top") {
					above, parent = "", 0
				}
				fine := drawn != 0 && (above == "" || parent != 0 && !model.below(parent, drawn))
				agree(t, tree.Move(meant, above), fine)
				if fine {
					model[model.at(drawn)].parent = parent
				}
			},
			"populate": func(t *rapid.T) {
				next, list := drawList(t, model, number, name)
				agree(t, tree.Populate(list), next != nil)
				if next != nil {
					model = *next
				}
			},
			"clone": func(*rapid.T) { tree = tree.Clone() },
			"": func(t *rapid.T) {
				if got, want := treeLines(tree), model.lines(); !slices.Equal(got, want) {
					t.Fatalf("the forest is %q, want %q", got, want)
				}
			},
		})
	})
}

// drawList draws a list of providers and says what should become of the forest:
// nil if the list is to be refused.
func drawList(t *rapid.T, model naiveForest, number func(*rapid.T, string) int, name func(*rapid.T) string) (*naiveForest, []api.Provider) {
	var list []api.Provider
	drawn := map[int]naiveProvider{}
	for range rapid.IntRange(1, 4).Draw(t, "listed") {
		one := naiveProvider{number: number(t, "uuid"), name: name(t)}
		if rapid.Bool().Draw(t, "has a parent") {
			one.parent = number(t, "parent")
		}
		if _, twice := drawn[one.number]; twice {
			continue // a server lists each provider once
		}
		drawn[one.number] = one
		list = append(list, listed(one.number, one.name, one.parent, 0))
	}
	next := model.without(func(old naiveProvider) bool { _, again := drawn[old.number]; return again })
	for _, one := range drawn {
		next = append(next, one)
	}
	rootOf := func(one naiveProvider) (root int, sound bool) {
		for range 20 {
			if one.parent == 0 {
				return one.number, true
			}
			at := next.at(one.parent)
			if at < 0 {
				return 0, false
			}
			one = next[at]
		}
		return 0, false
	}
	for _, one := range next {
		if _, sound := rootOf(one); !sound {
			return nil, list
		}
	}
	unlisted := func(one naiveProvider) bool {
		root, _ := rootOf(one)
		_, rootIsListed := drawn[root]
		_, isListed := drawn[one.number]
		return rootIsListed && !isListed
	}
	next = next.without(unlisted)
	names := map[string]bool{}
	for _, one := range next {
		if names[one.name] || one.parent != 0 && next.at(one.parent) < 0 {
			return nil, list
		}
		names[one.name] = true
	}
	return &next, list
}
