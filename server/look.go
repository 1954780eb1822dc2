package server

import (
	"context"
	"errors"
	"sync"
	"time"
)

// look shares what is found out about the database among all who ask: probes and
// scrapes. It asks at most once in an interval, one at a time, and never keeps those
// who ask for longer than they want to wait; what was asked for goes on meanwhile, for
// the next. Nothing is asked while nobody looks.
type look[T any] struct {
	// every is how long an answer holds, patience how long it may take.
	every, patience time.Duration
	ask             func(context.Context) (T, error)

	mutex   sync.Mutex
	running chan struct{} // closed when the question that runs is answered; nil: none runs
	found   seen[T]
	good    seen[T]
	failed  int64
}

// seen is an answer.
type seen[T any] struct {
	value T
	err   error
	at    time.Time // when it came; zero: never yet
	took  time.Duration
}

// errNotYet is what is found while the first answer is still awaited.
var errNotYet = errors.New("no answer yet")

// get asks anew if the last answer is too old, and waits for so long, or until the
// context ends. It gives the last answer, whatever its age.
func (l *look[T]) get(ctx context.Context, wait time.Duration) seen[T] {
	l.mutex.Lock()
	if l.running == nil && (l.found.at.IsZero() || time.Since(l.found.at) >= l.every) {
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

// refresh asks, for all who wait and not in the name of one of them: whoever asked
// first may leave.
func (l *look[T]) refresh(answered chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), l.patience)
	defer cancel()
	start := time.Now()
	value, err := l.ask(ctx)
	now := time.Now()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.found = seen[T]{value: value, err: err, at: now, took: now.Sub(start)}
	if err == nil {
		l.good = l.found
	} else {
		l.failed++
	}
	l.running = nil
	close(answered)
}

// last is the last answer that was no error, and how many were.
func (l *look[T]) last() (good seen[T], failed int64) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.good, l.failed
}
