package migrate_test

import (
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/migrate"
)

// undescribed are the objects without a comment. Sequences of identity columns, and row and
// array types of tables, belong to objects that have one.
const undescribed = `
SELECT object.name FROM (
	SELECT 'relation ' || relation.relname AS name, obj_description(relation.oid, 'pg_class') AS comment
	FROM pg_class AS relation
	WHERE relation.relnamespace = current_schema()::regnamespace AND relation.relkind IN ('r', 'p', 'v', 'm', 'c')
	UNION ALL
	SELECT 'column ' || relation.relname || '.' || attribute.attname, col_description(relation.oid, attribute.attnum)
	FROM pg_class AS relation JOIN pg_attribute AS attribute ON attribute.attrelid = relation.oid
	WHERE relation.relnamespace = current_schema()::regnamespace AND relation.relkind IN ('r', 'p', 'v', 'm', 'c')
	  AND attribute.attnum > 0 AND NOT attribute.attisdropped
	UNION ALL
	SELECT 'function ' || function.oid::regprocedure, obj_description(function.oid, 'pg_proc')
	FROM pg_proc AS function WHERE function.pronamespace = current_schema()::regnamespace
	UNION ALL
	SELECT 'type ' || type.typname, obj_description(type.oid, 'pg_type')
	FROM pg_type AS type WHERE type.typnamespace = current_schema()::regnamespace AND type.typtype IN ('d', 'e', 'r')
) AS object
WHERE object.comment IS NULL OR object.comment !~ '\w{2,}.*\w{2,}'
ORDER BY object.name`

func TestMigration_EveryObject_HasAComment(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	wantRows(t, db, undescribed)
	wantRows(t, db, "SELECT col_description('traits'::regclass, 2)", "Name in the API.")
	wantRows(t, db, "SELECT obj_description('provider_traits_trait_id_idx'::regclass, 'pg_class')", "Providers that have a trait, tree by tree: for candidates with two traits, two such lists are merged.")
	wantRows(t, db, "SELECT (obj_description('allocation_replace'::regproc, 'pg_proc') <> '')::text", "true")
	// The query itself finds objects without a comment.
	if _, err := db.Pool.Exec(t.Context(), "CREATE TABLE cargo (tons int); COMMENT ON COLUMN traits.name IS NULL"); err != nil {
		t.Fatal(err)
	}
	wantRows(t, db, undescribed, "column cargo.tons", "column traits.name", "relation cargo")
}

func TestMigration_CommentChanged_IsReplaced(t *testing.T) {
	t.Parallel()
	db := dbtest.NewEmpty(t)
	const first = "-- +goose Up\n\n-- Freight\n-- on board.\nCREATE TABLE cargo (\n    -- It's the name.\n    name text\n);\n"
	up(t, load(t, files(1, "first", first)), db.URL)
	wantRows(t, db, "SELECT obj_description('cargo'::regclass, 'pg_class')", "Freight on board.")
	wantRows(t, db, "SELECT col_description('cargo'::regclass, 1)", "It's the name.")
	// Migrations alone, with the same functions; and an object that a later migration drops.
	const second = "-- +goose Up\n-- Freight.\nALTER TABLE cargo\n    ADD COLUMN tons int, -- Weight.\n    ADD COLUMN kind int; -- Kind.\n"
	const third = "-- +goose Up\nALTER TABLE cargo DROP COLUMN name;\n-- Contraction: a test\n"
	report := up(t, load(t, files(1, "first", first, second, third)), db.URL)
	wantReport(t, report, migrate.Report{From: 1, To: 3, Applied: []string{"00002_step.sql", "00003_step.sql"}})
	wantRows(t, db, "SELECT col_description('cargo'::regclass, attnum) FROM pg_attribute WHERE attrelid = 'cargo'::regclass "+
		"AND attnum > 0 AND NOT attisdropped ORDER BY attnum", "Weight.", "Kind.")
	const fourth = "-- +goose Up\n-- Cargo.\nALTER TABLE cargo\n    ADD COLUMN port text; -- Port.\n"
	up(t, load(t, files(1, "first", first, second, third, fourth)), db.URL)
	wantRows(t, db, "SELECT col_description('cargo'::regclass, 4)", "Port.")
}
