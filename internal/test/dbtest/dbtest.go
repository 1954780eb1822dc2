// Package dbtest gives every test a database of its own: a clone of a template
// that is migrated once, on a server that is started once and shared by the
// test processes of all packages. It also compares the contents of a database
// before and after, so that a test asserts the whole change.
//
// It is imported by tests only. It is not a mock and not a fixture: what is in
// the template is what production has after its first start.
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

	"github.com/berthd/berth/server/migrate"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Preparation is what comes after the migrations when a template is made, such
// as the standard traits and resource classes.
type Preparation struct {
	// Key changes whenever Run would leave other rows behind. Templates with
	// different keys are different templates.
	Key string
	// Run fills the migrated database at the address.
	Run func(ctx context.Context, databaseURL string) error
}

// Prepare is set by the tests of a package, in an init function or TestMain,
// before the first call of New. It is a variable because the store, which
// knows what to do, is tested with this package and cannot be imported by it.
var Prepare Preparation

// DB is a database that belongs to one test.
type DB struct {
	// Name is the name of the database.
	Name string
	// URL is where the code under test connects to.
	URL string
	// Pool is for the test's own look at the database. It is small.
	Pool *pgxpool.Pool
}

// poolSize keeps hundreds of parallel tests within the server's connections.
const poolSize = 4

// New gives the test a fresh database with the embedded schema, prepared by
// Prepare. It is dropped when the test ends.
func New(t testing.TB) *DB {
	t.Helper()
	s, err := setUp()
	if err != nil {
		t.Fatalf("set up the test databases: %v", err)
	}
	return s.create(t, s.template)
}

// NewEmpty gives the test a database without any schema.
func NewEmpty(t testing.TB) *DB {
	t.Helper()
	s, err := connectServer()
	if err != nil {
		t.Fatalf("connect to the server of the test databases: %v", err)
	}
	return s.create(t, "template0")
}

// server is where this process makes its databases.
type server struct {
	url      string
	admin    *pgxpool.Pool
	template string
	set      *migrate.Set // what the template is made of
	users    *os.File     // the lock that keeps the server up; nil for a server that another program started
	keeper   *exec.Cmd    // the keeper, if it was started here
}

var created atomic.Int64

// noSuchDatabase is the SQLSTATE of PostgreSQL for it.
const noSuchDatabase = "3D000"

// create makes a database with a name that says whose it is, sets what
// production sets on its database, and drops it after the test.
//
// Copying files is the fastest way here; it is the only one before PostgreSQL 15.
func (s *server) create(t testing.TB, template string) *DB {
	t.Helper()
	var how string
	if err := s.admin.QueryRow(t.Context(), "SELECT CASE WHEN current_setting('server_version_num')::int >= 150000 "+
		"THEN 'STRATEGY FILE_COPY' ELSE '' END").Scan(&how); err != nil {
		t.Fatalf("ask the server for its version: %v", err)
	}
	name := fmt.Sprintf("t_%d_%d", os.Getpid(), created.Add(1))
	quoted := pgx.Identifier{name}.Sanitize()
	clone := "CREATE DATABASE " + quoted + " TEMPLATE " + pgx.Identifier{template}.Sanitize() + " " + how
	_, err := s.admin.Exec(t.Context(), clone)
	var failed *pgconn.PgError
	if errors.As(err, &failed) && failed.Code == noSuchDatabase && s.set != nil {
		// Tests of other work trees needed the room.
		if _, err = ensureTemplate(t.Context(), s, *s.set, Prepare); err == nil {
			_, err = s.admin.Exec(t.Context(), clone)
		}
	}
	if err != nil {
		t.Fatalf("create a test database: %v", err)
	}
	db := &DB{Name: name, URL: databaseURL(s.url, name)}
	t.Cleanup(func() {
		if db.Pool != nil {
			db.Pool.Close()
		}
		// FORCE, because a test that failed may leave connections behind.
		if _, err := s.admin.Exec(context.Background(), "DROP DATABASE "+quoted+" WITH (FORCE)"); err != nil {
			t.Errorf("drop a test database: %v", err)
		}
	})
	if _, err := s.admin.Exec(t.Context(), "ALTER DATABASE "+quoted+" SET plan_cache_mode = force_generic_plan; "+
		"ALTER DATABASE "+quoted+" SET jit = off"); err != nil {
		t.Fatalf("set up a test database: %v", err)
	}
	pool, err := newPool(t.Context(), db.URL)
	if err != nil {
		t.Fatalf("connect to a test database: %v", err)
	}
	db.Pool = pool
	return db
}

func newPool(ctx context.Context, at string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(at)
	if err != nil {
		return nil, err
	}
	config.MaxConns = poolSize
	return pgxpool.NewWithConfig(ctx, config)
}

// databaseURL is the address of another database on the same server.
func databaseURL(server, database string) string {
	at, err := url.Parse(server)
	if err != nil {
		return server // connectServer has parsed it before
	}
	at.Path = "/" + database
	return at.String()
}

// ServerVariable names the environment variable with the address of a server
// to use instead of a private one: a postgres URL of a role that may create
// databases. The server must not be shared with another machine, because
// databases of processes that are not alive here are dropped.
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

// templateName covers everything that decides on the contents.
func templateName(set migrate.Set, prepare Preparation) (string, error) {
	hash, err := set.Hash()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(hash + " " + prepare.Key))
	return "tpl_" + hex.EncodeToString(sum[:8]), nil
}

// quiet is where the migrations of templates report to.
var quiet = slog.New(slog.DiscardHandler)
