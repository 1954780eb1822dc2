package candidates

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/search/candidates/combine"
	"github.com/berthd/berth/server/search/searchpool"
)

// Stats counts the input and output of the steps of a search.
type Stats struct {
	// Roots is the number of trees searched, Trees that of trees in which each group by itself finds a provider,
	// Candidates that of their candidates.
	Roots, Trees, Candidates int
}

// candidateSearch finds trees for one query, page by page, beginning with the trees of the rarest predicate.
type candidateSearch struct {
	ctx context.Context
	of  *Search
	// snapshot is nil as long as one page suffices.
	snapshot *postgres.Snapshot
	names    *nameCache
	query    *Query
	// rng shuffles; nil if the query is not randomized.
	rng *rand.Rand

	ids *resolvedQuery
	*candidateSlots
	// plan is for all requirements, unsplitPlan for those without splits.
	plan, unsplitPlan *combine.Plan
	leads             leads
	// chosen is the predicate that leads to the trees, nil if all trees are searched.
	chosen *predicate
	// pair is two predicates that lead to the trees, nil if none do.
	pair *pair
	// hint is what the last search of the kind found, nil if unknown.
	hint *hint
	// sent is the page that the database prefetches, if any.
	sent  *pendingPage
	tally Stats
	// mostPass is true if the filter of the statement would drop few trees.
	mostPass bool
	// pages and foundLeads count what the search read, unused are those leads of the last page that gave no candidate yet,
	// and before are the counts when the search changed its lead.
	pages, foundLeads, unused int
	before                    struct{ leads, candidates int }
	// skipped are roots of trees that another search has searched.
	skipped map[int64]bool
	// until ends the search with errOutOfTime, if it is set. isAside is true for a search that leaves no hint.
	until   time.Time
	isAside bool
	// starts are positions of the lead for the next randomized search.
	starts []position
	// spending is the used part of the query's budget, walking the walk that spends it.
	spending *spending
	walking  *treeWalk
	// turn is that of the search, nil if it has none.
	turn *searchpool.Turn
	// charge limits the search instead of the query's budget; nil: nothing does.
	charge func() error
}

// newSearch returns a search without a snapshot.
func (s *Search) newSearch(ctx context.Context, query *Query, names *nameCache) *candidateSearch {
	search := &candidateSearch{ctx: ctx, of: s, query: query, names: names, spending: query.spending, turn: searchpool.From(ctx)}
	if search.spending == nil {
		search.spending = &spending{}
	}
	if query.isRandom() {
		search.rng = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	return search
}

// begin resolves the names in the snapshot and chooses the lead. fits is false if no candidate can exist.
func (s *candidateSearch) begin() (fits bool, err error) {
	if fits, err := s.resolve(); !fits || err != nil {
		return false, err
	}
	if err := s.restrictToTrees(); err != nil {
		return false, err
	}
	if s.query.isOrdered() {
		return s.orderRareTrees()
	}
	if s.query.Limit == 0 {
		// Without a limit the search visits all trees, unless a predicate is rare.
		if s.leads.paired = true; !s.leads.named {
			return s.restartFromRarest()
		}
	}
	return true, s.followPair()
}

// resolve resolves the names in the snapshot. fits is false if no candidate can exist.
func (s *candidateSearch) resolve() (fits bool, err error) {
	closed := s.of.pool.ClosedConns()
	found, err := postgres.QueryOnce(s.ctx, s.snapshot, func(ctx context.Context, to db.DBTX) (db.CandidateNamesRow, error) {
		return s.of.queries.CandidateNames(ctx, to, candidateNames(s.query))
	})
	if err != nil {
		return false, err
	}
	s.learnNames(&found, closed)
	s.ids = resolveNames(s.query, found)
	if group, refused := s.ids.firstUnknownName(s.query); refused != nil {
		reported, err := s.mustReportUnknown(s.ctx, group, refused)
		if reported {
			err = refused
		}
		return false, err
	}
	return s.prepare(), nil
}

// prepare prepares what all pages have in common. fits is false if no candidate can exist.
func (s *candidateSearch) prepare() (fits bool) {
	s.candidateSlots = newCandidateSlots(s.query, s.ids)
	s.asked.Stop = s.chargeBudget
	s.asked.Shuffle, s.asked.IgnoreSums, s.unsplit.IgnoreSums = s.rng, s.query.ignoreSums, s.query.ignoreSums
	s.plan = combine.NewPlan(s.asked)
	if len(s.others) > 0 {
		s.unsplit.Stop, s.unsplit.Shuffle = s.asked.Stop, s.asked.Shuffle
		s.unsplitPlan = combine.NewPlan(s.unsplit)
	}
	s.leads = s.allTrees()
	s.mostPass = len(s.subtrees) > 0 && s.of.hints.mostPass(s.kind())
	return len(s.slots) > 0 && !slices.ContainsFunc(s.ids.groups, func(g resolvedGroup) bool { return g.root < 0 })
}

// any reports whether there is any candidate.
func (s *candidateSearch) any() (bool, error) {
	result := newResult(s)
	fits, err := s.begin()
	if !fits || err != nil {
		return false, err
	}
	if result.found, err = s.next(1); err != nil {
		return false, err
	}
	for _, err := range result.All() {
		return err == nil, err
	}
	return false, nil
}

// next returns the next page, nil after the last. wanted is how many more candidates the consumer wants, 0 for all.
func (s *candidateSearch) next(wanted int) (*page, error) {
	if s.snapshot == nil {
		return nil, nil
	}
	if err := s.checkTime(); err != nil {
		return nil, err
	}
	if s.shouldProbe() {
		if fits, err := s.restartFromRarest(); !fits || err != nil {
			return nil, err
		}
	}
	if s.shouldFindPair() {
		if err := s.findPair(); err != nil {
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
	return s.receive(sent)
}

// pendingPage is a page that the database is executing.
type pendingPage struct {
	*postgres.Batch
	args   db.CandidatePageParams
	page   *page
	answer func(context.Context) error
}

// send sends the query for the next trees; nil if there are none.
func (s *candidateSearch) send(wanted int) (*pendingPage, error) {
	if err := s.loadPair(); err != nil {
		return nil, err
	}
	args, more := s.leads.next(s.pageSize(wanted))
	if !more {
		return nil, nil
	}
	sent := &pendingPage{Batch: s.snapshot.Batch(), args: args, page: newPage()}
	sent.answer = postgres.EnqueueEachRow(sent.Batch, s.pageQuery(&sent.args, 0), sent.page.read)
	if err := sent.Send(s.ctx); err != nil {
		return nil, errors.Join(err, sent.Close())
	}
	return sent, nil
}

// prefetchesNextPage reports whether the query has no limit. If so, the database executes the query of the next page
// while the search combines and yields this one.
func (s *candidateSearch) prefetchesNextPage() bool { return s.query.Limit == 0 }

// closeSent ends the query of a prefetched page, whose results are not needed.
func (s *candidateSearch) closeSent() {
	if s.sent != nil {
		_ = s.sent.Close()
		s.sent = nil
	}
}

// receive returns a page, and sends the query for the next one if it prefetches.
func (s *candidateSearch) receive(sent *pendingPage) (*page, error) {
	s.sent = nil
	err := sent.answer(s.ctx)
	if err := errors.Join(err, sent.Close()); err != nil {
		return nil, err
	}
	p := sent.page
	p.arrange()
	for word := 1; word < s.words(); word++ {
		if err := s.readWord(p, word); err != nil {
			return nil, err
		}
	}
	if s.query.isFreed {
		if err := s.freeAll(p); err != nil {
			return nil, err
		}
	}
	s.cutBehindSharing(p, &sent.args)
	if err := s.addAnchors(p); err != nil {
		return nil, err
	}
	if err := s.loadMissingNames(p); err != nil {
		return nil, err
	}
	s.count(p, &sent.args)
	if s.prefetchesNextPage() {
		if s.sent, err = s.send(0); err != nil {
			return nil, err
		}
	}
	s.keepNewTrees(p, &sent.args)
	return p, nil
}

// filters reports whether the statement drops the trees without a candidate.
func (s *candidateSearch) filters() bool {
	return len(s.subtrees) > 0 && !s.query.isUnfiltered && !s.mostPass
}

// measureFilter ends the filter for this kind of query if it dropped less than three of four trees of a page: it reads
// each tree once more, which costs twice as much as sending and combining one.
func (s *candidateSearch) measureFilter(p *page) {
	if !s.filters() || len(p.leads) < sampleSize {
		return
	}
	passed := 0
	for i := range p.leads {
		if p.tree(p.leads[i].root) != nil {
			passed++
		}
	}
	if s.mostPass = 4*passed > len(p.leads); s.mostPass {
		s.of.hints.rememberMostPass(s.kind())
	}
}

// count moves the lead behind a page.
func (s *candidateSearch) count(p *page, args *db.CandidatePageParams) {
	s.measureFilter(p)
	s.leads.take(p.leads, args)
	s.pages++
	s.foundLeads += len(p.leads)
	if len(p.leads) >= min(sampleSize, s.of.maxTrees()) && len(p.providers) > 0 {
		s.of.treeSize.Store(int64((len(p.providers) + len(p.leads) - 1) / max(1, len(p.leads))))
	}
	if s.rng != nil && args.Lead == leadFree {
		s.addStarts(p)
	}
}

// keepNewTrees removes the leads to trees that an earlier page had, or that have a wrong root. It shuffles the others if
// the query is randomized, unless the search gave them in a random order.
func (s *candidateSearch) keepNewTrees(p *page, args *db.CandidatePageParams) {
	if s.rng != nil && (s.chosen != nil || args.Lead != leadNone) {
		s.rng.Shuffle(len(p.leads), func(i, j int) { p.leads[i], p.leads[j] = p.leads[j], p.leads[i] })
	}
	p.leads = slices.DeleteFunc(p.leads, func(item lead) bool {
		if s.skipped[item.root] || !s.leads.isNew(item.root) {
			return true
		}
		s.tally.Roots++
		return item.excluded
	})
	s.unused = len(p.leads)
}

// addAnchors continues with the roots of the trees that can use the sharing providers among the leads of a page.
func (s *candidateSearch) addAnchors(p *page) error {
	var sharing []int64
	for i := range p.leads {
		if p.leads[i].shares {
			sharing = append(sharing, p.leads[i].provider)
		}
	}
	if len(sharing) == 0 || s.chosen == nil && !s.query.isByCapacity() || s.chosen != nil && s.chosen.ofRoot {
		return nil
	}
	anchors, err := s.anchors(sharing, 0)
	s.leads.given = append(s.leads.given, anchors...)
	return err
}

// restrictToTrees searches only the trees of in_tree. The unsuffixed group's anchor is the root of that tree. So is
// that of a suffixed group, unless the tree has sharing providers.
func (s *candidateSearch) restrictToTrees() error {
	for _, group := range s.ids.groups {
		if group.root == 0 || s.ids.sharing && group.Suffix != "" {
			continue
		}
		s.leads = leads{given: []int64{group.root}, named: true}
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
		s.leads = leads{given: append([]int64{group.root}, anchors...), named: true, known: map[int64]bool{}}
		if s.rng != nil {
			s.rng.Shuffle(len(s.leads.given), func(i, j int) { s.leads.given[i], s.leads.given[j] = s.leads.given[j], s.leads.given[i] })
		}
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
		return s.of.queries.CandidateAnchors(ctx, to, slices.Concat([]int64{}, providers), tree)
	})
}
