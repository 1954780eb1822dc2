package candidates

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// checkForeignKeys recreates all foreign keys, which fails for rows that point
// nowhere.
const checkForeignKeys = `
DO $$
DECLARE
    v_key record;
BEGIN
    FOR v_key IN
        SELECT conrelid::regclass AS table_name, conname, pg_get_constraintdef(oid) AS definition
        FROM pg_constraint WHERE contype = 'f' ORDER BY conname
    LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', v_key.table_name, v_key.conname);
        EXECUTE format('ALTER TABLE %s ADD CONSTRAINT %I %s', v_key.table_name, v_key.conname, v_key.definition);
    END LOOP;
END
$$`

// TestBench_LoadedCloud_EqualsOneMadeByRequests: rows loaded in bulk and with foreign keys
// off contradict each other in nothing, however many trees are used up.
func TestBench_LoadedCloud_EqualsOneMadeByRequests(t *testing.T) {
	t.Parallel()
	for _, of := range shapes() {
		t.Run(of.name, func(t *testing.T) {
			t.Parallel()
			const trees = 120
			db := dbtest.New(t)
			conn, err := pgx.Connect(t.Context(), db.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(context.WithoutCancel(t.Context()))
			if err := (loader{conn: conn, shape: of, trees: trees}).load(t.Context()); err != nil {
				t.Fatal(err)
			}
			used := 0
			for _, at := range []utilization{{}, {percent: 50}, {allButThree: true}} {
				if err := exhaust(t.Context(), conn, used, at.exhaustedTrees(trees)); err != nil {
					t.Fatal(err)
				}
				used = at.exhaustedTrees(trees)
				dbtest.Audit(t, db)
				if free := freeTrees(t, db); free != trees-used {
					t.Errorf("%s used up: %d trees are free instead of %d", at, free, trees-used)
				}
			}
			if _, err := conn.Exec(t.Context(), checkForeignKeys); err != nil {
				t.Error(err)
			}
		})
	}
}

// freeTrees counts the trees of which nothing is used. There are no others than
// those and the used up ones.
func freeTrees(t *testing.T, db *dbtest.DB) int {
	t.Helper()
	var free, partly int
	const question = `
SELECT count(*) FILTER (WHERE everything.used = 0), count(*) FILTER (WHERE everything.used > 0 AND everything.free > 0)
FROM bench.trees AS tree, LATERAL (
    SELECT sum(inventory.used) AS used, sum(inventory.free) AS free FROM inventories AS inventory WHERE inventory.root_id = tree.root_id
) AS everything`
	if err := db.Pool.QueryRow(t.Context(), question).Scan(&free, &partly); err != nil {
		t.Fatal(err)
	}
	if partly > 0 {
		t.Errorf("%d trees are used in part", partly)
	}
	return free
}
