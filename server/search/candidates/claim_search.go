package candidates

import (
	"context"
	"slices"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/search/searchpool"
	"github.com/berthd/berth/server/wire/fairqueue"
)

// maxClaimsPerTree is how many candidates of a tree a claim tries.
const maxClaimsPerTree = 4

// FindForClaim finds candidates to claim. It asks all queries in one snapshot, in their order, until one has candidates.
//
// The order of a query is random unless it has one. Of its other settings of order and number only the budget has an
// effect. Trees take turns, and a tree has at most maxClaimsPerTree candidates; with an order other than random, these come
// together. The error is a *QueryError if it is one of a query.
func (s *Search) FindForClaim(ctx context.Context, queries []Query, options ClaimOptions) (*ClaimSearch, error) {
	asked := make([]Query, len(queries))
	for i := range queries {
		asked[i] = queries[i].forClaim(&options)
	}
	run := func(ctx context.Context, conn *postgres.Conn) (*ClaimSearch, error) {
		for i := range asked {
			asked[i].spending = &spending{} // a search that runs again has spent nothing
		}
		found, err := s.claimInOnePage(ctx, conn, asked[0])
		if found != nil || err != nil {
			conn.Release()
			return found, atQuery(0, err)
		}
		in := postgres.NewSnapshot(conn)
		defer func() { _ = in.Close() }() // it has changed nothing
		return s.findInSnapshot(ctx, in, asked, &options)
	}
	return inTurn(ctx, s, fairqueue.Short, options.MayUseReplica, run)
}

// forClaim returns the query with the order and the limits of a claim.
func (q *Query) forClaim(options *ClaimOptions) Query {
	query := *q
	query.Limit, query.LimitPerTree, query.freed = min(options.Limit, maxCandidates), maxClaimsPerTree, options.Freed
	if query.Order.By == OrderRandom {
		query.Order = Order{} // candidates of one tree do not come together
	}
	query.BreadthFirst = query.Order.By == OrderDefault
	query.Randomize = query.BreadthFirst
	return query
}

// atQuery returns the error of a query; nil for nil.
func atQuery(place int, err error) error {
	if err == nil {
		return nil
	}
	return &QueryError{Query: place, Err: err}
}

// claimInOnePage returns candidates that one statement outside of a transaction has found, nil if it did not find as many
// as the claim wants.
func (s *Search) claimInOnePage(ctx context.Context, conn *postgres.Conn, query Query) (*ClaimSearch, error) {
	if len(query.freed) > 0 {
		return nil, nil
	}
	result, err := s.listInOnePage(ctx, conn, query)
	if result == nil || err != nil {
		return nil, err
	}
	defer func() { _ = result.Close() }() // it has no snapshot
	found, err := result.claimCandidates(nil)
	if len(found) == 0 || err != nil {
		return nil, err
	}
	return &ClaimSearch{Candidates: found}, nil
}

// findInSnapshot asks the queries in a snapshot.
func (s *Search) findInSnapshot(ctx context.Context, in *postgres.Snapshot, queries []Query, options *ClaimOptions) (*ClaimSearch, error) {
	if options.Look != nil {
		if err := options.Look(ctx, in); err != nil {
			return nil, err
		}
	}
	claimSearch := &ClaimSearch{Query: len(queries) - 1}
	for place := range queries {
		search := s.newSearch(ctx, &queries[place], nil)
		search.snapshot = in
		found, err := search.findForClaim()
		if err == nil {
			err = search.checkGivenUp(len(found))
		}
		if err == nil && len(found) > 0 {
			return &ClaimSearch{Query: place, Candidates: found}, nil
		}
		if err == nil && place == claimSearch.Query {
			claimSearch.Reason, err = s.emptyReasonIn(in, search)
		}
		if err != nil {
			return nil, atQuery(place, err)
		}
	}
	if options.Refuse != nil {
		searchpool.From(ctx).Leave()
		return claimSearch, options.Refuse(ctx, in, claimSearch)
	}
	return claimSearch, nil
}

// findForClaim returns the candidates of a search in its snapshot: first those of trees in which freed amounts count.
func (s *candidateSearch) findForClaim() (found []ClaimCandidate, err error) {
	rest := s
	if len(s.query.freed) > 0 {
		freed := newResult(s)
		if found, err = freed.claimFreed(); err != nil || len(found) >= s.query.Limit || s.skipped == nil {
			return found, err
		}
		query := *s.query
		query.freed, query.Limit = nil, s.query.Limit-len(found)
		rest = s.of.newSearch(s.ctx, &query, nil)
		rest.snapshot, rest.skipped, rest.spending, rest.isAside = s.snapshot, s.skipped, s.spending, true
		return rest.claimOthers(found, freed.seen)
	}
	return rest.claimOthers(nil, nil)
}

// claimOthers adds the candidates of the trees that are not skipped.
func (s *candidateSearch) claimOthers(found []ClaimCandidate, seen map[string]bool) ([]ClaimCandidate, error) {
	defer s.closeSent()
	result, err := beginIn(s)
	if err != nil {
		return nil, err
	}
	result.seen = seen
	return result.claimCandidates(found)
}

// claimFreed returns the candidates of the trees that can use a provider of a freed amount. These trees are skipped
// afterwards.
func (c *Result) claimFreed() ([]ClaimCandidate, error) {
	s := c.search
	defer s.closeSent()
	if fits, err := s.resolve(); !fits || err != nil {
		return nil, err
	}
	roots, err := s.freedTrees()
	if err != nil {
		return nil, err
	}
	s.skipped = map[int64]bool{}
	for _, root := range roots {
		s.skipped[root] = true
	}
	s.leads = leads{given: roots, named: true}
	skipped := s.skipped
	s.skipped = nil
	defer func() { s.skipped = skipped }()
	if c.found, err = s.next(s.query.Limit); err != nil {
		return nil, err
	}
	return c.claimCandidates(nil)
}

// freedTrees returns the roots of the trees that can use a provider of a freed amount: first those of the providers, then
// those that share one, in the order of the query.
func (s *candidateSearch) freedTrees() ([]int64, error) {
	var providers []int64
	for _, freedAmount := range s.query.freed {
		providers = append(providers, freedAmount.ProviderID)
	}
	own, err := postgres.QueryOnce(s.ctx, s.snapshot, func(ctx context.Context, to db.DBTX) ([]int64, error) {
		return s.of.queries.CandidateRootsOf(ctx, to, providers)
	})
	if err != nil {
		return nil, err
	}
	others, err := s.anchors(providers, 0)
	if err != nil {
		return nil, err
	}
	others = slices.DeleteFunc(others, func(root int64) bool { return slices.Contains(own, root) })
	for _, roots := range []*[]int64{&own, &others} {
		if *roots, err = s.sortTrees(*roots); err != nil {
			return nil, err
		}
	}
	return append(own, others...), nil
}

// sortTrees returns roots, which are in the order of their ids, in the order of the query. Trees without enough free
// capacity for an order by it come last.
func (s *candidateSearch) sortTrees(roots []int64) ([]int64, error) {
	if s.rng != nil {
		s.rng.Shuffle(len(roots), func(i, j int) { roots[i], roots[j] = roots[j], roots[i] })
	}
	if !s.query.isByCapacity() || len(roots) < 2 {
		return roots, nil
	}
	sorted, err := s.treesByFree(roots)
	if err != nil {
		return nil, err
	}
	known := map[int64]bool{}
	for _, root := range sorted {
		known[root] = true
	}
	return append(sorted, slices.DeleteFunc(roots, func(root int64) bool { return known[root] })...), nil
}
