// Package servertest starts a server for a test: a database, a store on it, and the handler of both
// APIs, with the defaults of berth serve.
//
// It is not for tests of the store and of lower packages: package dbtest creates their databases.
// Package storetest adds the standard names to them.
package servertest

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/api/baremetal"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/work/conductor"
)

// Options are the options of New. The zero value is a server with a new database that has the
// invariant triggers, four connections, and no Bare Metal API.
type Options struct {
	// DB is the database; nil: a new one with the invariant triggers.
	DB *dbtest.DB
	// Store are the options of the store. New sets the URL, and MaxConns where it is 0.
	Store postgres.Options
	// StandardNames adds the standard traits and resource classes. A package whose
	// TestMain is storetest.Main has them in every database.
	StandardNames bool
	// Server changes the options of the server, which are those of Handlers.
	Server func(*server.Options)
}

// Server is a server of one test. It ends with the test.
type Server struct {
	DB      *dbtest.DB
	Store   *store.Store
	Handler http.Handler
	// Admin is the handler for operators.
	Admin http.Handler
}

// New starts a server. It fails the test after an error.
func New(t testing.TB, options Options) *Server {
	t.Helper()
	made := &Server{DB: options.DB}
	if made.DB == nil {
		made.DB = dbtest.NewWithInvariantTriggers(t)
	}
	options.Store.URL = made.DB.URL
	if options.Store.MaxConns == 0 {
		options.Store.MaxConns = 4
	}
	var err error
	if made.Store, err = store.Open(t.Context(), options.Store); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Store.Close)
	made.Store.RecordCallers(server.CallerOf)
	if options.StandardNames {
		if err := made.Store.SyncStandardNames(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	handlers := Handlers(made.Store, options.Server)
	made.Handler, made.Admin = handlers.Public, handlers.Admin
	return made
}

// Handlers returns the handlers of a server on a store. Its options are the defaults of berth serve
// without a log. change modifies them; nil modifies nothing.
func Handlers(on *store.Store, change func(*server.Options)) server.Handlers {
	options := server.Defaults(on, slog.New(slog.DiscardHandler))
	options.Bodies.Max = 1 << 20
	if change != nil {
		change(&options)
	}
	return server.New(options)
}

// Listen serves a handler on a loopback address until the test ends.
func Listen(t testing.TB, handler http.Handler) *httptest.Server {
	t.Helper()
	listening := httptest.NewServer(handler)
	t.Cleanup(listening.Close)
	return listening
}

// Listen serves the public handler on a loopback address until the test ends.
func (s *Server) Listen(t testing.TB) *httptest.Server {
	t.Helper()
	return Listen(t, s.Handler)
}

// Conductor is the name of the conductor of StartConductor.
const Conductor = "conductor-1"

// StartConductor starts a conductor with all drivers, until the test ends. An error of
// the conductor fails the test.
func (s *Server) StartConductor(t testing.TB) {
	t.Helper()
	s.StartConductorAs(t, Conductor)
}

// StartConductorAs is StartConductor with another name of the conductor.
func (s *Server) StartConductorAs(t testing.TB, hostname string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(stop)
	working := &conductor.Conductor{
		Options: conductor.Options{
			Hostname: hostname, Workers: 2, HeartbeatInterval: time.Second, HeartbeatTimeout: time.Minute, CheckInterval: time.Second,
		},
		Store: s.Store, Drivers: conductor.Drivers(), Log: slog.New(slog.DiscardHandler),
	}
	if err := working.Register(ctx); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- working.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("conductor.Run: %v", err)
		}
	})
}

// Baremetal adds the Bare Metal API to the options of a server, for this conductor.
func Baremetal(hostname string) func(*server.Options) {
	return func(options *server.Options) {
		options.Baremetal = &baremetal.Options{Conductor: hostname, HeartbeatTimeout: time.Minute}
	}
}

// Log returns a logger that writes to the log of the test. The server must end before
// the test does.
func Log(t testing.TB) *slog.Logger { return slog.New(slog.NewTextHandler(testLog{t}, nil)) }

type testLog struct{ t testing.TB }

func (l testLog) Write(line []byte) (int, error) {
	l.t.Logf("%s", line)
	return len(line), nil
}
