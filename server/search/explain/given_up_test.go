package explain_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/search/explain"
)

// racks are three hosts with 8, 9 and 8 devices of 65 units.
const racks = `
INSERT INTO resource_classes (id, name) VALUES (20000, 'CUSTOM_CRATE');
INSERT INTO resource_providers (id, uuid, name, root_id, parent_id) OVERRIDING SYSTEM VALUE
SELECT 100 * host + n, gen_random_uuid(), 'rack ' || host || '-' || n, 100 * host, CASE WHEN n > 0 THEN 100 * host END
FROM generate_series(1, 3) AS host, generate_series(0, CASE host WHEN 2 THEN 9 ELSE 8 END) AS n;
INSERT INTO provider_generations (provider_id) SELECT id FROM resource_providers;
INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
SELECT id, 20000, root_id, 65, 0, 1, 65, 1, 1 FROM resource_providers WHERE parent_id IS NOT NULL;
ANALYZE;`

// TestExplain_TreesGivenUp_Incomplete: a tree whose search was given up is not explained as one in which groups do not fit.
func TestExplain_TreesGivenUp_Incomplete(t *testing.T) {
	t.Parallel()
	made := dbtest.New(t)
	if _, err := made.Pool.Exec(t.Context(), racks); err != nil {
		t.Fatal(err)
	}
	pool, err := postgres.Open(t.Context(), postgres.Options{URL: made.URL, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	query := candidates.Query{Limit: 2, Budget: 16 << 10}
	for i := range 37 { // 8 devices cannot hold them, which takes more than the budget to prove; 9 can
		amount := []int64{16, 17, 3}[min(2, max(0, i-27)/2)]
		query.Groups = append(query.Groups, candidates.Group{
			Suffix: fmt.Sprint("_", i), Resources: []store.Amount{{Class: "CUSTOM_CRATE", Amount: amount}},
		})
	}
	explained, err := postgres.OnPrimary(t.Context(), pool, func(conn *postgres.Conn) (*explain.Explanation, error) {
		in := postgres.NewSnapshot(conn)
		defer func() { _ = in.Close() }()
		return explain.New(candidates.New(pool)).Explain(t.Context(), in, &explain.ExplainedQuery{Query: query, Found: 2}, enoughTime)
	})
	if err != nil {
		t.Fatal(err)
	}
	last := explained.Funnel[len(explained.Funnel)-1]
	const want = "2 trees are not decided: the search would try too many combinations of providers."
	if !explained.Incomplete || last.Trees != 1 || len(explained.Nearest) != 0 || !strings.HasSuffix(explained.Summary, want) {
		t.Errorf("incomplete = %v, last stage = %+v, nearest = %+v, summary = %s", explained.Incomplete, last, explained.Nearest, explained.Summary)
	}
}
