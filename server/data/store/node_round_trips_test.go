package store_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
)

// nodeVisit is the n-th call of a store method, about a node that has a port and no other change, and the number of its
// round trips.
type nodeVisit struct {
	trips int64
	run   func(ctx context.Context, b *bundle, name string, n int) error
}

var nodeVisits = map[string]nodeVisit{
	"NodeShow": {1, func(ctx context.Context, b *bundle, name string, _ int) error {
		_, err := b.NodeShow(ctx, name)
		return err
	}},
	"NodeList": {1, func(ctx context.Context, b *bundle, _ string, _ int) error {
		_, err := b.NodeList(ctx, store.NodeFilter{}, store.Page{Limit: 10})
		return err
	}},
	inAnotherOrder: {1, func(ctx context.Context, b *bundle, _ string, _ int) error {
		_, err := b.NodeList(ctx, store.NodeFilter{}, store.Page{Limit: 10, SortKey: "name", SortDir: "desc"})
		return err
	}},
	"NodeList after the last, which checks the marker": {2, func(ctx context.Context, b *bundle, name string, _ int) error {
		_, err := b.NodeList(ctx, store.NodeFilter{Owner: new("unknown")}, store.Page{Limit: 10, Marker: new(named(name))})
		return err
	}},
	"NodeCreate": {1, func(ctx context.Context, b *bundle, name string, n int) error {
		_, err := b.NodeCreate(ctx, bareNode(fmt.Sprintf("%s new %d", name, n), "enroll"))
		return err
	}},
	"NodeUpdate, which reads and writes": {2, func(ctx context.Context, b *bundle, name string, n int) error {
		return edit(ctx, b, name, func(of *store.Node) { of.Owner = new(fmt.Sprint(n)) })
	}},
	"NodeTransition": {1, func(ctx context.Context, b *bundle, name string, _ int) error {
		_, _, err := b.NodeTransition(ctx, name, store.Transition{To: "cleaning", Target: new("available"), TransitionEffects: store.TransitionEffects{TearDown: true}})
		return err
	}},
	"NodeMaintenance": {1, func(ctx context.Context, b *bundle, name string, _ int) error {
		return b.NodeMaintenance(ctx, name, true, nil)
	}},
	"NodeDelete": {1, func(ctx context.Context, b *bundle, name string, n int) error {
		if n == 0 {
			name = b.allocated("d node", "active", nil).UUID.String()
			b.must(b.NodeMaintenance(ctx, name, true, nil))
		}
		return b.NodeDelete(ctx, name)
	}},
	"NodeTraitList": {1, func(ctx context.Context, b *bundle, name string, _ int) error {
		_, err := b.NodeTraitList(ctx, name)
		return err
	}},
	"NodeTraitReplace": {1, func(ctx context.Context, b *bundle, name string, n int) error {
		return b.NodeTraitReplace(ctx, name, []string{fmt.Sprintf("CUSTOM_%d", n)})
	}},
	"NodeTraitAdd": {1, func(ctx context.Context, b *bundle, name string, n int) error {
		return b.NodeTraitAdd(ctx, name, fmt.Sprintf("CUSTOM_%d", n))
	}},
	"NodeTraitDelete": {1, func(ctx context.Context, b *bundle, name string, n int) error {
		if n == 0 {
			b.must(b.NodeTraitReplace(ctx, name, []string{"CUSTOM_0", "CUSTOM_1"}))
		}
		return b.NodeTraitDelete(ctx, name, fmt.Sprintf("CUSTOM_%d", n))
	}},
	"NodeTraitClear": {1, func(ctx context.Context, b *bundle, name string, _ int) error { return b.NodeTraitClear(ctx, name) }},
	"PortShow": {1, func(ctx context.Context, b *bundle, name string, _ int) error {
		_, err := b.PortShow(ctx, named(name+" port"))
		return err
	}},
	"PortList": {1, func(ctx context.Context, b *bundle, name string, _ int) error {
		_, err := b.PortList(ctx, store.PortFilter{Node: &name}, store.Page{Limit: 10})
		return err
	}},
	"PortCreate": {1, func(ctx context.Context, b *bundle, name string, n int) error {
		made := fmt.Sprintf("%s port %d", name, n)
		_, err := b.PortCreate(ctx, store.Port{UUID: named(made), NodeUUID: named(name), Address: made})
		return err
	}},
	"PortUpdate, which reads and writes": {2, func(ctx context.Context, b *bundle, name string, n int) error {
		_, err := b.PortUpdate(ctx, named(name+" port"), func(p *store.Port) error { p.Address = fmt.Sprintf("%s %d", name, n); return nil })
		return err
	}},
	"PortDelete": {1, func(ctx context.Context, b *bundle, name string, n int) error {
		if n == 0 {
			b.port("e port of "+name, name, 200)
			return b.PortDelete(ctx, named("e port of "+name))
		}
		return b.PortDelete(ctx, named(name+" port"))
	}},
}

// inAnotherOrder is the call that reads all nodes.
const inAnotherOrder = "NodeList in another order"

// visited calls an operation twice, on its own node, and counts the second call, when its statements are prepared.
func (b *bundle) visited(call string, number int) int64 {
	b.t.Helper()
	name := "a node of " + call
	b.node(name, "available")
	b.port(name+" port", name, number)
	var count int64
	for n := range 2 {
		ctx, trips := postgres.CountRoundTrips(b.t.Context())
		b.must(nodeVisits[call].run(ctx, b, name, n))
		count = trips.Count()
	}
	return count
}

func TestNode_Operations_TakeExpectedRoundTrips(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	for i, call := range slices.Sorted(maps.Keys(nodeVisits)) {
		t.Run(call, func(t *testing.T) {
			b.t = t
			if got := b.visited(call, i); got != nodeVisits[call].trips {
				t.Errorf("round trips = %d", got)
			}
		})
	}
}

// nodeScans counts the sequential scans of the tables that grow with the number of nodes.
func nodeScans(t *testing.T, hall *dbtest.DB) (count int64) {
	t.Helper()
	err := hall.Pool.QueryRow(t.Context(), `SELECT sum(seq_scan) FROM pg_stat_user_tables
		WHERE relname IN ('nodes', 'node_traits', 'ports', 'node_allocations')`).Scan(&count)
	if err != nil {
		t.Fatal(err)
	}
	return count
}

// The test runs the functions too, and everything except the list in another order.
func TestNode_Operations_NoSequentialScan(t *testing.T) {
	t.Parallel()
	hall := newHall(t)
	hall.AwaitCounters(t)
	before := nodeScans(t, hall)
	// The only connection is closed before the query: it reports its counters then.
	opened, err := store.Open(t.Context(), postgres.Options{URL: hall.URL, MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	b := &bundle{Store: opened, t: t, db: hall}
	for i, call := range slices.Sorted(maps.Keys(nodeVisits)) {
		if call != inAnotherOrder {
			b.visited(call, i)
		}
	}
	for _, filter := range []store.NodeFilter{
		{InstanceUUID: new(dbtest.NumberedUUID("ac", 4))}, {Conductor: new("me")}, {InstanceUUID: new(uuid.UUID)},
		{ResourceClass: new("class-8"), ProvisionState: new("available"), Associated: new(false), Maintenance: new(false)},
	} {
		if _, err := b.NodeList(t.Context(), filter, store.Page{Limit: 10}); err != nil {
			t.Error(err)
		}
	}
	opened.Close()
	if count := nodeScans(t, hall) - before; count > 0 {
		t.Errorf("sequential scans = %d, want 0", count)
	}
}
