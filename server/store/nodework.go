package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
)

// NodeWork lists the nodes on which a conductor may have something to do: those it
// holds, and those that nobody holds, are in one of the states or are to be
// switched, and have one of the drivers.
func (s *Store) NodeWork(ctx context.Context, hostname string, states, drivers []string) ([]uuid.UUID, error) {
	return read(ctx, s, func(from db.DBTX) ([]uuid.UUID, error) {
		return s.queries.NodeWorkList(ctx, from, hostname, states, drivers)
	})
}
