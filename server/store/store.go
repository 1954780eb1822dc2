// Package store is the only way to the database: one method for each operation,
// which runs one generated query, or calls one SQL function, and translates what
// the database refuses into faults.
//
// It is not for deciding anything. Whether a generation is stale or a claim fits
// is said by the SQL, under its locks; here is only Go for it.
package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/fault"
)

// Store holds the connections to one database.
type Store struct {
	pool    *pgxpool.Pool
	queries *db.Queries
	retries atomic.Int64
	names   knownNames
}

// Options say how to reach the database.
type Options struct {
	// URL is a connection string as libpq takes it; empty: the PG* variables.
	URL string
	// MaxConns limits the connections held open; 0: the driver's default.
	MaxConns int32
	// Pooler is set behind a pooler that gives each transaction another
	// connection: statements are then sent without being prepared by name.
	Pooler bool
}

// Open makes a store and asks the database whether it answers.
func Open(ctx context.Context, options Options) (*Store, error) {
	config, err := pgxpool.ParseConfig(options.URL)
	if err != nil {
		return nil, err
	}
	if options.MaxConns > 0 {
		config.MaxConns = options.MaxConns
	}
	if options.Pooler {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	} else {
		maps.Copy(config.ConnConfig.RuntimeParams, PlannerSettings())
	}
	config.ConnConfig.Tracer = tracer{}
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		registerUUID(conn.TypeMap())
		// Statements that are not prepared go by the types of Go alone.
		conn.TypeMap().RegisterDefaultPgType([]uuid.UUID{}, "_uuid")
		if options.Pooler {
			return nil
		}
		return prepareWrites(ctx, conn)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("the database does not answer: %w", err)
	}
	return &Store{pool: pool, queries: db.New()}, nil
}

// prepareWrites prepares what is refused in the ordinary course of things. The
// driver prepares every statement when it first meets it, but forgets it again
// when it fails, and a claim that doesn't fit would make the next one pay.
func prepareWrites(ctx context.Context, conn *pgx.Conn) error {
	for _, statement := range []string{
		db.AllocationReplace, db.Reshape,
		db.InventoryReplace, db.InventoryUpdate, db.InventoryCreate, db.InventoryDelete, db.InventoryClear,
		db.ProviderCreate, db.ProviderUpdate, db.ProviderDelete, db.ProviderTraitReplace, db.ProviderAggregateReplace,
		db.NodeAllocationCreate, db.NodeAllocationUpdate, db.NodeAllocationDelete,
	} {
		if _, err := conn.Prepare(ctx, statement, statement); err != nil {
			return err
		}
	}
	return nil
}

// PlannerSettings are what every connection should have set. Statements are
// prepared once and run often, and planned anew they take two to three times as
// long; what they look up is written so that the generic plan is the right one.
// Behind a pooler, which drops such settings, they belong to the database:
// ALTER DATABASE ... SET plan_cache_mode = force_generic_plan.
func PlannerSettings() map[string]string {
	return map[string]string{"plan_cache_mode": "force_generic_plan", "jit": "off"}
}

// Unset names the planner settings that connections lack, and what they have.
func (s *Store) Unset(ctx context.Context) (map[string]string, error) {
	lacking := map[string]string{}
	for name, wanted := range PlannerSettings() {
		found, err := s.queries.SettingShow(ctx, s.pool, name)
		if err != nil {
			return nil, err
		}
		if found != wanted {
			lacking[name] = found
		}
	}
	return lacking, nil
}

// Close ends all connections, waiting for those in use.
func (s *Store) Close() { s.pool.Close() }

// Ping asks the database whether it answers.
func (s *Store) Ping(ctx context.Context) error { return s.pool.Ping(ctx) }

// Retries counts the writes that were begun again, after a deadlock or because a
// name was deleted that they had just looked up. The locking order leaves hardly
// any of the former; the number is for operators to watch.
func (s *Store) Retries() int64 { return s.retries.Load() }

// Stat describes the pool of connections.
func (s *Store) Stat() *pgxpool.Stat { return s.pool.Stat() }

// attempts bounds how often a write is begun that the database itself broke off.
const attempts = 4

// write runs one SQL function, again after the errors that call for it, and
// translates its errors. What breaks it off every time is a conflict.
func (s *Store) write(ctx context.Context, run func() error) error {
	return s.writeWhile(ctx, passes, run)
}

// writeWhile is write, where passing says which errors call for it.
func (s *Store) writeWhile(ctx context.Context, passing func(*pgconn.PgError) bool, run func() error) error {
	for attempt := 1; ; attempt++ {
		err := run()
		var refused *pgconn.PgError
		if !errors.As(err, &refused) {
			return err
		}
		if !passing(refused) {
			return translate(refused)
		}
		if attempt == attempts {
			return fault.New(fault.Conflict, "Others are changing the same providers or consumers so often that this request "+
				"found no moment for itself. Nothing was changed; send it again.").WithCode(fault.CodeConcurrentUpdate)
		}
		s.retries.Add(1)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(rand.Int64N(int64(attempt) * int64(10*time.Millisecond)))):
		}
	}
}
