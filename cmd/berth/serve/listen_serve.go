package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/berthd/berth/cmd/berth/frame"
)

// httpServer is an HTTP server with its listeners and its shutdown timeouts.
type httpServer struct {
	http  *http.Server
	doors []boundListener
	// draining is closed when the shutdown starts.
	draining chan struct{}
	// delay is the time during which the server still accepts requests, drain the maximum time of
	// running requests after it.
	delay, drain time.Duration
	// lost is closed when the embedded PostgreSQL has exited; nil if the database is not
	// embedded.
	lost <-chan struct{}
}

// serveUntilStopped serves until the first signal. It then accepts requests for delay, so that
// load balancers remove the server, and waits up to drain for running requests. It also returns
// if the embedded PostgreSQL exits. The error is nil if a signal stopped the server and all
// requests finished.
func (s *httpServer) serveUntilStopped(stop frame.StopSteps) error {
	// Requests keep their context while they drain. The second signal and the return of this
	// function cancel it.
	requests, breakOff := context.WithCancel(stop.AtOnce)
	defer breakOff()
	s.http.BaseContext = func(net.Listener) context.Context { return requests }
	quiet := &idleConnTracker{draining: s.draining, open: map[net.Conn]http.ConnState{}}
	s.http.ConnState = quiet.note
	s.http.Handler = closeConnsDuring(s.draining, s.http.Handler)

	failed := make(chan error, len(s.doors))
	for _, door := range s.doors {
		go func() { failed <- door.serve(s.http) }()
	}
	select {
	case err := <-failed:
		return errors.Join(err, s.http.Close())
	case <-s.lost:
		return errors.Join(errors.New("the embedded PostgreSQL exited unexpectedly; see its log"), s.http.Close())
	case <-stop.Asked.Done():
	}
	close(s.draining)
	select {
	case err := <-failed:
		return errors.Join(err, s.http.Close())
	case <-s.lost:
	case <-stop.AtOnce.Done():
	case <-time.After(s.delay):
	}
	ctx, cancel := context.WithTimeout(stop.AtOnce, s.drain)
	defer cancel()
	// net/http drops requests that arrive after Shutdown, so Shutdown is the last step.
	_ = closeListeners(s.doors) // an error means that it is closed already
	for range s.doors {
		<-failed
	}
	quiet.wait(ctx)
	s.http.RegisterOnShutdown(quiet.close)
	err := s.http.Shutdown(ctx)
	switch {
	// The signal is checked first, because canceled requests may end in time for the drain to
	// succeed.
	case stop.AtOnce.Err() != nil:
		err = errors.New("a second signal canceled running requests")
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("canceled requests that were still running %s after the stop signal", s.delay+s.drain)
	}
	// Close closes the connections that did not drain; after a complete drain there are none.
	return errors.Join(err, s.http.Close())
}

// closeConnsDuring closes connections with the response to their current request, so that clients
// reconnect elsewhere. A client that sends a request while the connection is being closed does
// not learn its outcome.
func closeConnsDuring(draining <-chan struct{}, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-draining:
			w.Header().Set("Connection", "close")
		default:
		}
		next.ServeHTTP(w, r)
	})
}

// idleConnTracker tracks the connections that clients may use for another request: new ones, such
// as those that a load balancer opens in advance; idle keep-alive ones; and active ones whose
// request began before the drain, because its response does not close the connection. On shutdown
// net/http waits five seconds for new ones, which is longer than a drain may take, and not at all
// for idle ones.
type idleConnTracker struct {
	draining <-chan struct{}
	mutex    sync.Mutex
	open     map[net.Conn]http.ConnState
}

// idleConnGrace is the time that a connection may stay idle after the server has stopped
// accepting connections, because a request may be in flight on it.
const idleConnGrace = 500 * time.Millisecond

// note is the ConnState hook of the server.
func (q *idleConnTracker) note(connection net.Conn, state http.ConnState) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if state == http.StateNew || state == http.StateIdle || state == http.StateActive && !q.isDraining() {
		q.open[connection] = state
	} else {
		delete(q.open, connection)
	}
}

func (q *idleConnTracker) isDraining() bool {
	select {
	case <-q.draining:
		return true
	default:
		return false
	}
}

// wait waits up to idleConnGrace for requests in flight. It returns at once if no connection can
// have another request.
func (q *idleConnTracker) wait(ctx context.Context) {
	timeout, cancel := context.WithTimeout(ctx, idleConnGrace)
	defer cancel()
	look := time.NewTicker(idleConnGrace / 50)
	defer look.Stop()
	for q.any() {
		select {
		case <-look.C:
		case <-timeout.Done():
			return
		}
	}
}

func (q *idleConnTracker) any() bool {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return len(q.open) > 0
}

// close closes the connections without a request.
func (q *idleConnTracker) close() {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	for connection, state := range q.open {
		if state != http.StateActive {
			_ = connection.Close() // the client may have closed it first
		}
	}
}
