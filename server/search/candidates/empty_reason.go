package candidates

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// EmptyReason is why a query has no candidates (docs/contract/berth/explain.md#reasons).
type EmptyReason string

// The reasons. The first that applies to a query, in this order for roots and in the order of the groups after them.
const (
	EmptyInTree    EmptyReason = "in_tree"
	EmptyRoot      EmptyReason = "root"
	EmptyAmount    EmptyReason = "amount"
	EmptyTrait     EmptyReason = "trait"
	EmptyAggregate EmptyReason = "aggregate"
	EmptyNoTree    EmptyReason = "no_tree"
	EmptyTogether  EmptyReason = "together"
)

// reasonTime bounds the search for a tree with a provider for each group. Without an answer the reason is EmptyNoTree.
const reasonTime = 20 * time.Millisecond

// Empty is why a query has no candidates. Cause is empty for queries of claims.
type Empty struct {
	Reason EmptyReason
	Cause  EmptyCause
}

// unknownEmpty is what the server assumes if it cannot find out.
var unknownEmpty = Empty{EmptyNoTree, CauseTree}

// emptyReasons remembers the reasons of kinds of queries for hintAge, so that equal queries cost no more statements.
type emptyReasons struct {
	mu    sync.Mutex
	kinds map[queryKind]emptyReason
	// finding has a place for each request that finds a reason.
	finding chan struct{}
	// reasonTime and causeTime are the constants of these names, unless a test changes them.
	reasonTime, causeTime time.Duration
}

// maxFinding is how many requests find reasons at the same time. Others wait for at most reasonTime.
const maxFinding = 4

// enter reports whether the request may find a reason. It must then take a place from finding.
func (r *emptyReasons) enter(ctx context.Context) bool {
	select {
	case r.finding <- struct{}{}:
		return true
	default:
	}
	wait := time.NewTimer(reasonTime)
	defer wait.Stop()
	select {
	case r.finding <- struct{}{}:
		return true
	case <-wait.C:
	case <-ctx.Done():
	}
	return false
}

type emptyReason struct {
	Empty
	since time.Time
}

func (r *emptyReasons) of(kind queryKind) (Empty, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, known := r.kinds[kind]
	return found.Empty, known && time.Since(found.since) < hintAge
}

func (r *emptyReasons) remember(kind queryKind, reason Empty) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kinds == nil || len(r.kinds) >= maxHints {
		r.kinds = map[queryKind]emptyReason{}
	}
	r.kinds[kind] = emptyReason{reason, time.Now()}
}

// EmptyReason returns why a query, whose closed result had no candidate, found none. Unless a query of the kind has asked in
// the last minute, it queries the selectivity of the predicates, and whether a tree has a provider for each group, and then
// the cause. At most maxFinding requests do so at a time; for those that wait in vain, and after an error, it is unknownEmpty.
func (s *Search) EmptyReason(ctx context.Context, of *Result) Empty {
	search := of.search
	if slices.ContainsFunc(search.ids.groups, func(g resolvedGroup) bool { return g.root < 0 }) {
		return Empty{EmptyInTree, CauseTree}
	}
	if search.candidateSlots == nil {
		search.candidateSlots = newCandidateSlots(search.query, search.ids)
	}
	kind, remembers := search.kind(), !search.namesTrees() && len(search.query.NotInTree) == 0
	if known, ok := s.reasons.of(kind); ok && remembers && known.Cause != "" {
		return known
	}
	if !s.reasons.enter(ctx) {
		return unknownEmpty
	}
	defer func() { <-s.reasons.finding }()
	if known, ok := s.reasons.of(kind); ok && remembers && known.Cause != "" {
		return known // another request has found it meanwhile
	}
	found, err := postgres.OnReplicaOrPrimary(ctx, s.pool, func(conn *postgres.Conn) (Empty, error) {
		in := postgres.NewSnapshot(conn)
		defer func() { _ = in.Close() }() // it has changed nothing
		reason, missing, err := search.findReason(in)
		if err != nil {
			return Empty{}, err
		}
		return Empty{reason, search.causeOf(in, reason, missing)}, nil
	})
	if err != nil {
		return unknownEmpty
	}
	if remembers {
		s.reasons.remember(kind, found)
	}
	return found
}

// emptyReasonIn is EmptyReason without the cause, in the snapshot of a search that found nothing.
func (s *Search) emptyReasonIn(in *postgres.Snapshot, search *candidateSearch) (EmptyReason, error) {
	if slices.ContainsFunc(search.ids.groups, func(g resolvedGroup) bool { return g.root < 0 }) {
		return EmptyInTree, nil
	}
	kind, remembers := search.kind(), !search.namesTrees() && len(search.query.NotInTree)+len(search.query.freed) == 0
	if known, ok := s.reasons.of(kind); ok && remembers {
		return known.Reason, nil
	}
	if !s.reasons.enter(search.ctx) {
		return EmptyNoTree, nil
	}
	defer func() { <-s.reasons.finding }()
	reason, _, err := search.findReason(in)
	if remembers && err == nil {
		s.reasons.remember(kind, Empty{Reason: reason})
	}
	return reason, err
}

// namesTrees reports whether a group has in_tree.
func (s *candidateSearch) namesTrees() bool {
	return slices.ContainsFunc(s.ids.groups, func(g resolvedGroup) bool { return g.root != 0 })
}

// findReason returns the reason of the first predicate that no provider meets, and the predicate, or else whether any tree has a
// provider for each group.
func (s *candidateSearch) findReason(in *postgres.Snapshot) (EmptyReason, *predicate, error) {
	if all := s.predicates(); len(all) > 0 && !s.namesTrees() {
		rows, err := postgres.QueryOnce(s.ctx, in, func(ctx context.Context, to db.DBTX) ([]db.CandidateSelectivityRow, error) {
			return s.of.queries.CandidateSelectivity(ctx, to, db.CandidateSelectivityParams{
				Sharing: s.ids.sharing, MaxRows: 1, Sample: []int64{}, Predicates: encoded(all),
			})
		})
		if err != nil {
			return "", nil, err
		}
		slices.SortFunc(rows, func(a, b db.CandidateSelectivityRow) int { return int(a.Position - b.Position) })
		for _, row := range rows {
			if predicate := &all[row.Position-1]; row.Found == 0 && predicate.Count == 0 {
				return predicate.reason(), predicate, nil
			}
		}
	}
	count, _, err := s.of.CountIn(s.ctx, in, s.query.eachGroupAlone(), time.Now().Add(s.of.reasons.reasonTime))
	if err != nil {
		return "", nil, err
	}
	if count > 0 {
		return EmptyTogether, nil, nil
	}
	return EmptyNoTree, nil, nil
}

// reason returns the reason if no provider meets a predicate.
func (p *predicate) reason() EmptyReason {
	switch {
	case p.ofRoot:
		return EmptyRoot
	case p.Class != nil:
		return EmptyAmount
	case p.Traits != nil:
		return EmptyTrait
	}
	return EmptyAggregate
}

// eachGroupAlone returns the query without the conditions for several providers together, for one candidate.
func (q *Query) eachGroupAlone() Query {
	alone := *q
	alone.Isolate, alone.Isolated, alone.Subtrees, alone.OnePerTree = false, nil, nil, false
	alone.Limit, alone.LimitPerTree, alone.Order = 1, 0, Order{}
	alone.Groups = slices.Clone(q.Groups)
	alone.ignoreSums = true
	for i := range alone.Groups {
		if group := &alone.Groups[i]; group.Suffix == "" && (len(group.Resources) > 1 || len(q.CanSplit) > 0) {
			group.Required = nil
		}
	}
	return alone
}
