package store

import (
	"context"

	"github.com/google/uuid"
)

// NodeWork lists the nodes on which a conductor may have something to do: those it
// holds, and those that nobody holds, are in one of the states or are to be
// switched, and have one of the drivers.
func (s *Store) NodeWork(ctx context.Context, hostname string, states, drivers []string) ([]uuid.UUID, error) {
	return s.queries.NodeWorkList(ctx, s.pool, hostname, states, drivers)
}
