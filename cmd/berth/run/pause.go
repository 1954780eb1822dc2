package run

import (
	"math/rand/v2"
	"time"
)

// minPause and maxPause bound the pause before another attempt to find a place.
const minPause, maxPause = 500 * time.Millisecond, 15 * time.Second

// pauseAfter returns the pause after so many failed attempts, of which left is the rest of --wait. This is the only place that
// chooses it. The bound doubles with each attempt; half of the pause is random, so that commands that wait for one place do
// not try at the same time.
func pauseAfter(failed int, left time.Duration) time.Duration {
	bound := minPause << min(failed, 10)
	bound = min(bound, maxPause)
	return min(left, max(minPause, bound/2+rand.N(bound/2)))
}
