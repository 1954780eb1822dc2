package store_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/internal/test/dbtest"
)

// TestExplain_NodeAllocationStatement_ScansNodesOnce pins the plan of the statement that judges 10,000 nodes.
func TestExplain_NodeAllocationStatement_ScansNodesOnce(t *testing.T) {
	t.Parallel()
	for _, placement := range []bool{false, true} {
		b := newMachines(t, placement)
		for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
			t.Run(fmt.Sprintf("as providers: %t, with %s", placement, mode), func(t *testing.T) {
				conn, err := b.db.Pool.Acquire(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Release()
				scans, indexes := map[string]float64{}, map[string]bool{}
				plan := dbtest.Explain(t, conn.Conn(), mode, db.NodeAllocationExplain, arguments[db.NodeAllocationExplainParams](map[string]string{
					"Classes": "{gold}", "Listable": "true", "CandidateNodes": "{}", "Traits": "{CUSTOM_COMMON,!CUSTOM_RARE}",
					"TraitNames": "{CUSTOM_COMMON,CUSTOM_RARE}",
				})...)
				plan.Walk(func(n *dbtest.PlanNode) {
					if n.Type == "Seq Scan" && n.Relation != "baremetal_backend" && n.Relation != "resource_classes" {
						scans[n.Relation] += n.Loops
					}
					if n.Index != "" {
						indexes[n.Index] = true
					}
				})
				if len(scans) != 1 || scans["nodes"] != 1 {
					t.Errorf("sequential scans of %v, want one of nodes", scans)
				}
				used := func(names ...string) bool {
					return slices.ContainsFunc(names, func(name string) bool { return indexes[name] })
				}
				if !used("node_traits_pkey", "node_traits_trait_idx") || placement && (!used("resource_providers_uuid_key") || !used("inventories_pkey")) {
					t.Errorf("indexes = %v", slices.Sorted(maps.Keys(indexes)))
				}
			})
		}
	}
}
