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
	s.asked.Stop = s.ctx.Err
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
	samples = 32
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
	needed := (wanted*s.tally.Roots + s.tally.Candidates - 1) / s.tally.Candidates
	return min(max(needed+needed/4, 1), max(first, 2*s.tally.Roots), largestPage)
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

// walkRows are what either of the two statements gave.
type walkRows struct {
	tree []db.CandidateWalkTreeRow
	all  []db.CandidateWalkRow
}

func (r *walkRows) len() int { return len(r.tree) + len(r.all) }

func (r *walkRows) at(place int) db.CandidateWalkRow {
	if r.all == nil {
		return db.CandidateWalkRow(r.tree[place])
	}
	return r.all[place]
}

// walk is the query for a page.
func (s *candidateSearch) walk(page []int64) func(context.Context, db.DBTX) (walkRows, error) {
	slots, sets := encoded(s.parts), s.sets.texts()
	if s.lean() {
		return func(ctx context.Context, to db.DBTX) (rows walkRows, err error) {
			rows.tree, err = s.queries.CandidateWalkTree(ctx, to, db.CandidateWalkTreeParams{
				Slots: slots, Roots: page, RootRequired: s.ids.rootRequired, RootForbidden: s.ids.rootForbidden,
				Sets: sets, Marks: marks(s.count),
			})
			return rows, err
		}
	}
	subtrees := encoded(s.subtrees)
	return func(ctx context.Context, to db.DBTX) (rows walkRows, err error) {
		rows.all, err = s.queries.CandidateWalk(ctx, to, db.CandidateWalkParams{
			Slots: slots, Roots: page, RootRequired: s.ids.rootRequired, RootForbidden: s.ids.rootForbidden,
			Subtrees: subtrees, Sharing: s.ids.sharing, SharingTraits: s.ids.sharingTraits,
			Sets: sets, Marks: marks(s.count),
		})
		return rows, err
	}
}

// lean tells whether CandidateWalkTree can answer.
func (s *candidateSearch) lean() bool {
	return !s.ids.sharing && len(s.subtrees) == 0 && !slices.ContainsFunc(s.parts, func(p slotPart) bool { return p.Class == noClass })
}

// trees makes trees of rows, which are in the order of roots, slots, providers.
func (s *candidateSearch) trees(rows walkRows, page []int64) []*candidateTree {
	parents := map[int64]int64{}
	if len(s.subtrees) > 0 {
		for _, row := range rows.all {
			parents[row.ProviderID] = row.ParentID
		}
	}
	var trees []*candidateTree
	var tree *candidateTree
	places := map[int64]int{}
	for i := range rows.len() {
		row := rows.at(i)
		if row.Slot < 0 {
			continue // only tells what is above a provider
		}
		if tree == nil || tree.Anchor != row.RootID {
			tree = &candidateTree{Tree: combine.Tree{Anchor: row.RootID, Fits: make([][]combine.Fit, s.count)}}
			trees = append(trees, tree)
			clear(places)
		}
		place, known := places[row.ProviderID]
		if !known {
			place = len(tree.Providers)
			places[row.ProviderID] = place
			provider := combine.Provider{ID: row.ProviderID, Root: row.TreeID, Shared: row.Shares}
			if len(s.subtrees) > 0 {
				provider.Path = pathOf(row.ProviderID, parents)
			}
			tree.Providers = append(tree.Providers, provider)
			tree.uuids = append(tree.uuids, row.Uuid)
		}
		fits := &tree.Fits[row.Slot]
		if row.Place == 0 {
			*fits = append(*fits, combine.Fit{Provider: place, Met: metSets(row.Met)})
		}
		last := &(*fits)[len(*fits)-1]
		last.Free = append(last.Free, row.Free)
	}
	if !slices.IsSorted(page) {
		order := make(map[int64]int, len(page))
		for i, root := range page {
			order[root] = i
		}
		slices.SortFunc(trees, func(a, b *candidateTree) int { return order[a.Anchor] - order[b.Anchor] })
	}
	return trees
}

// metSets reads which sets are met.
func metSets(marks string) (met []int32) {
	for i, mark := range marks {
		if mark == '1' {
			met = append(met, int32(i))
		}
	}
	return met
}

// pathOf is a provider with its ancestors.
func pathOf(id int64, parents map[int64]int64) []int64 {
	var path []int64
	for ; id != 0; id = parents[id] {
		path = append(path, id)
	}
	return path
}
