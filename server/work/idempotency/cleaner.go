// Package idempotency deletes expired idempotency keys in the background and counts the others
// (docs/contract/berth/writes-keys.md).
//
// It is not for requests: package route reads their keys, and package store inserts the keys with the writes.
package idempotency

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/observe/loglimit"
)

// Settings are the settings of berth serve.
type Settings struct {
	// Lifetime is how long a key is stored whose request has no other lifetime.
	Lifetime time.Duration
	// Rows is the maximum number of stored keys.
	Rows int64
}

// Options configure a Cleaner.
type Options struct {
	Store *store.Store
	Log   *slog.Logger
	// Interval is the time between two passes; 0: a minute.
	Interval time.Duration
}

const (
	// stepTimeout bounds a statement that deletes 1,000 keys or counts a million.
	stepTimeout = 30 * time.Second
	// failureInterval is the time between two log lines about failures.
	failureInterval = 10 * time.Minute
)

// Cleaner deletes the expired keys of all servers. Its methods are safe for concurrent use.
type Cleaner struct {
	Options
	failures *loglimit.Limiter
	stop     sync.Once
	stopping chan struct{}
	ended    sync.WaitGroup
}

// Start starts a cleaner. Its first pass begins at once, so that the server knows the number of keys.
func Start(options Options) *Cleaner {
	options.Interval = cmp.Or(options.Interval, time.Minute)
	c := &Cleaner{Options: options, failures: loglimit.New(failureInterval), stopping: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	c.ended.Go(func() {
		<-c.stopping
		cancel()
	})
	c.ended.Go(func() { c.run(ctx) })
	return c
}

// Close stops the cleaner and cancels its statement. It waits for the end, or for that of the context.
func (c *Cleaner) Close(ctx context.Context) {
	c.stop.Do(func() { close(c.stopping) })
	ended := make(chan struct{})
	go func() {
		c.ended.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

func (c *Cleaner) run(ctx context.Context) {
	for {
		if err := c.pass(ctx); err != nil && ctx.Err() == nil {
			c.logFailure(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(c.Interval):
		}
	}
}

// pass deletes all keys that are due, and counts the others.
func (c *Cleaner) pass(ctx context.Context) error {
	for {
		bounded, cancel := context.WithTimeout(ctx, stepTimeout)
		more, err := c.Store.IdempotencyClean(bounded)
		cancel()
		if err != nil || !more {
			return err
		}
	}
}

// logFailure logs that keys could not be deleted, once in failureInterval.
func (c *Cleaner) logFailure(err error) {
	const text = "cannot delete expired idempotency keys"
	if suppressed, ok := c.failures.Allow(text, time.Now()); ok {
		c.Log.Warn(text, "error", err, "suppressed", suppressed)
	}
}
