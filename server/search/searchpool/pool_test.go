package searchpool_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/search/searchpool"
	"github.com/berthd/berth/server/wire/fairqueue"
	"github.com/berthd/berth/server/wire/fault"
)

// maxShort is the number of combinations of a long search in these tests.
const maxShort = 1000

// as returns a context with a caller.
func as(t *testing.T, user string) context.Context {
	return auth.With(t.Context(), auth.Caller{UserID: user})
}

// run runs a search that tries some combinations. It returns how often the search ran.
func run(ctx context.Context, p *searchpool.Pool, class fairqueue.Class, combinations int64) (times int, err error) {
	_, err = searchpool.Run(ctx, p, class, func(ctx context.Context, _ *searchpool.Turn) (int, error) {
		times++
		if searchpool.From(ctx).Charge(combinations) {
			return 0, searchpool.ErrRestart
		}
		return 0, nil
	})
	return times, err
}

func TestLimits_SearchPoolShortSearch_RunsOnce(t *testing.T) {
	t.Parallel()
	p := searchpool.New(searchpool.Options{MaxShort: maxShort, Running: 1})
	for _, combinations := range []int64{0, maxShort - 1, maxShort} {
		if times, err := run(as(t, "a"), p, fairqueue.Short, combinations); times != 1 || err != nil {
			t.Errorf("%d combinations: runs = %d, error = %v, want 1", combinations, times, err)
		}
	}
	if state := p.State(); state != (fairqueue.State{}) {
		t.Errorf("state = %+v, want none", state)
	}
}

func TestLimits_SearchPoolLongSearchRuns_NextRestartsAndShortGoesOn(t *testing.T) {
	t.Parallel()
	p := searchpool.New(searchpool.Options{MaxShort: maxShort, Running: 2, Waiting: 10})
	restarted, ended := make(chan struct{}), make(chan error, 1)
	_, err := searchpool.Run(as(t, "a"), p, fairqueue.Long, func(context.Context, *searchpool.Turn) (int, error) {
		go func() {
			_, err := searchpool.Run(as(t, "b"), p, fairqueue.Short, func(ctx context.Context, _ *searchpool.Turn) (int, error) {
				if searchpool.From(ctx).Charge(maxShort) {
					close(restarted)
					return 0, searchpool.ErrRestart
				}
				return 0, nil
			})
			ended <- err
		}()
		<-restarted
		for p.State().Waiting == 0 {
			time.Sleep(time.Millisecond)
		}
		if times, err := run(as(t, "c"), p, fairqueue.Short, 1); times != 1 || err != nil {
			t.Errorf("a short search: runs = %d, error = %v", times, err)
		}
		return 0, nil
	})
	if err := errors.Join(err, <-ended); err != nil {
		t.Error(err)
	}
}

func TestLimits_SearchPoolSearchInSearch_HasItsTurn(t *testing.T) {
	t.Parallel()
	p := searchpool.New(searchpool.Options{MaxShort: maxShort, Running: 1})
	_, err := searchpool.Run(as(t, "a"), p, fairqueue.Short, func(ctx context.Context, outer *searchpool.Turn) (int, error) {
		_, err := searchpool.Run(ctx, p, fairqueue.Long, func(_ context.Context, inner *searchpool.Turn) (int, error) {
			inner.Keep()
			inner.Leave()
			return 0, nil
		})
		if got := p.State(); got.Running != 1 {
			t.Errorf("state = %+v, want one turn", got)
		}
		outer.Leave()
		if got := p.State(); got.Running != 0 || searchpool.From(ctx) != nil {
			t.Errorf("state = %+v, want none after the turn", got)
		}
		return 0, err
	})
	if err != nil || p.State().Running != 0 {
		t.Errorf("error = %v, state = %+v", err, p.State())
	}
}

func TestLimits_SearchPoolKeptTurn_EndsWithLeave(t *testing.T) {
	t.Parallel()
	p := searchpool.New(searchpool.Options{MaxShort: maxShort, Running: 1})
	for _, failure := range []error{nil, errors.New("failed")} {
		kept, err := searchpool.Run(as(t, "a"), p, fairqueue.Short, func(ctx context.Context, turn *searchpool.Turn) (*searchpool.Turn, error) {
			turn.Keep()
			if searchpool.From(ctx).Charge(2 * maxShort) {
				t.Error("a search that began its response has to restart")
			}
			return turn, failure
		})
		if !errors.Is(err, failure) {
			t.Errorf("error = %v, want %v", err, failure)
		}
		if got, want := p.State().Running, map[bool]int{true: 1, false: 0}[failure == nil]; got != want {
			t.Errorf("running = %d, want %d", got, want)
		}
		kept.Leave()
		if got := p.State().Running; got != 0 {
			t.Errorf("running = %d after Leave, want 0", got)
		}
	}
}

func TestLimits_SearchPoolPanic_EndsTurn(t *testing.T) {
	t.Parallel()
	p := searchpool.New(searchpool.Options{MaxShort: maxShort, Running: 1})
	func() {
		defer func() { _ = recover() }()
		_, _ = searchpool.Run(as(t, "a"), p, fairqueue.Short, func(_ context.Context, turn *searchpool.Turn) (int, error) {
			turn.Keep()
			panic("a fault in the search")
		})
	}()
	if got := p.State().Running; got != 0 {
		t.Errorf("running = %d, want 0", got)
	}
}

func TestLimits_SearchPoolFull_ReturnsOverloaded(t *testing.T) {
	t.Parallel()
	p := searchpool.New(searchpool.Options{MaxShort: maxShort, Running: 1})
	rejected := 0
	p.OnRejected(func() { rejected++ })
	_, _ = searchpool.Run(as(t, "a"), p, fairqueue.Short, func(context.Context, *searchpool.Turn) (int, error) {
		_, err := run(as(t, "b"), p, fairqueue.Short, 0)
		found := fault.As(err)
		if found == nil || found.Kind != fault.Unavailable || found.Own != fault.CodeOverloaded || found.RetryAfter < time.Second {
			t.Errorf("error = %+v, want an overload with Retry-After", found)
		}
		return 0, nil
	})
	if rejected != 1 {
		t.Errorf("rejected = %d, want 1", rejected)
	}
}

func TestLimits_SearchPoolWithoutBounds_NothingWaits(t *testing.T) {
	t.Parallel()
	for _, p := range []*searchpool.Pool{nil, searchpool.New(searchpool.Options{MaxShort: maxShort})} {
		for range 3 {
			kept, err := searchpool.Run(as(t, "a"), p, fairqueue.Long, func(_ context.Context, turn *searchpool.Turn) (*searchpool.Turn, error) {
				turn.Keep()
				return turn, nil
			})
			if err != nil {
				t.Error(err)
			}
			t.Cleanup(kept.Leave)
		}
		if times, err := run(as(t, "a"), p, fairqueue.Short, 100*maxShort); times != 1 || err != nil {
			t.Errorf("runs = %d, error = %v, want 1", times, err)
		}
	}
}
