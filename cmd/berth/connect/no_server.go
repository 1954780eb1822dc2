package connect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
)

// NoServerError is the error of a request whose connection could not be opened. It is one line that names
// the address and the ways to another one.
type NoServerError struct {
	// Address is the URL of the server without the path of the request.
	Address string
	// Err is the error of the connection.
	Err error
}

func (e *NoServerError) Error() string {
	cause := e.Err.Error()
	for inner := e.Err; inner != nil; inner = errors.Unwrap(inner) {
		cause = inner.Error() // the innermost error has no address
	}
	return fmt.Sprintf("no server answers at %s (%s); start one with 'berth serve', or name another with --url or BERTH_URL", e.Address, cause)
}

// Unwrap returns the error of the connection: package client retries requests that were not sent.
func (e *NoServerError) Unwrap() error { return e.Err }

// dialTransport names the address in errors of requests that were not sent.
type dialTransport struct{ under http.RoundTripper }

// RoundTrip sends the request.
func (d dialTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := d.under.RoundTrip(request)
	var failed *net.OpError
	if err != nil && errors.As(err, &failed) && failed.Op == "dial" && request.Context().Err() == nil {
		return response, &NoServerError{Address: request.URL.Scheme + "://" + request.URL.Host, Err: err}
	}
	return response, err
}

// retryFilter drops the records of retried requests.
type retryFilter struct{ slog.Handler }

// Handle passes every other record.
func (r retryFilter) Handle(ctx context.Context, record slog.Record) error {
	if strings.HasPrefix(record.Message, "retrying the request") {
		return nil
	}
	return r.Handler.Handle(ctx, record)
}
