package store_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
)

// cloud fills a database with 10,000 providers in trees of ten, three inventories each, traits, aggregates and 10,000
// consumers, and gathers statistics.
const cloud = `
INSERT INTO resource_classes (id, name) VALUES (0, 'VCPU'), (1, 'MEMORY_MB'), (2, 'DISK_GB') ON CONFLICT DO NOTHING;
INSERT INTO traits (name) SELECT 'CUSTOM_T' || n FROM generate_series(1, 300) AS n;
INSERT INTO aggregates (uuid) SELECT ('a9000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid FROM generate_series(1, 100) AS n;
INSERT INTO resource_providers (id, uuid, name, root_id, parent_id) OVERRIDING SYSTEM VALUE
SELECT n, ('aa000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'host-' || n,
    n - (n - 1) % 10, CASE WHEN (n - 1) % 10 > 0 THEN n - (n - 1) % 10 END
FROM generate_series(1, 10000) AS n;
SELECT setval(pg_get_serial_sequence('resource_providers', 'id'), 10001);
INSERT INTO provider_generations (provider_id, updated_at) SELECT id, now() FROM resource_providers;
INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
SELECT provider.id, class.id, provider.root_id, 10 + provider.id % 1000, 0, 1, 2147483647, 1, 1
FROM resource_providers AS provider, resource_classes AS class WHERE class.id < 3;
INSERT INTO provider_traits
SELECT provider.id, trait.id FROM resource_providers AS provider
JOIN traits AS trait ON trait.name = 'CUSTOM_T' || (1 + provider.id % 300);
INSERT INTO provider_aggregates
SELECT provider.id, aggregate.id FROM resource_providers AS provider
JOIN aggregates AS aggregate ON aggregate.id = 1 + provider.id % 100;
INSERT INTO projects (external_id) SELECT 'project-' || n FROM generate_series(1, 100) AS n;
INSERT INTO users (external_id) VALUES ('user');
INSERT INTO consumers (uuid, generation, project_id, user_id)
SELECT ('cc000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 1, 1 + n % 100, 1 FROM generate_series(1, 10000) AS n;
INSERT INTO allocations (consumer_id, provider_id, class_id, used)
SELECT consumer.id, consumer.id, 0, 1 FROM consumers AS consumer;
UPDATE inventories SET used = 1 WHERE class_id = 0;
ANALYZE;`

func newCloud(t *testing.T) *dbtest.DB {
	t.Helper()
	return dbtest.NewLoaded(t, cloud)
}

func TestProvider_ListFilters_UseIndexes(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t)
	// The order of the arguments is that of db.ProviderListParams.
	filter := func(driver string, changes map[int]string) []string {
		arguments := []string{"NULL", "NULL", "NULL", "'{}'", "'{}'", "'[]'", "'[]'", "'{}'", "'{}'", "'" + driver + "'"}
		for place, value := range changes {
			arguments[place] = value
		}
		return arguments
	}
	for name, c := range map[string]struct {
		arguments []string
		index     string
	}{
		"uuid":      {filter("uuid", map[int]string{0: "'" + dbtest.NumberedUUID("aa", 77).String() + "'"}), "resource_providers_uuid_key"},
		"name":      {filter("name", map[int]string{1: "'host-77'"}), "resource_providers_name_key"},
		"in_tree":   {filter("in_tree", map[int]string{2: "'" + dbtest.NumberedUUID("aa", 77).String() + "'"}), "resource_providers_root_id_idx"},
		"resources": {filter("resources", map[int]string{3: "'{0}'", 4: "'{1005}'"}), "inventories_class_id_free_idx"},
		"member_of": {filter("member_of", map[int]string{5: "'[[7]]'"}), "provider_aggregates_aggregate_id_idx"},
		"required":  {filter("required", map[int]string{6: "'[[7]]'"}), "provider_traits_trait_id_idx"},
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
				dbtest.Explain(t, conn.Conn(), mode, db.ProviderList, c.arguments...).Walk(func(n *dbtest.PlanNode) {
					if n.Index != "" {
						indexes[n.Index] = true
					}
					if n.Type == "Seq Scan" {
						scanned[n.Relation] = true
					}
				})
				if !indexes[c.index] {
					t.Errorf("indexes = %v, want %s", slices.Sorted(maps.Keys(indexes)), c.index)
				}
				if len(scanned) > 0 {
					t.Errorf("sequential scans of %v", slices.Sorted(maps.Keys(scanned)))
				}
			})
		}
	}
}

// TestTrait_ListAssociated_ReadsOneIndexEntryPerTrait has few traits that many providers have. A search for the first provider
// of a trait that none has would read all rows otherwise, once for each such trait: 11 s with 230,000 rows.
func TestTrait_ListAssociated_ReadsOneIndexEntryPerTrait(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t)
	if _, err := cloud.Pool.Exec(t.Context(), `TRUNCATE provider_traits; INSERT INTO provider_traits (provider_id, trait_id)
		SELECT provider.id, trait.id FROM resource_providers AS provider, traits AS trait WHERE trait.name IN ('CUSTOM_T1', 'CUSTOM_T2');
		ANALYZE provider_traits`); err != nil {
		t.Fatal(err)
	}
	conn, err := cloud.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
		for _, associated := range []string{"true", "false"} {
			plan := dbtest.Explain(t, conn.Conn(), mode, db.TraitList, "NULL", "NULL", associated)
			if got := plan.Rows == 2; got != (associated == "true") {
				t.Errorf("%s, associated=%s: %v traits; 2 have providers", mode, associated, plan.Rows)
			}
			plan.Walk(func(n *dbtest.PlanNode) {
				if n.Relation == "provider_traits" && n.Index != "provider_traits_trait_id_idx" {
					t.Errorf("%s, associated=%s: %s of provider_traits", mode, associated, n.Type)
				}
			})
		}
	}
}

// scans counts the sequential scans of the tables that grow with the cloud.
func scans(t *testing.T, cloud *dbtest.DB) map[string]int64 {
	t.Helper()
	rows, err := cloud.Pool.Query(t.Context(), `SELECT relname, seq_scan FROM pg_stat_user_tables WHERE relname IN
		('resource_providers', 'provider_generations', 'inventories', 'allocations', 'consumers', 'provider_traits', 'provider_aggregates')`)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int64{}
	var table string
	var count int64
	if _, err := pgx.ForEachRow(rows, []any{&table, &count}, func() error { found[table] = count; return nil }); err != nil {
		t.Fatal(err)
	}
	return found
}

// TestArchitecture_StoreOperations_NoSequentialScan runs every store method except the unfiltered list on the cloud,
// including the SQL functions, and reads the scan counters of PostgreSQL.
func TestArchitecture_StoreOperations_NoSequentialScan(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t)
	cloud.AwaitCounters(t)
	before := scans(t, cloud)
	// The only connection is closed before the query: it reports its counters then.
	opened, err := store.Open(t.Context(), postgres.Options{URL: cloud.URL, MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	everything(t, opened)
	opened.Close()
	for table, count := range scans(t, cloud) {
		if count > before[table] {
			t.Errorf("sequential scans of %s = %d, want 0", table, count-before[table])
		}
	}
}

func TestServer_StorePoolerMode_WorksWithoutPreparedStatements(t *testing.T) {
	t.Parallel()
	opened, err := store.Open(t.Context(), postgres.Options{URL: newCloud(t).URL, MaxConns: 1, Pooler: true})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	everything(t, opened)
}

// onSeveral returns a claim of a new consumer for one unit on each of the numbered providers.
func onSeveral(consumer uuid.UUID, class string, providers ...int) []store.Claim {
	made := store.Claim{Consumer: consumer, ProjectID: "project-1", UserID: "user"}
	for _, number := range providers {
		made.Allocations = append(made.Allocations, store.Allocation{Provider: dbtest.NumberedUUID("aa", number), Class: class, Amount: 1})
	}
	return []store.Claim{made}
}

// everything runs each operation of the store on one tree.
func everything(t *testing.T, s *store.Store) {
	t.Helper()
	ctx := t.Context()
	root, child, consumer, project := dbtest.NumberedUUID("aa", 101), dbtest.NumberedUUID("aa", 102), dbtest.NumberedUUID("cc", 102), "project-1"
	one := int64(1)
	record := store.Inventory{Class: "DISK_GB", Total: 10, MinUnit: 1, MaxUnit: 10, StepSize: 1, AllocationRatio: 1}
	claim := func(generation *int64, provider uuid.UUID) []store.Claim {
		return []store.Claim{{Consumer: consumer, ProjectID: project, UserID: "user", Type: "INSTANCE", Generation: generation,
			Allocations: []store.Allocation{{Provider: provider, Class: "VCPU", Amount: 1}}}}
	}
	var provider store.Provider
	for name, do := range map[string]func() error{
		"show a provider":    func() error { _, err := s.ProviderShow(ctx, root); return err },
		"list inventories":   func() error { _, err := s.InventoryList(ctx, root); return err },
		"list aggregates":    func() error { _, _, err := s.ProviderAggregateList(ctx, root); return err },
		"list a's traits":    func() error { _, _, err := s.ProviderTraitList(ctx, root); return err },
		"list allocations":   func() error { _, err := s.AllocationList(ctx, consumer); return err },
		"show a tree":        func() error { _, err := s.TreeShow(ctx, wholeTree(child)); return err },
		"list its consumers": func() error { _, _, err := s.ProviderAllocationList(ctx, root); return err },
		"sum usages": func() error {
			_, err := s.UsageList(ctx, store.UsageFilter{ProjectID: project, ByType: true})
			return err
		},
		"list by a trait": func() error { return listed(ctx, s, store.ProviderFilter{Required: [][]string{{"CUSTOM_T7"}}}) },
		"list without one": func() error {
			return listed(ctx, s, store.ProviderFilter{InTree: &root, Forbidden: []string{"CUSTOM_T7"}})
		},
		"list by an amount": func() error {
			return listed(ctx, s, store.ProviderFilter{Resources: []store.Amount{{Class: "VCPU", Amount: 1005}}})
		},
		"replace aggregates": func() error {
			_, err := s.ProviderAggregateReplace(ctx, dbtest.NumberedUUID("aa", 111), nil, []uuid.UUID{dbtest.NumberedUUID("a9", 3)})
			return err
		},
		"replace traits": func() error {
			_, _, err := s.ProviderTraitReplace(ctx, dbtest.NumberedUUID("aa", 112), 0, []string{"CUSTOM_T3"})
			return err
		},
		"clear traits": func() error { return s.ProviderTraitClear(ctx, dbtest.NumberedUUID("aa", 113), nil) },
	} {
		if err := do(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for _, do := range []func() error{
		func() error { return s.AllocationReplace(ctx, claim(&one, root), true) },
		func() error { return s.AllocationReplace(ctx, claim(nil, child), false) },
		func() error { _, err := s.InventoryDelete(ctx, root, nil, "DISK_GB"); return err },
		func() error { _, err := s.InventoryCreate(ctx, root, nil, record, 1); return err },
		func() error { _, err := s.InventoryUpdate(ctx, root, 3, record, 1); return err },
		func() error {
			return s.Reshape(ctx, []store.ReshapedProvider{{Provider: child, Generation: 1, Records: []store.Inventory{
				{Class: "VCPU", Total: 20, MinUnit: 1, MaxUnit: 10, StepSize: 1, AllocationRatio: 1},
			}}}, []store.Claim{{Consumer: consumer, ProjectID: project, UserID: "user", Generation: new(int64(3)),
				Allocations: []store.Allocation{{Provider: child, Class: "VCPU", Amount: 2}}}})
		},
		func() error { _, err := s.AllocationDelete(ctx, consumer, nil); return err },
		func() error { return s.AllocationReplace(ctx, onSeveral(uuid.New(), "VCPU", 121, 122), true) },
		func() error {
			return s.AllocationReplace(ctx, append(onSeveral(uuid.New(), "VCPU", 121, 122), onSeveral(uuid.New(), "DISK_GB", 122)...), true)
		},
		func() error { _, err := s.AllocationDelete(ctx, dbtest.NumberedUUID("cc", 101), nil); return err },
		func() (err error) { provider, err = s.ProviderCreate(ctx, uuid.New(), "new", &root); return err },
		func() error {
			_, err := s.ProviderUpdate(ctx, provider.UUID, store.ProviderChange{Name: "newer", SetParent: true, MayReparent: true})
			return err
		},
		func() error { return s.ProviderDelete(ctx, provider.UUID, nil) },
		func() error { _, err := s.InventoryClear(ctx, root, nil); return err },
		func() error { _, err := s.InventoryReplace(ctx, root, 5, []store.Inventory{record}, 1); return err },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
}

func listed(ctx context.Context, s *store.Store, filter store.ProviderFilter) error {
	rows, err := s.ProviderList(ctx, filter)
	if err != nil {
		return err
	}
	for _, err := range rows.All() {
		if err != nil {
			return err
		}
	}
	return rows.Close()
}
