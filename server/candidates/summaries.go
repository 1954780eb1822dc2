package candidates

import (
	"context"
	"errors"
	"iter"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/candidates/combine"
	"github.com/berthd/berth/server/postgres"
)

// ProviderSummary is the summary of a provider of candidates.
type ProviderSummary struct {
	UUID   uuid.UUID
	Parent *uuid.UUID
	Root   uuid.UUID
	// Traits are in the order of their ids.
	Traits []string
	// Resources are all inventories, in class order.
	Resources []SummaryResource
}

// SummaryResource is an inventory in a summary.
type SummaryResource struct {
	Class string
	// Capacity is an integer, but valid ratios can make it larger than any int64.
	Capacity float64
	Used     int64
}

// usedTrees are the trees of all providers that candidates use, in the order of their first use; and those providers,
// if the summaries include only them.
type usedTrees struct {
	roots    []int64
	known    map[int64]bool
	onlyThem bool
	them     map[int64]bool
}

func (u *usedTrees) add(provider *combine.Provider) {
	if u.onlyThem {
		if u.them == nil {
			u.them = map[int64]bool{}
		}
		u.them[provider.ID] = true
	}
	if count := len(u.roots); count > 0 && u.roots[count-1] == provider.Root || u.known[provider.Root] {
		return
	}
	u.known[provider.Root] = true
	u.roots = append(u.roots, provider.Root)
}

// Summaries yields the providers of all trees of which All has used providers. If the query was OnePerTree, it yields
// only the used providers. A yielded summary is valid until the next one. An error ends the sequence.
func (c *Result) Summaries() iter.Seq2[*ProviderSummary, error] {
	return func(yield func(*ProviderSummary, error) bool) {
		var sent, next *pendingSummaries
		var err error
		more := true
		for roots := c.used.roots; more && err == nil && (len(roots) > 0 || next != nil); {
			if sent = next; sent == nil {
				sent, roots, err = c.ask(roots)
			}
			var rows []db.CandidateSummariesRow
			if err == nil {
				rows, err = c.queryPrimary(sent)
			}
			// The database executes the query of the next page while the caller writes this one.
			if next = nil; err == nil && len(roots) > 0 {
				next, roots, err = c.ask(roots)
			}
			if err == nil {
				more = c.summaries(rows, yield)
			}
		}
		if next != nil {
			err = errors.Join(err, next.Close())
		}
		if err != nil {
			yield(nil, postgres.StreamError(c.search.ctx, err))
		}
	}
}

// pendingSummaries is a page that the database is executing.
type pendingSummaries struct {
	*postgres.Batch
	answer func(context.Context) ([]db.CandidateSummariesRow, error)
}

// ask sends the query for the first of some trees and returns the remaining ones. The last page ends the snapshot in
// the same round trip.
func (c *Result) ask(roots []int64) (*pendingSummaries, []int64, error) {
	s := c.search
	page := roots[:min(maxPageSize, len(roots))]
	roots = roots[len(page):]
	sent := &pendingSummaries{Batch: s.snapshot.Batch()}
	sent.answer = postgres.Enqueue(sent.Batch, func(ctx context.Context, to db.DBTX) ([]db.CandidateSummariesRow, error) {
		return s.queries.CandidateSummaries(ctx, to, page)
	})
	if len(roots) == 0 {
		sent.Commit()
	}
	if err := sent.Send(s.ctx); err != nil {
		return nil, roots, errors.Join(err, sent.Close())
	}
	return sent, roots, nil
}

func (c *Result) queryPrimary(sent *pendingSummaries) ([]db.CandidateSummariesRow, error) {
	rows, err := sent.answer(c.search.ctx)
	if err := errors.Join(err, sent.Close()); err != nil {
		return nil, err
	}
	return rows, c.search.loadMissingNames(rows)
}

// summaries yields one summary for each row.
func (c *Result) summaries(rows []db.CandidateSummariesRow, yield func(*ProviderSummary, error) bool) bool {
	uuids := make(map[int64]uuid.UUID, len(rows))
	for i := range rows {
		uuids[rows[i].ID] = rows[i].Uuid
	}
	classes, traits := c.search.names.classes.all(), c.search.names.traits.all()
	var summary ProviderSummary
	for i := range rows {
		row := &rows[i]
		if c.used.onlyThem && !c.used.them[row.ID] {
			continue
		}
		summary = ProviderSummary{
			UUID: row.Uuid, Root: uuids[row.RootID], Traits: summary.Traits[:0], Resources: summary.Resources[:0],
		}
		if parent, has := uuids[row.ParentID]; has {
			summary.Parent = &parent
		}
		for _, id := range row.TraitIds {
			summary.Traits = append(summary.Traits, traits[id])
		}
		for place, class := range row.ClassIds {
			shown := SummaryResource{Class: classes[class], Capacity: row.Capacities[place], Used: row.Used[place]}
			if isCustom(class) {
				shown.Class = row.CustomClasses[place]
			}
			summary.Resources = append(summary.Resources, shown)
		}
		if !yield(&summary, nil) {
			return false
		}
	}
	return true
}
