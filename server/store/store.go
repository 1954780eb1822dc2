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
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/trace"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/fault"
)

// Store holds the connections to one database.
type Store struct {
	pool    *pgxpool.Pool
	queries *db.Queries
	retries atomic.Int64
	names   atomic.Pointer[knownNames]
	// replicas is nil without any.
	replicas *replicas
	tracer   *tracer
	watch    watching
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
	// Replicas are connection strings of streaming replicas that take reads; each host
	// of one is a replica.
	Replicas []string
	// ReplicaWait is how long a read waits for a replica that is behind before it goes
	// to the primary.
	ReplicaWait time.Duration
	// Spans makes a span for each statement of a request that is traced; nil: none.
	Spans trace.Tracer
	// SlowQuery is how long a statement may take before Log tells of it; 0: forever.
	SlowQuery time.Duration
	// Log hears of slow statements; nil: the default log.
	Log *slog.Logger
}

// Open makes a store and asks the database whether it answers.
func Open(ctx context.Context, options Options) (*Store, error) {
	opened := &Store{queries: db.New(), tracer: &tracer{watch: newStatementWatch(options)}}
	opened.names.Store(&knownNames{})
	if err := opened.connect(ctx, options); err != nil {
		return nil, err
	}
	if err := opened.openReplicas(ctx, options); err != nil {
		opened.Close()
		return nil, err
	}
	return opened, nil
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
		found, err := read(ctx, s, func(from db.DBTX) (string, error) { return s.queries.SettingShow(ctx, from, name) })
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
func (s *Store) Close() {
	s.watch.close()
	s.replicas.close()
	s.pool.Close()
}

// Ping asks the database whether it answers, beside the requests.
func (s *Store) Ping(ctx context.Context) error {
	return s.Look(ctx, func(ctx context.Context, conn *pgx.Conn) error { return conn.Ping(ctx) })
}

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

// writeWhile is write, where passing says which errors call for it. A write that the
// database can't have made because it did not get it is begun again as well, for as
// long as patience lasts. One that may have been made is not: nobody but the client
// can tell whether another would be one too many.
func (s *Store) writeWhile(ctx context.Context, passing func(*pgconn.PgError) bool, run func() error) error {
	since := time.Now()
	for attempt, conflicts := 1, 0; ; attempt++ {
		err := run()
		if err == nil {
			return nil
		}
		if found := lossOf(err); found != kept {
			if again, words := s.afterLoss(ctx, found, err, since, attempt); !again {
				return words
			}
			continue
		}
		var reported *pgconn.PgError
		if !errors.As(err, &reported) {
			return err
		}
		if !passing(reported) {
			return translate(reported)
		}
		if conflicts++; conflicts == attempts {
			return fault.New(fault.Conflict, "Others are changing the same providers or consumers so often that this request "+
				"found no moment for itself. Nothing was changed; send it again.").WithCode(fault.CodeConcurrentUpdate)
		}
		s.retries.Add(1)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(rand.Int64N(int64(conflicts) * int64(10*time.Millisecond)))):
		}
	}
}

// afterLoss says whether to begin a write again after the way to the database was
// lost, or else what the client is told.
func (s *Store) afterLoss(ctx context.Context, found loss, err error, since time.Time, attempt int) (again bool, words error) {
	if ctx.Err() == nil {
		noteLoss(s.pool, found, err)
	}
	switch {
	case found == unknown:
		return false, unavailable(wordsUnknown, err)
	case ctx.Err() != nil:
		return false, err
	case found == undone && pause(ctx, since, attempt):
		return true, nil
	}
	return false, unavailable(wordsUndone, err)
}
