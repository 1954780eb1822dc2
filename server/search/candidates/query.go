package candidates

import (
	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

// Query is a query for allocation candidates: the request groups, and how they relate
// (docs/contract/allocation-candidates.md).
type Query struct {
	// Groups are in the order of their first appearance in the query string.
	Groups []Group
	// Isolate requires different providers for all suffixed groups.
	Isolate bool
	// Isolated are sets of indices of suffixed Groups: those of a set have different providers.
	Isolated [][]int
	// Subtrees relate the providers of some groups.
	Subtrees []Subtree
	// RootRequired and RootForbidden are traits of the anchor.
	RootRequired, RootForbidden []string
	// The anchor is in an aggregate of each set of RootMemberOf, and in none of RootNotMemberOf.
	RootMemberOf    [][]uuid.UUID
	RootNotMemberOf []uuid.UUID
	// NotInTree are providers of which the anchor's tree has none. Unknown ones exclude nothing.
	NotInTree []uuid.UUID
	// CanSplit are classes of the unsuffixed group whose amounts may come from several providers, in trees that have no
	// candidate otherwise.
	CanSplit []string
	// Extended applies the rules of berth 1.1: a group without resources that is in no set of Isolated and Subtrees, with
	// Isolate unset, is a condition that some provider meets, and every unknown name is an error.
	Extended bool
	// Order is the order of the trees.
	Order Order
	// OnePerTree drops candidates that use two providers of one tree (below 1.29).
	OnePerTree bool
	// Limit is the maximum number of candidates; 0: no limit.
	Limit int
	// LimitPerTree is the maximum number of candidates of each anchor; 0: no limit.
	LimitPerTree int
	// BreadthFirst yields one candidate of each tree in turn, instead of all candidates of one tree and then all of the
	// next.
	BreadthFirst bool
	// Randomize shuffles trees, and the candidates of each. With a limit it also interleaves the trees of a page, so
	// that the result is not a sample of one tree.
	Randomize bool
	// Budget is how many combinations of providers may be tried; 0: any number.
	Budget int64
	// ignoreSums is combine.Request.IgnoreSums.
	ignoreSums bool
	// isUnfiltered lets pages have trees without a candidate, too.
	isUnfiltered bool
	// isFreed lets the search find what would fit if nothing were allocated.
	isFreed bool
	// freed counts as free.
	freed []FreedAmount
	// spending is that of all searches for the query; nil: one search has its own.
	spending *spending
}

// interleavesTrees reports whether the search yields candidates of several trees in turn.
func (q *Query) interleavesTrees() bool {
	return q.Order.By == OrderDefault && (q.BreadthFirst || q.Randomize && q.Limit > 0)
}

// isOrdered reports whether the query determines the order of trees, and isByCapacity whether by their free capacity.
func (q *Query) isOrdered() bool    { return q.Order.By == OrderID || q.isByCapacity() }
func (q *Query) isByCapacity() bool { return q.Order.By == OrderPack || q.Order.By == OrderSpread }

// isRandom reports whether the order of trees and candidates is random.
func (q *Query) isRandom() bool {
	return q.Order.By == OrderRandom || q.Order.By == OrderDefault && q.Randomize
}

// window returns the minimum number of trees to interleave. Breadth first these are all trees up to a maximum, because
// their searches stay in memory; otherwise those of a page.
func (q *Query) window() int {
	if q.BreadthFirst {
		return 1000
	}
	return 1
}

// Subtree relates the providers of groups, given as indices of Groups: of those of Inside, one is an ancestor of all
// others, or the only one. Those of Outside are neither this one nor descendants of it.
type Subtree struct{ Inside, Outside []int }

// Order is an order of trees. With one, all candidates of a tree come together.
type Order struct {
	By OrderBy
	// Class is that of OrderPack and OrderSpread.
	Class string
}

// OrderBy says what determines the order of trees.
type OrderBy int

const (
	// OrderDefault is the order of BreadthFirst and Randomize.
	OrderDefault OrderBy = iota
	// OrderID is the order in which the roots were created.
	OrderID
	// OrderRandom is different each time.
	OrderRandom
	// OrderPack begins with the trees that have the least free capacity, OrderSpread with those that have the most.
	OrderPack
	OrderSpread
)

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
