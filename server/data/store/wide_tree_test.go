package store_test

import (
	"reflect"
	"testing"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
)

// TestCandidates_WidestTree_ReadsOneIndexEntryPerClass checks the result and the plan. 1,000 trees have ten providers of each of three
// classes, and one has eleven of one of them; reading all of them would be as long as the table.
func TestCandidates_WidestTree_ReadsOneIndexEntryPerClass(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t)
	if _, err := cloud.Pool.Exec(t.Context(), `
		INSERT INTO resource_providers (id, uuid, name, root_id, parent_id) OVERRIDING SYSTEM VALUE
			VALUES (20000, gen_random_uuid(), 'eleventh', 501, 501);
		INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
			VALUES (20000, 1, 501, 1, 0, 1, 1, 1, 1);
		ANALYZE`); err != nil {
		t.Fatal(err)
	}
	opened, err := store.Open(t.Context(), postgres.Options{URL: cloud.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	for _, c := range []struct {
		minProviders, maxClasses int
		want                     *store.WideTree
	}{
		{8, 1000, &store.WideTree{Providers: 11, Class: "MEMORY_MB", Root: "host-501"}},
		{11, 1000, &store.WideTree{Providers: 11, Class: "MEMORY_MB", Root: "host-501"}},
		{12, 1000, nil},
		{8, 1, &store.WideTree{Providers: 10, Class: "VCPU", Root: "host-9991"}},
		{8, 0, nil},
	} {
		if got, err := opened.TreeWidest(t.Context(), c.minProviders, c.maxClasses); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("TreeWidest(%d, %d) = %+v, %v; want %+v", c.minProviders, c.maxClasses, got, err, c.want)
		}
	}
	conn, err := cloud.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
		probes := 0
		dbtest.Explain(t, conn.Conn(), mode, db.TreeWidest, "10000", "8").Walk(func(n *dbtest.PlanNode) {
			switch {
			case n.Index == "tree_classes_class_id_providers_idx" && n.Rows <= 1: // of one class
				probes++
			case n.Relation == "tree_classes", n.Relation == "resource_providers" && n.Index != "resource_providers_pkey":
				t.Errorf("%s: %s of %s by %q, %v rows", mode, n.Type, n.Relation, n.Index, n.Rows)
			}
		})
		if probes != 1 {
			t.Errorf("%s: %d index scans of tree_classes, want 1", mode, probes)
		}
	}
}
