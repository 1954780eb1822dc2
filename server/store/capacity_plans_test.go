package store_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/internal/test/dbtest"
)

// TestInventory_CapacityFilters_UseIndexes checks the plans of the capacities. A branch whose lead is another one has no
// loops. Only sums that no filter
// limits to few providers scan a table, and they scan inventories once.
func TestInventory_CapacityFilters_UseIndexes(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t)
	var trait string
	if err := cloud.Pool.QueryRow(t.Context(), "SELECT id::text FROM traits WHERE name = 'CUSTOM_T7'").Scan(&trait); err != nil {
		t.Fatal(err)
	}
	const none = "'{}'"
	member := "'" + dbtest.NumberedUUID("aa", 77).String() + "'"
	// The order of the arguments is that of db.CapacityShowSelectedParams.
	selected := func(lead string, changes map[int]string) []string {
		arguments := []string{"'" + lead + "'", "0", "100", "NULL", none, none, none, "false", none, none, none, none, none}
		for place, value := range changes {
			arguments[place] = value
		}
		return arguments
	}
	for name, c := range map[string]struct {
		query     string
		arguments []string
		indexes   []string
		scans     []string
	}{
		"all":       {db.CapacityShow, []string{none, none, none, none, none}, nil, []string{"inventories"}},
		"forbidden": {db.CapacityShow, []string{"'{" + trait + "}'", "'{7}'", none, none, none}, []string{"provider_aggregates_aggregate_id_idx", "provider_traits_trait_id_idx"}, []string{"inventories"}},
		"classes":   {db.CapacityShow, []string{none, none, "'{1}'", none, none}, nil, []string{"inventories"}},
		"in_tree":   {db.CapacityShowSelected, selected("in_tree", map[int]string{3: member}), []string{"resource_providers_uuid_key", "resource_providers_root_id_idx", "inventories_pkey"}, nil},
		"trees":     {db.CapacityShowSelected, selected("trees", map[int]string{7: "true"}), []string{"resource_providers_roots_idx", "resource_providers_root_id_idx", "inventories_pkey"}, nil},
		"aggregates": {
			db.CapacityShowSelected, selected("aggregates", map[int]string{4: "'{7,8}'"}),
			[]string{"provider_aggregates_aggregate_id_idx", "resource_providers_root_id_idx", "inventories_pkey"}, nil,
		},
		"member_of": {
			db.CapacityShowSelected, selected("member_of", map[int]string{5: `'{"{7,8}"}'`}),
			[]string{"provider_aggregates_aggregate_id_idx", "resource_providers_root_id_idx", "inventories_pkey"}, nil,
		},
		"required": {
			db.CapacityShowSelected, selected("required", map[int]string{6: `'{"{` + trait + `}"}'`}),
			[]string{"provider_traits_trait_id_idx", "resource_providers_root_id_idx", "inventories_pkey"}, nil,
		},
	} {
		for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
			t.Run(name+" with "+mode, func(t *testing.T) {
				t.Parallel()
				conn, err := cloud.Pool.Acquire(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Release()
				indexes, scanned := map[string]bool{}, map[string]bool{}
				dbtest.Explain(t, conn.Conn(), mode, c.query, c.arguments...).Walk(func(n *dbtest.PlanNode) {
					indexes[n.Index] = true
					if n.Type == "Seq Scan" && n.Relation != "resource_classes" {
						scanned[n.Relation] = true
					}
				})
				for _, index := range c.indexes {
					if !indexes[index] {
						t.Errorf("indexes = %v, want %s", slices.Sorted(maps.Keys(indexes)), index)
					}
				}
				if got := slices.Sorted(maps.Keys(scanned)); !slices.Equal(got, c.scans) {
					t.Errorf("sequential scans of %v, want %v", got, c.scans)
				}
			})
		}
	}
}
