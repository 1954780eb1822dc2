package store_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
)

// batch creates node allocations that are decided together.
func (b *bundle) batch(number, minimum int, request store.NodeAllocationRequest) []store.NodeAllocation {
	b.t.Helper()
	made, err := b.NodeAllocationCreateBatch(b.t.Context(), request, number, minimum, "me")
	b.must(err)
	return made
}

// ends returns the states of node allocations.
func (b *bundle) ends(made []store.NodeAllocation) (states []string) {
	b.t.Helper()
	for _, one := range made {
		found, err := b.NodeAllocationShow(b.t.Context(), one.UUID.String())
		b.must(err)
		states = append(states, found.State)
	}
	return states
}

func TestNodeAllocation_Batch_DecidedByFirstMember(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, b *bundle) {
		for i := range 4 {
			b.free(fmt.Sprint(i), "gold")
		}
		decide := func(made []store.NodeAllocation, member int) {
			t.Helper()
			_, err := b.processed(t.Context(), made[member].UUID, "me")
			b.must(err)
		}
		made := b.batch(5, 5, store.NodeAllocationRequest{ResourceClass: "gold", Name: new("all")})
		decide(made, 4)
		lines(t, b.ends(made), "error", "error", "error", "error", "error")
		b.auditNodes()
		made = b.batch(3, 2, store.NodeAllocationRequest{ResourceClass: "gold"})
		decide(made, 1)
		lines(t, b.ends(made), "active", "active", "active")
		made = b.batch(2, 1, store.NodeAllocationRequest{ResourceClass: "gold"})
		decide(made, 0)
		lines(t, b.ends(made), "active", "error")
		// A decision is final, even if another conductor receives its notification.
		decide(made, 1)
		lines(t, b.ends(made), "active", "error")
	})
}

func TestNodeAllocation_BatchMemberDeleted_CountsAsNotAssigned(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, b *bundle) {
		b.free("0", "gold")
		b.free("1", "gold")
		made := b.batch(2, 2, store.NodeAllocationRequest{ResourceClass: "gold"})
		b.must(b.NodeAllocationDelete(t.Context(), made[0].UUID.String()))
		done, err := b.processed(t.Context(), made[1].UUID, "me")
		b.must(err)
		if got, want := gets(done), failed(done, "only 1 of at least 2 nodes could be reserved for the batch: the others were deleted"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// TestNodeAllocation_ConcurrentBatchesAndSingles_NeverShareNode: batches hold nodes while they wait for others, so
// PostgreSQL cancels some of them and the store retries them.
func TestNodeAllocation_ConcurrentBatchesAndSingles_NeverShareNode(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, b *bundle) {
		for i := range 9 {
			b.free(fmt.Sprint(i), "gold")
		}
		var processes []func(context.Context) error
		var batches [][]store.NodeAllocation
		for range 4 {
			made := b.batch(3, 3, store.NodeAllocationRequest{ResourceClass: "gold"})
			batches = append(batches, made)
			for _, one := range made {
				processes = append(processes, func(ctx context.Context) error {
					_, err := b.processed(ctx, one.UUID, "me")
					return err
				})
			}
		}
		processes = append(processes, b.requests(3, store.NodeAllocationRequest{ResourceClass: "gold"})...)
		ended := make(chan error)
		for _, process := range processes {
			go func() { ended <- process(t.Context()) }()
		}
		for range processes {
			b.must(<-ended)
		}
		for _, made := range batches {
			if states := slices.Compact(b.ends(made)); len(states) != 1 || states[0] == "allocating" {
				t.Errorf("states of a batch = %v", states)
			}
		}
		if states := b.states(); states["active"] < 6 || states["active"] > 9 || states["allocating"] > 0 {
			t.Errorf("%v", states)
		}
	})
}

func TestNodeAllocation_RetryNotInError_ReturnsConflict(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, b *bundle) {
		failed := b.decided(store.NodeAllocationRequest{ResourceClass: "gold", Name: new("a")})
		node := b.free("0", "gold")
		b.must(b.NodeAllocationRetry(t.Context(), "a", "me"))
		refuses(t, b.NodeAllocationRetry(t.Context(), "a", "me"), store.NodeAllocationNotFailed,
			store.Values{Allocation: failed.UUID.String(), State: "allocating"})
		done, err := b.processed(t.Context(), failed.UUID, "me")
		b.must(err)
		if gets(done) != node.UUID.String() {
			t.Errorf("got %s", gets(done))
		}
		refuses(t, b.NodeAllocationRetry(t.Context(), failed.UUID.String(), "me"), store.NodeAllocationNotFailed,
			store.Values{Allocation: failed.UUID.String(), State: "active"})
		refuses(t, b.NodeAllocationRetry(t.Context(), "b", "me"), store.NodeAllocationNotFound, store.Values{Allocation: "b"})
	})
}

func TestNodeAllocation_Decided_NotifiesOnlyWaiters(t *testing.T) {
	t.Parallel()
	b := setup(t, 4)
	b.must(b.ConductorRegister(t.Context(), "me", nil))
	b.free("0", "gold")
	var want []string
	heard := b.notified(store.NodeAllocationDecidedChannel, func() {
		b.decided(store.NodeAllocationRequest{ResourceClass: "silver"})
		for _, class := range []string{"gold", "silver"} {
			want = append(want, b.decided(store.NodeAllocationRequest{ResourceClass: class, Extended: true}).UUID.String())
		}
		deleted := b.asked(store.NodeAllocationRequest{ResourceClass: "gold", Extended: true}).UUID.String()
		b.must(b.NodeAllocationDelete(t.Context(), deleted))
		made := b.batch(2, 1, store.NodeAllocationRequest{ResourceClass: "gold"})
		_, err := b.processed(t.Context(), made[0].UUID, "me")
		b.must(err)
		want = append(want, deleted, made[0].UUID.String(), made[1].UUID.String())
	})
	lines(t, heard, want...)
	heard = b.notified(store.NodeAllocationChannel, func() {
		b.must(b.NodeAllocationRetry(t.Context(), want[1], "me"))
	})
	lines(t, heard, want[1])
}

func TestNodeAllocation_StickyTearDown_KeepsNodeAndClaim(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, b *bundle) {
		node := b.free("0", "gold", "CUSTOM_A")
		made := b.decided(store.NodeAllocationRequest{ResourceClass: "gold", Traits: []string{"CUSTOM_A"}, Sticky: true})
		down, moved, err := b.NodeTransition(t.Context(), "0", store.Transition{
			From: []string{"available"}, To: "cleaning", Target: new("available"), TransitionEffects: store.TransitionEffects{TearDown: true},
		})
		b.must(err)
		if !moved || down.InstanceUUID == nil || *down.InstanceUUID != made.UUID || string(down.Details["instance_info"]) != `{"traits": ["CUSTOM_A"]}` {
			t.Errorf("moved = %v, instance = %v with %s", moved, down.InstanceUUID, down.Details["instance_info"])
		}
		b.auditNodes()
		again, err := b.NodeAllocationShowByNode(t.Context(), node.UUID.String())
		b.must(err)
		if again.UUID != made.UUID || again.State != "active" {
			t.Errorf("state = %s of %s", again.State, again.UUID)
		}
		_, _, err = b.NodeTransition(t.Context(), "0", store.Transition{From: []string{"cleaning"}, To: "available"})
		b.must(err)
		if done := b.decided(store.NodeAllocationRequest{ResourceClass: "gold"}); done.State != "error" {
			t.Errorf("the node was assigned twice: %s", gets(done))
		}
		b.must(b.NodeAllocationDelete(t.Context(), made.UUID.String()))
		if done := b.decided(store.NodeAllocationRequest{ResourceClass: "gold"}); done.State != "active" {
			t.Errorf("the node was not released: %s", gets(done))
		}
	})
}

func TestNodeAllocation_Backfill_OneRoundTrip(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, b *bundle) {
		b.free("0", "gold", "CUSTOM_A")
		b.execute("UPDATE nodes SET revision = revision + 1, provision_state = 'active'")
		ctx, trips := postgres.CountRoundTrips(t.Context())
		made, err := b.NodeAllocationCreate(ctx, store.NodeAllocationRequest{
			Node: new("0"), Name: new("a"), Owner: new("o"), Traits: []string{"CUSTOM_A"}, CandidateNodes: []string{"0"},
		}, "me")
		b.must(err)
		if trips.Count() != 1 {
			t.Errorf("round trips = %d; the node could change between them", trips.Count())
		}
		shown, err := b.NodeAllocationShow(t.Context(), "a")
		b.must(err)
		if !reflect.DeepEqual(made, shown) {
			t.Errorf("created %+v, shown %+v", made, shown)
		}
	})
}
