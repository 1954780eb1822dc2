package searchpool

import (
	"context"
	"runtime"
	"time"

	"github.com/berthd/berth/server/wire/fairqueue"
)

// Turn is the turn of one search. The zero value and nil are turns without bounds, whose methods do nothing. It is not safe
// for concurrent use.
type Turn struct {
	pool   *Pool
	client string
	class  fairqueue.Class
	// spent is the number of combinations, checkAt that at which a short search is long.
	spent, checkAt int64
	// isKept is true if the turn outlasts Run; isPinned is true if the search must not run again.
	isKept, isPinned bool
	// yieldedAt is when the search last let the server poll the network.
	yieldedAt time.Time
}

// A search that runs for yieldInterval while searches use all processors sleeps for yieldTime. While every processor runs a
// goroutine that computes, Go polls the network every 10 ms only, so that a request would wait so long for each of its
// packets and results; a goroutine that only yields does not change that.
const (
	yieldInterval = 4 * time.Millisecond
	yieldTime     = 20 * time.Microsecond
)

// yield lets requests go on.
func (t *Turn) yield() {
	now := time.Now()
	if now.Sub(t.yieldedAt) < yieldInterval {
		return
	}
	t.yieldedAt = now
	if t.pool.queue.State().Running >= runtime.GOMAXPROCS(0) {
		time.Sleep(yieldTime)
		t.yieldedAt = time.Now()
	}
}

type contextKey struct{}

// From returns the turn of the search that runs in ctx; nil if there is none, or if it has ended.
func From(ctx context.Context) *Turn {
	if turn, ok := ctx.Value(contextKey{}).(*Turn); ok && turn.pool != nil {
		return turn
	}
	return nil
}

// Keep makes the turn outlast Run, if the search returns no error: until Leave. The search does not run again.
func (t *Turn) Keep() { t.isKept, t.isPinned = true, true }

// Pin prevents that the search runs again, because it has begun what must happen once.
func (t *Turn) Pin() {
	if t != nil {
		t.isPinned = true
	}
}

// Leave ends the turn. Further calls do nothing.
func (t *Turn) Leave() {
	if t == nil || t.pool == nil {
		return
	}
	p := t.pool
	t.pool = nil
	p.queue.Leave(t.client, t.class, t.spent)
}

// Charge counts combinations, and lets requests go on at intervals. After Options.MaxShort combinations, a short search becomes a long one. If too many of
// them run, Charge reports true: the search must then return ErrRestart, so that its turn and its connection are free for
// short ones.
func (t *Turn) Charge(combinations int64) (mustRestart bool) {
	if t == nil || t.pool == nil {
		return false
	}
	t.yield()
	t.spent += combinations
	if t.class == fairqueue.Long || t.spent < max(t.checkAt, t.pool.options.MaxShort) {
		return false
	}
	if t.pool.queue.Lengthen(t.client) {
		t.class = fairqueue.Long
		return false
	}
	t.checkAt = t.spent + t.pool.options.MaxShort
	return !t.isPinned
}
