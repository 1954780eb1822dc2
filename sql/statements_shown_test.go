package sql_test

import (
	"context"
	"log/slog"
	"os"
	"regexp"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/cluster"
	"github.com/berthd/berth/server/data/migrate"
)

// tracked are calls of functions: of providers, claims and a reshape, and of nodes that are
// providers.
var tracked = []string{
	"SELECT consumer_ensure_references('{p}', '{u}', '{T}')",
	"INSERT INTO resource_classes (id, name) VALUES (0, 'VCPU') ON CONFLICT DO NOTHING",
	"SELECT provider_create('00000000-0000-0000-0000-000000000001', 'host', NULL)",
	`SELECT inventory_replace('00000000-0000-0000-0000-000000000001', 0, '[{"class": "VCPU", "total": 8, "reserved": 0,
		"min_unit": 1, "max_unit": 8, "step_size": 1, "allocation_ratio": 1}]', 0)`,
	`SELECT allocation_replace('{00000000-0000-0000-0000-00000000000a}', '{p}', '{u}', '{T}', true, '{0}', '{true}',
		'{1}', '{00000000-0000-0000-0000-000000000001}', '{VCPU}', '{2}')`,
	`SELECT allocation_replace('{00000000-0000-0000-0000-00000000000a}', '{p}', '{u}', '{T}', true, '{1}', '{false}',
		'{1}', '{00000000-0000-0000-0000-000000000001}', '{VCPU}', '{3}')`,
	`SELECT reshape('[{"provider": "00000000-0000-0000-0000-000000000001", "generation": 3, "records": [{"class": "VCPU",
		"total": 9, "reserved": 0, "min_unit": 1, "max_unit": 9, "step_size": 1, "allocation_ratio": 1}]}]',
		'{00000000-0000-0000-0000-00000000000a}', '{p}', '{u}', '{T}', true, '{2}', '{false}',
		'{1}', '{00000000-0000-0000-0000-000000000001}', '{VCPU}', '{3}')`,
	"SELECT provider_create('00000000-0000-0000-0000-000000000003', 'other', NULL)",
	`SELECT inventory_replace('00000000-0000-0000-0000-000000000003', 0, '[{"class": "VCPU", "total": 8, "reserved": 0,
		"min_unit": 1, "max_unit": 8, "step_size": 1, "allocation_ratio": 1}]', 0)`,
	`SELECT allocation_replace('{00000000-0000-0000-0000-00000000000c}', '{p}', '{u}', '{T}', true, '{0}', '{true}',
		'{1,1}', '{00000000-0000-0000-0000-000000000001,00000000-0000-0000-0000-000000000003}', '{VCPU,VCPU}', '{1,1}')`,
	"SELECT allocation_delete_checked('00000000-0000-0000-0000-00000000000a', NULL)",
	"INSERT INTO conductors (hostname, drivers) VALUES ('c', '{}')",
	"SELECT baremetal_backend_set(true)",
	`SELECT node_create('{"uuid": "00000000-0000-0000-0000-000000000002", "name": "node", "driver": "fake", "resource_class": "gold",
		"provision_state": "available", "power_state": "power on", "maintenance": false, "protected": false, "retired": false,
		"conductor_group": "", "details": {}}')`,
	`SELECT node_allocation_create('00000000-0000-0000-0000-00000000000b', NULL, 'gold', '{}', '{}', '{}', '{}', NULL, 'c', false,
		NULL, NULL, true, false, NULL, NULL, false)`,
	"SELECT node_allocation_process('00000000-0000-0000-0000-00000000000b', 'c')",
	"SELECT node_allocation_delete('00000000-0000-0000-0000-00000000000b', NULL, false)",
}

// TestFunctionSet_StatStatements_ShowsFunctionAndNumber calls functions on a server that tracks
// the statements inside them, and checks that each statement in pg_stat_statements carries its number.
// Foreign keys run statements of their own, which have none.
func TestFunctionSet_StatStatements_ShowsFunctionAndNumber(t *testing.T) {
	t.Parallel()
	var available bool
	err := dbtest.NewEmpty(t).Pool.QueryRow(t.Context(),
		"SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_stat_statements')").Scan(&available)
	if err != nil {
		t.Fatal(err)
	}
	if !available || os.Getenv(dbtest.ServerVariable) != "" {
		t.Skipf("the server has no pg_stat_statements (contrib), or %s names one whose settings are not ours", dbtest.ServerVariable)
	}
	for statement, text := range trackStatements(t, tracked) {
		if !regexp.MustCompile(`/\* \w+ \d+/\d+ \*/`).MatchString(text) {
			t.Errorf("%s has no number: %s", statement, text)
		}
	}
}

// trackStatements executes calls on a server of its own and returns the statements inside
// functions, by number if they have one, else by text.
func trackStatements(t *testing.T, calls []string) map[string]string {
	t.Helper()
	dir, err := os.MkdirTemp("", "berth-statements") // not t.TempDir: the server may run as another account
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	server, err := cluster.Open(t.Context(), cluster.Options{
		Dir: dir + "/pg", Disposable: true, BinDir: os.Getenv(dbtest.BinariesVariable),
		Settings: map[string]string{"shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.track": "all"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close(context.Background()) })
	if _, err := migrate.Up(t.Context(), server.URL(), slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	for _, call := range append([]string{"CREATE EXTENSION pg_stat_statements", "SELECT pg_stat_statements_reset()"}, calls...) {
		if _, err := conn.Exec(t.Context(), call); err != nil {
			t.Fatalf("%s: %v", call, err)
		}
	}
	rows, err := conn.Query(t.Context(), `SELECT coalesce(substring(query FROM '/\* (\w+ \d+/\d+) \*/'), query), query
		FROM pg_stat_statements WHERE NOT toplevel AND query !~ '(FROM|UPDATE) ONLY "'`)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	var number, text string
	if _, err := pgx.ForEachRow(rows, []any{&number, &text}, func() error { found[number] = text; return nil }); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"allocation_claim 1/5", "allocation_claim 3/5", "allocation_claim_providers 3/5", "allocation_change 4/5",
		"node_allocation_decide 4/5", "reshape 7/10"} {
		if found[want] == "" {
			t.Errorf("pg_stat_statements does not show %s", want)
		}
	}
	return found
}
