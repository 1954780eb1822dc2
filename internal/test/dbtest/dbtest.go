// Package dbtest creates a database for each test: a clone of a template that is migrated once, on
// a server that the test processes of all packages share. It also compares the contents of a
// database before and after, so that a test can check all changes.
//
// It is for tests only. It is neither a mock nor a fixture: the template has the contents of a
// production database after the first start.
package dbtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/berthd/berth/server/data/migrate"
)

// Preparation is the step after the migrations of a template, such as adding the standard traits
// and resource classes.
type Preparation struct {
	// Key identifies the rows that Run adds. Templates with different keys are different templates.
	Key string
	// Run adds rows to the migrated database.
	Run func(ctx context.Context, databaseURL string) error
}

// Prepare is the preparation of templates. A package sets it in an init function or TestMain,
// before the first call of New. It is a variable because the tests of the store, which has the
// preparation, import this package.
var Prepare Preparation

// DB is a database of one test.
type DB struct {
	// Name is the name of the database.
	Name string
	// URL is the URL for the code under test.
	URL string
	// Pool is a small pool for the queries of the test.
	Pool *pgxpool.Pool
}

// poolSize is the number of connections of a pool. It is small, because hundreds of tests run in
// parallel on one server.
const poolSize = 4

// New creates a database with the embedded schema and the rows of Prepare. It drops the database
// when the test ends.
func New(t testing.TB) *DB {
	t.Helper()
	s, err := setUp()
	if err != nil {
		t.Fatalf("cannot set up the test databases: %v", err)
	}
	return s.create(t, s.template)
}

// NewEmpty creates a database without a schema.
func NewEmpty(t testing.TB) *DB {
	t.Helper()
	s, err := connectServer()
	if err != nil {
		t.Fatalf("cannot connect to the server of the test databases: %v", err)
	}
	return s.create(t, "template0")
}

// server is the server on which this process creates its databases.
type server struct {
	url      string
	admin    *pgxpool.Pool
	template string
	set      *migrate.Set // schema of the template
	users    *os.File     // the lock that keeps the server up; nil for a server that another program started
	keeper   *exec.Cmd    // the keeper, if this process has started it
}

var created atomic.Int64

// noSuchDatabase is the SQLSTATE for a database that does not exist.
const noSuchDatabase = "3D000"

// clone creates a database whose name contains the process ID, and returns the name.
//
// FILE_COPY is the fastest strategy here, and the only one before PostgreSQL 15.
func (s *server) clone(ctx context.Context, template string) (name string, err error) {
	var how string
	if err := s.admin.QueryRow(ctx, "SELECT CASE WHEN current_setting('server_version_num')::int >= 150000 "+
		"THEN 'STRATEGY FILE_COPY' ELSE '' END").Scan(&how); err != nil {
		return "", fmt.Errorf("cannot query the version of the server: %w", err)
	}
	name = fmt.Sprintf("t_%d_%d", os.Getpid(), created.Add(1))
	statement := "CREATE DATABASE " + pgx.Identifier{name}.Sanitize() + " TEMPLATE " + pgx.Identifier{template}.Sanitize() + " " + how
	_, err = s.admin.Exec(ctx, statement)
	var failed *pgconn.PgError
	if errors.As(err, &failed) && failed.Code == noSuchDatabase && s.set != nil {
		// Tests of another work tree dropped the template, see maxTemplates.
		if _, err = ensureTemplate(ctx, s, *s.set, Prepare); err == nil {
			_, err = s.admin.Exec(ctx, statement)
		}
	}
	return name, err
}

// create clones a database, applies the settings of production databases, and drops it after the test.
func (s *server) create(t testing.TB, template string) *DB {
	t.Helper()
	name, err := s.clone(t.Context(), template)
	if err != nil {
		t.Fatalf("cannot create a test database: %v", err)
	}
	quoted := pgx.Identifier{name}.Sanitize()
	db := &DB{Name: name, URL: databaseURL(s.url, name)}
	t.Cleanup(func() {
		if db.Pool != nil {
			db.Pool.Close()
		}
		s.awaitDisconnected(context.Background(), name)
		// FORCE closes connections that a failed test has left open.
		if _, err := s.admin.Exec(context.Background(), "DROP DATABASE "+quoted+" WITH (FORCE)"); err != nil {
			t.Errorf("cannot drop a test database: %v", err)
		}
	})
	if _, err := s.admin.Exec(t.Context(), "ALTER DATABASE "+quoted+" SET plan_cache_mode = force_generic_plan; "+
		"ALTER DATABASE "+quoted+" SET jit = off"); err != nil {
		t.Fatalf("cannot configure a test database: %v", err)
	}
	pool, err := newPool(t.Context(), db.URL)
	if err != nil {
		t.Fatalf("cannot connect to a test database: %v", err)
	}
	db.Pool = pool
	return db
}

// awaitDisconnected waits for the end of the processes whose connections the test has closed, at most as long as PostgreSQL sleeps
// if DROP DATABASE finds one of them: 100 ms. They end within a few.
func (s *server) awaitDisconnected(ctx context.Context, name string) {
	const pause, most = 2 * time.Millisecond, 100 * time.Millisecond
	for range most / pause {
		var isConnected bool
		if err := s.admin.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = $1)", name).Scan(&isConnected); err != nil || !isConnected {
			return
		}
		time.Sleep(pause)
	}
}

func newPool(ctx context.Context, at string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(at)
	if err != nil {
		return nil, err
	}
	config.MaxConns = poolSize
	return pgxpool.NewWithConfig(ctx, config)
}

// databaseURL returns the URL of another database on the same server.
func databaseURL(server, database string) string {
	at, err := url.Parse(server)
	if err != nil {
		return server // connectServer has parsed it before
	}
	at.Path = "/" + database
	return at.String()
}

// ServerVariable is the name of the environment variable with the URL of a server that replaces the
// private one. Its role must have CREATEDB. Only this machine may use the server, because dbtest
// drops the databases of processes that do not run on it.
const ServerVariable = "BERTH_TEST_DATABASE_URL"

var connectServer = sync.OnceValues(func() (*server, error) {
	s := &server{url: os.Getenv(ServerVariable)}
	var err error
	if s.url == "" {
		s, err = privateServer(context.Background())
	} else {
		_, err = url.Parse(s.url)
	}
	if err != nil {
		return nil, err
	}
	s.admin, err = newPool(context.Background(), s.url)
	return s, err
})

var setUp = sync.OnceValues(func() (*server, error) {
	s, err := connectServer()
	if err != nil {
		return nil, err
	}
	set, err := migrate.Embedded()
	if err != nil {
		return nil, err
	}
	withTemplate := *s
	withTemplate.set = &set
	withTemplate.template, err = ensureTemplate(context.Background(), &withTemplate, set, Prepare)
	return &withTemplate, err
})

// templateName returns a name with a hash of the migrations and the preparation.
func templateName(set migrate.Set, prepare Preparation) (string, error) {
	hash, err := set.Hash()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(hash + " " + prepare.Key))
	return "tpl_" + hex.EncodeToString(sum[:8]), nil
}

// quiet is the logger of the migrations of templates; it discards all messages.
var quiet = slog.New(slog.DiscardHandler)
