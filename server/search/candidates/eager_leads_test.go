package candidates_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/cmd/berth/plan"
	"github.com/berthd/berth/internal/test/counts"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/candidates"
)

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

// sharedGrove lets two providers share with the trees of an aggregate each. They have two of the traits.
const sharedGrove = `
INSERT INTO traits (name) VALUES ('MISC_SHARES_VIA_AGGREGATE') ON CONFLICT DO NOTHING;
DELETE FROM provider_traits WHERE provider_id IN (20, 41);
DELETE FROM provider_aggregates WHERE provider_id IN (20, 41);
INSERT INTO provider_traits SELECT provider.id, trait.id FROM unnest('{20,41}'::bigint[]) AS provider (id), traits AS trait
WHERE trait.name IN ('MISC_SHARES_VIA_AGGREGATE', 'CUSTOM_T1') OR trait.name = 'CUSTOM_T2' AND provider.id = 20;
INSERT INTO provider_aggregates SELECT provider.id, aggregate.id FROM unnest('{20,41}'::bigint[]) AS provider (id), aggregates AS aggregate
WHERE aggregate.uuid = 'a9000000-0000-4000-8000-000000000003';`

// grower returns random queries of the grove.
type grower struct{ *rand.Rand }

// one reports true once in so many calls.
func (g grower) one(in int) bool { return g.IntN(in) == 0 }

// times returns n values.
func times[T any](n int, pick func() T) (all []T) {
	for range n {
		all = append(all, pick())
	}
	return all
}

func (g grower) trait() string { return fmt.Sprintf("CUSTOM_T%d", g.IntN(5)) }

func (g grower) aggregate() uuid.UUID { return dbtest.NumberedUUID("a9", 1+g.IntN(4)) }

// size is 1 in most cases.
func (g grower) size() int { return 1 + g.IntN(6)/5 }

// group returns a request group.
func (g grower) group(suffix string) candidates.Group {
	group := wants(suffix, "CUSTOM_X", 1+g.IntN(2))
	if g.one(2) {
		group.Resources = append(group.Resources, store.Amount{Class: "CUSTOM_Y", Amount: 1})
	}
	if suffix != "" && g.one(5) {
		group.Resources = nil
	}
	group.Required = times(g.IntN(4), func() []string { return times(g.size(), g.trait) })
	group.MemberOf = times(g.IntN(3), func() []uuid.UUID { return times(g.size(), g.aggregate) })
	group.Forbidden = times(g.IntN(4)/3, g.trait)
	group.NotMemberOf = times(g.IntN(4)/3, g.aggregate)
	return group
}

// query returns a query without a limit.
func (g grower) query() candidates.Query {
	query := candidates.Query{Isolate: g.one(2), OnePerTree: g.one(6), BreadthFirst: g.one(3), Groups: []candidates.Group{g.group("")}}
	for i := range g.IntN(3) {
		query.Groups = append(query.Groups, g.group(fmt.Sprint(i+1)))
	}
	if len(query.Groups) > 2 && g.one(3) {
		query.Subtrees = []candidates.Subtree{{Inside: []int{1, 2}}}
	}
	if g.one(4) {
		query.RootRequired = []string{"CUSTOM_T0", "CUSTOM_T1"}[:1+g.IntN(2)]
	}
	if g.one(8) {
		query.RootForbidden = []string{"CUSTOM_T4"}
	}
	if query.OnePerTree || g.one(2) {
		return query
	}
	return g.extend(query)
}

// extend adds some of what berth 1.1 has.
func (g grower) extend(query candidates.Query) candidates.Query {
	query.Extended = true
	if g.one(3) {
		query.RootMemberOf = times(1+g.IntN(2), func() []uuid.UUID { return times(g.size(), g.aggregate) })
	}
	if g.one(6) {
		query.RootNotMemberOf = []uuid.UUID{g.aggregate()}
	}
	if g.one(3) {
		query.CanSplit = []string{query.Groups[0].Resources[0].Class}
	}
	if len(query.Groups) > 2 && !query.Isolate && g.one(3) {
		query.Isolated = [][]int{{1, 2}}
	}
	if len(query.Groups) > 2 && query.Subtrees == nil && g.one(3) {
		query.Subtrees = []candidates.Subtree{{Inside: []int{1}, Outside: []int{2}}}
	}
	return query
}

// grownTrees returns a search that visits all trees of the grove, one that changes its lead after each page of two trees, and
// the statements that both send.
func grownTrees(t *testing.T, shared bool) (whole, eager *candidates.Search, sent *plan.Recorder) {
	t.Helper()
	made := dbtest.New(t)
	if _, err := made.Pool.Exec(t.Context(), grove); err != nil {
		t.Fatal(err)
	}
	if shared {
		if _, err := made.Pool.Exec(t.Context(), sharedGrove); err != nil {
			t.Fatal(err)
		}
	}
	sent = &plan.Recorder{}
	opened, err := postgres.Open(t.Context(), postgres.Options{URL: made.URL, MaxConns: 2, Tracer: sent})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	return candidates.New(opened), candidates.NewWithThresholds(opened, candidates.Thresholds{Count: 1, PageSize: 2}), sent
}

// TestCandidates_EagerLeads_FindAllCandidates compares the two searches: without a limit, and then with one, when the second
// search follows a hint.
func TestCandidates_EagerLeads_FindAllCandidates(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; it runs without -short")
	}
	t.Parallel()
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprintf("sharing %t", shared), func(t *testing.T) {
			t.Parallel()
			compareEager(t, shared)
		})
	}
}

// compareEager sends random queries to both searches.
func compareEager(t *testing.T, shared bool) {
	t.Helper()
	whole, eager, sent := grownTrees(t, shared)
	random := grower{rand.New(rand.NewPCG(7, 7))}
	pairs, nonempty := 0, 0
	queries := max(40, counts.Of(150))
	for range queries {
		query := random.query()
		want, _, err := answer(t.Context(), whole, query)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(want)
		sent.Reset()
		for _, limit := range []int{1 << 20, 1 + random.IntN(len(want)+1)} {
			query.Limit, query.Randomize = limit, random.one(2)
			got, _, err := answer(t.Context(), eager, query)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(got)
			isPart := !slices.ContainsFunc(got, func(one string) bool { return !slices.Contains(want, one) })
			if len(slices.Compact(got)) != min(limit, len(want)) || !isPart {
				t.Errorf("%+v: %d candidates, want %d; all are valid: %t", query, len(got), min(limit, len(want)), isPart)
			}
		}
		statements, _ := sent.Reset()
		if slices.ContainsFunc(statements, func(s plan.Recorded) bool { return s.Name == "CandidateRootsByPair" }) {
			pairs++
			nonempty += min(len(want), 1)
		}
	}
	if pairs < queries/6 || nonempty < queries/15 {
		t.Errorf("%d of %d queries used pairs, %d of them with candidates; want at least a sixth and a fifteenth", pairs, queries, nonempty)
	}
}
