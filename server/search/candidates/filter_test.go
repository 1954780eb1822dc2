package candidates_test

import (
	"fmt"
	"testing"

	"github.com/berthd/berth/server/search/candidates"
)

// subtreeCloud has trees of three providers. In the first of them, the provider with CUSTOM_B is below the one with CUSTOM_A; in
// the others it is beside it.
func subtreeCloud(t *testing.T, trees, below int) *cloud {
	t.Helper()
	cloud := newCloud(t, trees)
	cloud.exec("INSERT INTO resource_classes (id, name) VALUES (20001, 'CUSTOM_A'), (20002, 'CUSTOM_B')")
	for i, parent := range []string{"n", "CASE WHEN n <= $2 THEN n + 20001000 ELSE n END"} {
		class := 20001 + i
		cloud.exec(fmt.Sprintf(`INSERT INTO resource_providers (id, uuid, name, root_id, parent_id) OVERRIDING SYSTEM VALUE
			SELECT n + %[1]d000, ('ba000000-0000-4000-8000-' || lpad(to_hex(n + %[1]d000), 12, '0'))::uuid, 'part-%[1]d-' || n, n, %[2]s
			FROM generate_series(1, $1::int) AS n WHERE $2::int >= 0`, class, parent), trees, below)
		cloud.exec(fmt.Sprintf("INSERT INTO provider_generations (provider_id) SELECT n + %d000 FROM generate_series(1, $1::int) AS n", class), trees)
		cloud.exec(fmt.Sprintf(`INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
			SELECT n + %[1]d000, %[1]d, n, 100, 0, 1, 100, 1, 1 FROM generate_series(1, $1::int) AS n`, class), trees)
	}
	return cloud
}

// The statement filters until it has seen that the filter drops less than three of four trees. The results are the same.
func TestCandidates_MostTreesPass_FilterEndsAndResultStays(t *testing.T) {
	t.Parallel()
	const trees = 600
	for _, below := range []int{0, 100, 500, trees} {
		for _, limit := range []int{0, 12, 1000} {
			t.Run(fmt.Sprintf("%d of %d trees, limit %d", below, trees, limit), func(t *testing.T) {
				t.Parallel()
				search := subtreeCloud(t, trees, below).open()
				query := candidates.Query{
					Limit: limit, Groups: []candidates.Group{wants("_A", "CUSTOM_A", 1), wants("_B", "CUSTOM_B", 1)},
					Subtrees: []candidates.Subtree{{Inside: []int{0, 1}}},
				}
				first := mustRead(t, search, query)
				want := below
				if limit > 0 {
					want = min(limit, below)
				}
				if len(first.candidates) != want {
					t.Fatalf("candidates = %d, want %d", len(first.candidates), want)
				}
				// The trees that pass come first. Without a limit, the first page has 64 trees.
				page := map[int]int{0: 64, 12: 12, 1000: 500}[limit]
				if ended, most := search.UnfilteredKinds() > 0, 4*min(below, page) > page; ended != most {
					t.Errorf("the filter ended: %t, want %t", ended, most)
				}
				for range 2 {
					compare(t, "again", mustRead(t, search, query).sorted(), first.sorted())
				}
			})
		}
	}
}
