package candidates

import (
	"context"

	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/search/searchpool"
	"github.com/berthd/berth/server/wire/fairqueue"
)

// Relation is how the anchors of several members relate.
type Relation int

const (
	// RelationNone: several members may have the same anchor.
	RelationNone Relation = iota
	// RelationApart: no two members have the same anchor.
	RelationApart
	// RelationTogether: all members have the same anchor.
	RelationTogether
)

// PlacementOptions are the options of FindPlacement.
type PlacementOptions struct {
	// Members is how many candidates a placement has, at least 1.
	Members  int
	Relation Relation
	// MayUseReplica permits a replica for the search. Without it, the search runs on the primary.
	MayUseReplica bool
	// Look, unless nil, runs in the snapshot of the search before the queries. Its error ends the search.
	Look func(ctx context.Context, in *postgres.Snapshot) error
	// Refuse, unless nil, runs in the snapshot of a search without a placement, after its turn. Its error is the error of FindPlacement. It
	// must not acquire another connection.
	Refuse func(ctx context.Context, in *postgres.Snapshot, found *PlacementSearch) error
}

// PlacementSearch is what FindPlacement found: a placement for one query, or none for any.
type PlacementSearch struct {
	// Query is the index of the query that has the placement; that of the last one if there is none.
	Query int
	// Members are the candidates of the members. They fit together. Empty if there is no placement.
	Members []ClaimCandidate
	// Fit is how many members can be placed by the query that places most. IsExact reports that no placement of all existed at
	// the moment of the snapshot; without it, the search has found none. Both are for searches without a placement.
	Fit     int
	IsExact bool
	// Reason is why the last query has no candidate for a single member; empty if it has any.
	Reason EmptyReason
}

// FindPlacement finds candidates for several members that ask the same queries and are claimed together. It asks all
// queries in one snapshot, in their order, until one has a placement of all members.
//
// The order of a query is random unless it has one. Without a relation, the members fill one tree after the other, but
// those of an order by most free capacity take one tree in turn. Of the other settings of order and number only the budget
// has an effect. It limits the search for the first member of each tree; placer has the limits for further ones. The error
// is a *QueryError if it is one of a query.
func (s *Search) FindPlacement(ctx context.Context, queries []Query, options PlacementOptions) (*PlacementSearch, error) {
	return inTurn(ctx, s, fairqueue.Short, options.MayUseReplica, func(ctx context.Context, conn *postgres.Conn) (*PlacementSearch, error) {
		in := postgres.NewSnapshot(conn)
		defer func() { _ = in.Close() }() // it has changed nothing
		return s.placeInSnapshot(ctx, in, queries, &options)
	})
}

// placeInSnapshot asks the queries in a snapshot.
func (s *Search) placeInSnapshot(
	ctx context.Context, in *postgres.Snapshot, queries []Query, options *PlacementOptions,
) (*PlacementSearch, error) {
	if options.Look != nil {
		if err := options.Look(ctx, in); err != nil {
			return nil, err
		}
	}
	search := &PlacementSearch{Query: len(queries) - 1, IsExact: true}
	spent := placementWork{}
	for place := range queries {
		query := queries[place].forPlacement(options)
		tried, fit, err := s.placeMembers(ctx, in, &query, options, &spent)
		if err == nil && len(tried.members) == options.Members {
			return &PlacementSearch{Query: place, Members: tried.members, Fit: options.Members}, nil
		}
		if err == nil && place == search.Query && fit == 0 {
			search.Reason, err = s.emptyReasonIn(in, tried.search)
		}
		if err != nil {
			return nil, atQuery(place, err)
		}
		search.Fit, search.IsExact = max(search.Fit, fit), search.IsExact && tried.isExact
	}
	if options.Refuse != nil {
		searchpool.From(ctx).Leave()
		return search, options.Refuse(ctx, in, search)
	}
	return search, nil
}

// placementWork is the work of the queries so far, for further members and of exhaustive searches. Each has a limit of its own,
// so that an exhaustive search for one query leaves the usual work to the next ones.
type placementWork struct{ members, exhaustive int64 }

// placeMembers places the members of a query, by an exhaustive search if the choices of the first one do not decide. fit is
// how many can be placed.
func (s *Search) placeMembers(
	ctx context.Context, in *postgres.Snapshot, query *Query, options *PlacementOptions, spent *placementWork,
) (tried *placer, fit int, err error) {
	begin := func(spent int64) *placer {
		search := s.newSearch(ctx, query, nil)
		search.snapshot, search.isAside = in, true
		return newPlacer(search, options, spent)
	}
	tried = begin(spent.members)
	err = tried.place()
	fit, spent.members = len(tried.members), tried.spent
	if err != nil || !tried.mayPlaceMore() {
		return tried, fit, err
	}
	target := tried.atMost()
	tried = begin(spent.exhaustive)
	most, err := tried.placeExhaustively(target)
	spent.exhaustive = tried.spent
	return tried, max(fit, most), err
}

// forPlacement returns the query with the order of a placement. Its limit determines the size of pages.
func (q *Query) forPlacement(options *PlacementOptions) Query {
	query := *q
	query.Limit, query.LimitPerTree, query.freed = options.Members, 0, nil
	if query.Order.By == OrderRandom {
		query.Order = Order{}
	}
	query.Randomize = query.Order.By == OrderDefault
	query.BreadthFirst = options.Relation == RelationApart // a page has a tree for each member
	return query
}
