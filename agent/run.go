package agent

import (
	"context"
	"math/rand/v2"
	"time"
)

// Run makes a pass at start-up, and then one after every interval, a tenth more
// or less so that the hosts of a cloud spread, until Stop is called or the context
// ends. A pass runs earlier after Nudge.
//
// The start-up lasts until a pass gets through: where the service was away when
// the host started, the first pass that reaches it may still reshape. The error is
// nil after Stop, that of the context when it ended first, and the pass's when it
// was fatal at start-up; others are logged.
func (t *Tracker) Run(ctx context.Context, interval time.Duration) error {
	startup := true
	for {
		err := t.Update(ctx, startup)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			startup = false
		case startup && t.Fatal(err):
			return err
		default:
			t.options.Log.Error("the service's picture of the host could not be renewed; it is tried again", "node", t.node.Name, "startup", startup, "cause", err)
		}
		if asked, err := t.wait(ctx, spread(interval)); asked || err != nil {
			return err
		}
	}
}

// wait returns when the next pass is due. Asked is whether to stop instead.
func (t *Tracker) wait(ctx context.Context, pause time.Duration) (asked bool, err error) {
	// Asked first: a Stop during a pass must not lose against a nudge.
	select {
	case <-t.stop:
		return true, nil
	default:
	}
	due := time.NewTimer(pause)
	defer due.Stop()
	t.sign(time.Now().Add(pause))
	select {
	case <-due.C:
	case <-t.nudges:
	case <-t.stop:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
	return false, nil
}

func spread(interval time.Duration) time.Duration {
	tenth := interval / 10
	return interval - tenth + rand.N(2*tenth+1)
}

// Nudge asks Run for a pass at once, or for one more if one is running. It does
// not wait.
func (t *Tracker) Nudge() {
	select {
	case t.nudges <- struct{}{}:
	default:
	}
}

// Stop ends Run when the pass that runs, if one does, has ended. It does not wait.
func (t *Tracker) Stop() { t.stopIt() }

// Progress is when the tracker last took a step: something was read, asked or
// written. While Run waits for the next pass it is the time when that is due, in
// the future. A watchdog thus sees a pass that hangs, and a loop that ended.
func (t *Tracker) Progress() time.Time {
	t.progress.Lock()
	defer t.progress.Unlock()
	return t.lastSign
}

func (t *Tracker) sign(at time.Time) {
	t.progress.Lock()
	defer t.progress.Unlock()
	t.lastSign = at
}
