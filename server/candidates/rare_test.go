package candidates_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/internal/plan"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/candidates"
	"github.com/berthd/berth/server/postgres"
	"github.com/berthd/berth/server/store"
)

// unsharedForest returns the search in a forest without sharing providers.
func unsharedForest(t *testing.T) (*candidates.Search, *dbtest.DB) {
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
	t.Parallel()
	for _, analyze := range []string{"", "; ANALYZE"} {
		made := dbtest.New(t)
		if _, err := made.Pool.Exec(t.Context(), forest+analyze); err != nil {
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

// grove fills a database with 60 trees of four providers with random traits, aggregates, and one or two units.
const grove = `
INSERT INTO resource_classes (name) VALUES ('CUSTOM_X'), ('CUSTOM_Y');
INSERT INTO traits (id, name) OVERRIDING SYSTEM VALUE SELECT 9000 + n, 'CUSTOM_T' || n FROM generate_series(0, 4) AS n;
INSERT INTO aggregates (uuid) SELECT ('a9000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid FROM generate_series(1, 4) AS n;
INSERT INTO resource_providers (id, uuid, name, root_id, parent_id) OVERRIDING SYSTEM VALUE
SELECT n, ('aa000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'part-' || n, n - n % 4, CASE WHEN n % 4 > 0 THEN n - n % 4 END
FROM generate_series(4, 243) AS n;
INSERT INTO provider_generations (provider_id) SELECT id FROM resource_providers;
INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
SELECT provider.id, class.id, provider.root_id, 1 + (hashint8extended(provider.id, class.id) & 1), 0, 1, 9, 1, 1
FROM resource_providers AS provider JOIN resource_classes AS class ON class.name IN ('CUSTOM_X', 'CUSTOM_Y')
WHERE hashint8extended(provider.id, class.id + 100) & 3 > 0;
INSERT INTO provider_traits SELECT provider.id, trait.id FROM resource_providers AS provider, traits AS trait
WHERE trait.id >= 9000 AND hashint8extended(provider.id, trait.id) & 3 = 0;
INSERT INTO provider_aggregates SELECT provider.id, aggregate.id FROM resource_providers AS provider, aggregates AS aggregate
WHERE hashint8extended(provider.id, aggregate.id) & 3 = 0;`

// randomGroup returns a request group of the grove.
func randomGroup(rng *rand.Rand, suffix string) candidates.Group {
	group := wants(suffix, "CUSTOM_X", 1+rng.IntN(2))
	if rng.IntN(2) == 0 {
		group.Resources = append(group.Resources, store.Amount{Class: "CUSTOM_Y", Amount: 1})
	}
	for range rng.IntN(4) {
		group.Required = append(group.Required, []string{fmt.Sprintf("CUSTOM_T%d", rng.IntN(5))})
	}
	for range rng.IntN(3) {
		group.MemberOf = append(group.MemberOf, []uuid.UUID{dbtest.NumberedUUID("a9", 1+rng.IntN(4))})
	}
	return group
}

// TestCandidates_EagerLeads_FindAllCandidates compares a search that changes its lead after each page of two trees with
// one that visits all trees.
func TestCandidates_EagerLeads_FindAllCandidates(t *testing.T) {
	t.Parallel()
	made := dbtest.New(t)
	if _, err := made.Pool.Exec(t.Context(), grove); err != nil {
		t.Fatal(err)
	}
	sent := &plan.Recorder{}
	opened, err := postgres.Open(t.Context(), postgres.Options{URL: made.URL, MaxConns: 2, Tracer: sent})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	whole := candidates.New(opened)
	eager := candidates.NewWithThresholds(opened, candidates.Thresholds{Count: 1, PageSize: 2})
	rng := rand.New(rand.NewPCG(7, 7))
	pairs, nonempty := 0, 0
	for range 400 {
		query := candidates.Query{Isolate: rng.IntN(2) == 0, Groups: []candidates.Group{randomGroup(rng, "")}}
		for i := range rng.IntN(3) {
			query.Groups = append(query.Groups, randomGroup(rng, fmt.Sprint(i+1)))
		}
		if rng.IntN(4) == 0 {
			query.RootRequired = []string{"CUSTOM_T0", "CUSTOM_T1"}[:1+rng.IntN(2)]
		}
		want, _, err := answer(t.Context(), whole, query)
		if err != nil {
			t.Fatal(err)
		}
		sent.Reset()
		query.Limit, query.Randomize = 1<<20, rng.IntN(2) == 0
		got, _, err := answer(t.Context(), eager, query)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%+v: %d candidates, want %d", query, len(got), len(want))
		}
		statements, _ := sent.Reset()
		if slices.ContainsFunc(statements, func(s plan.Recorded) bool { return s.Name == "CandidateRootsByPair" }) {
			pairs++
			nonempty += min(len(want), 1)
		}
	}
	if pairs < 100 || nonempty < 50 {
		t.Errorf("%d queries used pairs, %d of them with candidates; want at least 100 and 50", pairs, nonempty)
	}
}
