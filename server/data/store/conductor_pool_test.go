package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/berthd/berth/server/data/store"
)

// TestConductor_PoolExhausted_HeartbeatsGoOn: while requests hold all connections, the conductor of their process still
// sends heartbeats and takes over work.
func TestConductor_PoolExhausted_HeartbeatsGoOn(t *testing.T) {
	t.Parallel()
	const connections = 3
	b := setup(t, connections)
	b.must(b.ConductorRegister(t.Context(), "dead", nil))
	b.must(b.ConductorUnregister(t.Context(), "dead"))
	b.provider("a", nil, nil)
	for range connections {
		rows, err := b.ProviderList(t.Context(), store.ProviderFilter{})
		b.must(err)
		defer rows.Close()
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	b.must(b.ConductorRegister(ctx, "me", []string{"fake-hardware"}))
	b.must(b.ConductorHeartbeat(ctx, "me"))
	_, _, err := b.ConductorTakeOver(ctx, "me", time.Minute)
	b.must(err)
	b.must(b.ConductorUnregister(ctx, "me"))

	// Meanwhile a request waits, and the pool reports it.
	waiting, leave := context.WithCancel(t.Context())
	waited := make(chan error, 1)
	go func() {
		_, err := b.ProviderShow(waiting, named("a"))
		waited <- err
	}()
	for b.Pool().OldestWait() == 0 || b.Pool().Starved() == 0 {
		if ctx.Err() != nil {
			t.Fatal("the pool reports no wait")
		}
		time.Sleep(time.Millisecond)
	}
	leave()
	if err := <-waited; err == nil {
		t.Error("the request got a connection")
	}
	if b.Pool().OldestWait() != 0 || b.Pool().Starved() == 0 {
		t.Errorf("after the request was canceled: oldest wait = %v, starved = %v", b.Pool().OldestWait(), b.Pool().Starved())
	}
}
