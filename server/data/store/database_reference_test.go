package store_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/internal/test/dbtest"
)

// TestDocs_DatabaseReference_NamesEveryObject: docs/database-reference.md must explain every table, index, statement and function,
// because a DBA meets them in statistics and logs.
func TestDocs_DatabaseReference_NamesEveryObject(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/database-reference.md")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := dbtest.New(t).Pool.Query(t.Context(), `
		SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i') AND relname NOT LIKE 'berth%'
		UNION ALL SELECT proname::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../../sql/queries/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		queries, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`(?m)^-- name: (\w+)`).FindAllStringSubmatch(string(queries), -1) {
			names = append(names, found[1])
		}
	}
	if len(names) < 80 {
		t.Errorf("found names = %d, want more", len(names))
	}
	for _, name := range names {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/database-reference.md does not explain %s", name)
		}
	}
}
