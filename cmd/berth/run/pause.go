package run

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/berthd/berth/client"
)

const (
	// minPause and maxPause bound the pause before another attempt to find a place.
	minPause, maxPause = 500 * time.Millisecond, 15 * time.Second
	// removalDelay is the time from the end of a consumer in which a server has removed it.
	removalDelay = 10 * time.Second
)

// pauseAfter returns the pause after so many failed attempts, of which left is the rest of --wait. This is the only place that
// chooses it. The bound doubles with each attempt; half of the pause is random, so that commands that wait for one place do
// not try at the same time.
//
// fitsIn is the time until consumers end without whom there is a place, if the last attempt has found that out: the next one does
// not come much later. Others may end before, so it may come earlier.
func pauseAfter(failed int, left time.Duration, fitsIn *time.Duration) time.Duration {
	bound := minPause << min(failed, 10)
	bound = min(bound, maxPause)
	pause := max(minPause, bound/2+rand.N(bound/2))
	if fitsIn != nil && *fitsIn > -removalDelay {
		pause = min(pause, max(minPause, *fitsIn)+rand.N(minPause))
	}
	return min(left, pause)
}

// fitsIn returns the time until consumers end without whom there is a place; nil: the service has not found that out.
func fitsIn(err error) *time.Duration {
	var failed *client.Error
	if !errors.As(err, &failed) || failed.Explanation == nil {
		return nil
	}
	fit, err := failed.Explanation.FitsAt.Get()
	if err != nil {
		return nil // null or missing
	}
	return new(time.Until(fit.At))
}
