package store

import (
	"context"
	"errors"
	"iter"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/combine"
)

// ProviderSummary describes a provider beside candidates.
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
	// Capacity is an integer; legal ratios make it larger than any int64.
	Capacity float64
	Used     int64
}

// usedTrees are the trees of all providers that candidates use, in the order of
// their first use; and those providers, if they alone are to be summarised.
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

// Summaries yields the providers of all trees that All has used providers of. If
// the query was OnePerTree, only the used providers themselves. What is yielded is
// valid until the next. An error ends it.
func (c *Candidates) Summaries() iter.Seq2[*ProviderSummary, error] {
	return func(yield func(*ProviderSummary, error) bool) {
		var sent, next *sentSummaries
		var err error
		more := true
		for roots := c.used.roots; more && err == nil && (len(roots) > 0 || next != nil); {
			if sent = next; sent == nil {
				sent, roots, err = c.ask(roots)
			}
			var rows []db.CandidateSummariesRow
			if err == nil {
				rows, err = c.read(sent)
			}
			// The database reads the next page while this one is written.
			if next = nil; err == nil && len(roots) > 0 {
				next, roots, err = c.ask(roots)
			}
			if err == nil {
				more = c.summaries(rows, yield)
			}
		}
		if next != nil {
			err = errors.Join(err, next.done())
		}
		if err != nil {
			yield(nil, broken(c.search.ctx, err))
		}
	}
}

// sentSummaries is a page that the database works on.
type sentSummaries struct {
	*batch
	answer func(context.Context) ([]db.CandidateSummariesRow, error)
}

// ask sends the query for the first of some trees and gives the others. The last
// page ends the snapshot in the same round trip.
func (c *Candidates) ask(roots []int64) (*sentSummaries, []int64, error) {
	s := c.search
	page := roots[:min(largestPage, len(roots))]
	roots = roots[len(page):]
	sent := &sentSummaries{batch: s.reading.batch()}
	sent.answer = later(sent.batch, func(ctx context.Context, to db.DBTX) ([]db.CandidateSummariesRow, error) {
		return s.queries.CandidateSummaries(ctx, to, page)
	})
	if len(roots) == 0 && !s.reading.record {
		sent.end()
	}
	if err := sent.send(s.ctx); err != nil {
		return nil, roots, errors.Join(err, sent.done())
	}
	return sent, roots, nil
}

func (c *Candidates) read(sent *sentSummaries) ([]db.CandidateSummariesRow, error) {
	rows, err := sent.answer(c.search.ctx)
	if err := errors.Join(err, sent.done()); err != nil {
		return nil, err
	}
	return rows, c.search.learn(rows)
}

// summaries makes one of each row.
func (c *Candidates) summaries(rows []db.CandidateSummariesRow, yield func(*ProviderSummary, error) bool) bool {
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
