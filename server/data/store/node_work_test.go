package store_test

import (
	"testing"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/internal/test/dbtest"
)

// fleet is 20,000 nodes in stable states, of which 500 failed, and a few with pending work.
const fleet = `
INSERT INTO conductors (hostname, drivers) VALUES ('me', '{fake-hardware}'), ('other', '{fake-hardware}');
INSERT INTO nodes (uuid, name, driver, provision_state, target_provision_state, target_power_state, conductor_id)
SELECT ('ab000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'n' || n,
    CASE WHEN n = 1 THEN 'redfish' ELSE 'fake-hardware' END,
    CASE WHEN n < 9 THEN 'cleaning' WHEN n > 19500 THEN 'clean failed' ELSE 'available' END,
    CASE WHEN n < 9 OR n > 19500 THEN 'available' END,
    CASE WHEN n IN (10, 19999) THEN 'power on' END,
    CASE WHEN n IN (3, 11) THEN 1 WHEN n = 4 THEN 2 END
FROM generate_series(1, 20000) AS n;
ANALYZE;`

func TestConductor_ListPending_UsesIndex(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	_, err := b.db.Pool.Exec(t.Context(), fleet)
	b.must(err)
	found, err := b.NodeListPending(t.Context(), "me", []string{"cleaning", "deploying"}, []string{"fake-hardware"})
	b.must(err)
	// The result lacks the first, whose driver no conductor here has, and the fourth, which is reserved.
	want := []int{2, 3, 5, 6, 7, 8, 10, 11, 19999}
	for i, n := range want {
		if len(found) != len(want) || found[i] != dbtest.NumberedUUID("ab", n) {
			t.Fatalf("found %v, want %v", found, want)
		}
	}
	for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
		conn, err := b.db.Pool.Acquire(t.Context())
		b.must(err)
		dbtest.Explain(t, conn.Conn(), mode, db.NodeListPending, "'me'", "'{cleaning}'", "'{fake-hardware}'").Walk(func(n *dbtest.PlanNode) {
			if n.Type == "Seq Scan" && n.Relation == "nodes" {
				t.Errorf("%s: sequential scan of nodes", mode)
			}
		})
		conn.Release()
	}
}
