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
		for roots := c.used.roots; len(roots) > 0; {
			page := roots[:min(largestPage, len(roots))]
			roots = roots[len(page):]
			more, err := c.summarize(page, len(roots) == 0, yield)
			if err != nil {
				yield(nil, err)
			}
			if err != nil || !more {
				return
			}
		}
	}
}

// summarize reads some trees. The last ends the snapshot in the same round trip.
func (c *Candidates) summarize(roots []int64, last bool, yield func(*ProviderSummary, error) bool) (more bool, err error) {
	s := c.search
	b := s.reading.batch()
	listed := later(b, func(ctx context.Context, to db.DBTX) ([]db.CandidateSummaryProvidersRow, error) {
		return s.queries.CandidateSummaryProviders(ctx, to, roots)
	})
	stocked := later(b, func(ctx context.Context, to db.DBTX) ([]db.CandidateSummaryInventoriesRow, error) {
		return s.queries.CandidateSummaryInventories(ctx, to, roots)
	})
	if last && !s.reading.record {
		b.end()
	}
	if err := b.send(s.ctx); err != nil {
		return false, errors.Join(err, b.done())
	}
	providers, err := listed(s.ctx)
	var inventories []db.CandidateSummaryInventoriesRow
	if err == nil {
		inventories, err = stocked(s.ctx)
	}
	if err := errors.Join(err, b.done()); err != nil {
		return false, err
	}
	if err := s.learn(providers, inventories); err != nil {
		return false, err
	}
	return c.merge(providers, inventories, yield), nil
}

// merge goes through providers and their inventories, which are in the same order.
func (c *Candidates) merge(
	providers []db.CandidateSummaryProvidersRow, inventories []db.CandidateSummaryInventoriesRow,
	yield func(*ProviderSummary, error) bool,
) bool {
	uuids := make(map[int64]uuid.UUID, len(providers))
	for i := range providers {
		uuids[providers[i].ID] = providers[i].Uuid
	}
	classes, traits := c.search.names.classes.all(), c.search.names.traits.all()
	var summary ProviderSummary
	for i := range providers {
		provider := &providers[i]
		summary = ProviderSummary{
			UUID: provider.Uuid, Root: uuids[provider.RootID],
			Traits: summary.Traits[:0], Resources: summary.Resources[:0],
		}
		if parent, has := uuids[provider.ParentID]; has {
			summary.Parent = &parent
		}
		for _, id := range provider.TraitIds {
			summary.Traits = append(summary.Traits, traits[id])
		}
		for len(inventories) > 0 && inventories[0].ProviderID == provider.ID {
			row := &inventories[0]
			inventories = inventories[1:]
			shown := SummaryResource{Class: row.CustomClass, Capacity: row.Capacity, Used: row.Used}
			if shown.Class == "" {
				shown.Class = classes[row.ClassID]
			}
			summary.Resources = append(summary.Resources, shown)
		}
		if c.used.onlyThem && !c.used.them[provider.ID] {
			continue
		}
		if !yield(&summary, nil) {
			return false
		}
	}
	return true
}
