package store_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/internal/test/dbtest"
)

// TestProvider_TreeStatements_UseIndexes counts the sequential scans of the statements inside tree_replace and
// reshape_patch: no statement reads a whole table that grows with the cloud. A connection keeps the plans of its first
// tree, so they must not depend on its size. A tree without differences takes no transaction id.
func TestProvider_TreeStatements_UseIndexes(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t)
	root, child, consumer := dbtest.NumberedUUID("aa", 11), dbtest.NumberedUUID("aa", 12), dbtest.NumberedUUID("cc", 12)
	added := dbtest.NumberedUUID("aa", 20001)
	tree := func(providers, deleted string, amount int64) func(pgx.Tx) error {
		return func(tx pgx.Tx) error {
			_, err := db.New().TreeReplace(t.Context(), tx, db.TreeReplaceParams{
				Root: root, Tree: json.RawMessage(providers), Deleted: json.RawMessage(deleted),
				Consumers: []uuid.UUID{consumer}, Projects: []string{"project-13"}, Users: []string{"user"}, Types: []string{""},
				Generations: []int64{1}, Unseen: []bool{false},
				Owners: []int32{1}, Providers: []uuid.UUID{child}, Classes: []string{"VCPU"}, Amounts: []int64{amount},
			})
			return err
		}
	}
	same := `[{"uuid": "` + root.String() + `", "name": "host-11", "parent": null, "generation": 0},
		{"uuid": "` + child.String() + `", "name": "host-12", "parent": "` + root.String() + `", "generation": 0, "traits": ["CUSTOM_T13"]}]`
	other := `[{"uuid": "` + added.String() + `", "name": "new", "parent": "` + root.String() + `", "generation": null,
		"inventories": [{"class": "VCPU", "total": 4, "reserved": 0, "min_unit": 1, "max_unit": 4, "step_size": 1, "allocation_ratio": 1}]},
		{"uuid": "` + child.String() + `", "name": "host-12b", "parent": "` + added.String() + `", "generation": 0, "traits": ["CUSTOM_T1"],
		"aggregates": ["` + dbtest.NumberedUUID("a9", 7).String() + `"]}]`
	var large []string
	for n := range 1000 {
		large = append(large, fmt.Sprintf(`{"uuid": "%s", "name": "new-%d", "parent": "%s", "generation": null, "traits": ["CUSTOM_T1"],
			"inventories": [{"class": "VCPU", "total": 4, "reserved": 0, "min_unit": 1, "max_unit": 4, "step_size": 1, "allocation_ratio": 1}],
			"aggregates": ["%s"]}`, dbtest.NumberedUUID("aa", 30000+n), n, root, dbtest.NumberedUUID("a9", 7)))
	}
	for name, run := range map[string]func(pgx.Tx) error{
		"tree without differences": tree(same, `[]`, 1),
		"tree with differences":    tree(other, `[]`, 2),
		"large tree":               tree("["+strings.Join(large, ",")+"]", `[]`, 1),
		"reshape patch": func(tx pgx.Tx) error {
			_, err := db.New().ReshapePatch(t.Context(), tx, db.ReshapePatchParams{
				Inventories: json.RawMessage(`[{"provider": "` + child.String() + `", "generation": 0, "records": [{"class": "VCPU", "total": 50}], "removed": ["DISK_GB"]}]`),
				Consumers:   []uuid.UUID{consumer}, Projects: []string{""}, Users: []string{""}, Types: []string{""},
				Generations: []int64{1}, Unseen: []bool{false}, Removed: []bool{false},
				Owners: []int32{1}, Providers: []uuid.UUID{child}, Classes: []string{"VCPU"}, Amounts: []int64{3},
			})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			tx, err := cloud.Pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback(t.Context()) //nolint:errcheck // nothing is kept
			if _, err := tx.Exec(t.Context(), "DISCARD PLANS; SET LOCAL plan_cache_mode = force_generic_plan"); err != nil {
				t.Fatal(err)
			}
			if err := run(tx); err != nil {
				t.Fatal(err)
			}
			var isRead bool
			if err := tx.QueryRow(t.Context(), "SELECT pg_current_xact_id_if_assigned() IS NULL").Scan(&isRead); err != nil {
				t.Fatal(err)
			}
			if want := name == "tree without differences"; isRead != want {
				t.Errorf("no transaction id = %t, want %t", isRead, want)
			}
			rows, err := tx.Query(t.Context(), `SELECT relname::text FROM pg_stat_xact_user_tables WHERE seq_scan > 0 AND relname IN
				('resource_providers', 'provider_generations', 'inventories', 'provider_traits', 'provider_aggregates', 'consumers', 'allocations')`)
			if err != nil {
				t.Fatal(err)
			}
			scanned, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil || len(scanned) > 0 {
				t.Errorf("sequential scans of %v; error %v", scanned, err)
			}
		})
	}
}

// TestProvider_TreeShown_UsesIndexes pins the indexes of the statements of a tree. The sharing provider has a tenth of all
// consumers.
func TestProvider_TreeShown_UsesIndexes(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t)
	if _, err := cloud.Pool.Exec(t.Context(), `
		INSERT INTO provider_traits SELECT 5001, trait.id FROM traits AS trait WHERE trait.name = 'MISC_SHARES_VIA_AGGREGATE';
		INSERT INTO provider_aggregates (provider_id, aggregate_id) SELECT 5001, 13 WHERE NOT EXISTS (
			SELECT FROM provider_aggregates AS member WHERE member.provider_id = 5001 AND member.aggregate_id = 13);
		INSERT INTO allocations (consumer_id, provider_id, class_id, used)
		SELECT consumer.id, 5001, 2, 1 FROM consumers AS consumer WHERE consumer.id % 10 = 0;
		INSERT INTO node_allocations (uuid, resource_class) SELECT gen_random_uuid(), 'gold' FROM generate_series(1, 2000);
		ANALYZE`); err != nil {
		t.Fatal(err)
	}
	provider := "'" + dbtest.NumberedUUID("aa", 12).String() + "'"
	for name, c := range map[string]struct {
		query     string
		arguments []string
		indexes   []string
	}{
		"providers":        {db.TreeShow, []string{"true", "true", "true", provider, "false"}, []string{"resource_providers_uuid_key", "resource_providers_root_id_idx", "inventories_pkey"}},
		"with sharing":     {db.TreeShow, []string{"true", "true", "true", provider, "true"}, []string{"resource_providers_root_id_idx", "provider_aggregates_sharing_idx"}},
		"consumers":        {db.TreeConsumerList, []string{provider, "false", "10001"}, []string{"resource_providers_root_id_idx", "allocations_provider_id_idx", "allocations_pkey", "consumers_pkey"}},
		"sharing only too": {db.TreeConsumerList, []string{provider, "true", "10001"}, []string{"provider_aggregates_sharing_idx", "allocations_provider_id_idx", "allocations_pkey", "consumers_pkey"}},
	} {
		for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
			t.Run(name+" with "+mode, func(t *testing.T) {
				t.Parallel()
				conn, err := cloud.Pool.Acquire(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Release()
				indexes := map[string]bool{}
				dbtest.Explain(t, conn.Conn(), mode, c.query, c.arguments...).Walk(func(n *dbtest.PlanNode) {
					indexes[n.Index] = true
					if n.Type == "Seq Scan" && isLarge[n.Relation] {
						t.Errorf("sequential scan of %s", n.Relation)
					}
				})
				for _, index := range c.indexes {
					if !indexes[index] {
						t.Errorf("the plan does not use %s", index)
					}
				}
			})
		}
	}
}

// TestProvider_NamesOfParts_UseKeys checks that the functions of a tree and a list read no table whole, also not the small
// ones with the names.
func TestProvider_NamesOfParts_UseKeys(t *testing.T) {
	t.Parallel()
	tx, err := newCloud(t).Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context()) //nolint:errcheck // nothing is kept
	var traits, aggregates int
	if err := tx.QueryRow(t.Context(), `SELECT sum(cardinality(provider_trait_names(provider.id))), sum(cardinality(provider_aggregate_uuids(provider.id)))
		FROM resource_providers AS provider WHERE provider.id BETWEEN 1 AND 100`).Scan(&traits, &aggregates); err != nil || traits == 0 || aggregates == 0 {
		t.Fatalf("%d traits and %d aggregates, error %v; want some of each", traits, aggregates, err)
	}
	var scanned []string
	if err := tx.QueryRow(t.Context(), `SELECT array_agg(relname::text) FROM pg_stat_xact_user_tables WHERE seq_scan > 0`).Scan(&scanned); err != nil || scanned != nil {
		t.Errorf("sequential scans of %v; error %v", scanned, err)
	}
}

// isLarge are the tables that grow with the cloud.
var isLarge = map[string]bool{
	"resource_providers": true, "provider_generations": true, "inventories": true, "provider_traits": true,
	"provider_aggregates": true, "consumers": true, "allocations": true, "node_allocations": true,
}
