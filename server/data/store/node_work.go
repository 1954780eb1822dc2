package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// NodeListPending returns the nodes with possible work for a conductor: those it holds, and those that no conductor
// holds, that are in one of the states or have a pending power change, and that have one of the drivers.
func (s *Store) NodeListPending(ctx context.Context, hostname string, states, drivers []string) ([]uuid.UUID, error) {
	return postgres.QueryPrimary(ctx, s.pool, func(from db.DBTX) ([]uuid.UUID, error) {
		return s.queries.NodeListPending(ctx, from, hostname, states, drivers)
	})
}
