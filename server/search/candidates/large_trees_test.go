package candidates_test

import (
	"slices"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/candidates"
)

// largeTrees fills a database with 700 hosts that have 99 children each: more providers than the search keeps in memory
// for summaries. Each host has 10 of a class, each child 1 of another.
const largeTrees = `
INSERT INTO resource_classes (id, name) VALUES (20001, 'CUSTOM_HOST'), (20002, 'CUSTOM_PORT');
INSERT INTO resource_providers (id, uuid, name, root_id, parent_id) OVERRIDING SYSTEM VALUE
SELECT host * 100 + part, md5('part ' || host * 100 + part)::uuid, 'part-' || host * 100 + part, host * 100 + 1,
    CASE WHEN part > 1 THEN host * 100 + 1 END
FROM generate_series(0, 699) AS host, generate_series(1, 100) AS part;
INSERT INTO provider_generations (provider_id) SELECT id FROM resource_providers;
INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
SELECT id, CASE WHEN parent_id IS NULL THEN 20001 ELSE 20002 END, root_id, 10, 0, 1, 10, 1, 1 FROM resource_providers;`

// TestCandidates_LargeTrees_SummariesAreComplete reads all candidates in one page, as a server does that has read only
// a single tree before, then in pages of a snapshot, with and without a limit.
func TestCandidates_LargeTrees_SummariesAreComplete(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; it runs without -short")
	}
	t.Parallel()
	made := dbtest.New(t)
	if _, err := made.Pool.Exec(t.Context(), largeTrees); err != nil {
		t.Fatal(err)
	}
	opened, err := postgres.Open(t.Context(), postgres.Options{URL: made.URL, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	search := candidates.New(opened)
	groups := []candidates.Group{{Resources: []store.Amount{{Class: "CUSTOM_HOST", Amount: 1}}}}
	inTree := slices.Clone(groups)
	if err := made.Pool.QueryRow(t.Context(), "SELECT uuid FROM resource_providers WHERE id = 101").Scan(&inTree[0].InTree); err != nil {
		t.Fatal(err)
	}
	checkLargeTrees(t, search, candidates.Query{Groups: inTree, Limit: 1}, 1)
	if pages := checkLargeTrees(t, search, candidates.Query{Groups: groups, Limit: 1000}, 700); pages != 1 {
		t.Errorf("%d pages, want 1", pages)
	}
	for _, limit := range []int{1000, 2000, 0} {
		if pages := checkLargeTrees(t, search, candidates.Query{Groups: groups, Limit: limit}, 700); pages < 2 {
			t.Errorf("limit %d: a page had 70,000 providers", limit)
		}
	}
}

// checkLargeTrees fails the test unless the query finds candidates in so many trees, with summaries of all their
// providers. It returns how many pages the search read.
func checkLargeTrees(t *testing.T, search *candidates.Search, query candidates.Query, trees int) (pages int) {
	t.Helper()
	found, err := search.List(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	count, summaries := 0, map[string]bool{}
	for _, err := range found.All() {
		if err != nil {
			t.Fatal(err)
		}
		count++
	}
	for summary, err := range found.Summaries() {
		if err != nil {
			t.Fatal(err)
		}
		if len(summary.Resources) != 1 || summary.Resources[0].Capacity != 10 {
			t.Errorf("limit %d: the resources of %s are %v", query.Limit, summary.UUID, summary.Resources)
		}
		summaries[summary.UUID.String()] = true
	}
	pages = found.Pages()
	if err := found.Close(); err != nil {
		t.Fatal(err)
	}
	if count != trees || len(summaries) != 100*trees {
		t.Errorf("limit %d: %d candidates and %d summaries, want %d and %d", query.Limit, count, len(summaries), trees, 100*trees)
	}
	return pages
}
