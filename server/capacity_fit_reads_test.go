package server_test

import (
	"context"
	"net/http"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server/data/cluster"
	"github.com/berthd/berth/server/data/migrate"
)

// quietCluster starts a PostgreSQL of the test, in which only the test assigns transaction ids.
func quietCluster(t *testing.T) *cluster.Cluster {
	t.Helper()
	dir, err := os.MkdirTemp("", "berth-quiet") // not t.TempDir: PostgreSQL may run as another account
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	made, err := cluster.Open(t.Context(), cluster.Options{
		Dir: dir + "/pg", Disposable: true, BinDir: os.Getenv(dbtest.BinariesVariable), Settings: map[string]string{"autovacuum": "off"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = made.Close(context.Background()) })
	return made
}

// nextTransactionID returns the transaction id that PostgreSQL assigns next.
func nextTransactionID(t *testing.T, conn *pgx.Conn) (id int64) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint").Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}

// TestClaim_CapacityFit_AssignsNoTransactionID sends queries with every kind of change, and those of the other reads.
func TestClaim_CapacityFit_AssignsNoTransactionID(t *testing.T) {
	t.Parallel()
	quiet := quietCluster(t)
	if _, err := migrate.Up(t.Context(), quiet.URL(), servertest.Log(t)); err != nil {
		t.Fatal(err)
	}
	made := &explaining{t: t, Server: servertest.New(t, servertest.Options{DB: &dbtest.DB{URL: quiet.URL()}, StandardNames: true})}
	host := made.provider("host-1", object{"VCPU": object{"total": 16}, "MEMORY_MB": object{"total": 1024}})
	conn, err := pgx.Connect(t.Context(), quiet.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()

	query := object{"groups": object{"": object{"resources": object{"VCPU": 1, "MEMORY_MB": 8}}}}
	for name, body := range map[string]object{
		"a query":            {"query": query},
		"apart":              {"query": query, "relation": object{"apart": "root"}},
		"together":           {"query": query, "relation": object{"together": "root"}},
		"copies and a ratio": {"query": query, "changes": []any{object{"like": host, "count": 3}, object{"resource_class": "VCPU", "allocation_ratio": 4}}},
		"a reserved amount":  {"query": query, "changes": []any{object{"resource_class": "VCPU", "reserved": 4, "in_tree": host}}},
	} {
		before := nextTransactionID(t, conn)
		w := made.send(http.MethodPost, "/capacity", withCapacity, body)
		made.must(w)
		if found := decode[fitAnswer](t, w); found.Fit == 0 {
			t.Errorf("%s: no member fits: %s", name, w.Body)
		}
		if after := nextTransactionID(t, conn); after != before {
			t.Errorf("%s: next transaction id = %d, want %d", name, after, before)
		}
	}
	for _, target := range []string{
		"/capacity?group_by=tree", "/capacity?required=HW_NUMA_ROOT&unit=VCPU:2", "/consumers?total=true", "/aggregates",
		"/resource_providers?include=inventories,usages&limit=1&total=true", "/resource_providers?include=traits,aggregates",
		"/resource_providers/" + host + "/tree?include=sharing,consumers",
	} {
		before := nextTransactionID(t, conn)
		made.must(made.send(http.MethodGet, target, withCapacity, nil))
		if after := nextTransactionID(t, conn); after != before {
			t.Errorf("GET %s: next transaction id = %d, want %d", target, after, before)
		}
	}
	before := nextTransactionID(t, conn)
	made.provider("host-2", object{"VCPU": object{"total": 16}})
	if nextTransactionID(t, conn) == before {
		t.Error("a write assigned no transaction id")
	}
}
