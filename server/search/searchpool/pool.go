// Package searchpool bounds the searches of a server: how many run at once, how many wait, and how much work a caller may
// cause in a second. Searches of one caller wait in lines of their own, see package fairqueue.
//
// It is not for the search, which is in package candidates, nor for requests that read or write a row by its key: they
// never wait here.
package searchpool

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/wire/fairqueue"
	"github.com/berthd/berth/server/wire/fault"
)

// Options are the bounds of a pool. The zero value has none.
type Options struct {
	// Running is the maximum number of running searches; 0: no limit.
	Running int
	// Waiting is the maximum number of searches that wait for their turn.
	Waiting int
	// Rate is the maximum number of combinations per second that the searches of one caller try, on average; 0: no limit. A
	// caller may exceed it by Burst.
	Rate, Burst int64
	// MaxShort is the number of combinations after which a search is long; 0: defaultMaxShort.
	MaxShort int64
}

// Pool is the set of turns of searches. A nil Pool has no bounds. It is safe for concurrent use.
type Pool struct {
	options Options
	queue   *fairqueue.Queue
	waited  prometheus.Histogram
	// rejected is called for each rejected search; nil: it is not called.
	rejected func()
}

// defaultMaxShort is about 15 ms of work on a processor of 2024.
const defaultMaxShort = 1 << 16

// reservedShare is the divisor of the turns that long searches cannot use: one of this number, and at least one turn.
const reservedShare = 4

// New returns a pool.
func New(options Options) *Pool {
	running, long := options.Running, options.Running-max(1, options.Running/reservedShare)
	if running == 0 {
		running, long = math.MaxInt, math.MaxInt
	}
	options.MaxShort = cmp.Or(options.MaxShort, defaultMaxShort)
	return &Pool{
		options: options,
		queue: fairqueue.New(fairqueue.Options{
			Running: running, Long: max(1, long), Waiting: options.Waiting, Rate: options.Rate, Burst: options.Burst,
		}),
		waited: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "berth_search_wait_seconds", Help: "Time that a search waits for its turn, in seconds.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}),
	}
}

// ErrRestart ends a short search that has become long, and for which there is no turn of a long one. Run runs it again, from
// its beginning, when there is.
var ErrRestart = errors.New("the search has to run as a long one")

// Run runs a search in a turn of the caller of ctx, which begins before the search acquires a connection. The turn ends with
// the search, unless the search keeps it with Keep. The class is that of the turn; a short search may run twice, see Charge.
//
// In a context with a turn, Run runs the search in this one: a search never waits for a second turn.
func Run[R any](ctx context.Context, p *Pool, class fairqueue.Class, search func(context.Context, *Turn) (R, error)) (R, error) {
	if p == nil || From(ctx) != nil {
		return search(ctx, &Turn{})
	}
	for {
		found, err := runOnce(ctx, p, class, search)
		if class == fairqueue.Long || !errors.Is(err, ErrRestart) {
			return found, err
		}
		class = fairqueue.Long
	}
}

func runOnce[R any](ctx context.Context, p *Pool, class fairqueue.Class, search func(context.Context, *Turn) (R, error)) (found R, err error) {
	turn, err := p.enter(ctx, class)
	if err != nil {
		return found, err
	}
	returned := false
	defer func() {
		if !returned || err != nil || !turn.isKept {
			turn.Leave() // also after a panic
		}
	}()
	found, err = search(context.WithValue(ctx, contextKey{}, turn), turn)
	returned = true
	return found, err
}

// enter waits for a turn.
func (p *Pool) enter(ctx context.Context, class fairqueue.Class) (*Turn, error) {
	client, since := auth.From(ctx).UserID, time.Now()
	err := p.queue.Enter(ctx, client, class)
	p.waited.Observe(time.Since(since).Seconds())
	switch {
	case errors.Is(err, fairqueue.ErrFull):
		if p.rejected != nil {
			p.rejected()
		}
		return nil, p.full()
	case err != nil:
		return nil, err
	}
	return &Turn{pool: p, client: client, class: class}, nil
}

// OnRejected makes the pool call a function for each rejected search. It must be called before the first search.
func (p *Pool) OnRejected(count func()) { p.rejected = count }

// full returns the fault of a rejected search. Its Retry-After varies, so that not all clients retry at the same moment.
func (p *Pool) full() error {
	full := fault.New(fault.Unavailable, "The server runs %d searches, and %d wait; it takes no more.", p.options.Running, p.options.Waiting).
		WithOwn(fault.CodeOverloaded)
	full.RetryAfter = time.Duration(1+rand.IntN(3)) * time.Second
	return full
}

// State returns the number of running and waiting searches.
func (p *Pool) State() fairqueue.State { return p.queue.State() }
