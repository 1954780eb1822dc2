package store

import (
	"bytes"
	"context"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

const (
	// maxLookedAt is the maximum number of consumers that a page with filters looks at.
	maxLookedAt = 5000
)

// ConsumerFilter selects consumers. The zero value selects all. A consumer passes if it has one of the values of each
// filter; Providers, InTree, Classes and Trait must hold for one and the same allocation.
type ConsumerFilter struct {
	UUIDs             []uuid.UUID
	ProjectID, UserID *string
	// Type is a consumer type; "unknown": consumers without one.
	Type      *string
	Providers []uuid.UUID
	InTree    *uuid.UUID
	Classes   []string
	Trait     *string
	// CreatedBefore and UpdatedBefore are exclusive, the others inclusive.
	CreatedBefore, CreatedAfter, UpdatedBefore, UpdatedAfter *time.Time
	// Leased selects consumers with or without a lease; nil: all.
	Leased *bool
	// ExpiresBefore and UntilBefore select leases; both are exclusive.
	ExpiresBefore, UntilBefore *time.Time
	// Search is the range of UUIDs that begin with a text; nil: all.
	Search *UUIDRange
}

// UUIDRange is a range of UUIDs with both ends. It is empty if Low is greater than High.
type UUIDRange struct{ Low, High uuid.UUID }

// ConsumerPage is a page of a list of consumers.
type ConsumerPage struct {
	// Limit is the maximum number of consumers.
	Limit int
	// Descending lists the newest first. A filter with Search lists in the order of UUIDs instead.
	Descending bool
	// ByExpiry lists those that expire first. The filter selects leased ones, and has no Search.
	ByExpiry bool
	// From is the place at which the page begins; nil: the beginning.
	From *ConsumerPlace
	// WithAllocations adds the allocations.
	WithAllocations bool
}

// ConsumerPlace is a place in a list of consumers. ID counts in the order of creation, UUID in that of UUIDs, ExpiresAt and
// ID in that of expiry.
type ConsumerPlace struct {
	ID        int64
	UUID      uuid.UUID
	ExpiresAt time.Time
}

// onlySearch reports whether no filter but Search is set.
func (f *ConsumerFilter) onlySearch() bool {
	return f.UUIDs == nil && f.ProjectID == nil && f.UserID == nil && f.Type == nil && f.Providers == nil && f.InTree == nil &&
		f.Classes == nil && f.Trait == nil && f.CreatedBefore == nil && f.CreatedAfter == nil && f.UpdatedBefore == nil && f.UpdatedAfter == nil &&
		f.Leased == nil && f.ExpiresBefore == nil && f.UntilBefore == nil
}

// params returns the parameters of a page.
func (f *ConsumerFilter) params(page *ConsumerPage) db.ConsumerListParams {
	params := db.ConsumerListParams{
		WithAllocations: page.WithAllocations, Descending: page.Descending, FromRank: -math.MaxInt64,
		Uuids: f.UUIDs, Project: f.ProjectID, Owner: f.UserID, Type: f.Type,
		Providers: f.Providers, Tree: f.InTree, Classes: f.Classes, Trait: f.Trait,
		CreatedBefore: f.CreatedBefore, CreatedAfter: f.CreatedAfter, UpdatedBefore: f.UpdatedBefore, UpdatedAfter: f.UpdatedAfter,
		Leased: f.Leased, ExpiresBefore: f.ExpiresBefore, UntilBefore: f.UntilBefore,
		MaxRows: int32(page.Limit) + 1, Bound: maxLookedAt + 1,
	}
	if f.onlySearch() {
		params.Bound = int64(params.MaxRows) // every row passes
	}
	if page.ByExpiry {
		params.FromExpiry = new(time.Unix(0, 0))
	}
	if page.From != nil {
		params.FromRank = page.From.ID
		if page.ByExpiry {
			params.FromExpiry = &page.From.ExpiresAt
		}
		if page.Descending {
			params.FromRank = -page.From.ID
		}
	}
	if f.Search != nil {
		low := f.Search.Low
		if page.From != nil && bytes.Compare(low[:], page.From.UUID[:]) < 0 {
			low = page.From.UUID
		}
		params.Low, params.High = &low, &f.Search.High
	}
	return params
}

// ConsumerList returns a page of consumers, and the place of the next page; nil: it is the last one. A page can be
// shorter than its limit, or empty, and not be the last: it ends after 5,000 consumers that it has looked at.
func (s *Store) ConsumerList(ctx context.Context, filter *ConsumerFilter, page *ConsumerPage) ([]ConsumerRecord, *ConsumerPlace, error) {
	params := filter.params(page)
	rows, err := postgres.QueryReplicaOrPrimary(ctx, s.pool, func(on db.DBTX) ([]db.ConsumerListRow, error) {
		return s.queries.ConsumerList(ctx, on, params)
	})
	if err != nil {
		return nil, nil, err
	}
	listed := make([]ConsumerRecord, 0, len(rows))
	for i := range rows {
		record, err := consumerRecord(&rows[i])
		if err != nil {
			return nil, nil, err
		}
		if row := &rows[i]; row.IsLast || i == page.Limit {
			next := &ConsumerPlace{ID: row.ID, UUID: row.Uuid}
			if page.ByExpiry && record.Lease != nil {
				next.ExpiresAt = record.Lease.ExpiresAt
			}
			return listed, next, nil
		}
		listed = append(listed, record)
	}
	return listed, nil, nil
}

// ConsumerCount counts the consumers that pass a filter among the first most, and reports whether there are no more
// than these.
func (s *Store) ConsumerCount(ctx context.Context, filter *ConsumerFilter, most int) (count int, exact bool, err error) {
	all := filter.params(&ConsumerPage{})
	params := db.ConsumerCountParams{
		FromRank: all.FromRank, Low: all.Low, High: all.High, MaxCounted: int64(most), EachPasses: filter.onlySearch(),
		Uuids: all.Uuids, Project: all.Project, Owner: all.Owner, Type: all.Type,
		Providers: all.Providers, Tree: all.Tree, Classes: all.Classes, Trait: all.Trait,
		CreatedBefore: all.CreatedBefore, CreatedAfter: all.CreatedAfter, UpdatedBefore: all.UpdatedBefore, UpdatedAfter: all.UpdatedAfter,
		Leased: all.Leased, ExpiresBefore: all.ExpiresBefore, UntilBefore: all.UntilBefore,
	}
	found, err := postgres.QueryReplicaOrPrimary(ctx, s.pool, func(on db.DBTX) (db.ConsumerCountRow, error) {
		return s.queries.ConsumerCount(ctx, on, params)
	})
	return int(found.Count), !found.HasMore, err
}

// ConsumerShow returns a consumer with its allocations; nil: there is none with this UUID.
func (s *Store) ConsumerShow(ctx context.Context, id uuid.UUID) (*ConsumerRecord, error) {
	filter := ConsumerFilter{UUIDs: []uuid.UUID{id}}
	rows, err := postgres.QueryPrimary(ctx, s.pool, func(on db.DBTX) ([]db.ConsumerListRow, error) {
		return s.queries.ConsumerList(ctx, on, filter.params(&ConsumerPage{Limit: 1, WithAllocations: true}))
	})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	found, err := consumerRecord(&rows[0])
	return &found, err
}

// consumerRecord translates a row.
func consumerRecord(row *db.ConsumerListRow) (ConsumerRecord, error) {
	record := ConsumerRecord{
		UUID: row.Uuid, ProjectID: row.ProjectID, UserID: row.UserID, Type: one(row.Type), Generation: row.Generation,
		CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt, ProviderCount: int(row.ProviderCount),
	}
	for i, class := range row.Classes {
		record.Resources = append(record.Resources, Amount{Class: class, Amount: row.Amounts[i]})
	}
	for i, provider := range row.AllocationProviders {
		record.Allocations = append(record.Allocations, ConsumerAllocation{
			Provider: provider, Root: row.AllocationRoots[i], ProviderName: row.AllocationNames[i],
			ProviderGeneration: row.AllocationGenerations[i], Class: row.AllocationClasses[i], Used: row.AllocationAmounts[i],
			CreatedAt: row.AllocationCreated[i],
		})
	}
	if row.IsNodeAllocation {
		record.NodeAllocation = &NodeAllocationName{Name: row.NodeAllocationName}
	}
	var err error
	record.Lease, err = leaseOf(row.Lease)
	return record, err
}
