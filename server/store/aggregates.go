package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
)

// ProviderAggregateList reads a provider's generation and aggregates.
func (s *Store) ProviderAggregateList(ctx context.Context, provider uuid.UUID) (int64, []uuid.UUID, error) {
	rows, err := read(ctx, s, func(from db.DBTX) ([]db.ProviderAggregateListRow, error) {
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

// ProviderAggregateReplace gives a provider exactly these aggregates and returns
// its generation afterwards. generation nil: neither compared nor raised.
func (s *Store) ProviderAggregateReplace(
	ctx context.Context, provider uuid.UUID, generation *int64, aggregates []uuid.UUID,
) (after int64, err error) {
	err = s.write(ctx, func() (err error) {
		after, err = s.queries.ProviderAggregateReplace(ctx, s.pool, provider, generation, aggregates)
		return err
	})
	return after, err
}
