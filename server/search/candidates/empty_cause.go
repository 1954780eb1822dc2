package candidates

import (
	"context"
	"slices"
	"time"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// EmptyCause is what has to change before a query without candidates has some, for metrics and alerts. It is found with little
// work, and can be an approximation (docs/why-nothing-fits.md).
type EmptyCause string

// The causes. A query with one of the last four would have no candidates even if nothing were allocated.
const (
	// CauseTypo: a class that no provider offers, or a trait or an aggregate that no provider has.
	CauseTypo EmptyCause = "typo"
	// CauseFull: there would be a candidate if nothing were allocated.
	CauseFull EmptyCause = "full"
	// CauseNever: an amount exceeds what any provider could give.
	CauseNever EmptyCause = "never"
	// CauseTrait and CauseAggregate: without the conditions on traits, or on aggregates, there would be one.
	CauseTrait     EmptyCause = "trait"
	CauseAggregate EmptyCause = "aggregate"
	// CauseTree: all else, and if the server did not find out in time.
	CauseTree EmptyCause = "tree"
)

// EmptyCauses are all causes.
var EmptyCauses = []EmptyCause{CauseTypo, CauseNever, CauseFull, CauseTrait, CauseAggregate, CauseTree}

// causeTime bounds the searches for a cause together.
const causeTime = 50 * time.Millisecond

// causePage is the limit of these searches, which determines how many trees a page has. They end at the first candidate.
const causePage = 64

// largestSample is how many inventories of a class with the most, and how many with the least free capacity, stand for all.
const largestSample = 1000

// anyFree is less than any free capacity.
const anyFree = -1 << 53

// causeOf returns the cause of a reason. missing is the first predicate that no provider meets, nil if there is none. After an
// error it is CauseTree.
func (s *candidateSearch) causeOf(in *postgres.Snapshot, reason EmptyReason, missing *predicate) EmptyCause {
	switch {
	case reason == EmptyInTree:
		return CauseTree
	case missing == nil:
		return s.causeIfEmpty(in)
	case missing.Class == nil:
		return CauseTypo
	}
	found, err := postgres.QueryOnce(s.ctx, in, func(ctx context.Context, to db.DBTX) (db.CandidateLargestRow, error) {
		return s.of.queries.CandidateLargest(ctx, to, *missing.Class, largestSample)
	})
	switch {
	case err != nil:
		return CauseTree
	case found.LookedAt == 0:
		return CauseTypo
	case found.Largest < float64(missing.Amount):
		return CauseNever
	}
	return CauseFull
}

// causeIfEmpty searches for a candidate as if nothing were allocated, and then also without conditions.
func (s *candidateSearch) causeIfEmpty(in *postgres.Snapshot) EmptyCause {
	until := time.Now().Add(s.of.reasons.causeTime)
	whole := *s.query
	whole.Limit, whole.LimitPerTree, whole.freed, whole.spending = causePage, 0, nil, nil
	whole.isFreed, whole.isUnfiltered = true, true
	tries := []struct {
		cause EmptyCause
		query Query
	}{{CauseFull, whole}, {CauseTrait, whole.withoutTraits()}, {CauseAggregate, whole.withoutAggregates()}}
	for _, attempt := range tries {
		if s.hasAny(in, attempt.query, until) {
			return attempt.cause
		}
	}
	return CauseTree
}

// hasAny reports whether a search finds a candidate of another query until a time. After an error it has found none.
func (s *candidateSearch) hasAny(in *postgres.Snapshot, query Query, until time.Time) (found bool) {
	if time.Now().After(until) {
		return false
	}
	query.Order, query.Randomize, query.BreadthFirst = Order{}, false, false
	search := s.of.newSearch(s.ctx, &query, nil)
	search.snapshot, search.until, search.isAside = in, until, true
	result, err := beginIn(search)
	if err == nil {
		_ = result.each(func(*page, []int32, []part) bool {
			found = true
			return false
		})
	}
	return found
}

// withoutTraits returns the query without its conditions on traits.
func (q *Query) withoutTraits() Query {
	query := *q
	query.RootRequired, query.RootForbidden, query.Groups = nil, nil, slices.Clone(q.Groups)
	for i := range query.Groups {
		query.Groups[i].Required, query.Groups[i].Forbidden = nil, nil
	}
	return query
}

// withoutAggregates returns the query without its conditions on aggregates.
func (q *Query) withoutAggregates() Query {
	query := *q
	query.RootMemberOf, query.RootNotMemberOf, query.Groups = nil, nil, slices.Clone(q.Groups)
	for i := range query.Groups {
		query.Groups[i].MemberOf, query.Groups[i].NotMemberOf = nil, nil
	}
	return query
}

// freeAll changes the inventories of a page as if nothing were allocated.
func (s *candidateSearch) freeAll(p *page) error {
	classes, providers := []int32{}, make([]int64, len(p.providers))
	for i := range s.amounts {
		if class := s.amounts[i].Class; !slices.Contains(classes, class) {
			classes = append(classes, class)
		}
	}
	for i := range p.providers {
		providers[i] = p.providers[i].id
	}
	rows, err := postgres.QueryOnce(s.ctx, s.snapshot, func(ctx context.Context, to db.DBTX) ([]fitSettings, error) {
		return s.of.queries.CapacityFitInventories(ctx, to, classes, providers)
	})
	for i := range rows {
		if row, known := p.places[rows[i].ProviderID]; known {
			s.setInventory(p, row, &rows[i], true)
		}
	}
	return err
}
