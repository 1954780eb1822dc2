// Package postgres manages connections to PostgreSQL: the pool of the primary, its replicas, retries after connection
// errors, limits, snapshots, and the statistics and traces of statements.
//
// It is not for the meaning of statements: package store maps operations to statements, and the SQLSTATEs of the SQL
// functions to rules.
package postgres

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/semaphore"

	"github.com/berthd/berth/gen/db"
)

// Pool is the set of connections of this process to one database. It is safe for concurrent use.
type Pool struct {
	pool    *pgxpool.Pool
	queries *db.Queries
	// pooled is set behind a transaction pooler.
	pooled  bool
	retries atomic.Int64
	// closed counts the connections of pool that were closed.
	closed atomic.Int64
	// replicas is nil if none are configured.
	replicas *replicas
	tracer   *tracer
	monitor  *SidePool

	mutex sync.Mutex
	// sides are all side pools, of which monitor is one.
	sides []*SidePool

	limits Limits
	// reads limits how many reads stand in the pool's queue, which they share with writes: one more than there are
	// connections, so that the pool's statistics show waits. The other reads wait in a separate queue.
	reads *semaphore.Weighted
	// share is the part of the pool that serves writes.
	share *writeShare
	// rehearsals limits the dry runs.
	rehearsals *rehearsals
	// lockTimeouts counts the writes that waited too long for a lock.
	lockTimeouts atomic.Int64
	fence        primaryFence
	losses       lossLog
}

// Options are the settings of a Pool.
type Options struct {
	// URL is a connection string in libpq's format; empty: the PG* variables.
	URL string
	// MaxConns limits the number of open connections; 0: the driver's default.
	MaxConns int32
	// ReadReserve is how many of these connections serve reads only; 0: none. A pool of one connection serves both.
	ReadReserve int32
	// Limits limit the waits inside PostgreSQL. They are not sent through a pooler.
	Limits Limits
	// Pooler is set behind a transaction pooler: statements are then sent without being prepared by name.
	Pooler bool
	// Prepare are statements that each connection prepares when it opens, unless Pooler is set.
	Prepare []string
	// Replicas are connection strings of streaming replicas that serve reads; each host of one is a replica.
	Replicas []string
	// ReplicaWait is how long a read waits for a lagging replica before it uses the primary.
	ReplicaWait time.Duration
	// Spans creates a span for each statement of a traced request; nil: none.
	Spans trace.Tracer
	// SlowQuery is the duration from which on Log reports a statement; 0: it reports none.
	SlowQuery time.Duration
	// Log receives slow statements; nil: the default log.
	Log *slog.Logger
	// Tracer is notified of each statement, beside the statistics of the pool; nil: none.
	Tracer pgx.QueryTracer
	// RollBack rolls back every statement on the connections for requests. What one statement changes, the next does
	// not see.
	RollBack bool
}

// Open connects to the database and returns an error if it does not respond. Replicas need not respond.
func Open(ctx context.Context, options Options) (*Pool, error) {
	opened := &Pool{queries: db.New(), tracer: &tracer{watch: newStatementTracer(options)}, limits: options.Limits, pooled: options.Pooler}
	opened.monitor = opened.NewSidePool(maxMonitorConns)
	if err := opened.connect(ctx, options); err != nil {
		return nil, err
	}
	if err := opened.openReplicas(ctx, options); err != nil {
		opened.Close()
		return nil, err
	}
	return opened, nil
}

// Close closes all connections. It waits for those in use.
func (p *Pool) Close() {
	for _, side := range p.sidePools() {
		side.close()
	}
	p.replicas.close()
	p.pool.Close()
}

// Acquire returns a connection to the primary, which the caller releases. It does not retry after a connection error.
func (p *Pool) Acquire(ctx context.Context) (*Conn, error) {
	conn, err := p.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	return &Conn{conn, p.pooled}, nil
}

func (p *Pool) primary() *Primary { return &Primary{Pool: p.pool, pooled: p.pooled} }

// Ping returns an error if the database does not respond. It uses a connection of the monitoring pool, not of requests.
func (p *Pool) Ping(ctx context.Context) error {
	return p.WithMonitorConn(ctx, func(ctx context.Context, conn *pgx.Conn) error { return conn.Ping(ctx) })
}

// Retries returns the number of writes that were retried, after a deadlock or because another transaction deleted a
// name that they had just looked up. The lock order prevents nearly all deadlocks.
func (p *Pool) Retries() int64 { return p.retries.Load() }

// LockTimeouts returns the number of writes that PostgreSQL canceled because they waited too long for a lock.
func (p *Pool) LockTimeouts() int64 { return p.lockTimeouts.Load() }

// Stat returns the statistics of the connections for requests to the primary.
func (p *Pool) Stat() *pgxpool.Stat { return p.pool.Stat() }

// ClosedConns returns how many connections to the primary were closed. A database that lost acknowledged writes may
// reuse an id for another row, so every cache by id is valid only while this number stays the same.
func (p *Pool) ClosedConns() int64 { return p.closed.Load() }
