package candidates

import (
	"context"
	"time"

	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/wire/fault"
)

// ListFreed returns candidates of one tree, at most limit, if some allocations count as free: those on the providers that the
// tree can use, each provider and class once. It is for explanations. isAll is false if there can be more: the search reached
// the limit, its budget or the time, or gave up the tree.
func (s *Search) ListFreed(
	ctx context.Context, in *postgres.Snapshot, query Query, root int64, freed []FreedAmount, limit int, until time.Time,
) (found []ClaimCandidate, isAll bool, err error) {
	query.Limit, query.LimitPerTree, query.freed = limit, 0, freed
	query.Order, query.Randomize, query.BreadthFirst = Order{}, false, false
	result := newResult(s.newSearch(ctx, &query, nil))
	search := result.search
	search.snapshot, search.until, search.isAside = in, until, true
	defer search.closeSent()
	if fits, err := search.resolve(); !fits || err != nil {
		return nil, err == nil, err
	}
	search.leads = leads{given: []int64{root}, named: true, paired: true}
	if result.found, err = search.next(limit); err == nil {
		found, err = result.claimCandidates(nil)
	}
	if fault.As(err) != nil { // the budget of the search
		return found, false, nil
	}
	return found, err == nil && len(found) < limit && len(search.spending.givenUp) == 0, ignoreEnd(err)
}
