package candidates_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/cmd/berth/plan"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/candidates"
)

// forest fills a database with 5,000 trees of seven providers: a host with a disk, two NUMA nodes with cores and
// memory, three FPGAs and a GPU below them. One host in a hundred has CUSTOM_RARE, one of all has CUSTOM_NEEDLE. Every
// hundred hosts are in an aggregate with a sharing storage provider. 10 hosts have a free capacity of 1,000 gigabytes, and 5
// a second GPU. One half of the hosts has CUSTOM_LEFT and is in aggregate 59, the other half has CUSTOM_RIGHT and is in
// aggregate 60; the last host has both traits. The first NUMA node of each has CUSTOM_FIRST, the second CUSTOM_SECOND.
const forest = `
INSERT INTO resource_classes (id, name) VALUES (0, 'VCPU'), (1, 'MEMORY_MB'), (2, 'DISK_GB'), (9, 'PGPU'), (13, 'FPGA'), (10000, 'CUSTOM_TAPE')
ON CONFLICT DO NOTHING;
INSERT INTO traits (id, name) OVERRIDING SYSTEM VALUE VALUES
    (9001, 'CUSTOM_HOST'), (9002, 'CUSTOM_NUMA'), (9003, 'CUSTOM_RARE'), (9004, 'CUSTOM_NEEDLE'), (9005, 'CUSTOM_DEEP');
INSERT INTO traits (name) VALUES ('MISC_SHARES_VIA_AGGREGATE') ON CONFLICT DO NOTHING;
INSERT INTO aggregates (uuid) SELECT ('a9000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid FROM generate_series(1, 60) AS n;
INSERT INTO resource_providers (id, uuid, name, root_id, parent_id) OVERRIDING SYSTEM VALUE
SELECT host * 7 + part, ('aa000000-0000-4000-8000-' || lpad(to_hex(host * 7 + part), 12, '0'))::uuid, 'host-' || host || '-' || part,
    host * 7 + 1, host * 7 + (ARRAY[NULL, 1, 1, 2, 3, 3, 4])[part]
FROM generate_series(0, 4999) AS host, generate_series(1, 7) AS part;
INSERT INTO resource_providers (id, uuid, name, root_id) OVERRIDING SYSTEM VALUE
SELECT 40000 + n, ('aa000000-0000-4000-8000-' || lpad(to_hex(40000 + n), 12, '0'))::uuid, 'storage-' || n, 40000 + n
FROM generate_series(1, 50) AS n;
INSERT INTO provider_generations (provider_id) SELECT id FROM resource_providers;
INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
SELECT provider.id, class.id, provider.root_id, stock.total, 0, 1, 2147483647, 1, 1
FROM resource_providers AS provider
JOIN (VALUES (1, 'DISK_GB', 500), (2, 'VCPU', 32), (2, 'MEMORY_MB', 65536), (3, 'VCPU', 32), (3, 'MEMORY_MB', 65536),
    (4, 'FPGA', 2), (5, 'FPGA', 2), (6, 'FPGA', 2), (7, 'PGPU', 1))
    AS stock (part, class, total) ON stock.part = (provider.id - 1) % 7 + 1
JOIN resource_classes AS class ON class.name = stock.class
WHERE provider.id <= 35000;
INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
SELECT provider.id, class.id, provider.root_id, 1, 0, 1, 1, 1, 1
FROM resource_providers AS provider JOIN resource_classes AS class ON class.name = 'PGPU' WHERE provider.id % 7000 = 6;
UPDATE inventories SET total = 1000 WHERE class_id = 2 AND provider_id % 3500 = 1;
INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
SELECT id, 10000, id, 100000, 0, 1, 2147483647, 1, 1 FROM resource_providers WHERE id > 40000;
INSERT INTO provider_traits SELECT id, 9001 FROM resource_providers WHERE parent_id IS NULL AND id <= 35000;
INSERT INTO provider_traits SELECT id, 9002 FROM resource_providers WHERE id <= 35000 AND (id - 1) % 7 IN (1, 2);
INSERT INTO provider_traits SELECT id, 9003 FROM resource_providers WHERE id <= 35000 AND id % 700 = 1;
INSERT INTO provider_traits VALUES (21001, 9004), (21007, 9005);
INSERT INTO traits (id, name) OVERRIDING SYSTEM VALUE VALUES
    (9006, 'CUSTOM_LEFT'), (9007, 'CUSTOM_RIGHT'), (9008, 'CUSTOM_FIRST'), (9009, 'CUSTOM_SECOND');
INSERT INTO provider_traits SELECT id, 9006 + (id / 7 % 2) FROM resource_providers WHERE parent_id IS NULL AND id <= 35000;
INSERT INTO provider_traits SELECT max(id), 9006 FROM resource_providers WHERE parent_id IS NULL AND id <= 35000;
INSERT INTO provider_traits SELECT id, 9006 + (id - 1) % 7 + 1 FROM resource_providers WHERE id <= 35000 AND (id - 1) % 7 IN (1, 2);
INSERT INTO provider_aggregates SELECT id, 59 + (id / 7 % 2) FROM resource_providers WHERE parent_id IS NULL AND id <= 35000;
INSERT INTO provider_traits
SELECT provider.id, trait.id FROM resource_providers AS provider
JOIN traits AS trait ON trait.name = 'MISC_SHARES_VIA_AGGREGATE' WHERE provider.id > 40000;
INSERT INTO provider_aggregates SELECT id, 1 + id / 700 FROM resource_providers WHERE parent_id IS NULL AND id <= 35000;
INSERT INTO provider_aggregates SELECT id, id - 40000 FROM resource_providers WHERE id > 40000;`

// smallForest is a forest of 1,000 trees, for tests that compare results with each other.
var smallForest = strings.NewReplacer("generate_series(0, 4999)", "generate_series(0, 999)", "(21001, 9004), (21007, 9005)", "(4201, 9004), (4207, 9005)").Replace(forest)

// query is a query that takes a path of its own through the search.
type question struct {
	query candidates.Query
	// candidates is how many it finds; trees is the maximum number of trees that it may search for them.
	candidates, trees int
}

func wants(suffix string, amounts ...any) candidates.Group {
	group := candidates.Group{Suffix: suffix}
	for i := 0; i < len(amounts); i += 2 {
		group.Resources = append(group.Resources, store.Amount{Class: amounts[i].(string), Amount: int64(amounts[i+1].(int))})
	}
	return group
}

func (q question) with(change func(*question)) question {
	change(&q)
	return q
}

// queries are queries of the forest, which has 5,050 trees.
func questions() map[string]question {
	host := wants("", "DISK_GB", 10)
	host.Required = [][]string{{"CUSTOM_HOST"}}
	compute, fpga := wants("_COMPUTE", "VCPU", 1, "MEMORY_MB", 256), wants("_FPGA", "FPGA", 1)
	compute.Required = [][]string{{"CUSTOM_NUMA"}}
	nested := candidates.Query{Limit: 10, Groups: []candidates.Group{host, compute, fpga}, Subtrees: []candidates.Subtree{{Inside: []int{1, 2}}}}
	spread := candidates.Query{Limit: 10, Groups: []candidates.Group{wants("", "DISK_GB", 10, "VCPU", 1)}}
	numa := candidates.Group{Suffix: "_NUMA", Required: [][]string{{"CUSTOM_NUMA"}}}
	inTree := dbtest.NumberedUUID("aa", 21003)
	all := map[string]question{
		"a nested request":                  {query: nested, candidates: 10, trees: 10},
		"a request spread over a tree":      {query: spread, candidates: 10, trees: 10},
		"more than most hosts have":         {query: candidates.Query{Limit: 10, Groups: []candidates.Group{wants("", "DISK_GB", 900)}}, candidates: 10, trees: 20},
		"more than any host has":            {query: candidates.Query{Limit: 10, Groups: []candidates.Group{wants("", "DISK_GB", 2000)}}, trees: 10},
		"storage of a sharing provider":     {query: candidates.Query{Limit: 10, Groups: []candidates.Group{wants("", "VCPU", 1, "CUSTOM_TAPE", 1)}}, candidates: 10, trees: 10},
		"two FPGAs of different providers":  {query: candidates.Query{Limit: 10, Isolate: true, Groups: []candidates.Group{wants("1", "FPGA", 1), wants("2", "FPGA", 1)}}, candidates: 10, trees: 10},
		"a group without resources":         {query: candidates.Query{Limit: 10, Groups: []candidates.Group{numa, fpga}, Subtrees: []candidates.Subtree{{Inside: []int{0, 1}}}}, candidates: 10, trees: 10},
		"everything, with a rare root":      {query: candidates.Query{Groups: spread.Groups, RootRequired: []string{"CUSTOM_RARE"}}, candidates: 100, trees: 50},
		"the only root with a trait":        {query: candidates.Query{Limit: 10, Groups: spread.Groups, RootRequired: []string{"CUSTOM_NEEDLE"}}, candidates: 2, trees: 20},
		"in the tree of a provider":         {query: candidates.Query{Limit: 10, Groups: []candidates.Group{{Resources: spread.Groups[0].Resources, InTree: &inTree}}}, candidates: 2, trees: 1},
		"in the tree of a provider, suffix": {query: candidates.Query{Limit: 10, Groups: []candidates.Group{{Suffix: "1", Resources: wants("", "VCPU", 1).Resources, InTree: &inTree}}}, candidates: 2, trees: 1},
	}
	all["a shuffled nested request"] = all["a nested request"].with(func(q *question) { q.query.Randomize, q.query.BreadthFirst, q.trees = true, true, 40 })
	deep := wants("", "VCPU", 1)
	part := wants("1", "PGPU", 1)
	part.Required = [][]string{{"CUSTOM_DEEP"}}
	all["the only part with a trait"] = question{query: candidates.Query{Limit: 10, Groups: []candidates.Group{deep, part}}, candidates: 2, trees: 20}
	grouped := wants("", "DISK_GB", 10)
	grouped.MemberOf = [][]uuid.UUID{{dbtest.NumberedUUID("a9", 7)}}
	all["a small aggregate"] = question{query: candidates.Query{Limit: 10, Groups: []candidates.Group{grouped}}, candidates: 10, trees: 110}
	return all
}

// unshared are further queries of the forest without sharing providers.
func unshared() map[string]question {
	isolated := candidates.Query{Limit: 10, Isolate: true, Groups: []candidates.Group{wants("1", "PGPU", 1), wants("2", "PGPU", 1)}}
	all := map[string]question{"two GPUs, which few trees have": {query: isolated, candidates: 10, trees: 60}}
	isolated.Groups = append(isolated.Groups, wants("3", "PGPU", 1))
	all["more GPUs than any tree has"] = question{query: isolated, trees: 10}
	halves := wants("", "DISK_GB", 1, "VCPU", 1)
	halves.Required = [][]string{{"CUSTOM_LEFT"}, {"CUSTOM_RIGHT"}}
	all["two traits, one on each half of the trees"] = question{
		query: candidates.Query{Limit: 10, Groups: []candidates.Group{halves}}, candidates: 2, trees: 400,
	}
	numa := wants("1", "VCPU", 1)
	numa.Required = [][]string{{"CUSTOM_FIRST"}, {"CUSTOM_SECOND"}}
	all["two traits, never on one provider"] = question{
		query: candidates.Query{Limit: 10, Groups: []candidates.Group{numa}}, trees: 400,
	}
	grouped := wants("1", "DISK_GB", 1)
	grouped.Required, grouped.MemberOf = [][]string{{"CUSTOM_LEFT"}}, [][]uuid.UUID{{dbtest.NumberedUUID("a9", 60)}}
	all["a trait and an aggregate, on one provider"] = question{
		query: candidates.Query{Limit: 10, Groups: []candidates.Group{grouped}}, candidates: 1, trees: 400,
	}
	member := wants("", "DISK_GB", 1)
	member.MemberOf = [][]uuid.UUID{{dbtest.NumberedUUID("a9", 59)}, {dbtest.NumberedUUID("a9", 60)}}
	all["two aggregates, never on one tree"] = question{
		query: candidates.Query{Limit: 10, Groups: []candidates.Group{member}}, trees: 400,
	}
	return all
}

// growing are the tables that grow with the cloud.
var growing = []string{
	"resource_providers", "provider_generations", "inventories", "allocations", "consumers", "provider_traits", "provider_aggregates",
	"tree_classes",
}

// TestCandidates_Statements_NoSequentialScan explains every statement of every query with the planner settings of the
// server, and with plans for its arguments: on a database without statistics, on one with statistics, and without
// sharing providers.
func TestCandidates_Statements_NoSequentialScan(t *testing.T) {
	t.Parallel()
	made, search, sent := explained(t)
	seen, asked := map[string]bool{}, questions()
	explainAll(t, made, search, sent, asked, seen)
	if _, err := made.Pool.Exec(t.Context(), "ANALYZE"); err != nil {
		t.Fatal(err)
	}
	explainAll(t, made, search, sent, asked, seen)
	if _, err := made.Pool.Exec(t.Context(), "DELETE FROM provider_aggregates WHERE sharing"); err != nil {
		t.Fatal(err)
	}
	delete(asked, "storage of a sharing provider")
	maps.Copy(asked, unshared())
	explainAll(t, made, search, sent, asked, seen)
	search.SetReasonTime(time.Minute)
	explainEmpty(t, made, search, sent, seen)
	for _, statement := range []string{
		"CandidateNames", "CandidatePage", "CandidatePageGeneral", "CandidateSelectivity", "CandidateAnchors", "CandidateSummaryNames",
		"CandidateSample", "CandidateRootsByPair", "CandidateLargest", "CapacityFitInventories",
	} {
		if !seen[statement] {
			t.Errorf("no query sends %s", statement)
		}
	}
}

// explainEmpty explains the statements that find why a query is empty.
func explainEmpty(t *testing.T, made *dbtest.DB, search *candidates.Search, sent *plan.Recorder, seen map[string]bool) {
	t.Helper()
	conn, err := made.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	isolated := candidates.Query{Limit: 10, Isolate: true}
	for i := range 3 {
		isolated.Groups = append(isolated.Groups, wants(fmt.Sprint("_", i), "VCPU", 1))
	}
	for name, query := range map[string]candidates.Query{
		"amount": {Limit: 10, Groups: []candidates.Group{wants("", "VCPU", 1_000_000)}}, "isolated": isolated,
	} {
		found, err := search.List(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		for one, err := range found.All() {
			t.Fatalf("%s: candidate = %+v, %v, want none", name, one, err)
		}
		if err := found.Close(); err != nil {
			t.Fatal(err)
		}
		sent.Reset()
		if got := search.EmptyReason(t.Context(), found); got.Cause != candidates.CauseNever && got.Cause != candidates.CauseTree {
			t.Errorf("%s: %+v", name, got)
		}
		explainSent(t, conn.Conn(), sent, name, seen)
	}
}

// explained returns the forest, a search in it, and the statements that the search sends.
func explained(t *testing.T) (*dbtest.DB, *candidates.Search, *plan.Recorder) {
	t.Helper()
	made := dbtest.NewLoaded(t, forest)
	sent := &plan.Recorder{}
	opened, err := postgres.Open(t.Context(), postgres.Options{URL: made.URL, MaxConns: 2, Tracer: sent})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	return made, candidates.New(opened), sent
}

func explainAll(
	t *testing.T, made *dbtest.DB, search *candidates.Search, sent *plan.Recorder,
	all map[string]question, seen map[string]bool,
) {
	t.Helper()
	conn, err := made.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for name, asked := range all {
		sent.Reset()
		stats, err := readAll(t, search, asked.query)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if stats.Candidates != asked.candidates || stats.Roots > asked.trees {
			t.Errorf("%s: %d candidates in %d searched trees, want %d in at most %d",
				name, stats.Candidates, stats.Roots, asked.candidates, asked.trees)
		}
		explainSent(t, conn.Conn(), sent, name, seen)
	}
}

// explainSent explains the statements that a search has sent.
func explainSent(t *testing.T, conn *pgx.Conn, sent *plan.Recorder, name string, seen map[string]bool) {
	t.Helper()
	statements, _ := sent.Reset()
	for _, statement := range statements {
		seen[statement.Name] = true
		arguments := literals(t, conn, statement)
		for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
			dbtest.Explain(t, conn, mode, statement.SQL, arguments...).Walk(func(n *dbtest.PlanNode) {
				if n.Type == "Seq Scan" && slices.Contains(growing, n.Relation) {
					t.Errorf("%s: %s scanned %s with %s", name, statement.Name, n.Relation, mode)
				}
			})
		}
	}
}

// readAll reads a result to its end.
func readAll(t *testing.T, search *candidates.Search, query candidates.Query) (candidates.Stats, error) {
	t.Helper()
	found, err := search.List(t.Context(), query)
	if err != nil {
		return candidates.Stats{}, err
	}
	defer func() { _ = found.Close() }() // only read
	for _, err := range found.All() {
		if err != nil {
			return candidates.Stats{}, err
		}
	}
	for _, err := range found.Summaries() {
		if err != nil {
			return candidates.Stats{}, err
		}
	}
	return found.Stats(), nil
}

// literals returns the arguments of a statement as SQL.
func literals(t *testing.T, conn *pgx.Conn, statement plan.Recorded) []string {
	t.Helper()
	prepared, err := conn.Prepare(t.Context(), "", statement.SQL)
	if err != nil {
		t.Fatal(err)
	}
	arguments, err := plan.Literals(conn.TypeMap(), prepared.ParamOIDs, statement.Args)
	if err != nil {
		t.Fatalf("%s: %v", statement.Name, err)
	}
	return arguments
}
