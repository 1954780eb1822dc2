package postgres

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/multitracer"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/semaphore"

	"github.com/berthd/berth/server/data/session"
)

const (
	// connectTimeout limits opening a connection to one host, unless the URL has another limit. The driver's own limit
	// is two minutes, longer than a failover takes.
	connectTimeout = 5 * time.Second
	// idlePing is the idle time after which a connection is pinged before its use; pingTimeout limits the ping, because
	// a host that vanished from the network does not reply.
	idlePing    = time.Second
	pingTimeout = 5 * time.Second
)

// configure parses a URL and returns the configuration of all connections of a Pool.
func configure(url string, options Options, watched *tracer) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	if options.MaxConns > 0 {
		config.MaxConns = options.MaxConns
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	config.PingTimeout = pingTimeout
	var clientCheckInterval string
	if options.Pooler {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
		session.SetPooled(config.ConnConfig)
	} else {
		session.Set(config.ConnConfig)
		maps.Copy(config.ConnConfig.RuntimeParams, PlannerSettings())
		clientCheckInterval = options.Limits.limit(config.ConnConfig)
	}
	config.ConnConfig.Tracer = watched
	if options.Tracer != nil {
		config.ConnConfig.Tracer = multitracer.New(watched, options.Tracer)
	}
	config.ConnConfig.OnPgError = keeps
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		if err := registerTypes(ctx, conn); err != nil {
			return err
		}
		return setClientCheck(ctx, conn, clientCheckInterval)
	}
	return config, nil
}

// registerTypes registers the Go types of statement arguments on a connection.
func registerTypes(_ context.Context, conn *pgx.Conn) error {
	session.RegisterUUID(conn.TypeMap())
	// Statements that are not prepared use the Go types alone.
	conn.TypeMap().RegisterDefaultPgType([]uuid.UUID{}, "_uuid")
	return nil
}

// keeps reports whether a connection stays usable after an error: not if the error closes it, and not if it leads to a
// server that no longer accepts writes.
func keeps(_ *pgconn.PgConn, reported *pgconn.PgError) bool {
	return !closesConn(reported) && reported.Code != readOnlyTransaction
}

// prepare prepares statements that are expected to fail. The driver prepares every statement on first use, but drops
// the prepared statement when an execution fails, so that the next execution would prepare it again.
func prepare(ctx context.Context, conn *pgx.Conn, statements []string) error {
	for _, statement := range statements {
		if _, err := conn.Prepare(ctx, statement, statement); err != nil {
			return err
		}
	}
	return nil
}

// beginUncommitted begins a transaction on a connection that the pool is about to return. The pool closes a connection
// that is released inside a transaction, so that PostgreSQL rolls it back.
func beginUncommitted(ctx context.Context, conn *pgx.Conn) (bool, error) {
	return true, conn.PgConn().Exec(ctx, beginReadCommitted).Close()
}

// connect opens the pool for requests, and pings the database.
func (p *Pool) connect(ctx context.Context, options Options) error {
	config, err := configure(options.URL, options, p.tracer)
	if err != nil {
		return err
	}
	plain := config.AfterConnect
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		if err := plain(ctx, conn); err != nil || options.Pooler {
			return err
		}
		return prepare(ctx, conn, options.Prepare)
	}
	if !options.Pooler { // behind a pooler a connection has no fixed server
		config.ConnConfig.ValidateConnect = p.fenced(config.ConnConfig.ValidateConnect)
	}
	config.ShouldPing = p.shouldPing
	if options.RollBack {
		config.PrepareConn = beginUncommitted
	}
	config.BeforeClose = func(*pgx.Conn) { p.closed.Add(1) }
	p.reads = semaphore.NewWeighted(int64(config.MaxConns) + 1)
	p.share = newWriteShare(config.MaxConns, options.ReadReserve, options.Limits.LockTimeout)
	p.rehearsals = newRehearsals(config.MaxConns)
	if p.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return err
	}
	p.tracer.waits.pool.Store(p.pool)
	if err := p.checkSettings(ctx); err != nil {
		p.monitor.close()
		p.pool.Close()
		return err
	}
	return nil
}

// checkSettings returns an error if the database does not respond, or if Berth cannot write with its settings.
func (p *Pool) checkSettings(ctx context.Context) error {
	var read session.Settings
	err := p.pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) (err error) {
		read, err = session.Read(ctx, conn.Conn(), p.pooled)
		return err
	})
	if err == nil {
		return read.Check(true)
	}
	// Statements cannot be prepared without a schema. A connection for monitoring prepares none.
	if read, other := p.Settings(ctx); other == nil {
		if unsuitable := read.Check(true); unsuitable != nil {
			return unsuitable
		}
	}
	return fmt.Errorf("the database does not respond: %w", err)
}

// shouldPing checks an idle connection before its use. It detects a connection that the other side has closed without a
// round trip, so that no write is sent into it whose outcome would be unknown. A connection that was idle for longer
// than idlePing needs a ping: its host may have vanished without closing it, and then the other connections lead to the
// same host.
func (p *Pool) shouldPing(ctx context.Context, about pgxpool.ShouldPingParams) bool {
	switch {
	case isIdleConnOpen(about.Conn.PgConn().Conn()):
		if about.IdleDuration <= idlePing {
			return false
		}
		asking, asked := context.WithTimeout(ctx, pingTimeout)
		defer asked()
		if about.Conn.Ping(asking) == nil {
			return false
		}
		if ctx.Err() == nil {
			p.pool.Reset()
		}
	default:
		if about.Conn.Ping(ctx) == nil {
			return false // the server has only sent a notice
		}
		p.pool.Reset()
	}
	return true // it is closed by now; the ping fails and the pool drops it
}
