package claims_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/search/claims"
	"github.com/berthd/berth/server/search/searchpool"
	"github.com/berthd/berth/server/wire/fairqueue"
)

// TestClaim_PoolOfOneSearch_AllClaimsEnd: no claim waits for a turn while it has one, and none has one while it writes.
func TestClaim_PoolOfOneSearch_AllClaimsEnd(t *testing.T) {
	t.Parallel()
	const claimants, places = 24, 16
	made := newCloud(t, 4, places/4)
	turns := searchpool.New(searchpool.Options{Running: 1, Waiting: claimants})
	search := candidates.New(made.store.Pool())
	search.RunIn(turns)
	inPool := claims.New(made.store, search)
	outcomes := make([]error, claimants)
	var running sync.WaitGroup
	for i := range claimants {
		running.Go(func() {
			if i%2 == 0 {
				_, outcomes[i] = inPool.Create(t.Context(), request(candidates.OrderID, nil))
			} else {
				_, outcomes[i] = inPool.CreateSeveral(t.Context(), several(1, candidates.OrderID, candidates.RelationNone))
			}
		})
	}
	running.Wait()
	placed := 0
	for _, err := range outcomes {
		if err == nil {
			placed++
		} else if !errors.Is(err, claims.ErrNothingFits) && !errors.Is(err, claims.ErrContended) {
			t.Error(err)
		}
	}
	if placed != places || turns.State() != (fairqueue.State{}) {
		t.Errorf("placed = %d, state = %+v, want %d and no turn", placed, turns.State(), places)
	}
}

// TestClaim_WriteWaits_HasNoTurn makes the change behind a write that waits for a lock: the pool must be empty then.
func TestClaim_WriteWaits_HasNoTurn(t *testing.T) {
	t.Parallel()
	made := newCloud(t, 1, 1)
	turns := searchpool.New(searchpool.Options{Running: 1})
	search := candidates.New(made.store.Pool())
	search.RunIn(turns)
	made.Claims = claims.New(made.store, search)
	holder, err := made.db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec(t.Context(), "LOCK TABLE projects IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := made.Create(t.Context(), request(candidates.OrderID, nil))
		done <- err
	}()
	for waiting := 0; waiting == 0; {
		if err := made.db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
	}
	if state := turns.State(); state != (fairqueue.State{}) {
		t.Errorf("state during the write = %+v, want none", state)
	}
	if err := errors.Join(holder.Rollback(t.Context()), <-done); err != nil {
		t.Error(err)
	}
}
