// Package inside answers HTTP requests of this process with a handler, and opens no port: its Transport is an
// http.RoundTripper. Requests and responses pass through net/http as bytes, over an in-memory pipe, so that the behavior
// equals that of a socket: headers, lengths, canceled requests, truncated responses.
//
// It is for clients of the API in its own process: the console, and work on a database while no server runs (package
// inprocess). It is not for serving other processes.
package inside

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
)

// URL is the address for a client of the Transport. The Transport ignores the host; the scheme must be http.
const URL = "http://berth"

// Transport is an http.RoundTripper that answers requests with a handler.
type Transport struct {
	http.RoundTripper
	close func() error
}

// Serve returns a transport that answers requests with a handler, through net/http's own server and client.
func Serve(handler http.Handler, log *slog.Logger) *Transport {
	pipes := newPipes()
	inner := &http.Server{Handler: readClient(handler), ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
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

// Close cancels the running requests. Later requests fail.
func (t *Transport) Close() error { return t.close() }

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
