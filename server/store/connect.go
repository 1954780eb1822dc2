package store

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// connectTimeout is how long one host may take to take a connection, unless the
	// URL says otherwise. The driver's own limit is two minutes, in which a failover
	// has long been over.
	connectTimeout = 5 * time.Second
	// idlePing is after how long a connection is asked whether it is still there, and
	// pingTimeout how long it may take to say so: a host that vanished says nothing.
	idlePing    = time.Second
	pingTimeout = 5 * time.Second
)

// configure reads a URL, and says how all connections of a store are made.
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
	if options.Pooler {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	} else {
		maps.Copy(config.ConnConfig.RuntimeParams, PlannerSettings())
	}
	config.ConnConfig.Tracer = watched
	config.ConnConfig.OnPgError = keeps
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		registerUUID(conn.TypeMap())
		// Statements that are not prepared go by the types of Go alone.
		conn.TypeMap().RegisterDefaultPgType([]uuid.UUID{}, "_uuid")
		return nil
	}
	return config, nil
}

// keeps tells whether a connection is of further use after an error: not if it is
// over, and not if it leads to a server that takes no writes any more.
func keeps(_ *pgconn.PgConn, reported *pgconn.PgError) bool {
	return !ends(reported) && reported.Code != readOnlyTransaction
}

// connect opens the connections for requests, and asks whether the database answers.
func (s *Store) connect(ctx context.Context, options Options) error {
	config, err := configure(options.URL, options, s.tracer)
	if err != nil {
		return err
	}
	plain := config.AfterConnect
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		if err := plain(ctx, conn); err != nil || options.Pooler {
			return err
		}
		return prepareWrites(ctx, conn)
	}
	config.ShouldPing = s.shouldPing
	// A database that lost what it had acknowledged may give an id to another name:
	// what is known of names ends with the connections that it was learnt on.
	config.BeforeClose = func(*pgx.Conn) { s.names.Store(&knownNames{}) }
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return err
	}
	if err := s.pool.Ping(ctx); err != nil {
		s.pool.Close()
		return fmt.Errorf("the database does not answer: %w", err)
	}
	return nil
}

// shouldPing looks at an idle connection before it is used. One that the other side
// has closed is found without a word, so that no write is sent into it of which
// nobody could say what became of it. One that was idle for long is asked: its host
// may have vanished without closing anything, and then the others lead there too.
func (s *Store) shouldPing(ctx context.Context, about pgxpool.ShouldPingParams) bool {
	switch {
	case quiet(about.Conn.PgConn().Conn()):
		if about.IdleDuration <= idlePing {
			return false
		}
		asking, asked := context.WithTimeout(ctx, pingTimeout)
		defer asked()
		if about.Conn.Ping(asking) == nil {
			return false
		}
		if ctx.Err() == nil {
			s.pool.Reset()
		}
	default:
		if about.Conn.Ping(ctx) == nil {
			return false // it had only something to tell
		}
		s.pool.Reset()
	}
	return true // it is closed by now, and the pool finds that out
}
