package agent

import (
	"testing"
	"time"
)

// TestAgent_RetryDelay_RandomAndGrowing: hosts that met each other must not
// meet again at the next attempt, and four attempts must not be over in a moment.
func TestAgent_RetryDelay_RandomAndGrowing(t *testing.T) {
	t.Parallel()
	for attempt, longest := range map[int]time.Duration{
		1: 100 * time.Millisecond, 2: 200 * time.Millisecond, 3: 400 * time.Millisecond, 1000: 6400 * time.Millisecond,
	} {
		different, most := map[time.Duration]bool{}, time.Duration(0)
		for range 200 {
			pause := randomPause(attempt)
			different[pause], most = true, max(most, pause)
		}
		if most >= longest || most < longest/2 || len(different) < 100 {
			t.Errorf("after attempt %d: %d different pauses of 200, the longest %s; they go up to %s", attempt, len(different), most, longest)
		}
	}
}
