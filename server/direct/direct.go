// Package direct serves the API to this process alone: a Transport answers HTTP
// requests with the service's own handler on a database, and opens no port. Schema
// checks, microversions, policy and streaming are the service's, because it is the
// service; only the network is missing. Requests and answers pass through net/http
// as bytes, over a pipe in memory, so that nothing behaves differently from a
// socket: headers, lengths, cancelled requests, answers that are cut off.
//
// It is for what is done to a database while no service runs, such as an offline
// reshape. It is not for serving others, and not a way around the API to the tables.
package direct

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
	"github.com/berthd/berth/server/store"
)

// URL is what to give a client as the address of the service. Any other host does
// as well; the scheme must be http.
const URL = "http://berth"

// Options say which database is served.
type Options struct {
	// URL is a connection string as libpq takes it; empty: the PG* variables.
	URL string
	// DirectURL bypasses a connection pooler, to look at the schema and to migrate;
	// empty: URL.
	DirectURL string
	// Pooler is set behind a pooler that gives each transaction another connection.
	Pooler bool
	// MaxConns limits the connections to the database; 0: 4.
	MaxConns int32
	// Migrate brings the schema up to date first. Without it a schema that lacks
	// something is refused.
	Migrate bool
	// Log receives what goes wrong inside; nil discards it. There is no line for
	// each request.
	Log *slog.Logger
}

// Transport is an http.RoundTripper which answers by itself. It believes whatever
// a caller says it is: whoever may open the database may do everything.
type Transport struct {
	http.RoundTripper
	close func() error
}

// Open connects to the database and makes the service. It refuses a database that
// a service would refuse: one whose schema is older than this program. A newer one
// is served. The standard names that are missing are inserted, as a service does
// when it starts.
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
	data, err := store.Open(ctx, store.Options{URL: options.URL, MaxConns: options.MaxConns, Pooler: options.Pooler})
	if err != nil {
		return nil, err
	}
	if err := data.SyncStandardNames(ctx); err != nil {
		data.Close()
		return nil, err
	}
	transport := serve(server.New(server.Options{
		Store: data, Log: options.Log, EnforceNewDefaults: true,
		// Who wrote the request is who answers it: there is nothing to protect
		// from bodies, and nobody else who waits.
		MaxBodyBytes: math.MaxInt64 - 1, MaxCandidates: -1,
		IncompleteProject: incomplete, IncompleteUser: incomplete,
	}), options.Log)
	stop := transport.close
	transport.close = sync.OnceValue(func() error {
		err := stop()
		data.Close()
		return err
	})
	return transport, nil
}

// incomplete owns what is allocated below microversion 1.8, as in a service that
// was not told otherwise.
const incomplete = "00000000-0000-0000-0000-000000000000"

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

// Close breaks off the requests that still run and closes the connections to the
// database. Requests fail from then on. It may be called again.
func (t *Transport) Close() error { return t.close() }

// serve answers requests with a handler, through net/http's own server and client.
func serve(handler http.Handler, log *slog.Logger) *Transport {
	pipes := newPipes()
	inner := &http.Server{Handler: handler, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	ended := make(chan error, 1)
	go func() { ended <- inner.Serve(pipes) }()
	client := &http.Transport{
		DialContext: pipes.dial,
		// A pipe costs nothing to keep; the default would keep two.
		MaxIdleConnsPerHost: 64,
		// The bytes do not leave the process.
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

// plain refuses what would need a certificate.
type plain struct{ *http.Transport }

func (p plain) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == "http" {
		return p.Transport.RoundTrip(r)
	}
	if r.Body != nil {
		_ = r.Body.Close() // it is the transport's to close, and was never read
	}
	return nil, fmt.Errorf("%q is not an address of the service in this process; write http://, such as %s", r.URL.Redacted(), URL)
}
