package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// ClaimConsumer is what a claiming consumer has: its generation, and its allocations by the ids of their rows.
type ClaimConsumer struct {
	Generation int64
	Uses       []ClaimUse
}

// ClaimConsumerList returns the state of the consumers that exist.
func (s *Store) ClaimConsumerList(ctx context.Context, consumers []uuid.UUID) (map[uuid.UUID]ClaimConsumer, error) {
	rows, err := postgres.QueryPrimary(ctx, s.pool, func(from db.DBTX) ([]db.ClaimConsumerListRow, error) {
		return s.queries.ClaimConsumerList(ctx, from, consumers)
	})
	return consumerStates(rows), err
}

// ClaimConsumerListIn is ClaimConsumerList in a snapshot.
func (s *Store) ClaimConsumerListIn(
	ctx context.Context, in *postgres.Snapshot, consumers []uuid.UUID,
) (map[uuid.UUID]ClaimConsumer, error) {
	rows, err := postgres.QueryOnce(ctx, in, func(ctx context.Context, from db.DBTX) ([]db.ClaimConsumerListRow, error) {
		return s.queries.ClaimConsumerList(ctx, from, consumers)
	})
	return consumerStates(rows), err
}

// CompareGeneration returns a violation of ConsumerGenerationConflict if the consumer has another generation in states than
// the claim expects.
func (c *Claim) CompareGeneration(states map[uuid.UUID]ClaimConsumer) error {
	state, exists := states[c.Consumer]
	if exists == (c.Generation != nil) && (!exists || state.Generation == *c.Generation) {
		return nil
	}
	conflict := &RuleViolation{Rule: ConsumerGenerationConflict, Values: Values{Consumer: c.Consumer.String(), Given: c.Generation}}
	if exists {
		conflict.Values.Actual = &state.Generation
	}
	return conflict
}

func consumerStates(rows []db.ClaimConsumerListRow) map[uuid.UUID]ClaimConsumer {
	claimConsumers := map[uuid.UUID]ClaimConsumer{}
	for _, row := range rows {
		state := claimConsumers[row.Consumer]
		state.Generation = row.Generation
		state.Uses = append(state.Uses, ClaimUse{Provider: row.ProviderID, Class: row.ClassID, Amount: row.Used})
		claimConsumers[row.Consumer] = state
	}
	return claimConsumers
}
