package store_test

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/berthd/berth/server/data/store"
)

// together runs operations as simultaneously as possible, and returns their outcomes.
func (b *bundle) together(operations ...func(context.Context) error) []store.Rule {
	outcomes, wait := b.start(operations)
	wait()
	return outcomes
}

// start begins operations that wait for each other; the outcomes are complete when wait returns.
func (b *bundle) start(operations []func(context.Context) error) (outcomes []store.Rule, wait func()) {
	outcomes = make([]store.Rule, len(operations))
	gate := make(chan struct{})
	var ready, done sync.WaitGroup
	for i, operation := range operations {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-gate
			outcomes[i] = outcome(operation(b.t.Context()))
		})
	}
	ready.Wait()
	close(gate)
	return outcomes, done.Wait
}

// behind runs operations while it holds a lock that they need, and releases it when each of them waits in the database:
// so all have begun before any is decided. lock is a statement that takes it.
func (b *bundle) behind(lock string, operations ...func(context.Context) error) []store.Rule {
	b.t.Helper()
	ctx := b.t.Context()
	holder, err := b.db.Pool.Begin(ctx)
	b.must(err)
	if _, err := holder.Exec(ctx, lock); err != nil {
		b.t.Fatal(err)
	}
	var ended atomic.Int64
	for i, operation := range operations {
		operations[i] = func(ctx context.Context) error {
			defer ended.Add(1)
			return operation(ctx)
		}
	}
	outcomes, wait := b.start(operations)
	for waiting := int64(0); waiting+ended.Load() < int64(len(operations)); {
		err := b.db.Pool.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&waiting)
		b.must(err)
	}
	b.must(holder.Commit(ctx))
	wait()
	return outcomes
}

// tally counts equal outcomes.
func tally(outcomes []store.Rule) map[store.Rule]int {
	counts := map[store.Rule]int{}
	for _, one := range outcomes {
		counts[one]++
	}
	return counts
}
