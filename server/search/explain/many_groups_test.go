package explain_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/search/explain"
)

// TestExplain_ThousandGroups_CopiesFewQueries has many changes with many amounts each, of which 32 are tried. It is not
// parallel, because it measures the memory of the process.
func TestExplain_ThousandGroups_CopiesFewQueries(t *testing.T) {
	made := dbtest.New(t)
	_, err := made.Pool.Exec(t.Context(), `INSERT INTO resource_classes (id, name) VALUES (20000, 'CUSTOM_SLOT')`)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := postgres.Open(t.Context(), postgres.Options{URL: made.URL, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	var query candidates.Query
	for i := range 1000 {
		query.Groups = append(query.Groups, candidates.Group{
			Suffix: fmt.Sprint("_", i), Resources: []store.Amount{{Class: "CUSTOM_SLOT", Amount: 1<<62 - int64(i)}},
		})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	shown := explained(t, explain.New(candidates.New(pool)), pool, query, enoughTime)
	runtime.ReadMemStats(&after)
	if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 500 {
		t.Errorf("allocated %d MiB", allocated)
	}
	if shown.Incomplete || len(shown.Parts) != 1000 || *shown.RelaxationsComplete {
		t.Errorf("explanation = %d parts, incomplete %v, all changes tried %v", len(shown.Parts), shown.Incomplete, *shown.RelaxationsComplete)
	}
}
