package store_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/dbtest"
	"github.com/berthd/berth/server/store"
)

// forest fills a database with 5,000 trees of seven: a host with a disk, two NUMA
// nodes with cores and memory, three FPGAs and a GPU below them. One host in a
// hundred has CUSTOM_RARE, one in all CUSTOM_NEEDLE; every hundred hosts are in an
// aggregate with a storage provider that shares. Those of 10 hosts have room for
// 1,000 gigabytes.
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
UPDATE inventories SET total = 1000 WHERE class_id = 2 AND provider_id % 3500 = 1;
INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
SELECT id, 10000, id, 100000, 0, 1, 2147483647, 1, 1 FROM resource_providers WHERE id > 40000;
INSERT INTO provider_traits SELECT id, 9001 FROM resource_providers WHERE parent_id IS NULL AND id <= 35000;
INSERT INTO provider_traits SELECT id, 9002 FROM resource_providers WHERE id <= 35000 AND (id - 1) % 7 IN (1, 2);
INSERT INTO provider_traits SELECT id, 9003 FROM resource_providers WHERE id <= 35000 AND id % 700 = 1;
INSERT INTO provider_traits VALUES (21001, 9004), (21007, 9005);
INSERT INTO provider_traits
SELECT provider.id, trait.id FROM resource_providers AS provider
JOIN traits AS trait ON trait.name = 'MISC_SHARES_VIA_AGGREGATE' WHERE provider.id > 40000;
INSERT INTO provider_aggregates SELECT id, 1 + id / 700 FROM resource_providers WHERE parent_id IS NULL AND id <= 35000;
INSERT INTO provider_aggregates SELECT id, id - 40000 FROM resource_providers WHERE id > 40000;`

// question is one that the search answers in its own way.
type question struct {
	query store.CandidateQuery
	// candidates are what it finds; trees is how many it may look at for them.
	candidates, trees int
}

func wants(suffix string, amounts ...any) store.CandidateGroup {
	group := store.CandidateGroup{Suffix: suffix}
	for i := 0; i < len(amounts); i += 2 {
		group.Resources = append(group.Resources, store.Amount{Class: amounts[i].(string), Amount: int64(amounts[i+1].(int))})
	}
	return group
}

func (q question) with(change func(*question)) question {
	change(&q)
	return q
}

// questions are asked of the forest. It has 5,050 trees.
func questions() map[string]question {
	host := wants("", "DISK_GB", 10)
	host.Required = [][]string{{"CUSTOM_HOST"}}
	compute, fpga := wants("_COMPUTE", "VCPU", 1, "MEMORY_MB", 256), wants("_FPGA", "FPGA", 1)
	compute.Required = [][]string{{"CUSTOM_NUMA"}}
	nested := store.CandidateQuery{Limit: 10, Groups: []store.CandidateGroup{host, compute, fpga}, Subtrees: [][]int{{1, 2}}}
	spread := store.CandidateQuery{Limit: 10, Groups: []store.CandidateGroup{wants("", "DISK_GB", 10, "VCPU", 1)}}
	numa := store.CandidateGroup{Suffix: "_NUMA", Required: [][]string{{"CUSTOM_NUMA"}}}
	inTree := numbered("aa", 21003)
	all := map[string]question{
		"a nested request":                  {query: nested, candidates: 10, trees: 10},
		"a request spread over a tree":      {query: spread, candidates: 10, trees: 10},
		"more room than most have":          {query: store.CandidateQuery{Limit: 10, Groups: []store.CandidateGroup{wants("", "DISK_GB", 900)}}, candidates: 10, trees: 20},
		"more room than anybody has":        {query: store.CandidateQuery{Limit: 10, Groups: []store.CandidateGroup{wants("", "DISK_GB", 2000)}}, trees: 10},
		"storage that is shared":            {query: store.CandidateQuery{Limit: 10, Groups: []store.CandidateGroup{wants("", "VCPU", 1, "CUSTOM_TAPE", 1)}}, candidates: 10, trees: 10},
		"two FPGAs of different places":     {query: store.CandidateQuery{Limit: 10, Isolate: true, Groups: []store.CandidateGroup{wants("1", "FPGA", 1), wants("2", "FPGA", 1)}}, candidates: 10, trees: 10},
		"a group without resources":         {query: store.CandidateQuery{Limit: 10, Groups: []store.CandidateGroup{numa, fpga}, Subtrees: [][]int{{0, 1}}}, candidates: 10, trees: 10},
		"everything, with a rare root":      {query: store.CandidateQuery{Groups: spread.Groups, RootRequired: []string{"CUSTOM_RARE"}}, candidates: 100, trees: 50},
		"one root among all":                {query: store.CandidateQuery{Limit: 10, Groups: spread.Groups, RootRequired: []string{"CUSTOM_NEEDLE"}}, candidates: 2, trees: 20},
		"in the tree of a provider":         {query: store.CandidateQuery{Limit: 10, Groups: []store.CandidateGroup{{Resources: spread.Groups[0].Resources, InTree: &inTree}}}, candidates: 2, trees: 1},
		"in the tree of a provider, suffix": {query: store.CandidateQuery{Limit: 10, Groups: []store.CandidateGroup{{Suffix: "1", Resources: wants("", "VCPU", 1).Resources, InTree: &inTree}}}, candidates: 2, trees: 1},
	}
	all["a shuffled nested request"] = all["a nested request"].with(func(q *question) { q.query.Randomize, q.query.BreadthFirst, q.trees = true, true, 40 })
	deep := wants("", "VCPU", 1)
	part := wants("1", "PGPU", 1)
	part.Required = [][]string{{"CUSTOM_DEEP"}}
	all["one part among all"] = question{query: store.CandidateQuery{Limit: 10, Groups: []store.CandidateGroup{deep, part}}, candidates: 2, trees: 20}
	grouped := wants("", "DISK_GB", 10)
	grouped.MemberOf = [][]uuid.UUID{{numbered("a9", 7)}}
	all["a small aggregate"] = question{query: store.CandidateQuery{Limit: 10, Groups: []store.CandidateGroup{grouped}}, candidates: 10, trees: 110}
	return all
}

// growing are the tables that grow with the cloud.
var growing = []string{
	"resource_providers", "provider_generations", "inventories", "allocations", "consumers", "provider_traits", "provider_aggregates",
}

// TestCandidatesNeverScanATableThatGrows runs every statement of every question as
// the service's connections plan it, and planned for its arguments: of a database
// that has no statistics yet, of one that has, and where nobody shares.
func TestCandidatesNeverScanATableThatGrows(t *testing.T) {
	t.Parallel()
	made := dbtest.New(t)
	if _, err := made.Pool.Exec(t.Context(), forest); err != nil {
		t.Fatal(err)
	}
	opened, err := store.Open(t.Context(), store.Options{URL: made.URL, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	seen, asked := map[string]bool{}, questions()
	explainAll(t, made, opened, asked, seen)
	if _, err := made.Pool.Exec(t.Context(), "ANALYZE"); err != nil {
		t.Fatal(err)
	}
	explainAll(t, made, opened, asked, seen)
	if _, err := made.Pool.Exec(t.Context(), "DELETE FROM provider_aggregates WHERE sharing"); err != nil {
		t.Fatal(err)
	}
	delete(asked, "storage that is shared")
	explainAll(t, made, opened, asked, seen)
	for _, statement := range []string{
		"CandidateNames", "CandidateRoots", "CandidateRootsShuffled", "CandidateWalkTree", "CandidateWalk", "CandidateProbe",
		"CandidateRootsByRoom", "CandidateRootsByTrait", "CandidateRootsByAggregate", "CandidateAnchors",
		"CandidateSummaries", "CandidateSummaryNames",
	} {
		if !seen[statement] {
			t.Errorf("no question sends %s", statement)
		}
	}
}

func explainAll(t *testing.T, made *dbtest.DB, opened *store.Store, all map[string]question, seen map[string]bool) {
	t.Helper()
	conn, err := made.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for name, asked := range all {
		plan, err := opened.CandidatePlan(t.Context(), asked.query)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if plan.Tally.Candidates != asked.candidates || plan.Tally.Roots > asked.trees {
			t.Errorf("%s: %d candidates after looking at %d trees, not %d after at most %d",
				name, plan.Tally.Candidates, plan.Tally.Roots, asked.candidates, asked.trees)
		}
		for _, step := range plan.Steps {
			seen[step.Name] = true
			for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
				explain(t, conn.Conn(), mode, step.SQL, step.Arguments...).walk(func(n *node) {
					if n.Type == "Seq Scan" && slices.Contains(growing, n.Relation) {
						t.Errorf("%s: %s scanned %s with %s", name, step.Name, n.Relation, mode)
					}
				})
			}
		}
	}
}
