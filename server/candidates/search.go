package candidates

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/candidates/combine"
	"github.com/berthd/berth/server/postgres"
)

// Stats counts the input and output of the steps of a search.
type Stats struct {
	// Roots is the number of trees searched, Trees that of trees in which each group by itself finds a provider,
	// Candidates that of their candidates.
	Roots, Trees, Candidates int
}

// candidateSearch finds trees for one query, page by page of roots, beginning with the trees of the rarest predicate.
// For each page it queries the providers that satisfy each group.
type candidateSearch struct {
	ctx      context.Context
	queries  *db.Queries
	snapshot *postgres.Snapshot
	names    *nameCache
	query    *Query
	// rng shuffles; nil if the query is not randomized.
	rng *rand.Rand

	ids *resolvedQuery
	*candidateSlots
	plan  *combine.Plan
	roots rootSource
	// sent is the page that the database prefetches, if any.
	sent  *pendingWalk
	tally Stats
	// spent is the used part of the query's budget.
	spent int64
}

// candidateTree is the providers that an anchor can use, with their UUIDs.
type candidateTree struct {
	combine.Tree
	uuids []uuid.UUID
}

// begin resolves the names and chooses the source of roots. fits is false if no candidate can exist.
func (s *candidateSearch) begin() (fits bool, err error) {
	b := s.snapshot.Batch()
	names := postgres.Enqueue(b, func(ctx context.Context, to db.DBTX) (db.CandidateNamesRow, error) {
		return s.queries.CandidateNames(ctx, to, candidateNames(s.query))
	})
	s.roots = s.allRoots()
	first := s.roots.fetch(b, max(sampleSize, s.firstPage()))
	if err := b.Send(s.ctx); err != nil {
		return false, errors.Join(err, b.Close())
	}
	found, err := names(s.ctx)
	if err == nil {
		var ahead rootPage
		ahead, err = first(s.ctx)
		s.roots.take(ahead)
	}
	if err := errors.Join(err, b.Close()); err != nil {
		return false, err
	}
	s.ids = resolveNames(s.query, found)
	if group, refused := s.ids.firstUnknownName(s.query); refused != nil {
		reported, err := s.mustReportUnknown(s.ctx, group, refused)
		if reported {
			err = refused
		}
		return false, err
	}
	return s.prepare()
}

// prepare prepares what all pages have in common.
func (s *candidateSearch) prepare() (fits bool, err error) {
	s.candidateSlots = newCandidateSlots(s.query, s.ids)
	s.asked.Stop = s.chargeBudget
	s.asked.Shuffle = s.rng
	s.plan = combine.NewPlan(s.asked)
	if s.count == 0 || slices.ContainsFunc(s.ids.groups, func(g resolvedGroup) bool { return g.root < 0 }) {
		return false, nil
	}
	if err := s.restrictToTrees(); err != nil {
		return false, err
	}
	if s.query.Limit == 0 && !s.roots.given {
		// Without a limit the search visits all trees, unless a predicate is rare.
		return s.restartFromRarest()
	}
	return true, nil
}

// any reports whether there is any candidate.
func (s *candidateSearch) any() (bool, error) {
	made := &Result{search: s, used: usedTrees{known: map[int64]bool{}}, seen: map[string]bool{}}
	fits, err := s.begin()
	if !fits || err != nil {
		return false, err
	}
	if made.found, err = s.next(1); err != nil {
		return false, err
	}
	for _, err := range made.All() {
		return err == nil, err
	}
	return false, nil
}

// next returns trees that may have candidates, nil after the last. wanted is how many more candidates the consumer
// wants, 0 for all.
func (s *candidateSearch) next(wanted int) ([]*candidateTree, error) {
	for {
		if s.shouldProbe() {
			if fits, err := s.restartFromRarest(); !fits || err != nil {
				return nil, err
			}
		}
		sent, err := s.sent, error(nil)
		if sent == nil {
			sent, err = s.send(wanted)
		}
		if sent == nil || err != nil {
			return nil, err
		}
		trees, err := s.receive(sent)
		if err != nil || len(trees) > 0 {
			return trees, err
		}
	}
}

const (
	// sampleSize is the number of trees from which the search estimates selectivity.
	sampleSize = 12
	// maxPageSize limits the roots of one statement.
	maxPageSize = 500
)

// firstPage estimates how many trees the limit needs: several groups find several combinations in a tree.
func (s *candidateSearch) firstPage() int {
	suffixed := 0
	for i := range s.query.Groups {
		if s.query.Groups[i].Suffix != "" {
			suffixed++
		}
	}
	each := 1
	switch {
	case s.query.BreadthFirst:
	case len(s.query.Subtrees) > 0:
		each = 2
	case suffixed > 2:
		each = 8
	case suffixed == 2:
		each = 4
	}
	if s.query.Limit == 0 {
		return maxPageSize
	}
	return min((s.query.Limit+each-1)/each, maxPageSize)
}

// pageSize estimates the next page from the yield of the trees so far.
func (s *candidateSearch) pageSize(wanted int) int {
	first := s.firstPage()
	switch {
	case s.query.Limit == 0 || s.tally.Roots == 0:
		return first
	case s.tally.Candidates == 0:
		return min(2*s.tally.Roots, maxPageSize)
	}
	// A few trees too many cost less than another page.
	needed := (wanted*s.tally.Roots+s.tally.Candidates-1)/s.tally.Candidates + 2
	return min(needed+needed/2, max(first, 3*s.tally.Roots), maxPageSize)
}

// pendingWalk is a page that the database is executing.
type pendingWalk struct {
	*postgres.Batch
	page   []int64
	answer func(context.Context) (walkRows, error)
	// ahead reads the roots after the page, if they were queried in the same batch.
	ahead func(context.Context) (rootPage, error)
}

// send sends the query for the next trees; nil if there are none.
func (s *candidateSearch) send(wanted int) (*pendingWalk, error) {
	page, err := s.roots.page(s.pageSize(wanted))
	if err != nil || len(page) == 0 {
		return nil, err
	}
	sent := &pendingWalk{Batch: s.snapshot.Batch(), page: page}
	sent.answer = postgres.Enqueue(sent.Batch, s.walk(page))
	if s.prefetchesNextPage() && s.roots.fetch != nil && len(s.roots.waiting) == 0 && s.roots.visited == nil {
		sent.ahead = s.roots.fetch(sent.Batch, maxPageSize)
	}
	if err := sent.Send(s.ctx); err != nil {
		return nil, errors.Join(err, sent.Close())
	}
	return sent, nil
}

// prefetchesNextPage reports whether the query has no limit. If so, the database executes the query of the next page
// while the search combines and yields this one.
func (s *candidateSearch) prefetchesNextPage() bool { return s.query.Limit == 0 }

// receive returns the trees of a page in which every group finds a provider, in the order of the page, and sends the
// next page if it prefetches.
func (s *candidateSearch) receive(sent *pendingWalk) ([]*candidateTree, error) {
	s.sent = nil
	rows, err := sent.answer(s.ctx)
	if err == nil && sent.ahead != nil {
		var found rootPage
		found, err = sent.ahead(s.ctx)
		s.roots.take(found)
	}
	if err := errors.Join(err, sent.Close()); err != nil {
		return nil, err
	}
	if s.prefetchesNextPage() {
		if s.sent, err = s.send(0); err != nil {
			return nil, err
		}
	}
	trees := s.trees(rows, sent.page)
	s.tally.Roots += len(sent.page)
	s.tally.Trees += len(trees)
	return trees, nil
}
