package candidates_test

import (
	"testing"

	"github.com/berthd/berth/server/candidates"
	"github.com/berthd/berth/server/postgres"
)

// newSplitCloud creates 6,000 hosts, of which only the last 600 have free capacity, and the search in them. One half of these
// has CUSTOM_LEFT, the other half CUSTOM_RIGHT. All others have CUSTOM_LEFT, and the first of them both traits.
func newSplitCloud(t *testing.T, both int) (*candidates.Search, candidates.Query) {
	t.Helper()
	made := newCloud(t, 6000)
	made.fill(100, 1, 5400)
	made.exec("INSERT INTO traits (id, name) OVERRIDING SYSTEM VALUE VALUES (9101, 'CUSTOM_LEFT'), (9102, 'CUSTOM_RIGHT')")
	made.exec("INSERT INTO provider_traits SELECT n, 9101 FROM generate_series(1, 5700) AS n")
	made.exec("INSERT INTO provider_traits SELECT n, 9102 FROM generate_series(1, 6000) AS n WHERE n <= $1 OR n > 5700", both)
	made.exec("ANALYZE")
	opened, err := postgres.Open(t.Context(), postgres.Options{URL: made.URL, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	group := wants("", "CUSTOM_SLOT", 1)
	group.Required = [][]string{{"CUSTOM_LEFT"}, {"CUSTOM_RIGHT"}}
	return candidates.New(opened), candidates.Query{Limit: 10, Groups: []candidates.Group{group}}
}

// TestCandidates_PairCommonInFullTrees_SearchesFreeTrees: the sampled trees have free capacity, and a pair is rare among
// them. All other trees have the pair, but no free capacity: the search must not continue with them.
func TestCandidates_PairCommonInFullTrees_SearchesFreeTrees(t *testing.T) {
	t.Parallel()
	search, query := newSplitCloud(t, 5400)
	for round := range 3 {
		stats, err := readAll(t, search, query)
		if err != nil || stats.Candidates != 0 || stats.Roots > 800 {
			t.Errorf("round %d: error = %v: %d candidates in %d searched trees, want 0 in at most 800", round, err, stats.Candidates, stats.Roots)
		}
	}
}

// TestCandidates_PairRareInAllTrees_SearchesFewFreeTrees: the trees with free capacity lead, until a page of the pair's
// trees has all of them.
func TestCandidates_PairRareInAllTrees_SearchesFewFreeTrees(t *testing.T) {
	t.Parallel()
	search, query := newSplitCloud(t, 100)
	for round := range 3 {
		stats, err := readAll(t, search, query)
		if most := []int{500, 100, 100}[round]; err != nil || stats.Candidates != 0 || stats.Roots > most {
			t.Errorf("round %d: error = %v: %d candidates in %d searched trees, want 0 in at most %d", round, err, stats.Candidates, stats.Roots, most)
		}
	}
}
