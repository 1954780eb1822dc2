package store

import (
	"context"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// AggregateFilter selects aggregates.
type AggregateFilter struct {
	// UUIDs are the wanted aggregates; empty: all. Provider is in the aggregates; nil: any.
	UUIDs    []uuid.UUID
	Provider *uuid.UUID
	// Descending lists the newest first. After is the id after which the list begins; nil: the beginning.
	Descending bool
	After      *int32
	Max        int
}

// ListedAggregate is an aggregate with the numbers of its members.
type ListedAggregate struct {
	ID        int32
	UUID      uuid.UUID
	CreatedAt time.Time
	// Providers is the number of providers in the aggregate; Sharing is that of the sharing ones among these.
	Providers, Sharing int64
}

// AggregateList returns aggregates in the order of their creation.
func (s *Store) AggregateList(ctx context.Context, filter *AggregateFilter) ([]ListedAggregate, error) {
	params := db.AggregateListParams{
		LeadingFilter: "range", Descending: filter.Descending, MaxItems: int64(filter.Max),
		IDAfter: math.MinInt32, IDBefore: math.MaxInt32,
		Uuids: append([]uuid.UUID{}, filter.UUIDs...), ResourceProvider: filter.Provider,
	}
	switch {
	case filter.Provider != nil:
		params.LeadingFilter = "resource_provider"
	case len(filter.UUIDs) > 0:
		params.LeadingFilter = "uuid"
	}
	switch {
	case filter.After == nil:
	case filter.Descending:
		params.IDBefore = *filter.After
	default:
		params.IDAfter = *filter.After
	}
	rows, err := postgres.QueryReplicaOrPrimary(ctx, s.pool, func(from db.DBTX) ([]db.AggregateListRow, error) {
		return s.queries.AggregateList(ctx, from, params)
	})
	if err != nil {
		return nil, err
	}
	listed := make([]ListedAggregate, 0, len(rows))
	for _, row := range rows {
		listed = append(listed, ListedAggregate{
			ID: row.ID, UUID: row.Uuid, CreatedAt: row.CreatedAt, Providers: row.Providers, Sharing: row.Sharing,
		})
	}
	return listed, nil
}
