package agent

import (
	"context"
	"math/rand/v2"
	"time"
)

// Run executes a pass at start-up, and then one after every interval, until Stop is called or the context ends. It
// varies the interval at random by a tenth, so that the hosts of a cloud spread. Trigger starts a pass earlier.
//
// The start-up lasts until a pass succeeds: if the service is unavailable when the host starts, the first pass that
// reaches it may still reshape. Run returns nil after Stop, the error of the context if that ends first, and the error
// of a pass at start-up if it is fatal. It logs other errors.
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
			t.options.Log.Error("cannot synchronize the provider tree; retrying", "node", t.node.Name, "startup", startup, "cause", err)
		}
		if asked, err := t.wait(ctx, spread(interval)); asked || err != nil {
			return err
		}
	}
}

// wait returns when the next pass is due. asked is true after Stop.
func (t *Tracker) wait(ctx context.Context, pause time.Duration) (asked bool, err error) {
	// Checked first: a Stop during a pass has precedence over a Trigger.
	select {
	case <-t.stop:
		return true, nil
	default:
	}
	due := time.NewTimer(pause)
	defer due.Stop()
	t.markProgress(time.Now().Add(pause))
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

// Trigger makes Run start a pass now, or one more after the current one. It does not wait.
func (t *Tracker) Trigger() {
	select {
	case t.nudges <- struct{}{}:
	default:
	}
}

// Stop ends Run after the current pass, if there is one. It does not wait. It can be called more than once.
func (t *Tracker) Stop() { t.stopIt() }

// Progress returns the time of the last step of the tracker: a read, a call of the driver, or a write. While Run waits
// for the next pass, it returns the future time at which that is due. A watchdog can thus detect a pass that hangs and
// a loop that ended.
func (t *Tracker) Progress() time.Time {
	t.progress.Lock()
	defer t.progress.Unlock()
	return t.lastSign
}

func (t *Tracker) markProgress(at time.Time) {
	t.progress.Lock()
	defer t.progress.Unlock()
	t.lastSign = at
}
