package store

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/berthd/berth/gen/db"
)

// rootSource gives the roots of trees to look at, each once.
type rootSource struct {
	search *candidateSearch
	// waiting are roots at hand; fetch gets more, nil if there are none.
	waiting []int64
	fetch   rootFetch
	// given: the trees are those that the query names.
	given bool
	// probed: what is rare has been asked for.
	probed bool
	// visited are the roots that came so far, nil where each comes once anyway; then
	// history has those that were given, until that is known to be needless.
	visited map[int64]bool
	history []int64
}

// rootFetch puts a query for the next roots into a batch. The function that it
// returns reads the answer; nothing means that there is no more.
type rootFetch func(b *batch, most int) func(context.Context) (foundRoots, error)

// foundRoots are roots and, where it is they that have what is wanted, providers.
type foundRoots struct {
	roots, providers []int64
}

// page gives up to so many roots; none after the last.
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

// refill fetches roots, and the anchors of providers among them that share.
func (r *rootSource) refill(most int) error {
	b := r.search.reading.batch()
	answer := r.fetch(b, most)
	if err := b.send(r.search.ctx); err != nil {
		return errors.Join(err, b.done())
	}
	found, err := answer(r.search.ctx)
	if err := errors.Join(err, b.done()); err != nil {
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

// take notes what was fetched.
func (r *rootSource) take(found foundRoots) {
	if len(found.roots) == 0 {
		r.fetch = nil
	}
	r.add(found.roots)
}

// add takes roots that did not come before.
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
	if dice := r.search.dice; dice != nil && r.visited != nil {
		dice.Shuffle(len(r.waiting), func(i, j int) { r.waiting[i], r.waiting[j] = r.waiting[j], r.waiting[i] })
	}
}

// sample are the first of all roots.
func (r *rootSource) sample() []int64 {
	first := slices.Concat([]int64{}, r.history, r.waiting)
	return first[:min(samples, len(first))]
}

// leave goes on from elsewhere, passing by what has been looked at.
func (r *rootSource) leave(fetch rootFetch) {
	visited := make(map[int64]bool, len(r.history))
	for _, root := range r.history {
		visited[root] = true
	}
	*r = rootSource{search: r.search, fetch: fetch, visited: visited, probed: true}
}

// allRoots goes through all trees: in the order of their ids, or from anywhere in
// an order that says nothing.
func (s *candidateSearch) allRoots() rootSource {
	if s.dice != nil {
		return rootSource{search: s, fetch: s.shuffledRoots()}
	}
	after := int64(0)
	return rootSource{search: s, fetch: func(b *batch, most int) func(context.Context) (foundRoots, error) {
		answer := later(b, func(ctx context.Context, to db.DBTX) ([]int64, error) {
			return s.queries.CandidateRoots(ctx, to, after, int32(most))
		})
		return func(ctx context.Context) (foundRoots, error) {
			roots, err := answer(ctx)
			if len(roots) > 0 {
				after = roots[len(roots)-1]
			}
			return foundRoots{roots: roots}, err
		}
	}}
}

// shuffledRoots begins anywhere, and at the beginning when it comes to the end.
func (s *candidateSearch) shuffledRoots() rootFetch {
	start := int64(s.dice.Uint64())
	place, id, around := start, int64(math.MaxInt64), false
	return func(b *batch, most int) func(context.Context) (foundRoots, error) {
		rows := func(place, id int64) func(context.Context, db.DBTX) ([]db.CandidateRootsShuffledRow, error) {
			return func(ctx context.Context, to db.DBTX) ([]db.CandidateRootsShuffledRow, error) {
				return s.queries.CandidateRootsShuffled(ctx, to, place, id, int32(most))
			}
		}
		onwards := later(b, rows(place, id))
		var again func(context.Context) ([]db.CandidateRootsShuffledRow, error)
		if !around {
			again = later(b, rows(math.MinInt64, math.MinInt64))
		}
		return func(ctx context.Context) (foundRoots, error) {
			found, err := onwards(ctx)
			if again != nil {
				first, failed := again(ctx)
				err = errors.Join(err, failed)
				if len(found) == 0 {
					found, around = first, true
				}
			}
			var roots foundRoots
			for _, row := range found {
				if around && row.Place > start {
					break // where it began
				}
				roots.roots = append(roots.roots, row.ID)
				place, id = row.Place, row.ID
			}
			return roots, err
		}
	}
}

// stayInTrees looks only where in_tree says: the unsuffixed group's anchor is the
// root of that tree, and that of a suffixed group too, unless the tree has
// providers that share.
func (s *candidateSearch) stayInTrees() error {
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

// anchors are the roots of the trees that reach what shares of some providers, and
// of those of a tree.
func (s *candidateSearch) anchors(providers []int64, tree int64) ([]int64, error) {
	if !s.ids.sharing {
		return nil, nil
	}
	return once(s.ctx, s.reading, func(ctx context.Context, to db.DBTX) ([]int64, error) {
		return s.queries.CandidateAnchors(ctx, to, slices.Concat([]int64{}, providers), tree)
	})
}
