package store_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/internal/test/dbtest"
)

// TestInventory_CapacityFilters_UseIndexes checks the plans of the capacities. A branch whose lead is another one has no
// loops. Sums of filters that lead to few providers scan no table. Others scan inventories once, aggregate by a hash, and
// read nothing else by provider; only further sets and groups of many trees scan the providers too.
func TestInventory_CapacityFilters_UseIndexes(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t)
	var trait, traits string
	if err := cloud.Pool.QueryRow(t.Context(), "SELECT max(id) FILTER (WHERE name = 'CUSTOM_T7')::text, string_agg(id::text, ',') FROM traits WHERE name LIKE 'CUSTOM_T%'").
		Scan(&trait, &traits); err != nil {
		t.Fatal(err)
	}
	const none = "'{}'"
	member := "'" + dbtest.NumberedUUID("aa", 77).String() + "'"
	// The order of the arguments is that of db.CapacityShowParams.
	filter := func(lead string, changes map[int]string) []string {
		arguments := []string{"'" + lead + "'", "0", "100", "NULL", none, none, none, "false", none, none, none, none, none}
		for place, value := range changes {
			arguments[place] = value
		}
		return arguments
	}
	// Aggregates 2 and 12 have the roots of a fifth of all trees.
	for name, c := range map[string]struct {
		arguments []string
		indexes   []string
		scans     []string
	}{
		"all":       {filter("", nil), nil, []string{"inventories"}},
		"forbidden": {filter("", map[int]string{8: "'{" + trait + "}'", 9: "'{7}'"}), []string{"provider_aggregates_aggregate_id_idx", "provider_traits_trait_id_idx"}, []string{"inventories"}},
		"classes":   {filter("", map[int]string{10: "'{1}'"}), nil, []string{"inventories"}},
		"in_tree":   {filter("in_tree", map[int]string{3: member}), []string{"resource_providers_uuid_key", "resource_providers_root_id_idx", "inventories_pkey"}, nil},
		"trees":     {filter("trees", map[int]string{7: "true"}), []string{"resource_providers_roots_idx", "resource_providers_root_id_idx", "inventories_pkey"}, nil},
		"aggregates": {
			filter("aggregates", map[int]string{4: "'{7,8}'"}),
			[]string{"provider_aggregates_aggregate_id_idx", "resource_providers_root_id_idx", "inventories_pkey"}, nil,
		},
		"member_of": {
			filter("member_of", map[int]string{5: `'{"{7,8}"}'`}),
			[]string{"provider_aggregates_aggregate_id_idx", "resource_providers_root_id_idx", "inventories_pkey"}, nil,
		},
		"required": {
			filter("required", map[int]string{6: `'{"{` + trait + `}"}'`}),
			[]string{"provider_traits_trait_id_idx", "resource_providers_root_id_idx", "inventories_pkey"}, nil,
		},
		"aggregates of many": {filter("aggregates", map[int]string{4: "'{2,12}'"}), []string{"provider_aggregates_aggregate_id_idx"}, []string{"inventories", "resource_providers"}},
		"member_of many":     {filter("member_of", map[int]string{5: `'{"{2,12}"}'`}), []string{"provider_aggregates_aggregate_id_idx"}, []string{"inventories"}},
		"required of many":   {filter("required", map[int]string{6: `'{"{` + traits + `}"}'`}), []string{"provider_traits_trait_id_idx"}, []string{"inventories"}},
		"two sets of many": {
			filter("member_of", map[int]string{5: `'{"{2,12}","{2,7}"}'`}), []string{"provider_aggregates_aggregate_id_idx"},
			[]string{"inventories", "resource_providers"},
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
				indexes, scanned, sorted := map[string]bool{}, map[string]bool{}, 0.0
				dbtest.Explain(t, conn.Conn(), mode, db.CapacityShow, c.arguments...).Walk(func(n *dbtest.PlanNode) {
					indexes[n.Index] = true
					if n.Type == "Sort" {
						sorted = max(sorted, n.Rows)
					}
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
				if c.scans != nil && (sorted > 4000 || indexes["inventories_pkey"] || indexes["resource_providers_root_id_idx"]) {
					t.Errorf("indexes = %v, %g rows are sorted, want no look-ups and no sort of inventories", slices.Sorted(maps.Keys(indexes)), sorted)
				}
			})
		}
	}
}
