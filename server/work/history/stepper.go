// Package history keeps the record of changes: every second it puts what was committed in order, it begins and ends the record as the
// settings say, and it deletes the days that are no longer kept. Every server does so; the database lets one at a time.
//
// It is not for reading: operations read the record through package store. It does not write changes into it either: the functions and
// triggers of the database do.
package history

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/observe/loglimit"
)

const (
	// interval is the time between two passes. Without a record, a pass is one query.
	interval = time.Second
	// settleDelay is the time from the last enabled trigger to the state on: each server has noticed by then, and sends who asks.
	settleDelay = 3 * interval
	// pruneInterval is the time between two attempts to delete days that are no longer kept.
	pruneInterval = time.Minute
	// measureInterval is the time between two looks at the size of the record.
	measureInterval = time.Minute
	// passTimeout bounds the statements of a pass.
	passTimeout = 30 * time.Second
	// failureInterval is the time between two log lines about failures.
	failureInterval = time.Minute
)

// Options configure a Stepper.
type Options struct {
	Store *store.Store
	Log   *slog.Logger
}

// Stepper makes the passes.
type Stepper struct {
	Options
	failures *loglimit.Limiter
	stop     context.CancelFunc
	ended    sync.WaitGroup
	// state is that of the pass before; empty before the first one.
	state string
	// pruned is the time of the last attempt to delete days that are no longer kept.
	pruned time.Time
	// measured is the time of the last look at the size.
	measured time.Time
	metrics  metrics
}

// New returns a stepper that Start starts.
func New(options Options) *Stepper {
	return &Stepper{Options: options, failures: loglimit.New(failureInterval), stop: func() {}, metrics: newMetrics()}
}

// Start starts the passes. The first one begins at once.
func (s *Stepper) Start() {
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.ended.Go(func() { s.run(ctx) })
}

// Close stops the passes and waits for the one that runs, whose statements it cancels.
func (s *Stepper) Close() {
	s.stop()
	s.ended.Wait()
}

func (s *Stepper) run(ctx context.Context) {
	for {
		if err := s.pass(ctx); err != nil && ctx.Err() == nil {
			const text = "cannot put changes in order for the history"
			if suppressed, ok := s.failures.Allow(text, time.Now()); ok {
				s.Log.Error(text, "error", err, "suppressed", suppressed)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(interval):
		}
	}
}

// pass does what the state of the record asks for. It calls the functions that change the schema only if they have something to do: a role of
// the service without the right to call them serves a database without a record.
func (s *Stepper) pass(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	progress, err := s.Store.HistoryState(ctx)
	if err != nil {
		return err
	}
	s.metrics.show(&progress)
	state := progress.State
	if !progress.IsSwitched || state == store.HistoryStarting {
		if err := s.Store.HistorySwitch(ctx); err != nil {
			return err
		}
	}
	if state == store.HistoryStarting {
		if state, err = s.Store.HistorySettle(ctx, settleDelay); err != nil {
			return err
		}
	}
	if s.state != "" && s.state != state {
		s.Log.Info("the state of the history has changed", "before", s.state, "state", state)
	}
	s.state = state
	if state != store.HistoryOff || progress.Waiting > 0 {
		if err := s.step(ctx); err != nil {
			return err
		}
	}
	if progress.HasOldDays && time.Since(s.pruned) > pruneInterval {
		s.pruned = time.Now()
		_, err = s.Store.HistoryPrune(ctx)
	}
	return err
}

// step puts what was committed in order, and looks once a minute at the size of the record.
func (s *Stepper) step(ctx context.Context) error {
	begun := time.Now()
	newest, err := s.Store.HistoryStep(ctx, false)
	if err != nil {
		return err
	}
	s.metrics.seconds.Observe(time.Since(begun).Seconds())
	s.metrics.newest.Store(newest)
	if time.Since(s.measured) < measureInterval {
		return nil
	}
	s.measured = time.Now()
	settings, err := s.Store.HistorySettingsShow(ctx)
	if err == nil {
		s.metrics.bytes.Store(settings.Bytes)
	}
	return err
}
