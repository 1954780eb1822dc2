package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/berthd/berth/server/data/store"
)

// edit changes one member of a node.
func edit(ctx context.Context, b *bundle, name string, change func(*store.Node)) error {
	_, err := b.NodeUpdate(ctx, name, func(n *store.Node) error { change(n); return nil })
	return err
}

func deleteNode(ctx context.Context, b *bundle, round string) error {
	return b.NodeDelete(ctx, host(round))
}

const lockNodeRows = "SELECT FROM nodes FOR UPDATE"

func TestLocks_NodeWrittenWhileDeleted_ConsistentOutcome(t *testing.T) {
	t.Parallel()
	for _, placement := range []bool{false, true} {
		t.Run(fmt.Sprintf("as a provider: %t", placement), func(t *testing.T) {
			t.Parallel()
			meet(t, writtenAndDeleted(placement))
		})
	}
}

func writtenAndDeleted(placement bool) map[string]pair {
	prepare := func(b *bundle, round string) {
		b.must(b.SetBaremetalBackend(b.t.Context(), placement))
		wanted := bareNode(host(round), "available")
		wanted.ResourceClass, wanted.PowerState = new("x"), new("power off")
		_, err := b.NodeCreate(b.t.Context(), wanted)
		b.must(err)
	}
	pairs := map[string]pair{}
	for name, write := range map[string]func(ctx context.Context, b *bundle, round string) error{
		"it is edited": func(ctx context.Context, b *bundle, round string) error {
			return edit(ctx, b, host(round), func(n *store.Node) { n.Owner = new("o") })
		},
		"it moves": func(ctx context.Context, b *bundle, round string) error {
			_, _, err := b.NodeTransition(ctx, host(round), store.Transition{To: "manageable"})
			return err
		},
		"it goes into maintenance": func(ctx context.Context, b *bundle, round string) error {
			return b.NodeMaintenance(ctx, host(round), true, nil)
		},
		"it gets a trait": func(ctx context.Context, b *bundle, round string) error {
			return b.NodeTraitAdd(ctx, host(round), "CUSTOM_A")
		},
		"its traits are replaced": func(ctx context.Context, b *bundle, round string) error {
			return b.NodeTraitReplace(ctx, host(round), []string{"CUSTOM_A", "CUSTOM_B"})
		},
		"it gets a port": func(ctx context.Context, b *bundle, round string) error {
			_, err := b.PortCreate(ctx, store.Port{UUID: named("b port" + round), NodeUUID: named(host(round)), Address: round})
			return err
		},
	} {
		pairs[name] = pair{
			lock: lockNodeRows, prepare: prepare, one: write, two: deleteNode,
			ends: [][2]store.Rule{{"", ""}, {store.NodeNotFound, ""}},
		}
	}
	pairs["it gets an instance_uuid"] = pair{
		lock: lockNodeRows, prepare: prepare, two: deleteNode,
		one: func(ctx context.Context, b *bundle, round string) error {
			return edit(ctx, b, host(round), func(n *store.Node) { n.InstanceUUID = new(named("c" + round)) })
		},
		ends: [][2]store.Rule{{"", store.NodeAssociated}, {store.NodeNotFound, ""}},
	}
	pairs["its port is moved to it"] = pair{
		lock: lockNodeRows, two: deleteNode, again: true,
		prepare: func(b *bundle, round string) {
			prepare(b, round)
			b.node(other(round), "available")
			_, err := b.PortCreate(b.t.Context(), store.Port{UUID: named("b port" + round), NodeUUID: named(other(round)), Address: round})
			b.must(err)
		},
		one: func(ctx context.Context, b *bundle, round string) error {
			_, err := b.PortUpdate(ctx, named("b port"+round), func(p *store.Port) error { p.NodeUUID = named(host(round)); return nil })
			return err
		},
		ends: [][2]store.Rule{{"", ""}, {store.NodeNotFound, ""}},
	}
	return pairs
}

// TestLocks_NodeProviderDeletedDuringWrite_Retried: the write of a node has looked up its provider before another
// request deletes that, and the store retries the write.
func TestLocks_NodeProviderDeletedDuringWrite_Retried(t *testing.T) {
	t.Parallel()
	prepare := func(b *bundle, round string) {
		b.must(b.SetBaremetalBackend(b.t.Context(), true))
		_, err := b.NodeCreate(b.t.Context(), bareNode(host(round), "available"))
		b.must(err)
		ensureTrait(b, round)
		ensureClass(b, round)
	}
	meet(t, map[string]pair{
		"its provider": {
			again: true, lock: "SELECT FROM resource_providers FOR UPDATE", prepare: prepare, two: deleteHost,
			one: func(ctx context.Context, b *bundle, round string) error {
				return b.NodeMaintenance(ctx, host(round), true, nil)
			},
			ends: [][2]store.Rule{{"", ""}, {"", store.ProviderNotFound}},
		},
		"a trait": {
			again: true, lock: "SELECT FROM traits WHERE name LIKE 'CUSTOM%' FOR UPDATE", prepare: prepare,
			one: func(ctx context.Context, b *bundle, round string) error {
				return b.NodeTraitAdd(ctx, host(round), custom(round))
			},
			two:  func(ctx context.Context, b *bundle, round string) error { return b.TraitDelete(ctx, custom(round)) },
			ends: [][2]store.Rule{{"", ""}, {"", store.TraitInUse}},
		},
		"its class": {
			again: true, lock: "SELECT FROM resource_classes WHERE name LIKE 'CUSTOM%' FOR UPDATE", prepare: prepare,
			one: func(ctx context.Context, b *bundle, round string) error {
				return edit(ctx, b, host(round), func(n *store.Node) { n.ResourceClass = new("R" + round) })
			},
			two: func(ctx context.Context, b *bundle, round string) error {
				return b.ResourceClassDelete(ctx, custom(round))
			},
			ends: [][2]store.Rule{{"", ""}, {"", store.ClassInUse}},
		},
	})
}

// TestNode_ConcurrentRelease_ReleasedOnce: two concurrent requests release the node of a node allocation, or delete it.
func TestNode_ConcurrentRelease_ReleasedOnce(t *testing.T) {
	t.Parallel()
	free := func(ctx context.Context, b *bundle, round string) error {
		return edit(ctx, b, host(round), func(n *store.Node) { n.InstanceUUID = nil })
	}
	prepare := func(b *bundle, round string) {
		b.must(b.SetBaremetalBackend(b.t.Context(), true))
		b.allocated(host(round), "available", nil)
	}
	meet(t, map[string]pair{
		"by an edit and a tear down": {
			lock: lockNodeRows, prepare: prepare, one: free,
			two: func(ctx context.Context, b *bundle, round string) error {
				_, _, err := b.NodeTransition(ctx, host(round), store.Transition{To: "cleaning", TransitionEffects: store.TransitionEffects{TearDown: true}})
				return err
			},
			ends: [][2]store.Rule{{"", ""}},
		},
		"by an edit and a deletion": {
			lock: lockNodeRows, prepare: prepare, one: free, two: deleteNode,
			ends: [][2]store.Rule{{"", ""}, {"", store.NodeAssociated}},
		},
		"by an edit and the allocation's deletion": {
			lock: lockNodeRows, prepare: prepare, one: free, again: true,
			two: func(ctx context.Context, b *bundle, round string) error {
				return b.NodeAllocationDelete(ctx, named("f instance of "+host(round)).String())
			},
			ends: [][2]store.Rule{{"", ""}, {"", store.NodeAllocationNotFound}},
		},
	})
}

// Each writer decides on the row that it has read, and its write succeeds only if the row is unchanged.
func TestNode_ConcurrentUpdate_OneSucceeds(t *testing.T) {
	t.Parallel()
	const writers = 8
	for name, hold := range map[string]bool{"together": false, "behind a lock": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, writers)
			b.node("a node", "available")
			var operations []func(context.Context) error
			for i := range writers {
				operations = append(operations, func(ctx context.Context) error {
					return edit(ctx, b, "a node", func(n *store.Node) { n.InstanceUUID = new(named(fmt.Sprintf("%x mine", i))) })
				})
			}
			var got map[store.Rule]int
			if hold {
				got = tally(b.behind(lockNodeRows, operations...))
			} else {
				got = tally(b.together(operations...))
			}
			if got[""] != 1 || got[store.NodeAssociated] != writers-1 {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestNode_ConcurrentSameInstanceUUID_OneNodeSucceeds(t *testing.T) {
	t.Parallel()
	const nodes = 6
	b := setup(t, nodes)
	var operations []func(context.Context) error
	for i := range nodes {
		name := fmt.Sprintf("%x node", i)
		b.node(name, "available")
		operations = append(operations, func(ctx context.Context) error {
			return edit(ctx, b, name, func(n *store.Node) { n.InstanceUUID = new(named("f mine")) })
		})
	}
	if got := tally(b.together(operations...)); got[""] != 1 || got[store.NodeInstanceTaken] != nodes-1 {
		t.Errorf("got %v", got)
	}
}

func TestNode_ConcurrentEdits_AllApplied(t *testing.T) {
	t.Parallel()
	const writers = 6
	b := setup(t, writers)
	b.node("a node", "available")
	made := b.port("b port", "a node", 1)
	count := func(members map[string]json.RawMessage) error {
		var n int
		if counted, there := members["count"]; there {
			if err := json.Unmarshal(counted, &n); err != nil {
				return err
			}
		}
		members["count"] = fmt.Appendf(nil, "%d", n+1)
		return nil
	}
	var operations []func(context.Context) error
	for range writers {
		operations = append(operations, func(ctx context.Context) error {
			_, err := b.NodeUpdate(ctx, "a node", func(n *store.Node) error { return count(n.Details) })
			return err
		}, func(ctx context.Context) error {
			_, err := b.PortUpdate(ctx, made.UUID, func(p *store.Port) error { return count(p.Details) })
			return err
		})
	}
	accepted := tally(b.together(operations...))
	if lost := 2*writers - accepted[""] - accepted[store.NodeRevisionConflict] - accepted[store.PortRevisionConflict]; lost != 0 {
		t.Errorf("got %v", accepted)
	}
	node, err := b.NodeShow(t.Context(), "a node")
	b.must(err)
	port, err := b.PortShow(t.Context(), made.UUID)
	b.must(err)
	if got, want := fmt.Sprintf("%s %s", node.Details["count"], port.Details["count"]),
		fmt.Sprintf("%d %d", writers-accepted[store.NodeRevisionConflict], writers-accepted[store.PortRevisionConflict]); got != want {
		t.Errorf("count = %s, want %s", got, want)
	}
}

func TestNode_ConcurrentTransition_OneSucceeds(t *testing.T) {
	t.Parallel()
	const movers = 8
	b := setup(t, movers)
	b.node("a node", "manageable")
	taken := make([]bool, movers)
	var operations []func(context.Context) error
	for i := range movers {
		operations = append(operations, func(ctx context.Context) (err error) {
			_, taken[i], err = b.NodeTransition(ctx, "a node", store.Transition{From: []string{"manageable"}, To: "cleaning", Target: new("available")})
			return err
		})
	}
	if got := tally(b.behind(lockNodeRows, operations...)); got[""] != movers {
		t.Errorf("got %v", got)
	}
	var count int
	for _, one := range taken {
		if one {
			count++
		}
	}
	if count != 1 {
		t.Errorf("executed transitions = %d", count)
	}
}

func TestNode_ConcurrentTraitAdd_NeverExceeds50(t *testing.T) {
	t.Parallel()
	const writers = 8
	b := setup(t, writers)
	b.node("a node", "enroll")
	var traits []string
	for i := range 48 {
		traits = append(traits, fmt.Sprintf("CUSTOM_%02d", i))
	}
	b.must(b.NodeTraitReplace(t.Context(), "a node", traits))
	var operations []func(context.Context) error
	for i := range writers {
		operations = append(operations, func(ctx context.Context) error {
			return b.NodeTraitAdd(ctx, "a node", fmt.Sprintf("CUSTOM_NEW_%d", i))
		})
	}
	if got := tally(b.behind(lockNodeRows, operations...)); got[""] != 2 || got[store.NodeTraitLimit] != writers-2 {
		t.Errorf("got %v", got)
	}
}
