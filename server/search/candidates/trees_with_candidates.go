package candidates

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/wire/fault"
)

// errOutOfTime ends a search that may only take a limited time.
var errOutOfTime = errors.New("the search is out of time")

// TreesWithCandidates returns which of some trees have a candidate, for explanations, and which of the others it has given
// up. With ignoreSums, the groups of a candidate may use more of a provider together than it has.
func (s *Search) TreesWithCandidates(
	ctx context.Context, in *postgres.Snapshot, query Query, roots []int64, ignoreSums bool,
) (with, givenUp []int64, err error) {
	query.ignoreSums = ignoreSums
	return s.treesWith(ctx, in, query, roots, time.Time{})
}

// TreesWithFreed returns which of some trees have a candidate if some allocations count as free, each provider and class once.
// isAll is false if there can be more of them: the search has lasted until a time, has reached its budget or given up a tree.
func (s *Search) TreesWithFreed(
	ctx context.Context, in *postgres.Snapshot, query Query, roots []int64, freed []FreedAmount, until time.Time,
) (with []int64, isAll bool, err error) {
	query.freed = freed
	with, givenUp, err := s.treesWith(ctx, in, query, roots, until)
	if fault.As(err) != nil { // the budget of the search
		return with, false, nil
	}
	return with, err == nil && len(givenUp) == 0, ignoreEnd(err)
}

// treesWith returns which of some trees have a candidate, and which it has given up, unless it lasts until a time.
func (s *Search) treesWith(
	ctx context.Context, in *postgres.Snapshot, query Query, roots []int64, until time.Time,
) (with, givenUp []int64, err error) {
	query.Limit, query.Order, query.Randomize, query.BreadthFirst = 0, Order{}, false, false
	result := newResult(s.newSearch(ctx, &query, nil))
	search := result.search
	search.snapshot, search.until, search.isAside = in, until, true
	if fits, err := search.resolve(); !fits || err != nil {
		return nil, nil, err
	}
	search.leads = leads{given: roots, named: true, paired: true}
	defer search.closeSent()
	first, err := search.next(0)
	for root, err := range result.trees(first, err) {
		if err != nil {
			return with, nil, err
		}
		with = append(with, root)
	}
	return with, slices.Sorted(maps.Keys(search.spending.givenUp)), nil
}

// TreeForEachGroup returns the root of a tree in which each group by itself finds a provider. found is false if there is none,
// or if the search lasts until a time.
func (s *Search) TreeForEachGroup(ctx context.Context, in *postgres.Snapshot, query Query, until time.Time) (root int64, found bool, err error) {
	alone := query.eachGroupAlone()
	alone.Randomize, alone.BreadthFirst = false, false
	search := s.newSearch(ctx, &alone, nil)
	search.snapshot, search.until, search.isAside = in, until, true
	result, err := beginIn(search)
	if err == nil {
		for root, err = range result.trees(result.found, nil) {
			return root, err == nil, ignoreEnd(err)
		}
		err = search.checkGivenUp(0)
	}
	return 0, false, ignoreEnd(err)
}

// ignoreEnd returns an error unless it is the end of the time of a search.
func ignoreEnd(err error) error {
	if errors.Is(err, errOutOfTime) {
		return nil
	}
	return err
}

// trees yields the roots of the trees with candidates, from a page on. An error ends the sequence.
func (c *Result) trees(p *page, err error) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		if p == nil && err == nil {
			return
		}
		walk := c.search.newWalk()
		for ; p != nil && err == nil; p, err = c.search.next(c.search.query.Limit) {
			for i := range p.leads {
				c.builder.forget()
				c.search.unused = len(p.leads) - i - 1
				tree := c.builder.build(p, p.leads[i].root)
				if tree == nil {
					continue
				}
				walk.reset(tree)
				isFound := walk.next()
				if err = walk.err; err != nil {
					break
				}
				if isFound && !yield(p.leads[i].root, nil) {
					return
				}
			}
			p.release()
			if err != nil {
				break
			}
		}
		if err != nil {
			yield(0, err)
		}
	}
}

// CountIn returns how many candidates a query has in a snapshot, up to its limit. If the search lasts until a time or gives up
// a tree, isAll is false, and count is how many it has found. The search leaves no hint for others.
func (s *Search) CountIn(ctx context.Context, in *postgres.Snapshot, query Query, until time.Time) (count int, isAll bool, err error) {
	query.Order, query.Randomize, query.BreadthFirst = Order{}, false, false
	search := s.newSearch(ctx, &query, nil)
	search.snapshot, search.until, search.isAside = in, until, true
	result, err := beginIn(search)
	if err == nil {
		err = result.each(func(*page, []int32, []part) bool {
			count++
			return true
		})
	}
	if err == nil {
		err = search.checkGivenUp(count)
	}
	return count, err == nil && len(search.spending.givenUp) == 0, ignoreEnd(err)
}
