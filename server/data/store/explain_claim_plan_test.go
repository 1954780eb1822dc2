package store_test

import (
	"testing"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/internal/test/dbtest"
)

// TestExplain_Claim_UsesKeys checks that the statement reads the tables that grow with the cloud by index only, in both
// kinds of plans.
func TestExplain_Claim_UsesKeys(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t)
	conn, err := cloud.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	providers := "ARRAY['" + dbtest.NumberedUUID("aa", 17).String() + "', '" + dbtest.NumberedUUID("aa", 4711).String() + "']::uuid[]"
	consumers := "ARRAY['" + dbtest.NumberedUUID("cc", 17).String() + "', '" + dbtest.NumberedUUID("cc", 20000).String() + "']::uuid[]"
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		found := map[string]bool{}
		dbtest.Explain(t, conn.Conn(), mode, db.ExplainClaim, "true", providers, "ARRAY['VCPU', 'VCPU']", consumers).Walk(func(n *dbtest.PlanNode) {
			if n.Index != "" {
				found[n.Index] = true
			}
			if n.Relation != "" && n.Relation != "resource_classes" && n.Index == "" {
				t.Errorf("%s: %s of %s, want an index", mode, n.Type, n.Relation)
			}
		})
		for _, index := range []string{
			"consumers_uuid_key", "allocations_pkey", "resource_providers_uuid_key", "inventories_pkey", "allocations_provider_id_idx",
		} {
			if !found[index] {
				t.Errorf("%s: indexes = %v, want %s", mode, found, index)
			}
		}
	}
}
