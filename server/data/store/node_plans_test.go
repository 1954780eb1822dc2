package store_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/server/data/store"
)

// machines are 10,000 nodes of two classes, and one of a third; half of them are assigned, every second of the others
// has a common trait, and every thousandth a rare one. There are 2,000 node allocations.
const machines = `
INSERT INTO nodes (uuid, name, driver, resource_class, provision_state, power_state, instance_uuid)
SELECT ('ee000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'node-' || n, 'fake-hardware',
    CASE WHEN n = 9998 THEN 'tin' WHEN n % 10 = 0 THEN 'silver' ELSE 'gold' END, CASE WHEN n % 2 = 0 THEN 'available' ELSE 'active' END, 'power off',
    CASE WHEN n % 2 = 1 THEN gen_random_uuid() END
FROM generate_series(1, 10000) AS n;
INSERT INTO node_traits SELECT id, 'CUSTOM_COMMON' FROM nodes WHERE id % 4 = 0;
INSERT INTO node_traits SELECT id, 'CUSTOM_RARE' FROM nodes WHERE id % 1000 = 2;
INSERT INTO node_allocations (uuid, node_id, state, resource_class)
SELECT instance_uuid, id, 'active', resource_class FROM nodes WHERE instance_uuid IS NOT NULL AND id < 4000;
ANALYZE;`

// theirProviders are what SetBaremetalBackend creates for them, created faster.
const theirProviders = `
INSERT INTO resource_classes (name) VALUES ('CUSTOM_GOLD'), ('CUSTOM_SILVER'), ('CUSTOM_TIN');
INSERT INTO traits (name) VALUES ('CUSTOM_COMMON'), ('CUSTOM_RARE');
INSERT INTO resource_providers (id, uuid, name, root_id) OVERRIDING SYSTEM VALUE SELECT id, uuid, uuid::text, id FROM nodes;
SELECT setval(pg_get_serial_sequence('resource_providers', 'id'), 10001);
INSERT INTO provider_generations (provider_id, updated_at) SELECT id, now() FROM nodes;
INSERT INTO provider_traits SELECT present.node_id, trait.id FROM node_traits AS present JOIN traits AS trait ON trait.name = present.trait;
INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
SELECT node.id, class.id, node.id, 1, CASE WHEN node.instance_uuid IS NULL THEN 0 ELSE 1 END, 1, 1, 1, 1
FROM nodes AS node JOIN resource_classes AS class ON class.name = 'CUSTOM_' || upper(node.resource_class);
UPDATE baremetal_backend SET placement = true;
ANALYZE;`

// newMachines is a store with one connection on those nodes.
func newMachines(t *testing.T, placement bool) *bundle {
	t.Helper()
	b := setup(t, 1)
	b.execute(machines)
	if placement {
		b.execute(theirProviders)
	}
	b.must(b.ConductorRegister(t.Context(), "me", nil))
	return b
}

// TestNodeAllocation_Decision_ReadsFewPages counts the pages that all statements of all functions read. A scan or sort
// of the free nodes of the class would read a thousand.
func TestNodeAllocation_Decision_ReadsFewPages(t *testing.T) {
	t.Parallel()
	for placement, limit := range map[bool]int{false: 200, true: 500} {
		t.Run(fmt.Sprintf("as providers: %t", placement), func(t *testing.T) {
			t.Parallel()
			b := newMachines(t, placement)
			conn, err := pgx.Connect(t.Context(), b.db.URL)
			b.must(err)
			defer func() { _ = conn.Close(t.Context()) }()
			decide := func(request store.NodeAllocationRequest) (pages int, ends string) {
				t.Helper()
				id := b.asked(request).UUID
				var plan []byte
				b.must(conn.QueryRow(t.Context(), fmt.Sprintf(
					"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT node_allocation_process('%s', 'me')", id),
					pgx.QueryExecModeSimpleProtocol).Scan(&plan))
				var read []struct {
					Plan struct {
						Hit  int `json:"Shared Hit Blocks"`
						Read int `json:"Shared Read Blocks"`
					}
				}
				b.must(json.Unmarshal(plan, &read))
				shown, err := b.NodeAllocationShow(t.Context(), id.String())
				b.must(err)
				return read[0].Plan.Hit + read[0].Plan.Read, shown.State
			}
			// The first calls of a session read the catalogs.
			rare := store.NodeAllocationRequest{ResourceClass: "gold", Traits: []string{"CUSTOM_RARE"}}
			decide(rare)
			decide(store.NodeAllocationRequest{ResourceClass: "copper"})
			for name, c := range map[string]struct {
				request store.NodeAllocationRequest
				ends    string
			}{
				"a class":          {store.NodeAllocationRequest{ResourceClass: "gold"}, "active"},
				"a common trait":   {store.NodeAllocationRequest{ResourceClass: "gold", Traits: []string{"CUSTOM_COMMON"}}, "active"},
				"a rare trait":     {rare, "active"},
				"one of two nodes": {store.NodeAllocationRequest{ResourceClass: "gold", CandidateNodes: []string{"node-8", "node-12"}}, "active"},
				"a node's name":    {store.NodeAllocationRequest{ResourceClass: "gold", Name: new("node-6")}, "active"},
				"the last one":     {store.NodeAllocationRequest{ResourceClass: "tin"}, "active"},
				"nothing there":    {store.NodeAllocationRequest{ResourceClass: "copper"}, "error"},
			} {
				pages, ends := decide(c.request)
				if name == "nothing there" {
					pages -= 228 // of nodes: whether a node has the class
				}
				if pages > limit || ends != c.ends {
					t.Errorf("%s: %d pages, %s", name, pages, ends)
				}
			}
		})
	}
}

// TestNodeAllocation_Operations_NoSequentialScan runs the store's operations on node allocations and reads the scan
// counters of PostgreSQL. It omits lists in another order than that of the ids, and errors with numbers.
func TestNodeAllocation_Operations_NoSequentialScan(t *testing.T) {
	t.Parallel()
	for _, placement := range []bool{false, true} {
		t.Run(fmt.Sprintf("as providers: %t", placement), func(t *testing.T) {
			t.Parallel()
			b := newMachines(t, placement)
			ctx := t.Context()
			scans := func() []string {
				return b.texts(`SELECT format('%s %s', relname, seq_scan) FROM pg_stat_user_tables
					WHERE relname IN ('nodes', 'node_traits', 'node_allocations', 'resource_providers', 'provider_generations',
						'inventories', 'provider_traits') ORDER BY relname`)
			}
			b.db.AwaitCounters(t)
			before := scans()
			for i := range 5 {
				b.decided(store.NodeAllocationRequest{ResourceClass: "gold", Traits: []string{"CUSTOM_COMMON"}, Owner: new("unknown")})
				name := fmt.Sprintf("one %d", i)
				one := b.decided(store.NodeAllocationRequest{Name: &name, ResourceClass: "gold", Traits: []string{"CUSTOM_RARE"}})
				_, err := b.NodeAllocationUpdate(ctx, name, func(one *store.NodeAllocation) error { one.Name = nil; return nil })
				b.must(err)
				b.must(b.NodeTraitAdd(ctx, one.NodeUUID.String(), "CUSTOM_MORE"))
				for _, filter := range []store.NodeAllocationFilter{{}, {Node: new(one.NodeUUID.String())}} {
					_, err := b.NodeAllocationList(ctx, filter, store.Page{Limit: 10, Marker: &one.UUID})
					b.must(err)
				}
				_, err = b.NodeAllocationShowByNode(ctx, one.NodeUUID.String())
				b.must(err)
				_, err = b.NodeAllocationListPending(ctx, "me")
				b.must(err)
				b.must(b.NodeAllocationDelete(ctx, one.UUID.String()))
				b.must(b.NodeMaintenance(ctx, one.NodeUUID.String(), true, nil))
				b.must(b.NodeDelete(ctx, one.NodeUUID.String()))
			}
			_, _, err := b.ConductorTakeOver(ctx, "me", 0)
			b.must(err)
			b.Close() // closing reports the counters
			lines(t, scans(), before...)
		})
	}
}
