package candidates

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/postgres"
)

// rootSource returns the roots of the trees to search, each once.
type rootSource struct {
	search *candidateSearch
	// waiting are fetched roots; fetch gets more, nil after the last.
	waiting []int64
	fetch   rootFetch
	// given is true if the query names the trees.
	given bool
	// probed is true after the selectivity of the predicates was queried.
	probed bool
	// visited are the roots returned so far, nil if each appears only once anyway. In that case history keeps the
	// returned roots until it is known that visited is not needed.
	visited map[int64]bool
	history []int64
}

// rootFetch adds a query for the next roots to a batch. The returned function reads the result, which is empty after
// the last root.
type rootFetch func(b *postgres.Batch, most int) func(context.Context) (rootPage, error)

// rootPage is a page of roots, and of providers if the query selects providers that meet a condition.
type rootPage struct {
	roots, providers []int64
}

// page returns at most most roots; none after the last.
func (r *rootSource) page(most int) ([]int64, error) {
	for len(r.waiting) == 0 && r.fetch != nil {
		if err := r.refill(most); err != nil {
			return nil, err
		}
	}
	count := min(most, len(r.waiting))
	page := r.waiting[:count:count]
	r.waiting = r.waiting[count:]
	if r.visited == nil && !r.probed {
		r.history = append(r.history, page...)
	}
	return page, nil
}

// refill fetches roots, and the anchors of the sharing providers among the results.
func (r *rootSource) refill(most int) error {
	b := r.search.snapshot.Batch()
	answer := r.fetch(b, most)
	if err := b.Send(r.search.ctx); err != nil {
		return errors.Join(err, b.Close())
	}
	found, err := answer(r.search.ctx)
	if err := errors.Join(err, b.Close()); err != nil {
		return err
	}
	r.take(found)
	if len(found.providers) == 0 || !r.search.ids.sharing {
		return nil
	}
	anchors, err := r.search.anchors(found.providers, 0)
	r.add(anchors)
	return err
}

// take adds a fetched page.
func (r *rootSource) take(found rootPage) {
	if len(found.roots) == 0 {
		r.fetch = nil
	}
	r.add(found.roots)
}

// add appends the roots that did not appear before.
func (r *rootSource) add(roots []int64) {
	for _, root := range roots {
		if r.visited != nil {
			if r.visited[root] {
				continue
			}
			r.visited[root] = true
		}
		r.waiting = append(r.waiting, root)
	}
	if dice := r.search.rng; dice != nil && r.visited != nil {
		dice.Shuffle(len(r.waiting), func(i, j int) { r.waiting[i], r.waiting[j] = r.waiting[j], r.waiting[i] })
	}
}

// sample returns the first of all roots.
func (r *rootSource) sample() []int64 {
	first := slices.Concat([]int64{}, r.history, r.waiting)
	return first[:min(sampleSize, len(first))]
}

// leave continues with another fetch, and skips the trees that were searched already.
func (r *rootSource) leave(fetch rootFetch) {
	visited := make(map[int64]bool, len(r.history))
	for _, root := range r.history {
		visited[root] = true
	}
	*r = rootSource{search: r.search, fetch: fetch, visited: visited, probed: true}
}

// allRoots returns a source of all trees: in the order of their ids, or from a random position in an order without
// meaning.
func (s *candidateSearch) allRoots() rootSource {
	if s.rng != nil {
		return rootSource{search: s, fetch: s.shuffledRoots()}
	}
	after := int64(0)
	return rootSource{search: s, fetch: func(b *postgres.Batch, most int) func(context.Context) (rootPage, error) {
		answer := postgres.Enqueue(b, func(ctx context.Context, to db.DBTX) ([]int64, error) {
			return s.queries.CandidateRoots(ctx, to, after, int32(most))
		})
		return func(ctx context.Context) (rootPage, error) {
			roots, err := answer(ctx)
			if len(roots) > 0 {
				after = roots[len(roots)-1]
			}
			return rootPage{roots: roots}, err
		}
	}}
}

// shuffledRoots begins at a random position, and continues at the beginning when it reaches the end.
func (s *candidateSearch) shuffledRoots() rootFetch {
	start := int64(s.rng.Uint64())
	place, id, around := start, int64(math.MaxInt64), false
	return func(b *postgres.Batch, most int) func(context.Context) (rootPage, error) {
		rows := func(place, id int64) func(context.Context, db.DBTX) ([]db.CandidateRootsShuffledRow, error) {
			return func(ctx context.Context, to db.DBTX) ([]db.CandidateRootsShuffledRow, error) {
				return s.queries.CandidateRootsShuffled(ctx, to, place, id, int32(most))
			}
		}
		onwards := postgres.Enqueue(b, rows(place, id))
		var again func(context.Context) ([]db.CandidateRootsShuffledRow, error)
		if !around {
			again = postgres.Enqueue(b, rows(math.MinInt64, math.MinInt64))
		}
		return func(ctx context.Context) (rootPage, error) {
			found, err := onwards(ctx)
			if again != nil {
				first, failed := again(ctx)
				err = errors.Join(err, failed)
				if len(found) == 0 {
					found, around = first, true
				}
			}
			var roots rootPage
			for _, row := range found {
				if around && row.Position > start {
					break // the position where it began
				}
				roots.roots = append(roots.roots, row.ID)
				place, id = row.Position, row.ID
			}
			return roots, err
		}
	}
}

// restrictToTrees searches only the trees of in_tree. The unsuffixed group's anchor is the root of that tree. So is
// that of a suffixed group, unless the tree has sharing providers.
func (s *candidateSearch) restrictToTrees() error {
	for _, group := range s.ids.groups {
		if group.root == 0 || s.ids.sharing && group.Suffix != "" {
			continue
		}
		s.roots = rootSource{search: s, waiting: []int64{group.root}, given: true}
		return nil
	}
	for _, group := range s.ids.groups {
		if group.root == 0 {
			continue
		}
		anchors, err := s.anchors(nil, group.root)
		if err != nil {
			return err
		}
		s.roots = rootSource{search: s, visited: map[int64]bool{}, given: true}
		s.roots.add(append([]int64{group.root}, anchors...))
		return nil
	}
	return nil
}

// anchors returns the roots of the trees that can use the sharing providers among some providers, and among those of a
// tree.
func (s *candidateSearch) anchors(providers []int64, tree int64) ([]int64, error) {
	if !s.ids.sharing {
		return nil, nil
	}
	return postgres.QueryOnce(s.ctx, s.snapshot, func(ctx context.Context, to db.DBTX) ([]int64, error) {
		return s.queries.CandidateAnchors(ctx, to, slices.Concat([]int64{}, providers), tree)
	})
}
