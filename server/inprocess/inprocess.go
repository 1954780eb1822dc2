// Package inprocess serves the API to this process alone: a Transport answers HTTP requests with the
// handler of the server on a database, and opens no port. Schema checks, microversions, policy and
// streaming are those of the server, because it is the same handler; only the network is missing. Requests
// and responses pass through net/http as bytes, over an in-memory pipe, so that the behavior equals that
// of a socket: headers, lengths, canceled requests, truncated responses.
//
// It is for work on a database while no server runs, such as an offline reshape. It is not for serving
// other processes, and not a way to write tables without the API.
package inprocess

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"sync"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/migrate"
	"github.com/berthd/berth/server/postgres"
	"github.com/berthd/berth/server/store"
)

// URL is the address for a client of the Transport. The Transport ignores the host; the scheme must be
// http.
const URL = "http://berth"

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
	transport := Serve(server.New(service).Public, options.Log)
	stop := transport.close
	transport.close = sync.OnceValue(func() error {
		err := stop()
		data.Close()
		return err
	})
	return transport, nil
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

// Serve returns a transport that answers requests with a handler, through net/http's own server and client.
func Serve(handler http.Handler, log *slog.Logger) *Transport {
	pipes := newPipes()
	inner := &http.Server{Handler: handler, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	ended := make(chan error, 1)
	go func() { ended <- inner.Serve(pipes) }()
	client := &http.Transport{
		DialContext: pipes.dial,
		// An idle pipe costs almost nothing; the default would keep two.
		MaxIdleConnsPerHost: 64,
		// The bytes stay in the process.
		DisableCompression: true,
	}
	return &Transport{RoundTripper: plain{client}, close: func() error {
		err := inner.Close()
		client.CloseIdleConnections()
		if failed := <-ended; !errors.Is(failed, http.ErrServerClosed) {
			err = errors.Join(err, failed)
		}
		return err
	}}
}

// plain rejects requests with https, which would need a certificate.
type plain struct{ *http.Transport }

func (p plain) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == "http" {
		return p.Transport.RoundTrip(r)
	}
	if r.Body != nil {
		_ = r.Body.Close() // a RoundTripper must close the body
	}
	return nil, fmt.Errorf("invalid URL %q for an in-process server: want http://, such as %s", r.URL.Redacted(), URL)
}
