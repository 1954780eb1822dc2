package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/combine"
)

// CandidateTally counts what went into the steps of a search and what came out.
type CandidateTally struct {
	// Roots are the trees that were looked at, Trees those of them in which each
	// group by itself finds a provider, Candidates what they gave.
	Roots, Trees, Candidates int
}

// candidateSearch finds trees for one query: page by page of roots, from wherever
// the rarest of what is wanted leads to, and asks the database what in them fits.
type candidateSearch struct {
	ctx     context.Context
	queries *db.Queries
	reading *snapshot
	names   *knownNames
	query   *CandidateQuery
	// dice shuffles, nil if nothing is to be shuffled.
	dice *rand.Rand

	ids *wantedIDs
	*candidateSlots
	plan  *combine.Plan
	roots rootSource
	// sent is the page that the database works on ahead of time, if any.
	sent  *sentWalk
	tally CandidateTally
	// spent is how much of the query's budget is gone.
	spent int64
}

// candidateTree is what an anchor reaches, with the uuids of its providers.
type candidateTree struct {
	combine.Tree
	uuids []uuid.UUID
}

// begin resolves the names and finds out where to look. fits is false where it is
// plain that nothing can be found.
func (s *candidateSearch) begin() (fits bool, err error) {
	b := s.reading.batch()
	names := later(b, func(ctx context.Context, to db.DBTX) (db.CandidateNamesRow, error) {
		return s.queries.CandidateNames(ctx, to, candidateNames(s.query))
	})
	s.roots = s.allRoots()
	first := s.roots.fetch(b, max(samples, s.firstPage()))
	if err := b.send(s.ctx); err != nil {
		return false, errors.Join(err, b.done())
	}
	found, err := names(s.ctx)
	if err == nil {
		var ahead foundRoots
		ahead, err = first(s.ctx)
		s.roots.take(ahead)
	}
	if err := errors.Join(err, b.done()); err != nil {
		return false, err
	}
	s.ids = identify(s.query, found)
	if group, refused := s.ids.refusal(s.query); refused != nil {
		reported, err := s.reports(s.ctx, group, refused)
		if reported {
			err = refused
		}
		return false, err
	}
	return s.prepare()
}

// prepare makes what all pages have in common.
func (s *candidateSearch) prepare() (fits bool, err error) {
	s.candidateSlots = newCandidateSlots(s.query, s.ids)
	s.asked.Stop = s.spend
	s.asked.Shuffle = s.dice
	s.plan = combine.NewPlan(s.asked)
	if s.count == 0 || slices.ContainsFunc(s.ids.groups, func(g wantedGroup) bool { return g.root < 0 }) {
		return false, nil
	}
	if err := s.stayInTrees(); err != nil {
		return false, err
	}
	if s.query.Limit == 0 && !s.roots.given {
		// All trees have to be looked at, unless something wanted is rare.
		return s.startAtRarest()
	}
	return true, nil
}

// any tells whether there is any candidate.
func (s *candidateSearch) any() (bool, error) {
	made := &Candidates{search: s, used: usedTrees{known: map[int64]bool{}}, seen: map[string]bool{}}
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

// next gives trees that may have candidates, nil after the last. wanted is how many
// more candidates are, 0 for all there are.
func (s *candidateSearch) next(wanted int) ([]*candidateTree, error) {
	for {
		if s.disappointing() {
			if fits, err := s.startAtRarest(); !fits || err != nil {
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
	// samples is how many trees tell how rare something is.
	samples = 12
	// largestPage bounds the roots that are walked in one statement.
	largestPage = 500
)

// firstPage guesses how many trees are needed for the limit: several groups find
// several combinations in a tree.
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
		return largestPage
	}
	return min((s.query.Limit+each-1)/each, largestPage)
}

// pageSize goes by what the trees so far have given.
func (s *candidateSearch) pageSize(wanted int) int {
	first := s.firstPage()
	switch {
	case s.query.Limit == 0 || s.tally.Roots == 0:
		return first
	case s.tally.Candidates == 0:
		return min(2*s.tally.Roots, largestPage)
	}
	// Some trees too many cost less than another page.
	needed := (wanted*s.tally.Roots+s.tally.Candidates-1)/s.tally.Candidates + 2
	return min(needed+needed/2, max(first, 3*s.tally.Roots), largestPage)
}

// sentWalk is a page that the database works on.
type sentWalk struct {
	*batch
	page   []int64
	answer func(context.Context) (walkRows, error)
	// ahead reads the roots after the page, if they were asked for in the same batch.
	ahead func(context.Context) (foundRoots, error)
}

// send asks what fits in the next trees, nil if there are none.
func (s *candidateSearch) send(wanted int) (*sentWalk, error) {
	page, err := s.roots.page(s.pageSize(wanted))
	if err != nil || len(page) == 0 {
		return nil, err
	}
	sent := &sentWalk{batch: s.reading.batch(), page: page}
	sent.answer = later(sent.batch, s.walk(page))
	if s.hurries() && s.roots.fetch != nil && len(s.roots.waiting) == 0 && s.roots.visited == nil {
		sent.ahead = s.roots.fetch(sent.batch, largestPage)
	}
	if err := sent.batch.send(s.ctx); err != nil {
		return nil, errors.Join(err, sent.done())
	}
	return sent, nil
}

// hurries: all there is is wanted, so the database works on the next page while
// this one is combined and written.
func (s *candidateSearch) hurries() bool { return s.query.Limit == 0 && !s.reading.record }

// receive gives the trees of a page in which everything fits, in the order of the
// page, and sends the next if there is hurry.
func (s *candidateSearch) receive(sent *sentWalk) ([]*candidateTree, error) {
	s.sent = nil
	rows, err := sent.answer(s.ctx)
	if err == nil && sent.ahead != nil {
		var found foundRoots
		found, err = sent.ahead(s.ctx)
		s.roots.take(found)
	}
	if err := errors.Join(err, sent.done()); err != nil {
		return nil, err
	}
	if s.hurries() {
		if s.sent, err = s.send(0); err != nil {
			return nil, err
		}
	}
	trees := s.trees(rows, sent.page)
	s.tally.Roots += len(sent.page)
	s.tally.Trees += len(trees)
	return trees, nil
}
