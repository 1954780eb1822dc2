package explain_test

import (
	"math"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/storetest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/search/explain"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// hosts are 5,000 trees of one provider with 100 CUSTOM_SLOT. A fifth has CUSTOM_BLUE, and two thirds of these are full, as
// every tenth of the others is. Ten full ones have CUSTOM_RARE, and these ten have CUSTOM_TAPE.
const hosts = `
INSERT INTO resource_classes (id, name) VALUES (20000, 'CUSTOM_SLOT'), (20001, 'CUSTOM_TAPE');
INSERT INTO traits (id, name) OVERRIDING SYSTEM VALUE VALUES (20000, 'CUSTOM_BLUE'), (20001, 'CUSTOM_RARE'), (20002, 'CUSTOM_NEVER');
INSERT INTO resource_providers (id, uuid, name, root_id) OVERRIDING SYSTEM VALUE
SELECT n, ('ba000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'host-' || n, n FROM generate_series(1, 5000) AS n;
INSERT INTO provider_generations (provider_id) SELECT n FROM generate_series(1, 5000) AS n;
INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
SELECT n, 20000, n, 100, 0, 1, 100, 1, 1 FROM generate_series(1, 5000) AS n;
INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
SELECT n, 20001, n, 100, 0, 1, 100, 1, 1 FROM generate_series(1, 5000) AS n WHERE n % 500 = 0;
UPDATE inventories SET used = 100 WHERE class_id = 20000 AND (provider_id % 5 = 0 AND provider_id % 3 > 0 OR provider_id % 10 = 7 OR provider_id % 500 = 0);
INSERT INTO provider_traits SELECT n, 20000 FROM generate_series(1, 5000) AS n WHERE n % 5 = 0;
INSERT INTO provider_traits SELECT n, 20001 FROM generate_series(1, 5000) AS n WHERE n % 500 = 0;
ANALYZE;`

// newHosts returns an explainer and the pool of a database with hosts.
func newHosts(t *testing.T) (*explain.Explainer, *postgres.Pool) {
	t.Helper()
	made := dbtest.NewLoaded(t, hosts)
	pool, err := postgres.Open(t.Context(), postgres.Options{URL: made.URL, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return explain.New(candidates.New(pool)), pool
}

// explained explains a query that has no candidates, and judges trees for some time.
func explained(t *testing.T, x *explain.Explainer, pool *postgres.Pool, query candidates.Query, limit time.Duration) *explain.Explanation {
	t.Helper()
	x.SetMaxWalk(limit)
	made, err := postgres.OnPrimary(t.Context(), pool, func(conn *postgres.Conn) (*explain.Explanation, error) {
		in := postgres.NewSnapshot(conn)
		defer func() { _ = in.Close() }()
		return x.Explain(t.Context(), in, &explain.ExplainedQuery{Query: query}, enoughTime)
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// one returns a query for an amount on one provider with traits.
func one(class string, amount int64, traits ...string) candidates.Query {
	group := candidates.Group{Resources: []store.Amount{{Class: class, Amount: amount}}}
	for _, trait := range traits {
		group.Required = append(group.Required, []string{trait})
	}
	return candidates.Query{Groups: []candidates.Group{group}, Limit: 10}
}

const (
	// enoughTime is enough for all trees, shortTime only for some.
	enoughTime, shortTime = 5 * time.Minute, 8 * time.Millisecond
	sampledRuns           = 200
)

// TestExplain_ShortTime_EstimatesNumbersOfTrees compares the numbers of trees of sampled explanations with those of a
// complete one.
func TestExplain_ShortTime_EstimatesNumbersOfTrees(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; it runs without -short")
	}
	t.Parallel()
	x, pool := newHosts(t)
	query := one("CUSTOM_SLOT", 40, "CUSTOM_BLUE", "CUSTOM_NEVER")
	complete := explained(t, x, pool, query, enoughTime)
	if !complete.Sample.Exact || complete.Sample.LookedAt != 5000 {
		t.Fatalf("%+v", complete.Sample)
	}
	within, all, sampled := 0, 0, 0
	for range sampledRuns {
		made := explained(t, x, pool, query, shortTime)
		if made.Sample == nil || made.Sample.Exact {
			continue
		}
		sampled++
		for i, step := range made.Parts[0].Steps {
			all++
			if 100*math.Abs(float64(step.Trees-complete.Parts[0].Steps[i].Trees))/5000 <= *made.Sample.Margin {
				within++
			}
		}
		checkSample(t, made)
	}
	if sampled < sampledRuns/2 || 10*within < 9*all {
		t.Errorf("%d of %d estimates in %d sampled explanations are within the margin", within, all, sampled)
	}
}

// checkSample checks what a sampled explanation tells about itself.
func checkSample(t *testing.T, made *explain.Explanation) {
	t.Helper()
	sample, steps := made.Sample, made.Parts[0].Steps
	margin := math.Round(9800/math.Sqrt(float64(sample.LookedAt))) / 100
	if atMost := (3*5000 + sample.LookedAt - 1) / sample.LookedAt; sample.Trees != 5000 || *sample.Margin != margin || *sample.ZeroAtMost != atMost {
		t.Errorf("%+v with margin %v and zero_at_most %v, not %v and %v", sample, *sample.Margin, *sample.ZeroAtMost, margin, atMost)
	}
	for i := range steps[1:] {
		if steps[i+1].Trees > steps[i].Trees || steps[i+1].Providers > steps[i].Providers {
			t.Errorf("the numbers of %+v grow", steps)
		}
	}
	if last := made.Funnel[len(made.Funnel)-1]; last.Trees != 0 || made.Funnel[0].Trees != 5000 {
		t.Errorf("funnel %+v", made.Funnel)
	}
	if fact := made.Facts[0]; fact.Providers != 5000 || *fact.WithRoom != 3830 || *fact.MostRoom != 100 {
		t.Errorf("fact %+v with %d and %d", fact, *fact.WithRoom, *fact.MostRoom)
	}
}

// TestExplain_RareThings_AreCountedInAnyTime queries a trait of ten full hosts.
func TestExplain_RareThings_AreCountedInAnyTime(t *testing.T) {
	t.Parallel()
	x, pool := newHosts(t)
	for _, query := range []candidates.Query{one("CUSTOM_SLOT", 40, "CUSTOM_RARE"), one("CUSTOM_TAPE", 101), one("CUSTOM_SLOT", 40, "CUSTOM_BLUE", "CUSTOM_RARE")} {
		made := explained(t, x, pool, query, time.Nanosecond) // the first page only
		if made.Sample.Exact || made.Sample.LookedAt > 110 {
			t.Errorf("sample = %+v, want 100 trees and the rare ones", made.Sample)
		}
		steps := made.Parts[0].Steps
		at := len(steps) - 5 // the last required trait
		if query.Groups[0].Required == nil {
			at = 1
		}
		if steps[at].Trees != 10 || steps[at].Providers != 10 {
			t.Errorf("%+v is not about ten trees, in %+v", steps[at], made.Sample)
		}
	}
}

// TestExplain_OneTreeForAllGroups_IsInEverySample queries two traits of many hosts that one host has together, which has too
// little for both groups. The reason and that tree do not depend on the sample.
func TestExplain_OneTreeForAllGroups_IsInEverySample(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; it runs without -short")
	}
	t.Parallel()
	x, pool := newHosts(t)
	if _, err := postgres.OnPrimary(t.Context(), pool, func(conn *postgres.Conn) (any, error) {
		defer conn.Release()
		return conn.Exec(t.Context(), `
			INSERT INTO provider_traits SELECT n, 20002 FROM generate_series(1, 5000) AS n WHERE n % 5 = 1 OR n = 15`)
	}); err != nil {
		t.Fatal(err)
	}
	query := one("CUSTOM_SLOT", 60, "CUSTOM_BLUE")
	second := one("CUSTOM_SLOT", 60, "CUSTOM_NEVER").Groups[0]
	query.Groups[0].Suffix, second.Suffix = "_A", "_B"
	query.Groups = append(query.Groups, second)
	sampled := 0
	for range 50 {
		made := explained(t, x, pool, query, shortTime)
		if made.Sample == nil || made.Sample.Exact {
			continue
		}
		sampled++
		if made.Reason != explain.Together || len(made.Nearest) == 0 || made.Nearest[0].Tree.Name != "host-15" || made.Nearest[0].Stage != "sums" {
			t.Fatalf("explanation = %s %+v %+v, want host-15", made.Summary, made.Sample, made.Nearest)
		}
	}
	if sampled < 25 {
		t.Errorf("sampled = %d, want 25", sampled)
	}
}
