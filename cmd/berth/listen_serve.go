package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// serving is an HTTP server with the doors that lead to it, and how it ends.
type serving struct {
	http  *http.Server
	doors []door
	// draining is closed when the end begins.
	draining chan struct{}
	// delay is how long requests are accepted after that, drain how long those that
	// run may take to finish then.
	delay, drain time.Duration
	// lost is closed when the database is lost; nil where berth does not run it.
	lost <-chan struct{}
}

// untilAsked serves until somebody asks to stop. Load balancers have the delay to
// notice, then running requests may finish for as long as drain says. It also ends
// when the database is lost. The error is nil when somebody asked and every request
// was answered.
func (s *serving) untilAsked(stop stopSteps) error {
	// Requests keep their context while they drain. The second signal takes it
	// from them, and so does the end of this function, for those still running.
	requests, breakOff := context.WithCancel(stop.atOnce)
	defer breakOff()
	s.http.BaseContext = func(net.Listener) context.Context { return requests }
	quiet := &quietConnections{open: map[net.Conn]bool{}}
	s.http.ConnState = quiet.note
	s.http.Handler = closeWhile(s.draining, s.http.Handler)

	failed := make(chan error, len(s.doors))
	for _, door := range s.doors {
		go func() { failed <- door.serve(s.http) }()
	}
	select {
	case err := <-failed:
		return errors.Join(err, s.http.Close())
	case <-s.lost:
		return errors.Join(errors.New("the embedded PostgreSQL ended without being asked; its log says why"), s.http.Close())
	case <-stop.asked.Done():
	}
	close(s.draining)
	select {
	case err := <-failed:
		return errors.Join(err, s.http.Close())
	case <-s.lost:
	case <-stop.atOnce.Done():
	case <-time.After(s.delay):
	}
	ctx, cancel := context.WithTimeout(stop.atOnce, s.drain)
	defer cancel()
	// net/http drops what comes once it shuts down, so it is told last.
	_ = closeDoors(s.doors) // what cannot be closed is closed
	for range s.doors {
		<-failed
	}
	quiet.wait(ctx)
	s.http.RegisterOnShutdown(quiet.close)
	err := s.http.Shutdown(ctx)
	switch {
	// Asked first, because a request that loses its context may end in time for
	// the drain to look complete.
	case stop.atOnce.Err() != nil:
		err = errors.New("a second signal came while requests were running; they were broken off")
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("requests were still running %s after the signal to stop and were broken off", s.delay+s.drain)
	}
	// Close drops the connections that did not drain; after a full drain it has
	// nothing left to do.
	return errors.Join(err, s.http.Close())
}

// closeWhile ends connections with the answer to the request that is on them, so that
// clients go elsewhere in time: who sends a request on a connection at the moment
// when it is closed does not learn what became of it.
func closeWhile(draining <-chan struct{}, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-draining:
			w.Header().Set("Connection", "close")
		default:
		}
		next.ServeHTTP(w, r)
	})
}

// quietConnections are those without a request on them: new ones, such as a load
// balancer keeps ready, and idle ones, kept for the next request. net/http waits five
// seconds for new ones when it stops, which is longer than a drain may take, and not
// at all for idle ones.
type quietConnections struct {
	mutex sync.Mutex
	open  map[net.Conn]bool
}

// quietGrace is how long a connection may be quiet after the server has stopped to
// accept new ones: a request may have been sent on it a moment before.
const quietGrace = 500 * time.Millisecond

// note is the server's ConnState.
func (q *quietConnections) note(connection net.Conn, state http.ConnState) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if state == http.StateNew || state == http.StateIdle {
		q.open[connection] = true
	} else {
		delete(q.open, connection)
	}
}

// wait gives requests that are on their way the time to arrive. It ends at once where
// there is nobody who could have sent one.
func (q *quietConnections) wait(ctx context.Context) {
	patience, cancel := context.WithTimeout(ctx, quietGrace)
	defer cancel()
	look := time.NewTicker(quietGrace / 50)
	defer look.Stop()
	for q.any() {
		select {
		case <-look.C:
		case <-patience.Done():
			return
		}
	}
}

func (q *quietConnections) any() bool {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return len(q.open) > 0
}

func (q *quietConnections) close() {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	for connection := range q.open {
		_ = connection.Close() // the other side may have been faster
	}
}
