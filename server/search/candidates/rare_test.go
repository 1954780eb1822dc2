package candidates_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/search/candidates"
)

// unsharedForest returns the search in a forest without sharing providers.
func unsharedForest(t *testing.T) (*candidates.Search, *dbtest.DB) {
	t.Helper()
	made := dbtest.NewLoaded(t, forest+"; DELETE FROM provider_aggregates WHERE sharing; ANALYZE")
	opened, err := postgres.Open(t.Context(), postgres.Options{URL: made.URL, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	return candidates.New(opened), made
}

// TestCandidates_IsolatedGroups_SearchTreesWithEnoughProviders: the number of providers of a class is the lead, and a
// query does not follow the hint of one for more groups.
func TestCandidates_IsolatedGroups_SearchTreesWithEnoughProviders(t *testing.T) {
	t.Parallel()
	search, _ := unsharedForest(t)
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
	made := dbtest.NewLoaded(t, forest)
	if _, err := made.Pool.Exec(t.Context(), "DELETE FROM provider_aggregates WHERE sharing"); err != nil {
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

// TestCandidates_RarePair_FollowsHint: two conditions that are rare together lead to the trees, and later queries begin
// with them. The first one reads some hundred trees.
func TestCandidates_RarePair_FollowsHint(t *testing.T) {
	t.Parallel()
	search, made := unsharedForest(t)
	asked := unshared()["two traits, one on each half of the trees"]
	for round := range 3 {
		for _, random := range []bool{false, true} {
			asked.query.Randomize = random
			stats, err := readAll(t, search, asked.query)
			if err != nil || stats.Candidates != asked.candidates || round > 0 && stats.Roots != 1 {
				t.Errorf("error = %v: %d candidates in %d searched trees, want %d in 1", err, stats.Candidates, stats.Roots, asked.candidates)
			}
		}
	}
	// The hint leads to the trees of the pair in every snapshot, also to those that were added.
	if _, err := made.Pool.Exec(t.Context(), "INSERT INTO provider_traits VALUES (1, 9007)"); err != nil {
		t.Fatal(err)
	}
	if stats, err := readAll(t, search, asked.query); err != nil || stats.Candidates != 2*asked.candidates || stats.Roots != 2 {
		t.Errorf("error = %v: %d candidates in %d searched trees, want %d in 2", err, stats.Candidates, stats.Roots, 2*asked.candidates)
	}
}

// TestCandidates_RootsByPair_NoSequentialScan counts the scans of the function, whose statements EXPLAIN does not show.
func TestCandidates_RootsByPair_NoSequentialScan(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; it runs without -short")
	}
	t.Parallel()
	for _, analyze := range []string{"", "ANALYZE"} {
		made := dbtest.NewLoaded(t, forest)
		if _, err := made.Pool.Exec(t.Context(), analyze); err != nil {
			t.Fatal(err)
		}
		for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
			for _, call := range []string{"0, 9006, 9007", "0, 9008, 9009", "1, 9006, 60", "2, 59, 60"} {
				for _, together := range []string{"true", "false"} {
					var sequential, trees int64
					statement := "SELECT count(*) FROM candidate_roots_by_pair(" + call + ", " + together + ", 0, 10000)"
					err := pgx.BeginFunc(t.Context(), made.Pool, func(tx pgx.Tx) error {
						if _, err := tx.Exec(t.Context(), "SET LOCAL plan_cache_mode = "+mode); err != nil {
							return err
						}
						if err := tx.QueryRow(t.Context(), statement).Scan(&trees); err != nil {
							return err
						}
						const scans = "SELECT sum(seq_scan)::bigint FROM pg_stat_xact_user_tables WHERE relname LIKE 'provider\\_%' OR relname = 'resource_providers'"
						return tx.QueryRow(t.Context(), scans).Scan(&sequential)
					})
					if err != nil || sequential > 0 {
						t.Errorf("%s with %s: error = %v, %d sequential scans", statement, mode, err, sequential)
					}
					want := map[string]int64{"0, 9006, 9007 true": 1, "0, 9006, 9007 false": 1, "0, 9008, 9009 false": 5000, "1, 9006, 60 true": 1, "1, 9006, 60 false": 1}
					if trees != want[call+" "+together] {
						t.Errorf("%s with %s: %d trees, want %d", statement, mode, trees, want[call+" "+together])
					}
				}
			}
		}
	}
}
