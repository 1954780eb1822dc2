package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/berthd/berth/server/wire/fault"
)

// rateGrace is how long a client may be below the minimum rate.
const rateGrace = 5 * time.Second

// ratedBody is a body that must arrive at a minimum rate, on average and after rateGrace. Only time in
// which the server reads counts. It sets a deadline on the connection, because a Read that waits for the
// client cannot be canceled otherwise.
type ratedBody struct {
	io.ReadCloser
	rate     int64
	deadline func(time.Time) error
	ctx      context.Context // ends before the deadline of the client

	received int64
	waited   time.Duration
}

// rated replaces the body of a request by one with a minimum rate.
func rated(w http.ResponseWriter, r *http.Request, rate int64) {
	if rate > 0 {
		r.Body = &ratedBody{
			ReadCloser: r.Body, rate: rate, deadline: http.NewResponseController(w).SetReadDeadline, ctx: r.Context(),
		}
	}
}

// Read implements io.Reader.
func (b *ratedBody) Read(p []byte) (int, error) {
	begun := time.Now()
	due := begun.Add(b.left())
	if ends, ok := b.ctx.Deadline(); ok && ends.Before(due) {
		due = ends
	}
	_ = b.deadline(due) // writers in tests do not support deadlines
	n, err := b.ReadCloser.Read(p)
	b.received += int64(n)
	b.waited += time.Since(begun)
	switch {
	// In HTTP/1.1, net/http has canceled the context of the request, and closes the connection.
	case errors.Is(err, os.ErrDeadlineExceeded) && b.ctx.Err() == nil:
		err = fault.New(fault.Invalid, "The request's body arrived slower than %d bytes a second, which is the setting min-body-rate. "+
			"Nothing was changed.", b.rate)
	case err == io.EOF:
		// net/http would take a later deadline as a disconnected client.
		_ = b.deadline(time.Time{})
	}
	return n, err
}

// left returns how long the client has for its next bytes.
func (b *ratedBody) left() time.Duration {
	return rateGrace + time.Duration(float64(b.received)/float64(b.rate)*float64(time.Second)) - b.waited
}
