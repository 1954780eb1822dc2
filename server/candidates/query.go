package candidates

import (
	"github.com/google/uuid"

	"github.com/berthd/berth/server/store"
)

// Query is a query for allocation candidates: the request groups, and how they relate
// (docs/contract/allocation-candidates.md).
type Query struct {
	// Groups are in the order of their first appearance in the query string.
	Groups []Group
	// Isolate requires different providers for all suffixed groups.
	Isolate bool
	// Subtrees are sets of indices of Groups: of the providers that satisfy a set, one is an ancestor of all others.
	Subtrees [][]int
	// RootRequired and RootForbidden are traits of the anchor.
	RootRequired, RootForbidden []string
	// OnePerTree drops candidates that use two providers of one tree (below 1.29).
	OnePerTree bool
	// Limit is the maximum number of candidates; 0: no limit.
	Limit int
	// BreadthFirst yields one candidate of each tree in turn, instead of all candidates of one tree and then all of the
	// next.
	BreadthFirst bool
	// Randomize shuffles trees, and the candidates of each. With a limit it also interleaves the trees of a page, so
	// that the result is not a sample of one tree.
	Randomize bool
	// Budget is how many combinations of providers may be tried; 0: any number.
	Budget int64
}

// interleavesTrees reports whether the search yields candidates of several trees in turn.
func (q *Query) interleavesTrees() bool { return q.BreadthFirst || q.Randomize && q.Limit > 0 }

// window returns the minimum number of trees to interleave. Breadth first these are all trees up to a maximum, because
// their searches stay in memory; otherwise those of a page.
func (q *Query) window() int {
	if q.BreadthFirst {
		return 1000
	}
	return 1
}

// Group is the conditions of a request group: for one provider, or, without a suffix, for the providers of a tree
// together.
type Group struct {
	// Suffix is empty for the group that several providers may satisfy.
	Suffix string
	// Resources may be empty for a suffixed group: it then allocates nothing on its provider.
	Resources []store.Amount
	// Required and MemberOf are sets: any of the inner, all of the outer.
	Required [][]string
	MemberOf [][]uuid.UUID
	// Forbidden and NotMemberOf exclude.
	Forbidden   []string
	NotMemberOf []uuid.UUID
	// InTree is a provider of the tree to search.
	InTree *uuid.UUID
}
