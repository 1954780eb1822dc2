// Package combine enumerates the ways to satisfy all groups of a request for
// allocation candidates at once, from what PostgreSQL found in one tree: an anchor
// with the providers that it reaches (the wire contract, section CANDIDATES 5.6, 7
// and 8).
//
// A Plan is made once for a request. Each Search of it walks one tree, depth first,
// and stops at every solution until it is asked for the next. It has no goroutine, so
// thousands of searches may stand still, and Reset gives the same memory to another
// tree.
//
// Finding out that nothing fits must not take longer than finding what fits: 9 groups
// on 8 devices have 8! ways to come to grief at the last group. So after every choice
// the search looks whether what is left can still be placed, and does not go on where
// it cannot. See lookahead.go for what it looks at, and dead.go for what it does where
// looking ahead is not enough.
//
// It is not for finding providers that fit: which ones have the traits, the aggregates
// and the room for a group by itself is decided in SQL. It knows ids and amounts only,
// no names, no HTTP and no JSON, and it removes no duplicates among the trees: a
// sharing provider is found through every anchor that it has.
package combine

import "math/rand/v2"

// Request is what is wanted. It is the same for all trees.
type Request struct {
	// Wants are the choices to make: one for each suffixed group, and one for each
	// class of the unsuffixed group. A request without any has no solution.
	Wants []Want
	// Isolate: no two suffixed wants on one provider, those without resources
	// included. Unsuffixed wants are free.
	Isolate bool
	// Subtrees are sets of places in Wants: of the providers chosen for a set, one is
	// all others' ancestor, or the only one.
	Subtrees [][]int
	// Sets is the number of sets of traits that the providers of the unsuffixed wants
	// must meet together.
	Sets int
	// OneOfATree: no two providers of one tree give resources.
	OneOfATree bool
	// Shuffle, if there is one, orders the fits of every want anew for every tree. All
	// searches of a plan draw from it.
	Shuffle *rand.Rand
	// Stop, if there is one, is asked now and then, at the latest after 1024 steps.
	// What it returns ends the search.
	Stop func() error
}

// Want asks for one provider.
type Want struct {
	// Suffixed wants are subject to Isolate, the others to Sets.
	Suffixed bool
	// Slot is the row of Tree.Fits that lists who can satisfy the want. Equal groups
	// share one.
	Slot int
	// Uses is what the want takes from its provider, maybe nothing.
	Uses []Use
}

// Use is an amount of a resource class.
type Use struct {
	Class  int32
	Amount int64
}

// Tree is what an anchor reaches: its own tree and sharing providers of others.
type Tree struct {
	// Anchor is for the caller. The search does not look at it.
	Anchor    int64
	Providers []Provider
	// Fits are by slot. A slot names a provider once.
	Fits [][]Fit
}

// Provider is a provider that can satisfy some want.
type Provider struct {
	ID int64
	// Root tells trees apart. Only OneOfATree needs it.
	Root int64
	// Path holds the ids of the ancestors and of the provider itself in any order,
	// whether they are among the tree's providers or not. Only Subtrees need it.
	Path []int64
	// Shared is for the caller: the provider is in another tree than the anchor. The
	// search does not look at it.
	Shared bool
}

// Fit is a provider that can satisfy a want by itself.
type Fit struct {
	// Provider is a place in Tree.Providers.
	Provider int
	// Free is the most that one candidate may take here, all wants added up, by place
	// in Want.Uses. It is a property of provider and class: all fits show the same.
	Free []int64
	// Met are those of the request's sets of traits that the provider meets, from 0 to
	// Sets-1. Only unsuffixed wants need it.
	Met []int32
}
