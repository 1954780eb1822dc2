// Package inprocess serves the API to this process alone: a Transport answers HTTP requests with the
// handler of the server on a database, and opens no port. Schema checks, microversions, policy and
// streaming are those of the server, because it is the same handler; only the network is missing (package inside).
//
// It is for work on a database while no server runs, such as an offline reshape. It is not for serving
// other processes, and not a way to write tables without the API.
package inprocess

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"sync"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/data/migrate"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/inside"
)

// URL is the address for a client of the Transport.
const URL = inside.URL

// Options selects the database.
type Options struct {
	// URL is a connection string in the format of libpq; empty: the PG* variables.
	URL string
	// DirectURL bypasses a connection pooler, for reading the schema and for migrations; empty: URL.
	DirectURL string
	// Pooler must be set if a pooler assigns each transaction another connection.
	Pooler bool
	// MaxConns is the maximum number of database connections; 0: 4.
	MaxConns int32
	// Migrate migrates the schema first. Without it, Open fails if the schema is outdated.
	Migrate bool
	// Log receives the errors inside the server; nil discards them. There is no line for each request.
	Log *slog.Logger
}

// Transport is an http.RoundTripper that answers requests itself. It trusts the identity headers of its
// caller, because a caller with access to the database can do everything.
type Transport struct {
	http.RoundTripper
	close func() error
}

// Open connects to the database and creates the handler. It fails on a database that a server would
// reject: one whose schema is older than this program. It accepts a newer one. Like a server at its start,
// it inserts missing standard names.
func Open(ctx context.Context, options Options) (*Transport, error) {
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	if options.DirectURL == "" {
		options.DirectURL = options.URL
	}
	if options.MaxConns == 0 {
		options.MaxConns = 4
	}
	if err := prepareSchema(ctx, options); err != nil {
		return nil, err
	}
	data, err := store.Open(ctx, postgres.Options{URL: options.URL, MaxConns: options.MaxConns, Pooler: options.Pooler})
	if err != nil {
		return nil, err
	}
	if err := data.SyncStandardNames(ctx); err != nil {
		data.Close()
		return nil, err
	}
	service := server.Defaults(data, options.Log)
	// The process sends requests only to itself, so a limit on bodies protects nothing.
	service.Bodies.Max = math.MaxInt64 - 1
	served := inside.Serve(server.New(service).Public, options.Log)
	return &Transport{RoundTripper: served, close: sync.OnceValue(func() error {
		err := served.Close()
		data.Close()
		return err
	})}, nil
}

func prepareSchema(ctx context.Context, options Options) error {
	if options.Migrate {
		_, err := migrate.Up(ctx, options.DirectURL, options.Log)
		return err
	}
	status, err := migrate.GetStatus(ctx, options.DirectURL)
	if err != nil {
		return err
	}
	if !status.Newer() && !status.UpToDate() {
		return fmt.Errorf("the schema is at version %d, this berth needs version %d with SQL functions %d; run 'berth db migrate' first",
			status.Version, status.Latest, status.Known.Number)
	}
	return nil
}

// Close cancels the running requests and closes the database connections. Later requests fail. Further
// calls have no effect.
func (t *Transport) Close() error { return t.close() }
