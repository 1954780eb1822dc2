package server

import (
	"context"
	"errors"
	"sync"
	"time"
)

// cachedQuery runs one database query at a time and shares its result, cached for ttl, among concurrent
// probes and scrapes. A caller waits no longer than it asked for; the query continues, for the next
// caller. Without callers, it runs no queries.
type cachedQuery[T any] struct {
	// ttl is how long a result is valid, timeout the maximum duration of the query.
	ttl, timeout time.Duration
	fetch        func(context.Context) (T, error)

	mutex    sync.Mutex
	running  chan struct{} // closed when the running query has ended; nil: none runs
	found    queryResult[T]
	lastGood queryResult[T]
	failed   int64
}

// queryResult is the result of a query.
type queryResult[T any] struct {
	value T
	err   error
	at    time.Time // time of the result; zero: there is none yet
	took  time.Duration
}

// errNoResultYet is the error while the first query is running.
var errNoResultYet = errors.New("no result yet")

// get starts a query if the last result is too old, and waits for it at most wait, or until ctx ends. It
// returns the last result, whatever its age.
func (l *cachedQuery[T]) get(ctx context.Context, wait time.Duration) queryResult[T] {
	l.mutex.Lock()
	if l.running == nil && (l.found.at.IsZero() || time.Since(l.found.at) >= l.ttl) {
		l.running = make(chan struct{})
		go l.refresh(l.running)
	}
	running, found := l.running, l.found
	l.mutex.Unlock()
	if running == nil || wait <= 0 {
		return found
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-running:
	case <-timer.C:
	case <-ctx.Done():
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.found
}

// refresh runs the query with a context of its own, because several callers wait for it and each may
// leave.
func (l *cachedQuery[T]) refresh(answered chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), l.timeout)
	defer cancel()
	start := time.Now()
	value, err := l.fetch(ctx)
	now := time.Now()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.found = queryResult[T]{value: value, err: err, at: now, took: now.Sub(start)}
	if err == nil {
		l.lastGood = l.found
	} else {
		l.failed++
	}
	l.running = nil
	close(answered)
}

// last returns the last successful result, and the number of errors.
func (l *cachedQuery[T]) last() (good queryResult[T], failed int64) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.lastGood, l.failed
}
