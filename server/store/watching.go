package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/berthd/berth/gen/db"
)

// watching are the connections of those who watch the database: probes and metrics.
// They are their own, so that a pool that is full of requests is not taken for a
// database that is down, and so that nobody's request waits for a look at it.
type watching struct {
	mutex sync.Mutex
	pool  *pgxpool.Pool
	// over breaks off the looks that run, since nobody waits for them any more.
	open   context.Context
	over   context.CancelFunc
	closed bool
}

// Two connections are enough for any number of probes and scrapes, which share what
// is found; they are opened when first needed, and closed again after ten minutes
// in which nobody looked.
const (
	watchingConnections = 2
	watchingIdle        = 10 * time.Minute
)

var errClosed = errors.New("the store is closed")

// watchers is the pool for looking at the database, and a context that ends with it.
func (s *Store) watchers() (*pgxpool.Pool, context.Context, error) {
	s.watch.mutex.Lock()
	defer s.watch.mutex.Unlock()
	if s.watch.closed {
		return nil, nil, errClosed
	}
	if s.watch.pool != nil {
		return s.watch.pool, s.watch.open, nil
	}
	config := s.pool.Config()
	config.MaxConns, config.MinConns, config.MinIdleConns = watchingConnections, 0, 0
	config.MaxConnIdleTime = watchingIdle
	// None of the statements prepared for requests is needed here, and a schema that
	// is behind may not even have what they use.
	config.AfterConnect = nil
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, nil, err
	}
	s.watch.pool = pool
	s.watch.open, s.watch.over = context.WithCancel(context.Background())
	return pool, s.watch.open, nil
}

func (w *watching) close() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.closed = true
	if w.pool != nil {
		w.over()
		w.pool.Close()
		w.pool = nil
	}
}

// Look lends a connection for looking at the database beside the requests, until do
// returns.
func (s *Store) Look(ctx context.Context, do func(context.Context, *pgx.Conn) error) error {
	pool, open, err := s.watchers()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(open, cancel)()
	return pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error { return do(ctx, conn.Conn()) })
}

// Health is how PostgreSQL is doing: sizes in bytes, times and ages in seconds, and -1
// for what this role may not see.
type Health = db.DatabaseHealthRow

// Capacity is what there is of a resource class over all providers.
type Capacity = db.CapacityListRow

// BaremetalState is how many nodes, allocations or conductors are in a state.
type BaremetalState = db.BaremetalCountRow

// DatabaseHealth asks PostgreSQL how it is doing.
func (s *Store) DatabaseHealth(ctx context.Context) (found Health, err error) {
	err = s.Look(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		found, err = s.queries.DatabaseHealth(ctx, conn)
		return err
	})
	return found, err
}

// CapacityList adds up the inventories of each resource class, of the most first
// classes. It reads the whole table.
func (s *Store) CapacityList(ctx context.Context, most int) (found []Capacity, err error) {
	err = s.Look(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		found, err = s.queries.CapacityList(ctx, conn, int32(most))
		return err
	})
	return found, err
}

// BaremetalCount counts nodes, allocations and conductors by their states; a conductor
// is silent after some time without a sign of life.
func (s *Store) BaremetalCount(ctx context.Context, silence time.Duration) (found []BaremetalState, err error) {
	err = s.Look(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		found, err = s.queries.BaremetalCount(ctx, conn, silence.Seconds())
		return err
	})
	return found, err
}
