package candidates_test

import (
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/candidates"
	"github.com/berthd/berth/server/postgres"
)

// unsharedForest returns the search in a forest without sharing providers.
func unsharedForest(t *testing.T) *candidates.Search {
	t.Helper()
	made := dbtest.New(t)
	if _, err := made.Pool.Exec(t.Context(), forest+"; DELETE FROM provider_aggregates WHERE sharing; ANALYZE"); err != nil {
		t.Fatal(err)
	}
	opened, err := postgres.Open(t.Context(), postgres.Options{URL: made.URL, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	return candidates.New(opened)
}

// TestCandidates_IsolatedGroups_SearchTreesWithEnoughProviders: the number of providers of a class is the lead, and a
// query does not follow the hint of one for more groups.
func TestCandidates_IsolatedGroups_SearchTreesWithEnoughProviders(t *testing.T) {
	t.Parallel()
	search := unsharedForest(t)
	three, two := unshared()["more GPUs than any tree has"], unshared()["two GPUs, which few trees have"]
	for range 3 {
		for _, asked := range []question{three, two} {
			for _, random := range []bool{false, true} {
				asked.query.Randomize = random
				stats, err := readAll(t, search, asked.query)
				if err != nil || stats.Candidates != asked.candidates || stats.Roots > asked.trees+maxShuffledPage {
					t.Errorf("error = %v: %d candidates in %d searched trees, want %d in at most %d",
						err, stats.Candidates, stats.Roots, asked.candidates, asked.trees)
				}
			}
		}
	}
}

// TestCandidates_SharingBegins_HintOfCountNotFollowed: a tree can use the sharing providers of its aggregates, so that the
// number of its own providers no longer leads to all trees.
func TestCandidates_SharingBegins_HintOfCountNotFollowed(t *testing.T) {
	t.Parallel()
	made := dbtest.New(t)
	if _, err := made.Pool.Exec(t.Context(), forest+"; DELETE FROM provider_aggregates WHERE sharing"); err != nil {
		t.Fatal(err)
	}
	opened, err := postgres.Open(t.Context(), postgres.Options{URL: made.URL, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	search, asked := candidates.New(opened), unshared()["more GPUs than any tree has"].query
	if stats, err := readAll(t, search, asked); err != nil || stats.Candidates != 0 {
		t.Fatalf("error = %v: %d candidates without sharing, want 0", err, stats.Candidates)
	}
	if _, err := made.Pool.Exec(t.Context(), `INSERT INTO provider_aggregates (provider_id, aggregate_id) VALUES (40001, 1), (40002, 1);
		INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
		SELECT provider.id, class.id, provider.id, 9, 0, 1, 9, 1, 1
		FROM resource_providers AS provider JOIN resource_classes AS class ON class.name = 'PGPU' WHERE provider.id IN (40001, 40002)`); err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		if stats, err := readAll(t, search, asked); err != nil || stats.Candidates != 10 {
			t.Errorf("round %d: error = %v: %d candidates with sharing, want 10", round, err, stats.Candidates)
		}
	}
}

// maxShuffledPage is how many trees more a search may read that shuffles its pages.
const maxShuffledPage = 128
