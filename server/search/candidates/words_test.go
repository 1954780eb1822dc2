package candidates_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/search/candidates"
)

// parts is the number of providers below each root, more than one word of conditions or amounts has bits.
const parts = 70

// chains is five trees of a root and a chain of 70 parts. Part n provides exactly n units of CUSTOM_SLOT, at once, and has
// the trait CUSTOM_n. In tree 1 nothing is missing. Part 66 of tree 2 lacks its inventory, that of tree 3 its trait, and
// that of tree 4 is a child of the root. In tree 5 all parts are full up to 65.
func chains(t *testing.T) *cloud {
	t.Helper()
	made := newCloud(t, 0)
	made.exec("INSERT INTO traits (id, name) OVERRIDING SYSTEM VALUE SELECT 31000 + n, 'CUSTOM_' || n FROM generate_series(1, 70) AS n")
	made.exec(`INSERT INTO resource_providers (id, uuid, name, root_id, parent_id) OVERRIDING SYSTEM VALUE
		SELECT tree * 100 + n, ('ba000000-0000-4000-8000-' || lpad(to_hex(tree * 100 + n), 12, '0'))::uuid, 'part-' || tree || '-' || n, tree * 100,
			CASE WHEN n = 66 AND tree = 4 THEN tree * 100 WHEN n > 0 THEN tree * 100 + n - 1 END
		FROM generate_series(1, 5) AS tree, generate_series(0, 70) AS n`)
	made.exec("INSERT INTO provider_generations (provider_id) SELECT id FROM resource_providers")
	made.exec(`INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio, used)
		SELECT id, 20000, root_id, id % 100, 0, id % 100, 100, 1, 1, CASE WHEN root_id = 500 AND id % 100 <= 65 THEN 1 ELSE 0 END
		FROM resource_providers WHERE parent_id IS NOT NULL AND id <> 266`)
	made.exec("INSERT INTO provider_traits SELECT id, 31000 + id % 100 FROM resource_providers WHERE parent_id IS NOT NULL AND id <> 366")
	return made
}

// partGroups are groups with the amounts and traits of the parts from first to last.
func partGroups(first, last int, traits bool) (groups []candidates.Group) {
	for n := first; n <= last; n++ {
		group := wants(fmt.Sprint(n), "CUSTOM_SLOT", n)
		if traits {
			group.Required = [][]string{{fmt.Sprintf("CUSTOM_%d", n)}}
		}
		groups = append(groups, group)
	}
	return groups
}

// partOutcome is the candidates that use the parts from first to last of some trees.
func partOutcome(first, last int, trees ...int) (found []string) {
	for _, tree := range trees {
		uses, mappings := "", ""
		for n := first; n <= last; n++ {
			id := dbtest.NumberedUUID("ba", tree*100+n)
			uses += fmt.Sprintf("{%s [{CUSTOM_SLOT %d}]} ", id, n)
			mappings += fmt.Sprintf("[%s] ", id)
		}
		found = append(found, fmt.Sprintf("{[%s] [%s]}", uses[:len(uses)-1], mappings[:len(mappings)-1]))
	}
	return found
}

func TestCandidates_MoreConditionsThanBits_AllAreChecked(t *testing.T) {
	t.Parallel()
	cloud := chains(t)
	// With a sharing provider, further statements take part.
	for _, sharing := range []bool{false, true} {
		if sharing {
			cloud.addHosts(900, 900)
			cloud.exec("UPDATE inventories SET min_unit = 100 WHERE provider_id = 900")
			cloud.exec("INSERT INTO aggregates (id, uuid) OVERRIDING SYSTEM VALUE VALUES (500, gen_random_uuid())")
			cloud.exec("INSERT INTO provider_traits SELECT 900, id FROM traits WHERE name = 'MISC_SHARES_VIA_AGGREGATE'")
			cloud.exec("INSERT INTO provider_aggregates VALUES (900, 500), (100, 500), (300, 500)")
		}
		search, pooled := cloud.open(), cloud.open(throughPooler)
		pairs := []candidates.Subtree{}
		for i := range parts - 1 {
			pairs = append(pairs, candidates.Subtree{Inside: []int{i, i + 1}})
		}
		whole := make([]int, parts)
		for i := range whole {
			whole[i] = i
		}
		for name, test := range map[string]struct {
			query       candidates.Query
			first, last int
			trees       []int
		}{
			"amounts":                   {candidates.Query{Groups: partGroups(1, 70, false)}, 1, 70, []int{1, 3, 4}},
			"amounts and conditions":    {candidates.Query{Groups: partGroups(1, 70, true)}, 1, 70, []int{1, 4}},
			"one word of each":          {candidates.Query{Groups: partGroups(9, 70, true)}, 9, 70, []int{1, 4}},
			"a bit more than a word":    {candidates.Query{Groups: partGroups(8, 70, true)}, 8, 70, []int{1, 4}},
			"few":                       {candidates.Query{Groups: partGroups(66, 70, true)}, 66, 70, []int{1, 4, 5}},
			"few amounts":               {candidates.Query{Groups: partGroups(66, 70, false)}, 66, 70, []int{1, 3, 4, 5}},
			"isolated":                  {candidates.Query{Groups: partGroups(1, 70, true), Isolate: true}, 1, 70, []int{1, 4}},
			"pairs in subtrees":         {candidates.Query{Groups: partGroups(1, 70, true), Subtrees: pairs}, 1, 70, []int{1}},
			"one subtree of all":        {candidates.Query{Groups: partGroups(1, 70, false), Subtrees: []candidates.Subtree{{Inside: whole}}}, 1, 70, []int{1, 3}},
			"subtree of the last pairs": {candidates.Query{Groups: partGroups(1, 70, true), Subtrees: pairs[60:]}, 1, 70, []int{1}},
			"subtrees of two of them":   {candidates.Query{Groups: partGroups(1, 70, true), Subtrees: []candidates.Subtree{{Inside: []int{64, 65}}, {Inside: []int{65, 68}}}}, 1, 70, []int{1}},
			"an uncut subtree":          {candidates.Query{Groups: partGroups(1, 70, true), Subtrees: []candidates.Subtree{{Inside: []int{66, 68}}}}, 1, 70, []int{1, 4}},
		} {
			for _, limit := range []int{0, 1, 10} {
				query := test.query
				query.Limit = limit
				for variant, s := range map[string]*candidates.Search{"binary": search, "text": pooled} {
					for range 2 {
						got := mustRead(t, s, query)
						want := partOutcome(test.first, test.last, test.trees...)
						if limit == 1 {
							want = want[:1]
						}
						slices.Sort(got.candidates)
						if !slices.Equal(got.candidates, want) || len(got.summaries) != len(want)*(parts+1) {
							t.Errorf("%s, sharing %t, limit %d, %s: %d candidates and %d summaries, want %d and %d", name, sharing, limit, variant,
								len(got.candidates), len(got.summaries), len(want), len(want)*(parts+1))
						}
					}
				}
			}
		}
	}
}
