package migrate_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/cluster"
	"github.com/berthd/berth/server/data/migrate"
	berthsql "github.com/berthd/berth/sql"
)

// update rewrites sql/schema.sql and sql/functions/VERSION instead of comparing
// them.
var update = flag.Bool("update", false, "rewrite sql/schema.sql and sql/functions/VERSION")

func TestSchemaDump_Migrated_MatchesFile(t *testing.T) {
	t.Parallel()
	binaries, err := cluster.Find(0)
	if err != nil {
		t.Fatal(err)
	}
	got, err := migrate.Dump(t.Context(), binaries.Path("pg_dump"), dbtest.New(t).URL)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("../../../sql/schema.sql", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := berthsql.Files.ReadFile("schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("sql/schema.sql differs from a migrated database from line %d on: "+
			"run go test ./server/data/migrate -update and look at the difference", firstDifference(got, string(want)))
	}
}

func firstDifference(a, b string) int {
	left, right := strings.Split(a, "\n"), strings.Split(b, "\n")
	line := 0
	for line < len(left) && line < len(right) && left[line] == right[line] {
		line++
	}
	return line + 1
}

func TestFunctionSet_Changed_NeedsNewVersion(t *testing.T) {
	t.Parallel()
	set, err := migrate.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	if set.Numbered() {
		return
	}
	next := set.Functions()
	next.Number++
	if !*update {
		t.Fatalf("the functions have changed: run go test ./server/data/migrate -update, which writes %q into sql/functions/VERSION", next)
	}
	if err := os.WriteFile("../../../sql/functions/VERSION", []byte(next.String()+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}
