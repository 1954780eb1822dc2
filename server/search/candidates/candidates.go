// Package candidates searches allocation candidates: it queries the database, page by page of trees, for the providers
// that satisfy each group of a query, and combines them with package combine.
//
// It is not for the error texts and formats of the API, which are in package placement, nor for the claim of a
// candidate, which is a method of package store.
package candidates

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/search/searchpool"
	"github.com/berthd/berth/server/wire/fairqueue"
	"github.com/berthd/berth/server/wire/fault"
)

// Search finds allocation candidates in one database. It is safe for concurrent use.
type Search struct {
	pool *postgres.Pool
	// turns is nil without bounds.
	turns   *searchpool.Pool
	queries *db.Queries
	names   atomic.Pointer[nameCache]
	hints   hints
	reasons emptyReasons
	// treeSize is the number of providers of an average tree in the last page.
	treeSize atomic.Int64
	// thresholds do not change after New.
	thresholds Thresholds
	givenUp    givenUpTrees
}

// Thresholds decide when a search changes how it finds trees. They have no effect on which candidates exist.
type Thresholds struct {
	// Count is how many providers that meet a predicate are counted; fewer are rare.
	Count int
	// PageSize is the maximum number of roots of one statement. Nova requests 1,000 candidates.
	PageSize int
	// PairTrees is how many trees a search reads before it looks for two predicates that are rare together, if more than
	// PairYield trees gave one candidate. The pair must be in at most one of PairYield sampled trees. With a PairYield of 0
	// every pair is rare.
	PairTrees, PairYield int
}

var defaultThresholds = Thresholds{Count: 128, PageSize: maxPageSize, PairTrees: 200, PairYield: 16}

// New returns the search in the database of a pool.
func New(pool *postgres.Pool) *Search { return NewWithThresholds(pool, defaultThresholds) }

// NewWithThresholds is New with other thresholds, for tests: low ones make a search use all leads in a small database.
func NewWithThresholds(pool *postgres.Pool, limits Thresholds) *Search {
	return &Search{
		pool: pool, queries: db.New(), thresholds: limits,
		reasons: emptyReasons{finding: make(chan struct{}, maxFinding), reasonTime: reasonTime, causeTime: causeTime},
	}
}

// RunIn makes searches run in the turns of a pool. It must be called before the first search.
func (s *Search) RunIn(turns *searchpool.Pool) { s.turns = turns }

// InTurn runs a function that lists the candidates of a query, all in one turn of the caller. A short search may run twice,
// see searchpool.Run. That of a query for many candidates is long from its beginning, because it cannot run again once a
// part of the candidates is encoded.
func InTurn[R any](ctx context.Context, s *Search, query *Query, list func(context.Context, *searchpool.Turn) (R, error)) (R, error) {
	class := fairqueue.Short
	if query.Limit == 0 || query.Limit > maxPageSize {
		class = fairqueue.Long
	}
	return searchpool.Run(ctx, s.turns, class, list)
}

// inTurn runs a search that returns all of its result, in a turn of the caller and then on a connection.
func inTurn[R any](
	ctx context.Context, s *Search, class fairqueue.Class, mayUseReplica bool, run func(context.Context, *postgres.Conn) (R, error),
) (R, error) {
	return searchpool.Run(ctx, s.turns, class, func(ctx context.Context, _ *searchpool.Turn) (R, error) {
		on := func(conn *postgres.Conn) (R, error) { return run(ctx, conn) }
		if mayUseReplica {
			return postgres.OnReplicaOrPrimary(ctx, s.pool, on)
		}
		return postgres.OnPrimary(ctx, s.pool, on)
	})
}

// PageSize returns the maximum number of trees of one statement.
func (s *Search) PageSize() int { return s.thresholds.PageSize }

// maxTrees returns how many trees a page may have, so that trees of many providers do not fill the memory.
func (s *Search) maxTrees() int { return int(max(1, maxKeptProviders/max(1, s.treeSize.Load()))) }

// maxCandidates is more candidates than any response has. Larger limits are reduced to it, so that arithmetic with them
// cannot overflow.
const maxCandidates = 1 << 40

// List starts a search for candidates. When it returns, it has found the first of them, so that an error still has its
// own status. The caller reads All to its end, then Summaries, and closes the result in any case. It calls List in a turn,
// see InTurn.
//
// The error is a *store.RuleViolation with TraitNotFound or ClassNotFound for an unknown name. If the search exceeds
// the budget, the error is a fault, here or while the caller reads the candidates.
func (s *Search) List(ctx context.Context, query Query) (*Result, error) {
	query.Limit, query.spending = min(query.Limit, maxCandidates), &spending{}
	return postgres.OnReplicaOrPrimary(ctx, s.pool, func(conn *postgres.Conn) (*Result, error) {
		result, err := s.listInOnePage(ctx, conn, query)
		if result != nil || err != nil {
			conn.Release()
			return result, err
		}
		of := postgres.NewSnapshot(conn)
		result, err = s.begin(ctx, of, query)
		if err != nil {
			_ = of.Close() // the error that matters is err
		}
		return result, err
	})
}

// ListInSnapshot is List in a snapshot, which the caller may use until it closes the result.
func (s *Search) ListInSnapshot(ctx context.Context, query Query) (*Result, error) {
	query.Limit = min(query.Limit, maxCandidates)
	return postgres.OnReplicaOrPrimary(ctx, s.pool, func(conn *postgres.Conn) (*Result, error) {
		of := postgres.NewSnapshot(conn)
		result, err := s.begin(ctx, of, query)
		if err != nil {
			_ = of.Close() // the error that matters is err
		}
		return result, err
	})
}

// begin finds the first candidates in a snapshot.
func (s *Search) begin(ctx context.Context, reading *postgres.Snapshot, query Query) (*Result, error) {
	search := s.newSearch(ctx, &query, nil)
	search.snapshot = reading
	return beginIn(search)
}

// beginIn finds the first candidates in the snapshot of a search.
func beginIn(search *candidateSearch) (*Result, error) {
	result := newResult(search)
	fits, err := result.search.begin()
	if fits && err == nil {
		result.found, err = result.search.next(result.search.query.Limit)
	}
	if err == nil && result.found == nil && result.search.candidateSlots != nil {
		result.search.remember()
	}
	if err == nil {
		err = result.enforceBudgetBeforeOutput()
	}
	return result, err
}

// listInOnePage returns the result if one statement outside of a transaction finds all candidates that the query wants.
// It returns nil if not: names may be unknown or renamed, or the page may have too few candidates.
func (s *Search) listInOnePage(ctx context.Context, conn *postgres.Conn, query Query) (*Result, error) {
	names := s.knownNames()
	if query.Limit == 0 || query.Limit > maxPageSize || names == nil {
		return nil, nil
	}
	search := s.newSearch(ctx, &query, names)
	var known bool
	if search.ids, known = names.resolve(&query); !known {
		return nil, nil
	}
	if !search.prepare() || search.words() > 1 || s.maxTrees() < search.firstPage() {
		return nil, nil
	}
	kind := search.kind()
	found, hinted := s.hints.of(kind)
	if found.pair != nil {
		return nil, nil
	}
	if hinted {
		search.follow(&found)
	}
	p, err := search.readOnly(conn)
	if p == nil || err != nil {
		return nil, err
	}
	result := newResult(search)
	result.found = p
	if err := result.keepAll(); err != nil {
		return nil, err
	}
	if result.count < query.Limit && !search.leads.isOver {
		if hinted {
			s.hints.forget(kind) // it no longer leads to enough candidates
		}
		return nil, nil
	}
	search.remember()
	return result, nil
}

// readOnly reads a page outside of a transaction. It returns nil if the names or the sharing providers are not those
// that the server remembers.
func (s *candidateSearch) readOnly(conn *postgres.Conn) (*page, error) {
	args, _ := s.leads.next(s.pageSize(s.query.Limit))
	p := newPage()
	if err := postgres.EachRow(s.ctx, conn, s.pageQuery(&args, 0), p.read); err != nil {
		return nil, err
	}
	p.arrange()
	classes, traits := s.names.missingNames(p)
	shares := false
	for i := range p.leads {
		shares = shares || p.leads[i].shares && (s.chosen != nil || s.query.isByCapacity())
	}
	if p.nameChanges != s.names.changes || p.sharing != s.ids.sharing || len(classes)+len(traits) > 0 || shares {
		return nil, nil
	}
	s.count(p, &args)
	s.keepNewTrees(p, &args)
	return p, nil
}

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
