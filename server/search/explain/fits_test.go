package explain_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/search/explain"
)

// fitsExplanation explains a query that has no candidates, with the consumers that must go or end. It judges trees for some time.
func fitsExplanation(t *testing.T, on *dbtest.DB, query candidates.Query, walk time.Duration) *explain.Explanation {
	t.Helper()
	pool, err := postgres.Open(t.Context(), postgres.Options{URL: on.URL, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	x := explain.New(candidates.New(pool))
	x.SetMaxWalk(walk)
	x.SetMaxFits(enoughTime)
	made, err := postgres.OnPrimary(t.Context(), pool, func(conn *postgres.Conn) (*explain.Explanation, error) {
		in := postgres.NewSnapshot(conn)
		defer func() { _ = in.Close() }()
		return x.Explain(t.Context(), in, &explain.ExplainedQuery{Query: query, FreesConsumers: true, HasPolicy: query.Isolate}, enoughTime)
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestExplain_FitsAtInManyTrees_IsTheFirstOfAll compares the time with one that a statement finds among all hosts: the k-th end on each.
func TestExplain_FitsAtInManyTrees_IsTheFirstOfAll(t *testing.T) {
	t.Parallel()
	made := dbtest.NewLoaded(t, fullHosts)
	for name, want := range map[string]struct {
		kth       int
		condition string
	}{
		"one consumer": {1, "class_id = 20000"}, "ten consumers": {10, "class_id = 20000"},
		"one card": {1, "class_id = 20002"}, "four cards": {4, "class_id = 20002"},
	} {
		var at time.Time
		if err := made.Pool.QueryRow(t.Context(), fmt.Sprintf(`SELECT min(until) FROM (
			SELECT lease.until, row_number() OVER (PARTITION BY root_id ORDER BY until) AS place
			FROM allocations JOIN leases AS lease USING (consumer_id) JOIN resource_providers AS provider ON provider.id = provider_id WHERE %s
		) AS ends WHERE place = %d`, want.condition, want.kth)).Scan(&at); err != nil {
			t.Fatal(err)
		}
		fit := fitsExplanation(t, made, fullQueries()[name], enoughTime).FitsAt.Fit
		if fit == nil || !fit.Exact || !fit.At.Equal(at) || len(fit.Consumers) != want.kth || fit.More != 0 {
			t.Errorf("%s: fits_at = %+v, want %s, exact, with %d consumers", name, fit, at, want.kth)
		}
	}
}

// TestExplain_ShortTime_FitsAtIsNotExact explains in a sample of the hosts.
func TestExplain_ShortTime_FitsAtIsNotExact(t *testing.T) {
	t.Parallel()
	made := dbtest.NewLoaded(t, fullHosts)
	query := fullQueries()["one card"]
	if shown := fitsExplanation(t, made, query, time.Nanosecond); shown.Sample.Exact || shown.FitsAt.Fit == nil || shown.FitsAt.Exact {
		t.Errorf("sample = %+v, fits_at = %+v, want both not exact", shown.Sample, shown.FitsAt.Fit)
	}
	query.Groups[0].Resources[0].Amount = 2
	if shown := fitsExplanation(t, made, query, time.Nanosecond); shown.Sample.Exact || shown.FitsAt.IsKnown {
		t.Errorf("fits_at of a query that never fits in a sample = %+v, want it missing", shown.FitsAt)
	}
}

// crowdedHost is a tree with 20,010 consumers with an end each.
const crowdedHost = `
INSERT INTO resource_classes (id, name) VALUES (20000, 'CUSTOM_SLOT');
INSERT INTO resource_providers (id, uuid, name, root_id) OVERRIDING SYSTEM VALUE VALUES (1, gen_random_uuid(), 'host-1', 1);
INSERT INTO provider_generations (provider_id) VALUES (1);
INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio, used)
VALUES (1, 20000, 1, 20010, 0, 1, 20010, 1, 1, 20010);
INSERT INTO projects (external_id) VALUES ('p');
INSERT INTO users (external_id) VALUES ('u');
INSERT INTO consumers (id, uuid, generation, project_id, user_id, leased) OVERRIDING SYSTEM VALUE
SELECT n, gen_random_uuid(), 1, project.id, owner.id, true FROM generate_series(1, 20010) AS n, projects AS project, users AS owner;
INSERT INTO leases (consumer_id, until, expires_at, due)
SELECT n, ends, ends, ends FROM generate_series(1, 20010) AS n, LATERAL (SELECT timestamptz '2035-01-01Z' + n * interval '1 s' AS ends) AS lease;
INSERT INTO allocations (consumer_id, provider_id, class_id, used) SELECT n, 1, 20000, 1 FROM generate_series(1, 20010) AS n;
ANALYZE;`

// TestExplain_FitsAtWithManyConsumers_ShowsThoseThatEndLast checks the bounds: how many consumers are shown, and read.
func TestExplain_FitsAtWithManyConsumers_ShowsThoseThatEndLast(t *testing.T) {
	t.Parallel()
	made := dbtest.NewLoaded(t, crowdedHost)
	query := candidates.Query{Groups: []candidates.Group{{Resources: []store.Amount{{Class: "CUSTOM_SLOT", Amount: 30}}}}, Limit: 10}
	fit := fitsExplanation(t, made, query, enoughTime).FitsAt.Fit
	first := time.Date(2035, 1, 1, 0, 0, 0, 0, time.UTC)
	if fit == nil || !fit.Exact || !fit.At.Equal(first.Add(30*time.Second)) || len(fit.Consumers) != 20 || fit.More != 10 ||
		!fit.Consumers[0].Until.Equal(fit.At) || !fit.Consumers[19].Until.Equal(first.Add(11*time.Second)) {
		t.Errorf("fits_at = %+v, want 20 of 30 consumers", fit)
	}
	query.Groups[0].Resources[0].Amount = 20_005
	if shown := fitsExplanation(t, made, query, enoughTime).FitsAt; shown.IsKnown {
		t.Errorf("fits_at = %+v, want it missing", shown)
	}
}

// TestExplain_FitsAtStatements_UseIndexes checks that the statements read the tables that grow with the cloud by index only, in both
// kinds of plans.
func TestExplain_FitsAtStatements_UseIndexes(t *testing.T) {
	t.Parallel()
	made := dbtest.NewLoaded(t, fullHosts)
	conn, err := made.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		for name, root := range map[string]*dbtest.PlanNode{
			"ExplainEnds":              dbtest.Explain(t, conn.Conn(), mode, db.ExplainEnds, "'{2,4}'", "'{1,2}'", "'{1,3}'", "'{17,18,19}'", "'{20000,20000}'"),
			"ExplainEndingAllocations": dbtest.Explain(t, conn.Conn(), mode, db.ExplainEndingAllocations, "'{17,18}'", "'{20000,20001}'", "20000"),
		} {
			found := map[string]bool{}
			root.Walk(func(n *dbtest.PlanNode) {
				if found[n.Index] = true; n.Relation != "" && n.Index == "" && n.Type != "Bitmap Heap Scan" {
					t.Errorf("%s, %s: %s of %s, want an index", name, mode, n.Type, n.Relation)
				}
			})
			if !found["allocations_provider_id_idx"] || !found["leases_pkey"] {
				t.Errorf("%s, %s: indexes = %v", name, mode, found)
			}
		}
	}
}
