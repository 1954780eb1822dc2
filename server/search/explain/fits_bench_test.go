package explain_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/search/explain"
)

// fullHosts are 1,000 trees: a root with CUSTOM_SLOT and CUSTOM_MEMORY, below it two nodes, and below each node two cards with a
// CUSTOM_CARD. All is used: each root has 20 consumers, and each card has one. All of them end, at different times.
const fullHosts = `
INSERT INTO resource_classes (id, name) VALUES (20000, 'CUSTOM_SLOT'), (20001, 'CUSTOM_MEMORY'), (20002, 'CUSTOM_CARD'), (20003, 'CUSTOM_NODE');
INSERT INTO resource_providers (id, uuid, name, root_id, parent_id) OVERRIDING SYSTEM VALUE
SELECT n, gen_random_uuid(), 'host-' || n, n, NULL FROM generate_series(1, 1000) AS n UNION ALL
SELECT 1000 + 2 * n + i, gen_random_uuid(), 'node-' || n || '-' || i, n, n FROM generate_series(1, 1000) AS n, generate_series(0, 1) AS i UNION ALL
SELECT 10000 + 4 * n + i, gen_random_uuid(), 'card-' || n || '-' || i, n, 1000 + 2 * n + i / 2 FROM generate_series(1, 1000) AS n, generate_series(0, 3) AS i;
INSERT INTO provider_generations (provider_id) SELECT id FROM resource_providers;
INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio, used)
SELECT id, class, root_id, total, 0, 1, total, 1, 1, total FROM resource_providers,
    LATERAL (VALUES (20000, 40), (20001, 400)) AS of (class, total) WHERE parent_id IS NULL UNION ALL
SELECT id, 20003, root_id, 1, 0, 1, 1, 1, 1, 0 FROM resource_providers WHERE parent_id <= 1000 UNION ALL
SELECT id, 20002, root_id, 1, 0, 1, 1, 1, 1, 1 FROM resource_providers WHERE parent_id > 1000;
INSERT INTO projects (external_id) VALUES ('p');
INSERT INTO users (external_id) VALUES ('u');
INSERT INTO consumers (id, uuid, generation, project_id, user_id, leased) OVERRIDING SYSTEM VALUE
SELECT n, gen_random_uuid(), 1, project.id, owner.id, true FROM generate_series(1, 24000) AS n, projects AS project, users AS owner;
INSERT INTO leases (consumer_id, until, expires_at, due)
SELECT n, ends, ends, ends FROM generate_series(1, 24000) AS n, LATERAL (SELECT timestamptz '2035-01-01' + n * 7919 % 24001 * interval '1 s' AS ends) AS lease;
INSERT INTO allocations (consumer_id, provider_id, class_id, used)
SELECT 20 * (n - 1) + i, n, class, amount FROM generate_series(1, 1000) AS n, generate_series(1, 20) AS i,
    LATERAL (VALUES (20000, 2), (20001, 20)) AS of (class, amount) UNION ALL
SELECT 20000 + 4 * (n - 1) + i + 1, 10000 + 4 * n + i, 20002, 1 FROM generate_series(1, 1000) AS n, generate_series(0, 3) AS i;
ANALYZE;`

// cards returns a query for cards of one host, each on a provider of its own.
func cards(count int) candidates.Query {
	query := candidates.Query{Isolate: true, Limit: 10, Extended: true}
	for i := range count {
		query.Groups = append(query.Groups, candidates.Group{Suffix: fmt.Sprintf("_%d", i), Resources: []store.Amount{{Class: "CUSTOM_CARD", Amount: 1}}})
	}
	return query
}

// neverFits is the name of a query that finds nothing even when all hosts are empty: no card is above another. The time is not enough
// to know that of all hosts.
const neverFits = "never together"

// fullQueries are queries that find nothing in fullHosts.
func fullQueries() map[string]candidates.Query {
	never := cards(2)
	never.Subtrees = []candidates.Subtree{{Inside: []int{0, 1}}}
	return map[string]candidates.Query{
		"one consumer":  {Groups: []candidates.Group{{Resources: []store.Amount{{Class: "CUSTOM_SLOT", Amount: 2}, {Class: "CUSTOM_MEMORY", Amount: 20}}}}, Limit: 10},
		"ten consumers": {Groups: []candidates.Group{{Resources: []store.Amount{{Class: "CUSTOM_SLOT", Amount: 20}, {Class: "CUSTOM_MEMORY", Amount: 200}}}}, Limit: 10},
		"one card":      cards(1),
		"four cards":    cards(4),
		neverFits:       never,
	}
}

// BenchmarkExplain_FitsAt compares explanations with and without fits_at, in alternating runs: it reports the medians in
// milliseconds, their ratio, and which part of the explanations is exact.
func BenchmarkExplain_FitsAt(b *testing.B) {
	made := dbtest.NewLoaded(b, fullHosts)
	pool, err := postgres.Open(b.Context(), postgres.Options{URL: made.URL, MaxConns: 4})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(pool.Close)
	x := explain.New(candidates.New(pool))
	for name, query := range fullQueries() {
		asked := explain.ExplainedQuery{Query: query, FreesConsumers: true, HasPolicy: query.Isolate}
		if len(query.Subtrees) > 0 {
			asked.SameSubtree = []string{"_0,_1"}
		}
		b.Run(name, func(b *testing.B) {
			took, exact := map[bool][]float64{}, 0
			for b.Loop() {
				for _, omits := range []bool{true, false} {
					x.SetMaxFits(map[bool]time.Duration{true: -1}[omits])
					begun := time.Now()
					explanation, err := postgres.OnPrimary(b.Context(), pool, func(conn *postgres.Conn) (*explain.Explanation, error) {
						in := postgres.NewSnapshot(conn)
						defer func() { _ = in.Close() }()
						return x.Explain(b.Context(), in, &asked, time.Second)
					})
					if err != nil {
						b.Fatal(err)
					}
					if explanation.FitsAt.Fit != nil && explanation.FitsAt.Exact || explanation.FitsAt.IsKnown && explanation.FitsAt.Fit == nil {
						exact++
					}
					took[omits] = append(took[omits], time.Since(begun).Seconds()*1000)
				}
			}
			medians := map[bool]float64{}
			for omits, times := range took {
				slices.Sort(times)
				medians[omits] = times[len(times)/2]
			}
			b.ReportMetric(float64(exact)/float64(b.N), "exact")
			b.ReportMetric(medians[true], "without-ms")
			b.ReportMetric(medians[false], "with-ms")
			b.ReportMetric(medians[false]/medians[true], "ratio")
		})
	}
}
