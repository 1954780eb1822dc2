package placementdb_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/placementdb"
)

// stagingRole creates a role that owns everything in the schema public, as the role of a server does, and
// may not create schemas in the database.
func stagingRole(t *testing.T, db *dbtest.DB) (role, address string) {
	t.Helper()
	role, address = dbtest.Role(t, db, "import")
	execute(t, db,
		"DO $$ DECLARE v_table regclass; BEGIN FOR v_table IN SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' "+
			"LOOP EXECUTE format('ALTER TABLE %s OWNER TO "+role+"', v_table); END LOOP; END $$",
		"ALTER SCHEMA public OWNER TO "+role)
	return role, address
}

// interruptImport cancels an import after it has copied everything.
func interruptImport(t *testing.T, source placementdb.Address, target *dbtest.DB) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	interrupted := options(source, target)
	interrupted.Progress = func(step string, _, _ int64) {
		if step == "judging" {
			stop()
		}
	}
	if _, err := placementdb.Import(ctx, interrupted); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func execute(t *testing.T, db *dbtest.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.Pool.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func TestImport_RoleWithoutCreateOnDatabase_NeedsTheSchema(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	role, address := stagingRole(t, db)
	o := options(makeSource(t, plain), db)
	o.Target = address
	before := dbtest.Snapshot(t, db)
	for _, o.DryRun = range []bool{true, false} {
		_, err := placementdb.Import(t.Context(), o)
		if _, refused := errors.AsType[*placementdb.RejectedError](err); !refused ||
			!strings.Contains(err.Error(), "CREATE SCHEMA berth_import AUTHORIZATION") {
			t.Errorf("dry run %t: %v", o.DryRun, err)
		}
	}
	if lines := before.Diff(dbtest.Snapshot(t, db)); len(lines) > 0 {
		t.Errorf("a rejected import has written %q", lines)
	}
	execute(t, db, "CREATE SCHEMA berth_import AUTHORIZATION "+role)
	if report, err := placementdb.Import(t.Context(), o); err != nil || report.Outcome != placementdb.Imported {
		t.Fatalf("%s: %v", report.Outcome, err)
	}
	// The empty schema remains for the next import.
	var schemas, tables int
	if err := db.Pool.QueryRow(t.Context(), "SELECT count(DISTINCT space.oid), count(relation.oid) FROM pg_namespace AS space "+
		"LEFT JOIN pg_class AS relation ON relation.relnamespace = space.oid WHERE space.nspname = 'berth_import'").Scan(&schemas, &tables); err != nil ||
		schemas != 1 || tables != 0 {
		t.Errorf("%d schemas with %d relations, %v", schemas, tables, err)
	}
}

// TestImport_StagingOfAnotherImport_IsNotContinued checks that an import does not resume a copy of another
// import into the same database, whose tables are in another schema.
func TestImport_StagingOfAnotherImport_IsNotContinued(t *testing.T) {
	t.Parallel()
	source, target := makeSource(t, plain), dbtest.New(t)
	interruptImport(t, source, target)
	execute(t, target, "UPDATE berth_import.import_positions SET fingerprint = 'another'",
		"UPDATE berth_import.import_staging_resource_providers SET name = 'another'")
	// All staging tables and columns have comments for DBAs.
	var undescribed int
	if err := target.Pool.QueryRow(t.Context(), `
		SELECT count(*) FROM pg_class AS relation JOIN pg_attribute AS attribute ON attribute.attrelid = relation.oid
		WHERE relation.relnamespace = 'berth_import'::regnamespace AND relation.relkind = 'r' AND attribute.attnum > 0
		  AND (col_description(relation.oid, attribute.attnum) IS NULL OR obj_description(relation.oid, 'pg_class') IS NULL)`,
	).Scan(&undescribed); err != nil || undescribed != 0 {
		t.Errorf("%d columns without a comment, %v", undescribed, err)
	}
	if _, err := placementdb.Import(t.Context(), options(source, target)); err != nil {
		t.Fatal(err)
	}
	for _, line := range without(dbtest.Snapshot(t, moved(t, source)).Diff(dbtest.Snapshot(t, target)), "import_state") {
		t.Error(line)
	}
}

// TestImport_StagingDropped_CopiesAgain drops the schema of an interrupted import, as an operator or a
// restored backup may.
func TestImport_StagingDropped_CopiesAgain(t *testing.T) {
	t.Parallel()
	source, target := makeSource(t, plain), dbtest.New(t)
	interruptImport(t, source, target)
	execute(t, target, "DROP SCHEMA berth_import CASCADE")
	if report, err := placementdb.Import(t.Context(), options(source, target)); err != nil || report.Outcome != placementdb.Imported {
		t.Errorf("%s: %v", report.Outcome, err)
	}
}
