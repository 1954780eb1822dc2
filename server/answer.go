package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"time"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/spool"
)

// answer is the response of an operation or another handler. It is complete before its first byte is sent, so the operation
// has ended by then: it occupies no database connection while the client reads, and an error still has its
// own status.
type answer struct {
	to http.ResponseWriter
	// before is the header before the operation ran.
	before http.Header
	status int
	body   *spool.Buffer
	err    error
	// live sends the body of a stream after the operation; nil: the body is complete.
	live func(context.Context, route.Live)
}

func newAnswer(to http.ResponseWriter, room *spool.Spool) *answer {
	return &answer{to: to, before: maps.Clone(to.Header()), body: room.NewBuffer()}
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.to.Header() }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write implements http.ResponseWriter. It returns an error if the spool is full.
func (a *answer) Write(p []byte) (int, error) {
	if a.err != nil {
		return 0, a.err
	}
	a.WriteHeader(http.StatusOK)
	n, err := a.body.Write(p)
	if err != nil {
		a.Fail(noRoom(err))
	}
	return n, err
}

// Fail replaces the response by that of an error, whatever was written before. The first error stays.
func (a *answer) Fail(err error) {
	if a.err == nil {
		a.err = err
	}
}

// noRoom returns the fault for a response that the spool rejected, with the cause for the log.
func noRoom(err error) error {
	told := fault.New(fault.Unavailable, "The server cannot buffer this response at the moment. Retry the request, or request fewer results.").
		WithOwn(fault.CodeOverloaded)
	told.RetryAfter = time.Duration(1+rand.IntN(3)) * time.Second
	return fmt.Errorf("%w; %w", told, err)
}

// Stream makes run send the body after the operation, see route.Stream.
func (a *answer) Stream(run func(context.Context, route.Live)) { a.live = run }

// failed discards the response if the operation failed, and returns the error.
func (a *answer) failed() error {
	if a.err != nil {
		clear(a.to.Header())
		maps.Copy(a.to.Header(), a.before)
	}
	return a.err
}

// send writes the response to the client. A truncated response must not look complete, so an error ends
// the connection.
func (a *answer) send() {
	if a.status == 0 {
		return
	}
	a.to.WriteHeader(a.status)
	if a.body.Len() == 0 {
		return
	}
	if _, err := a.body.WriteTo(a.to); err != nil {
		panic(&cutError{err})
	}
}

// serve runs a handler and sends its response. It releases the slot of the request before it sends,
// unless the memory for waiting responses is used up: then the slot bounds them. Without a buffer the handler sends it.
func (l *limiter) serve(run handler, w http.ResponseWriter, r *http.Request, leave func()) error {
	if l.room == nil {
		return run(w, r)
	}
	response := newAnswer(w, l.room)
	defer response.body.Close()
	if err := response.operate(run, r); err != nil {
		return err
	}
	if err := response.failed(); err != nil {
		return err
	}
	if response.live != nil {
		leave()
		response.sendLive(r)
		return nil
	}
	if response.body.Hold() {
		leave()
	}
	l.writing.Inc()
	defer l.writing.Dec()
	response.send()
	return nil
}

// operate runs the handler. If a body cannot be written, huma panics with the error, which operate
// returns.
func (a *answer) operate(run handler, r *http.Request) error {
	defer func() {
		value := recover()
		if value == nil {
			return
		}
		if err, ok := value.(error); !ok || !isNoRoom(err) {
			panic(value)
		}
	}()
	return run(a, r)
}

func isNoRoom(err error) bool {
	_, found := errors.AsType[*spool.Error](err)
	return found
}

// cutError is the error of a response that was not written completely.
type cutError struct{ cause error }

// Error returns a text for the log.
func (c *cutError) Error() string {
	return "the response was not written completely: " + c.cause.Error()
}

// The reasons of a truncated response, as values of the label of the metric.
const (
	cutStalled  = "stalled"
	cutGone     = "client_gone"
	cutInternal = "internal"
)

// reason distinguishes clients that no longer read from those that disconnected.
func (c *cutError) reason() string {
	switch {
	case isNoRoom(c.cause):
		return cutInternal
	case errors.Is(c.cause, os.ErrDeadlineExceeded):
		return cutStalled
	}
	return cutGone
}

// stream bounds how long a stream of HTTP/2 waits for its client. The listener bounds only connections,
// and a connection can progress while one of its streams waits for the client's flow control.
type stream struct {
	stall time.Duration
	// end is the deadline of the response; zero: none.
	end time.Time
	set time.Time
}

// streamStep is the number of bytes that a client must accept within the stall timeout. It is also the
// buffer size of net/http.
const streamStep = 4 << 10

// endOf returns the deadline of a response.
func endOf(start time.Time, write time.Duration) time.Time {
	if write <= 0 {
		return time.Time{}
	}
	return start.Add(write)
}

// write writes p in steps, each with its own deadline.
func (s *stream) write(to http.ResponseWriter, p []byte) (written int, err error) {
	for len(p) > 0 && err == nil {
		s.extend(to)
		var n int
		n, err = to.Write(p[:min(len(p), streamStep)])
		written += n
		p = p[n:]
	}
	return written, err
}

// extend sets the deadline unless it was set a moment ago: each change costs a message to the goroutine of
// the connection.
func (s *stream) extend(to http.ResponseWriter) {
	now := time.Now()
	if now.Sub(s.set) < s.stall/8 {
		return
	}
	s.set = now
	deadline := now.Add(s.stall)
	if !s.end.IsZero() && s.end.Before(deadline) {
		deadline = s.end
	}
	// Writers other than streams of net/http do not support deadlines.
	_ = http.NewResponseController(to).SetWriteDeadline(deadline)
}
