package candidates

import (
	"context"

	"github.com/berthd/berth/server/postgres"
)

// TreesWithCandidates returns which of some trees have a candidate, for explanations. With ignoreSums, the groups of a
// candidate may use more of a provider together than it has.
func (s *Search) TreesWithCandidates(ctx context.Context, in *postgres.Snapshot, query Query, roots []int64, ignoreSums bool) (with []int64, err error) {
	query.Limit, query.Order, query.Randomize, query.BreadthFirst = 0, Order{}, false, false
	made := newResult(s.newSearch(ctx, &query, nil))
	search := made.search
	search.snapshot, search.ignoreSums = in, ignoreSums
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

// CountIn returns how many candidates a query has in a snapshot, up to its limit.
func (s *Search) CountIn(ctx context.Context, in *postgres.Snapshot, query Query) (count int, err error) {
	query.Order, query.Randomize, query.BreadthFirst = Order{}, false, false
	made, err := s.begin(ctx, in, query)
	if err != nil {
		return 0, err
	}
	for _, err := range made.All() {
		if err != nil {
			return 0, err
		}
		count++
	}
	return count, nil
}
