package store_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

// holdNodes takes the locks that every decision waits for after it has found only locked nodes.
const holdNodes = "SELECT FROM nodes FOR UPDATE"

// requests creates node allocations and returns a function for each that decides it.
func (b *bundle) requests(number int, request store.NodeAllocationRequest) []func(context.Context) error {
	b.t.Helper()
	var processes []func(context.Context) error
	for range number {
		id := b.asked(request).UUID
		processes = append(processes, func(ctx context.Context) error {
			_, err := b.processed(ctx, id, "me")
			return err
		})
	}
	return processes
}

// states counts the node allocations in each state.
func (b *bundle) states() map[string]int {
	b.t.Helper()
	found, err := b.NodeAllocationList(b.t.Context(), store.NodeAllocationFilter{}, store.Page{Limit: 1000})
	b.must(err)
	counts := map[string]int{}
	nodes := map[uuid.UUID]uuid.UUID{}
	for _, one := range found {
		counts[one.State]++
		if one.NodeUUID == nil {
			continue
		}
		if other, twice := nodes[*one.NodeUUID]; twice {
			b.t.Errorf("node %s is assigned to %s and %s", *one.NodeUUID, other, one.UUID)
		}
		nodes[*one.NodeUUID] = one.UUID
	}
	return counts
}

// racing runs a test with both backends and this many connections, and fails if a write was retried.
func racing(t *testing.T, connections int32, test func(t *testing.T, b *bundle)) {
	for name, placement := range map[string]bool{"nodes alone": false, "nodes as providers": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, connections)
			b.must(b.SetBaremetalBackend(t.Context(), placement))
			b.must(b.ConductorRegister(t.Context(), "me", nil))
			test(t, b)
			b.auditNodes()
			if b.Pool().Retries() > 0 {
				t.Errorf("%d retries", b.Pool().Retries())
			}
		})
	}
}

func TestNodeAllocation_50RequestsFor20Nodes_20Assigned(t *testing.T) {
	t.Parallel()
	racing(t, 24, func(t *testing.T, b *bundle) {
		for i := range 20 {
			b.free(fmt.Sprintf("%x node %d", i%16, i), "gold", "CUSTOM_A")
		}
		got := tally(b.together(b.requests(50, store.NodeAllocationRequest{
			ResourceClass: "gold", Traits: []string{"CUSTOM_A"}, Owner: nil,
		})...))
		if want := (map[store.Rule]int{"": 50}); !maps.Equal(got, want) {
			t.Errorf("got %v", got)
		}
		if got, want := b.states(), (map[string]int{"active": 20, "error": 30}); !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// All of them find all nodes locked, and wait for the holder, which assigns none.
func TestNodeAllocation_NodesLockedThenUnlocked_StillAssigned(t *testing.T) {
	t.Parallel()
	racing(t, 16, func(t *testing.T, b *bundle) {
		for i := range 7 {
			b.free(fmt.Sprintf("%x node", i), "gold")
		}
		got := tally(b.behind(holdNodes, b.requests(16, store.NodeAllocationRequest{ResourceClass: "gold"})...))
		if want := (map[store.Rule]int{"": 16}); !maps.Equal(got, want) {
			t.Errorf("got %v", got)
		}
		if got, want := b.states(), (map[string]int{"active": 7, "error": 9}); !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestNodeAllocation_ConcurrentNewOwners_NoDeadlock(t *testing.T) {
	t.Parallel()
	racing(t, 16, func(t *testing.T, b *bundle) {
		for i := range 8 {
			b.free(fmt.Sprintf("%x node", i), "gold")
			b.execute("UPDATE nodes SET owner = 'ada', lessee = 'bob', revision = revision + 1")
		}
		both := slices.Concat(
			b.requests(8, store.NodeAllocationRequest{ResourceClass: "gold", Owner: new("ada")}),
			b.requests(8, store.NodeAllocationRequest{ResourceClass: "gold", Owner: new("bob")}))
		b.together(both...)
		if got, want := b.states(), (map[string]int{"active": 8, "error": 8}); !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestNodeAllocation_DeletedDuringDecision_NoNodeAssigned(t *testing.T) {
	t.Parallel()
	racing(t, 4, func(t *testing.T, b *bundle) {
		b.free("a node", "gold")
		asked := b.asked(store.NodeAllocationRequest{ResourceClass: "gold"})
		b.behind(holdNodes,
			func(ctx context.Context) error { return b.NodeAllocationDelete(ctx, asked.UUID.String()) },
			func(ctx context.Context) error { _, err := b.processed(ctx, asked.UUID, "me"); return err },
		)
		node, err := b.NodeShow(t.Context(), "a node")
		b.must(err)
		if node.InstanceUUID != nil {
			t.Errorf("instance_uuid = %v, want none", node.InstanceUUID)
		}
		if got := b.states(); len(got) != 0 {
			t.Errorf("left are %v", got)
		}
	})
}

// A deletion may be retried here, if the decision was made while it waited.
func TestNodeAllocation_ConcurrentDecideAndDelete_NothingRemains(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, b *bundle) {
		b.free("a node", "gold")
		for range 20 {
			asked := b.asked(store.NodeAllocationRequest{ResourceClass: "gold"})
			remove := func(ctx context.Context) error { return b.NodeAllocationDelete(ctx, asked.UUID.String()) }
			process := func(ctx context.Context) error {
				_, err := b.processed(ctx, asked.UUID, "me")
				return err
			}
			got := tally(b.together(remove, process, remove, remove)[:1])
			gone := b.NodeAllocationDelete(t.Context(), asked.UUID.String())
			if outcome(gone) != store.NodeAllocationNotFound || got[""]+got[store.NodeAllocationNotFound] != 1 {
				t.Fatalf("got %v, then %v", got, gone)
			}
			if left := b.texts("SELECT uuid::text FROM nodes WHERE instance_uuid IS NOT NULL UNION ALL SELECT uuid::text FROM consumers"); len(left) > 0 {
				t.Fatalf("left are %v", left)
			}
		}
	})
}

func TestTakeover_DuringDecision_NewConductorDecides(t *testing.T) {
	t.Parallel()
	racing(t, 4, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		b.must(b.ConductorRegister(ctx, "other", nil))
		b.free("a node", "gold")
		asked := b.asked(store.NodeAllocationRequest{ResourceClass: "gold"})
		b.must(b.ConductorUnregister(ctx, "me")) // as the other conductor does after the heartbeat timeout
		got := b.behind(holdNodes,
			func(ctx context.Context) error { _, err := b.processed(ctx, asked.UUID, "me"); return err },
			func(ctx context.Context) error { return b.afterOneWaits(ctx, "other") },
		)
		lines(t, []string{string(got[0]), string(got[1])}, "", "")
		shown, err := b.NodeAllocationShow(ctx, asked.UUID.String())
		b.must(err)
		if shown.State != "allocating" || shown.Conductor == nil || *shown.Conductor != "other" {
			t.Errorf("got %+v", shown)
		}
		done, err := b.processed(ctx, asked.UUID, "other")
		if err != nil || done.State != "active" {
			t.Errorf("got %+v, %v", done, err)
		}
	})
}

// afterOneWaits runs a takeover as soon as a session waits for a lock.
func (b *bundle) afterOneWaits(ctx context.Context, me string) error {
	for waiting := 0; waiting == 0; {
		err := b.db.Pool.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&waiting)
		if err != nil {
			return err
		}
	}
	_, _, err := b.ConductorTakeOver(ctx, me, time.Minute)
	return err
}

func TestNodeAllocation_ConcurrentSameNameOrUUID_OneSucceeds(t *testing.T) {
	t.Parallel()
	b := setup(t, 8)
	b.must(b.ConductorRegister(t.Context(), "me", nil))
	create := func(request store.NodeAllocationRequest) func(context.Context) error {
		request.ResourceClass = "gold"
		return func(ctx context.Context) error { _, err := b.NodeAllocationCreate(ctx, request, "me"); return err }
	}
	for rule, request := range map[store.Rule]store.NodeAllocationRequest{
		store.NodeAllocationNameTaken: {Name: new("same")},
		store.NodeAllocationUUIDTaken: {UUID: new(uuid.New())},
	} {
		got := tally(b.together(slices.Repeat([]func(context.Context) error{create(request)}, 16)...))
		if want := (map[store.Rule]int{"": 1, rule: 15}); !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

func TestTakeover_TwoConductors_EachTaskAssignedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, 8)
	ctx := t.Context()
	for _, hostname := range []string{"me", "dead", "one", "two", "alive"} {
		b.must(b.ConductorRegister(ctx, hostname, nil))
	}
	var wanted, wantedNodes []uuid.UUID
	for i := range 12 {
		host := []string{"dead", "dead", "unknown"}[i%3]
		made, err := b.NodeAllocationCreate(ctx, store.NodeAllocationRequest{ResourceClass: "gold"}, host)
		b.must(err)
		wanted = append(wanted, made.UUID)
		node := b.node(fmt.Sprintf("%x node", i), "deploying")
		_, _, err = b.NodeTransition(ctx, node.UUID.String(), store.Transition{To: "deploying", Conductor: new("dead")})
		b.must(err)
		wantedNodes = append(wantedNodes, node.UUID)
	}
	kept, err := b.NodeAllocationCreate(ctx, store.NodeAllocationRequest{ResourceClass: "gold"}, "alive")
	b.must(err)
	b.execute("UPDATE conductors SET updated_at = now() - interval '61 seconds' WHERE hostname = 'dead'")

	var got, gotNodes [2][]uuid.UUID
	takeOver := func(place int, me string) func(context.Context) error {
		return func(ctx context.Context) (err error) {
			got[place], gotNodes[place], err = b.ConductorTakeOver(ctx, me, time.Minute)
			return err
		}
	}
	b.together(takeOver(0, "one"), takeOver(1, "two"))
	// Work that one of them has locked during the other's query stays for the next takeover; here none is left.
	both, bothNodes := slices.Concat(got[0], got[1]), slices.Concat(gotNodes[0], gotNodes[1])
	for _, compared := range [][2][]uuid.UUID{{both, wanted}, {bothNodes, wantedNodes}} {
		sorted := func(of []uuid.UUID) []string {
			texts := []string{}
			for _, id := range of {
				texts = append(texts, id.String())
			}
			slices.Sort(texts)
			return texts
		}
		lines(t, sorted(compared[0]), sorted(compared[1])...)
	}
	for place, me := range []string{"one", "two"} {
		mine, err := b.NodeAllocationListPending(ctx, me)
		if err != nil || !slices.Equal(mine, got[place]) {
			t.Errorf("%s: pending = %v, want %v, error = %v", me, mine, got[place], err)
		}
	}
	for _, one := range append(wanted, kept.UUID) {
		left, err := b.processed(ctx, one, "dead")
		if err != nil || left.State != "allocating" {
			t.Errorf("node allocation %s after the dead conductor tried: %+v, %v", one, left, err)
		}
	}
}

// Both request the same nodes, through Placement and as node allocations.
func TestNodeAllocation_ConcurrentPlacementClaims_NodeAssignedOnce(t *testing.T) {
	t.Parallel()
	const nodes, each = 12, 12
	b := setup(t, 2*each)
	b.must(b.SetBaremetalBackend(t.Context(), true))
	b.must(b.ConductorRegister(t.Context(), "me", nil))
	var operations []func(context.Context) error
	for i := range nodes {
		node := b.free(fmt.Sprintf("%x node", i), "gold")
		operations = append(operations, func(ctx context.Context) error {
			one := claim(fmt.Sprintf("%x server", i), nil, node.UUID, 1)
			one.Allocations[0].Class = "CUSTOM_GOLD"
			return b.AllocationReplace(ctx, []store.Claim{one}, true)
		})
	}
	operations = append(operations, b.requests(each, store.NodeAllocationRequest{ResourceClass: "gold"})...)
	got := tally(b.together(operations...))
	claimed := got[""] - each
	if got[store.AllocationExceedsCapacity] != nodes-claimed || len(got) > 2 {
		t.Errorf("got %v", got)
	}
	if given := b.states()["active"]; given+claimed != nodes {
		t.Errorf("claimed = %d, assigned = %d, of %d nodes", claimed, given, nodes)
	}
	for _, used := range b.texts("SELECT format('%s of provider %s are used', used, provider_id) FROM inventories WHERE used <> 1") {
		t.Error(used)
	}
	b.auditNodes()
	if b.Pool().Retries() > 0 {
		t.Errorf("%d retries", b.Pool().Retries())
	}
}

func TestConductor_Heartbeat_AliveUntilTimeoutOrUnregister(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	ctx := t.Context()
	refuses(t, b.ConductorHeartbeat(ctx, "me"), store.ConductorNotFound, store.Values{Conductor: "me"})
	_, _, err := b.ConductorTakeOver(ctx, "me", time.Minute)
	refuses(t, err, store.ConductorNotFound, store.Values{Conductor: "me"})
	alive := func() bool {
		t.Helper()
		shown, err := b.ConductorShow(ctx, "me")
		b.must(err)
		return shown.Alive(time.Minute)
	}
	b.must(b.ConductorRegister(ctx, "me", []string{"fake-hardware"}))
	if !alive() {
		t.Error("not alive after registration")
	}
	b.execute("UPDATE conductors SET updated_at = now() - interval '61 seconds'")
	if alive() {
		t.Error("alive after the heartbeat timeout")
	}
	b.must(b.ConductorHeartbeat(ctx, "me"))
	if !alive() {
		t.Error("not alive after a heartbeat")
	}
	b.must(b.ConductorUnregister(ctx, "me"))
	if alive() {
		t.Error("alive after it was unregistered")
	}
	b.must(b.ConductorRegister(ctx, "me", []string{"fake-hardware"}))
	b.must(b.ConductorRegister(ctx, "another", nil))
	b.execute("UPDATE conductors SET updated_at = now() - interval '2 days' WHERE hostname = 'me'")
	_, _, err = b.ConductorTakeOver(ctx, "another", time.Minute)
	b.must(err)
	listed, err := b.ConductorList(ctx)
	if err != nil || len(listed) != 1 || listed[0].Hostname != "another" {
		t.Errorf("got %+v, %v", listed, err)
	}
}
