package searchpool

import (
	"context"
	"runtime"

	"github.com/berthd/berth/server/fairqueue"
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

// Charge counts combinations, and lets other goroutines run: without that, requests wait for up to 10 ms at each of their
// steps while searches use all processors. After MaxShort combinations, a short search becomes a long one. If too many of
// them run, Charge reports true: the search must then return ErrRestart, so that its turn and its connection are free for
// short ones.
func (t *Turn) Charge(combinations int64) (mustRestart bool) {
	if t == nil || t.pool == nil {
		return false
	}
	runtime.Gosched()
	t.spent += combinations
	if t.class == fairqueue.Long || t.spent < max(t.checkAt, MaxShort) {
		return false
	}
	if t.pool.queue.Lengthen(t.client) {
		t.class = fairqueue.Long
		return false
	}
	t.checkAt = t.spent + MaxShort
	return !t.isPinned
}
