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

// maxShuffledPage is how many trees more a search may read that shuffles its pages.
const maxShuffledPage = 128
