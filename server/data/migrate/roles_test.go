package migrate_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/audit"
	"github.com/berthd/berth/server/data/migrate"
)

// roleSessions are connections of the three roles to a database that the owner has migrated.
type roleSessions struct {
	owner, service, readOnly *pgx.Conn
}

func openRoles(t *testing.T, schema string) roleSessions {
	t.Helper()
	db := dbtest.NewEmpty(t)
	roles := migrate.Roles{Database: db.Name, Schema: schema}
	var addresses [3]string
	roles.Owner, addresses[0] = dbtest.Role(t, db, "owner")
	roles.Service, addresses[1] = dbtest.Role(t, db, "service")
	roles.ReadOnly, addresses[2] = dbtest.Role(t, db, "readonly")
	for range 2 { // the statements can be repeated
		if _, err := db.Pool.Exec(t.Context(), roles.Statements()); err != nil {
			t.Fatalf("%v in\n%s", err, roles.Statements())
		}
	}
	if report, err := migrate.Up(t.Context(), addresses[0], slog.New(slog.DiscardHandler)); err != nil || !report.FunctionsApplied {
		t.Fatalf("%+v, %v", report, err)
	}
	// The service finds nothing to do, and therefore starts.
	if report, err := migrate.Up(t.Context(), addresses[1], slog.New(slog.DiscardHandler)); err != nil || report.FunctionsApplied {
		t.Fatalf("%+v, %v", report, err)
	}
	var connections [3]*pgx.Conn
	for i, address := range addresses {
		conn, err := pgx.Connect(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close(context.WithoutCancel(t.Context())) })
		connections[i] = conn
	}
	return roleSessions{connections[0], connections[1], connections[2]}
}

func allowed(t *testing.T, on *pgx.Conn, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := on.Exec(t.Context(), statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

func denied(t *testing.T, on *pgx.Conn, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		_, err := on.Exec(t.Context(), statement)
		if reported, ok := errors.AsType[*pgconn.PgError](err); !ok || reported.Code != "42501" {
			t.Errorf("%s: %v, want insufficient privilege", statement, err)
		}
	}
}

func TestMigration_Roles_HaveLeastPrivilege(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{"public", "a berth"} {
		t.Run(schema, func(t *testing.T) {
			t.Parallel()
			as := openRoles(t, schema)
			// The default privileges cover objects of a later migration as well.
			allowed(t, as.owner, "CREATE TABLE later (id bigint GENERATED ALWAYS AS IDENTITY, name text)",
				"CREATE FUNCTION later_count() RETURNS bigint LANGUAGE sql AS $$ SELECT count(*) FROM later $$")
			allowed(t, as.service, "INSERT INTO later (name) VALUES ('one')", "UPDATE later SET name = 'two'", "SELECT later_count()",
				"INSERT INTO traits (name) VALUES ('CUSTOM_A')", "DELETE FROM traits",
				"SELECT nextval('later_id_seq')", "BEGIN; LOCK TABLE nodes IN EXCLUSIVE MODE; ROLLBACK")
			// The service turns the record of changes on, makes its partitions, and drops them.
			allowed(t, as.service, "SELECT history_update('on', 1, 0)",
				"DO $$ BEGIN WHILE history_switch() LOOP END LOOP; END $$", "SELECT history_settle('0')",
				"INSERT INTO traits (name) VALUES ('CUSTOM_A')", "SELECT history_step(true)", "SELECT history_day('2026-01-01', 1)",
				"SELECT history_prune()", "DELETE FROM traits")
			denied(t, as.readOnly, "SELECT history_switch()", "SELECT history_day('2026-01-01', 1)", "SELECT history_prune()")
			allowed(t, as.readOnly, "SELECT count(*) FROM later", "SELECT later_count()", "SELECT last_value FROM later_id_seq")
			denied(t, as.service, "ALTER TABLE traits ADD COLUMN color text", "DROP TABLE later", "TRUNCATE later",
				"CREATE TABLE mine (id int)", "DROP FUNCTION later_count()", "CREATE SCHEMA mine", "COMMENT ON TABLE traits IS 'x'",
				"CREATE OR REPLACE FUNCTION later_count() RETURNS bigint LANGUAGE sql AS $$ SELECT 1::bigint $$")
			denied(t, as.readOnly, "INSERT INTO later (name) VALUES ('one')", "UPDATE traits SET name = 'x'", "DELETE FROM allocations",
				"TRUNCATE later", "DROP TABLE later", "CREATE TABLE mine (id int)",
				"SELECT setval(pg_get_serial_sequence('later', 'id'), 9)")
			lacking := "SELECT relation.oid::regclass::text FROM pg_class AS relation WHERE relation.relkind = 'r' " +
				"AND relation.relnamespace = quote_ident(current_schema())::regnamespace AND NOT (has_table_privilege(relation.oid, 'SELECT')" +
				" AND has_table_privilege(relation.oid, $1)) ORDER BY 1"
			for conn, privilege := range map[*pgx.Conn]string{as.service: "INSERT", as.readOnly: "SELECT"} {
				rows, _ := conn.Query(t.Context(), lacking, privilege)
				if names, err := pgx.CollectRows(rows, pgx.RowTo[string]); err != nil || len(names) > 0 {
					t.Errorf("no %s on %q, %v", privilege, names, err)
				}
			}
		})
	}
}

func TestMigration_ReadOnlyRole_RunsTheConsistencyChecks(t *testing.T) {
	t.Parallel()
	as := openRoles(t, "public")
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(t.Context(), as.readOnly, options, func(tx pgx.Tx) error {
		_, err := audit.Run(t.Context(), tx, 10, nil)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	// The owner creates the schema for the staging tables of an import.
	allowed(t, as.owner, "CREATE SCHEMA berth_import", "CREATE TABLE berth_import.import_positions (id int)")
	allowed(t, as.readOnly, "SELECT count(*) FROM berth_import.import_positions")
	denied(t, as.service, "SELECT count(*) FROM berth_import.import_positions")
}
