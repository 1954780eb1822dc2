package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
)

// Health is the state of PostgreSQL: sizes in bytes, times and ages in seconds, and -1 for values that this role may
// not read.
type Health = db.DatabaseHealthRow

// Capacity is the sum of a resource class over all providers.
type Capacity = db.CapacityListRow

// BaremetalState is the number of nodes, node allocations or conductors in a state.
type BaremetalState = db.BaremetalCountRow

// DatabaseHealth returns the state of PostgreSQL.
func (s *Store) DatabaseHealth(ctx context.Context) (found Health, err error) {
	err = s.pool.WithMonitorConn(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		found, err = s.queries.DatabaseHealth(ctx, conn)
		return err
	})
	return found, err
}

// CapacityList returns the sum of the inventories of each resource class, for the first most classes. It reads the
// whole table.
func (s *Store) CapacityList(ctx context.Context, most int) (found []Capacity, err error) {
	err = s.pool.WithMonitorConn(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		found, err = s.queries.CapacityList(ctx, conn, int32(most))
		return err
	})
	return found, err
}

// BaremetalCount counts nodes, node allocations and conductors by their states. A conductor whose last heartbeat is
// older than timeout counts as stale.
func (s *Store) BaremetalCount(ctx context.Context, timeout time.Duration) (found []BaremetalState, err error) {
	err = s.pool.WithMonitorConn(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		found, err = s.queries.BaremetalCount(ctx, conn, timeout.Seconds())
		return err
	})
	return found, err
}

// WideTree is a tree with many providers of one class.
type WideTree = db.TreeWidestRow

// TreeWidest returns the tree with the most providers of one class, or nil if no tree has at least minProviders of a
// class. It looks at the first maxClasses classes.
func (s *Store) TreeWidest(ctx context.Context, minProviders, maxClasses int) (found *WideTree, err error) {
	err = s.pool.WithMonitorConn(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := s.queries.TreeWidest(ctx, conn, int32(maxClasses), int32(minProviders))
		if len(rows) > 0 {
			found = &rows[0]
		}
		return err
	})
	return found, err
}
