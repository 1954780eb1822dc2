// Package combine enumerates the ways to satisfy all groups of a request for allocation candidates at once. Its input
// is what PostgreSQL found in one tree: an anchor with the providers that it can use
// (docs/contract/allocation-candidates.md#combining-groups).
//
// A Plan is created once for a request. Each Search of it walks one tree, depth first, and pauses at every solution
// until the next call of Next. It uses no goroutine, so thousands of searches may be paused, and Reset reuses the
// memory for another tree.
//
// Proving infeasibility must not cost more than finding a solution: naive backtracking over 9 groups and 8 devices
// reaches 8! dead ends at the last group. So after every choice the search checks whether the remaining requirements
// can still be satisfied, and backtracks if not. See lookahead.go for these checks, packing.go for amounts that sums do not
// decide, and dead_ends.go for the cases that they do not detect. Many equal groups on equal devices are one query:
// symmetry.go has which providers are interchangeable.
//
// It is not for finding providers: SQL determines which ones have the traits, the aggregates and the free capacity for
// a group by itself. It knows ids and amounts only, no names, no HTTP and no JSON, and it removes no duplicates among
// the trees: a sharing provider is found through every anchor that it has.
package combine

import "math/rand/v2"

// Request is the requirements of a query. It is the same for all trees.
type Request struct {
	// Requirements are the choices to make: one for each suffixed group, and one for each class of the unsuffixed
	// group. A request without any has no solution.
	Requirements []Requirement
	// Isolated are sets of indices of Requirements: those of a set have different providers, including those without
	// resources.
	Isolated [][]int
	Subtrees []Subtree
	// Sets is the number of trait sets that the providers of the unsuffixed requirements must meet together.
	Sets int
	// OneOfATree permits resources of only one provider of each tree.
	OneOfATree bool
	// IgnoreSums lets requirements use more of a provider together than it has. Each by itself has to fit.
	IgnoreSums bool
	// First, if not nil, is the index of the requirement that the search decides first, trying its options in their order.
	// So the first solution has the first of them that any solution has.
	First *int
	// Shuffle, if not nil, orders the options of every requirement randomly in every tree. All searches of a plan draw
	// from it.
	Shuffle *rand.Rand
	// Stop, if not nil, is called at intervals of at most 1024 steps. An error that it returns ends the search.
	Stop func() error
}

// Requirement requires one provider.
type Requirement struct {
	// Suffixed requirements are not subject to Sets.
	Suffixed bool
	// Slot is the index in Tree.Options of the providers that can satisfy the requirement. Equal groups share one.
	Slot int
	// Uses is what the requirement allocates on its provider; it may be empty.
	Uses []Use
}

// Subtree relates the providers chosen for some requirements, given as indices of Requirements.
type Subtree struct {
	// Of the providers for Inside, one is the ancestor of all others, or the only one: the top.
	Inside []int
	// Those for Outside are neither the top nor descendants of it.
	Outside []int
}

// Use is an amount of a resource class.
type Use struct {
	Class  int32
	Amount int64
}

// Tree is the providers that an anchor can use: its own tree and sharing providers of other trees.
type Tree struct {
	// Anchor is for the caller. The search does not read it.
	Anchor    int64
	Providers []Provider
	// Options are by slot. A slot contains a provider once.
	Options [][]Option
}

// Provider is a provider that can satisfy some requirement.
type Provider struct {
	ID int64
	// Root identifies the provider's tree. Only OneOfATree needs it.
	Root int64
	// Path contains the ids of the ancestors and of the provider itself in any order, including ancestors that are not
	// among the tree's providers. Only Subtrees need it.
	Path []int64
	// Shared is for the caller: the provider is in another tree than the anchor. The search does not read it.
	Shared bool
}

// Option is a provider that can satisfy a requirement by itself.
type Option struct {
	// Provider is an index in Tree.Providers.
	Provider int
	// Free is the maximum that one candidate may allocate here, summed over all requirements, by index in
	// Requirement.Uses. It is a property of provider and class: all options have the same value.
	Free []int64
	// Met are the indices of the request's trait sets that the provider meets, from 0 to Sets-1. Only unsuffixed
	// requirements need it.
	Met []int32
}
