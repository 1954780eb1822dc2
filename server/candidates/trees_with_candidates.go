package candidates

import (
	"context"
	"errors"
	"time"

	"github.com/berthd/berth/server/postgres"
)

// errOutOfTime ends a search that may only take a limited time.
var errOutOfTime = errors.New("the search is out of time")

// TreesWithCandidates returns which of some trees have a candidate, for explanations. With ignoreSums, the groups of a
// candidate may use more of a provider together than it has.
func (s *Search) TreesWithCandidates(ctx context.Context, in *postgres.Snapshot, query Query, roots []int64, ignoreSums bool) (with []int64, err error) {
	query.Limit, query.Order, query.Randomize, query.BreadthFirst = 0, Order{}, false, false
	query.ignoreSums = ignoreSums
	made := newResult(s.newSearch(ctx, &query, nil))
	search := made.search
	search.snapshot, search.isAside = in, true
	if fits, err := search.resolve(); !fits || err != nil {
		return nil, err
	}
	search.leads = leads{given: roots, named: true, paired: true}
	walk := search.newWalk()
	for {
		p, err := search.next(0)
		if p == nil || err != nil {
			return with, err
		}
		for i := range p.leads {
			made.builder.forget()
			tree := made.builder.build(p, p.leads[i].root)
			if tree == nil {
				continue
			}
			if walk.reset(tree); walk.next() {
				with = append(with, p.leads[i].root)
			}
			if walk.err != nil {
				return with, walk.err
			}
		}
		p.release()
	}
}

// CountIn returns how many candidates a query has in a snapshot, up to its limit. If the search lasts until a time, isAll is
// false, and count is how many it has found. The search leaves no hint for others.
func (s *Search) CountIn(ctx context.Context, in *postgres.Snapshot, query Query, until time.Time) (count int, isAll bool, err error) {
	query.Order, query.Randomize, query.BreadthFirst = Order{}, false, false
	search := s.newSearch(ctx, &query, nil)
	search.snapshot, search.until, search.isAside = in, until, true
	made, err := beginIn(search)
	if err == nil {
		err = made.each(func(*page, []int32, []part) bool {
			count++
			return true
		})
	}
	if errors.Is(err, errOutOfTime) {
		return count, false, nil
	}
	return count, err == nil, err
}
