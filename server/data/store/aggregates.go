package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// ProviderAggregateList returns a provider's generation and aggregates; ProviderNotFound if there is no such provider.
func (s *Store) ProviderAggregateList(ctx context.Context, provider uuid.UUID) (int64, []uuid.UUID, error) {
	rows, err := postgres.QueryPrimary(ctx, s.pool, func(from db.DBTX) ([]db.ProviderAggregateListRow, error) {
		return s.queries.ProviderAggregateList(ctx, from, provider)
	})
	if err != nil {
		return 0, nil, err
	}
	if len(rows) == 0 {
		return 0, nil, unknownProvider(provider)
	}
	aggregates := []uuid.UUID{}
	for _, row := range rows {
		if row.Uuid != nil {
			aggregates = append(aggregates, *row.Uuid)
		}
	}
	return rows[0].Generation, aggregates, nil
}

// ProviderAggregateReplace sets the aggregates of a provider and returns its generation afterwards. With a nil
// generation it neither compares nor raises the provider's.
func (s *Store) ProviderAggregateReplace(
	ctx context.Context, provider uuid.UUID, generation *int64, aggregates []uuid.UUID,
) (after int64, err error) {
	err = s.write(ctx, ofProvider(provider), func(to db.DBTX) (err error) {
		after, err = s.queries.ProviderAggregateReplace(ctx, to, provider, generation, aggregates)
		return err
	})
	return after, err
}

// ProviderAggregatePatch adds a provider to aggregates and removes it from others, and returns its generation and
// aggregates afterwards. A nil generation is not compared. The generation increases if the set changes.
func (s *Store) ProviderAggregatePatch(
	ctx context.Context, provider uuid.UUID, generation *int64, added, removed []uuid.UUID,
) (after int64, aggregates []uuid.UUID, err error) {
	err = s.write(ctx, ofProvider(provider), func(to db.DBTX) error {
		rows, err := s.queries.ProviderAggregatePatch(ctx, to, db.ProviderAggregatePatchParams{
			Provider: provider, Given: generation,
			Added: append([]uuid.UUID{}, added...), Removed: append([]uuid.UUID{}, removed...),
		})
		aggregates = []uuid.UUID{}
		for _, row := range rows {
			after = row.Generation
			if row.Position >= 0 {
				aggregates = append(aggregates, row.Uuid)
			}
		}
		return err
	})
	return after, aggregates, err
}
