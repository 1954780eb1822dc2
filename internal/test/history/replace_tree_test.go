package history

import (
	"testing"

	"github.com/berthd/berth/internal/test/model"
)

// beginTree returns a history with a root at generation 1 and a child at 0.
func beginTree() *told {
	return begin().say(model.CreateProvider{At: 2, Parent: 0, Name: 2}, yes)
}

// replacing returns a replacement of the traits of the root and of its child.
func replacing(root, child int64, bits uint8) model.Operation {
	return model.ReplaceTree{At: 0, Nodes: []model.Node{
		{At: 0, Parent: model.None, Given: root, Traits: &bits}, {At: 2, Parent: 0, Given: child, Traits: &bits},
	}}
}

// toldTree returns a change of a response: what it says of the root and of its child.
func toldTree(root, child model.TreeChange) func(*model.Response) {
	return func(a *model.Response) { a.Observed.Tree[0], a.Observed.Tree[2] = root, child }
}

func seesTraits(generation int64, bits uint8) func(*model.Response) {
	return func(a *model.Response) { a.Observed.Generation, a.Observed.Traits = generation, bits }
}

func TestHistory_TreeReplacements_LinearizableOrNot(t *testing.T) {
	t.Parallel()
	says := func(change string, generation int64) model.TreeChange {
		return model.TreeChange{Change: change, Generation: generation}
	}
	changed := toldTree(says("updated traits", 2), says("updated traits", 1))
	same := toldTree(says(model.Unchanged, 2), says(model.Unchanged, 1))
	traitsOf := func(p int) model.Operation { return model.Read{At: p, Part: model.PartTraits} }
	for name, c := range map[string]struct {
		history *told
		against []string
	}{
		"a repetition with old generations": {history: beginTree().
			say(replacing(1, 0, 1), changed).say(replacing(1, 0, 1), same).say(traitsOf(2), seesTraits(1, 1))},
		"a conflict of another request": {history: beginTree().
			say(replacing(1, 0, 1), changed).say(replacing(1, 0, 2), no(model.ProviderGenerationConflict, 0, model.None))},
		"a conflict if nothing differs": {
			history: beginTree().say(replacing(1, 0, 1), changed).say(replacing(1, 0, 1), no(model.ProviderGenerationConflict, 0, model.None)),
			against: []string{"district-0"},
		},
		"a conflict with the current generations": {
			history: beginTree().say(replacing(1, 0, 1), no(model.ProviderGenerationConflict, 2, model.None)),
			against: []string{"district-0-place-2", "district-0"},
		},
		"stale generations": {
			history: beginTree().say(replacing(1, 0, 1), changed).
				say(replacing(1, 0, 2), toldTree(says("updated traits", 3), says("updated traits", 2))),
			against: []string{"district-0-place-0", "district-0-place-2", "district-0"},
		},
		"a response without a change that took place": {
			history: beginTree().say(replacing(1, 0, 1), same),
			against: []string{"district-0-place-0", "district-0-place-2", "district-0"},
		},
		"a half of a request": {
			history: beginTree().say(replacing(1, 0, 1), lost).say(traitsOf(0), seesTraits(2, 1)).say(traitsOf(2), seesTraits(0, 0)),
			against: []string{"district-0"},
		},
		"a provider that is not in the tree": {
			history: beginTree().say(model.UpdateProvider{At: 2, Parent: 1, Name: 2}, yes).say(replacing(1, 0, 1), no(model.InOtherTree, 1, model.None)),
		},
		"a provider that the request moves back": {
			history: beginTree().say(model.CreateProvider{At: 3, Parent: 0, Name: 3}, yes).say(model.UpdateProvider{At: 2, Parent: 3, Name: 2}, yes).
				say(replacing(1, 0, 1), toldTree(says("updated traits", 2), says("updated parent traits", 1))).
				say(model.DeleteProvider{At: 3, Given: model.None}, yes),
		},
		"a new provider": {
			history: begin().say(replacing(1, model.None, 1), toldTree(says("updated traits", 2), says("created", 1))).
				say(model.DeleteProvider{At: 0, Given: model.None}, no(model.HasChildren, 0, model.None)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.history.check(t, c.against)
		})
	}
}
