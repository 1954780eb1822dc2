package history

import "testing"

// beginTree returns a history with a root at generation 1 and a child at 0.
func beginTree() *told {
	return begin().say(createProvider{inTree{at(2)}, 0}, yes)
}

// replacing returns a replacement of the traits of the root and of its child.
func replacing(root, child int64, bits uint8) Operation {
	return replaceTree{inTree{at(0)}, []node{
		{at: 0, parent: none, given: root, traits: &bits}, {at: 2, parent: 0, given: child, traits: &bits},
	}}
}

// toldTree returns a change of a response: what it says of the root and of its child.
func toldTree(root, child treeChange) func(*Response) {
	return func(a *Response) { a.Observed.Tree[0], a.Observed.Tree[2] = root, child }
}

func seesTraits(generation int64, bits uint8) func(*Response) {
	return func(a *Response) { a.Observed.Generation, a.Observed.Traits = generation, bits }
}

func TestHistory_TreeReplacements_LinearizableOrNot(t *testing.T) {
	t.Parallel()
	changed := toldTree(treeChange{"updated traits", 2}, treeChange{"updated traits", 1})
	same := toldTree(treeChange{unchanged, 2}, treeChange{unchanged, 1})
	traitsOf := func(p int) Operation { return getTraits{at(p)} }
	for name, c := range map[string]struct {
		history *told
		against []string
	}{
		"a repetition with old generations": {history: beginTree().
			say(replacing(1, 0, 1), changed).say(replacing(1, 0, 1), same).say(traitsOf(2), seesTraits(1, 1))},
		"a conflict of another request": {history: beginTree().
			say(replacing(1, 0, 1), changed).say(replacing(1, 0, 2), no(ProviderGenerationConflict, 0, none))},
		"a conflict if nothing differs": {
			history: beginTree().say(replacing(1, 0, 1), changed).say(replacing(1, 0, 1), no(ProviderGenerationConflict, 0, none)),
			against: []string{"district-0"},
		},
		"a conflict with the current generations": {
			history: beginTree().say(replacing(1, 0, 1), no(ProviderGenerationConflict, 2, none)),
			against: []string{"district-0-place-2", "district-0"},
		},
		"stale generations": {
			history: beginTree().say(replacing(1, 0, 1), changed).
				say(replacing(1, 0, 2), toldTree(treeChange{"updated traits", 3}, treeChange{"updated traits", 2})),
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
			history: beginTree().say(reparentProvider{inTree{at(2)}, 1}, yes).say(replacing(1, 0, 1), no(InOtherTree, 1, none)),
		},
		"a provider that the request moves back": {
			history: beginTree().say(createProvider{inTree{at(3)}, 0}, yes).say(reparentProvider{inTree{at(2)}, 3}, yes).
				say(replacing(1, 0, 1), toldTree(treeChange{"updated traits", 2}, treeChange{"updated parent traits", 1})).
				say(deleteProvider{inTree{at(3)}, none}, yes),
		},
		"a new provider": {
			history: begin().say(replacing(1, none, 1), toldTree(treeChange{"updated traits", 2}, treeChange{"created", 1})).
				say(deleteProvider{inTree{at(0)}, none}, no(HasChildren, 0, none)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.history.check(t, c.against)
		})
	}
}
