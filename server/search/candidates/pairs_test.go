package candidates_test

import (
	"testing"

	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/search/candidates"
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

// TestCandidates_SharingBegins_HintOfPairNotFollowed: a tree can use the traits of the sharing providers of its aggregates, so
// that its own providers need not have the pair of a hint.
func TestCandidates_SharingBegins_HintOfPairNotFollowed(t *testing.T) {
	t.Parallel()
	made := newCloud(t, 1000)
	made.exec("INSERT INTO resource_classes (id, name) VALUES (20001, 'CUSTOM_DISK')")
	made.addInventory(20001, 1, 1000)
	made.exec("INSERT INTO traits (id, name) OVERRIDING SYSTEM VALUE VALUES (9101, 'CUSTOM_LEFT'), (9102, 'CUSTOM_RIGHT')")
	made.exec("INSERT INTO provider_traits SELECT n, 9101 + n % 2 FROM generate_series(1, 1000) AS n")
	opened, err := postgres.Open(t.Context(), postgres.Options{URL: made.URL, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	group := wants("", "CUSTOM_SLOT", 1, "CUSTOM_DISK", 1)
	group.Required = [][]string{{"CUSTOM_LEFT"}, {"CUSTOM_RIGHT"}}
	search, query := candidates.New(opened), candidates.Query{Limit: 10, Groups: []candidates.Group{group}}
	for round := range 2 {
		stats, err := readAll(t, search, query)
		if err != nil || stats.Candidates != 0 || round == 1 && stats.Roots != 0 {
			t.Fatalf("error = %v: %d candidates in %d trees, want 0 in 0", err, stats.Candidates, stats.Roots)
		}
	}
	made.exec(`INSERT INTO aggregates (id, uuid) OVERRIDING SYSTEM VALUE VALUES (1, 'a9000000-0000-4000-8000-000000000001')`)
	made.addHosts(1001, 1001)
	made.addInventory(20001, 1001, 1001)
	made.fill(100, 1001, 1001)
	made.exec(`INSERT INTO provider_traits SELECT 1001, id FROM traits WHERE name IN ('CUSTOM_RIGHT', 'MISC_SHARES_VIA_AGGREGATE')`)
	made.exec("INSERT INTO provider_aggregates VALUES (2, 1), (1001, 1)") // host 2 has CUSTOM_LEFT
	for round := range 3 {
		if stats, err := readAll(t, search, query); err != nil || stats.Candidates != 1 {
			t.Errorf("round %d: error = %v: %d candidates, want 1", round, err, stats.Candidates)
		}
	}
	made.exec("DELETE FROM provider_traits WHERE provider_id = 1001 AND trait_id = 9102")
	search = candidates.New(opened)
	for round := range 2 {
		stats, err := readAll(t, search, query)
		if err != nil || stats.Candidates != 0 || round == 1 && stats.Roots != 0 {
			t.Errorf("sharing without the trait: error = %v: %d candidates in %d trees, want 0 in 0", err, stats.Candidates, stats.Roots)
		}
	}
	made.exec("INSERT INTO provider_traits VALUES (1001, 9102)")
	for range 3 {
		if stats, err := readAll(t, search, query); err != nil || stats.Candidates != 1 {
			t.Errorf("sharing with the trait of a hint: error = %v: %d candidates, want 1", err, stats.Candidates)
		}
	}
}

// TestCandidates_PairOfHintBecomesCommon_FindsAllCandidates: a hint of a pair that no tree had stays valid if most trees have
// it a moment later, also if the query wants several pages of them.
func TestCandidates_PairOfHintBecomesCommon_FindsAllCandidates(t *testing.T) {
	t.Parallel()
	made := newCloud(t, 2500)
	made.exec("INSERT INTO traits (id, name) OVERRIDING SYSTEM VALUE VALUES (9101, 'CUSTOM_LEFT'), (9102, 'CUSTOM_RIGHT')")
	made.exec("INSERT INTO provider_traits SELECT n, 9101 + n % 2 FROM generate_series(1, 2500) AS n")
	opened, err := postgres.Open(t.Context(), postgres.Options{URL: made.URL, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	group := wants("", "CUSTOM_SLOT", 1)
	group.Required = [][]string{{"CUSTOM_LEFT"}, {"CUSTOM_RIGHT"}}
	search, query := candidates.New(opened), candidates.Query{Limit: 10, Groups: []candidates.Group{group}}
	if stats, err := readAll(t, search, query); err != nil || stats.Candidates != 0 {
		t.Fatalf("error = %v: %d candidates, want 0", err, stats.Candidates)
	}
	made.exec("INSERT INTO provider_traits SELECT n, 9102 - n % 2 FROM generate_series(1, 2400) AS n")
	made.exec("UPDATE inventories SET used = 100 WHERE provider_id BETWEEN 11 AND 1500")
	for _, random := range []bool{false, true} {
		for _, limit := range []int{10, 905, 911, 3000} {
			query.Limit, query.Randomize = limit, random
			stats, err := readAll(t, search, query)
			if want := min(limit, 910); err != nil || stats.Candidates != want {
				t.Errorf("limit %d, randomize %t: error = %v: %d candidates, want %d", limit, random, err, stats.Candidates, want)
			}
		}
	}
}
