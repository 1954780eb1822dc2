package candidates_test

import (
	"reflect"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/search/candidates"
)

// Connections through a pooler return rows in the text format. All queries of the forest have equal results, with equal
// paths, on both.
func TestCandidates_TextFormat_EqualsBinary(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; it runs without -short")
	}
	t.Parallel()
	cloud := &cloud{DB: dbtest.NewLoaded(t, smallForest), t: t}
	// Numbers beyond 32 bits, fractions, and over capacity.
	cloud.exec("UPDATE inventories SET total = 2147483647, allocation_ratio = 10000.5 WHERE class_id = 1 AND provider_id % 14 = 2")
	cloud.exec("UPDATE inventories SET used = 50000000000 WHERE class_id = 1 AND provider_id % 28 = 2")
	cloud.exec("UPDATE inventories SET used = 40 WHERE class_id = 0 AND provider_id % 21 = 3")
	cloud.exec("UPDATE inventories SET reserved = 499, allocation_ratio = 0.5 WHERE class_id = 2 AND provider_id % 35 = 1")
	for _, sharing := range []bool{true, false} {
		if !sharing {
			cloud.exec("DELETE FROM provider_aggregates WHERE sharing")
		}
		binary, text := cloud.open(), cloud.open(throughPooler)
		for name, asked := range questions() {
			if asked.query.Randomize {
				continue // their order differs each time
			}
			for _, change := range []func(*candidates.Query){
				func(*candidates.Query) {},
				func(q *candidates.Query) { q.BreadthFirst = true },
				func(q *candidates.Query) { q.OnePerTree = true },
			} {
				query := asked.query
				query.Limit = 20
				change(&query)
				for round := range 2 {
					got, want := mustRead(t, text, query), mustRead(t, binary, query)
					if !reflect.DeepEqual(got, want) {
						t.Errorf("%s, sharing %t, limit %d, breadth first %t, round %d: %d candidates and %d summaries, one page: %t, want %d and %d, one page: %t",
							name, sharing, query.Limit, query.BreadthFirst, round, len(got.candidates), len(got.summaries), got.onePage,
							len(want.candidates), len(want.summaries), want.onePage)
					}
				}
			}
		}
	}
}
