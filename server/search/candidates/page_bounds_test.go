package candidates_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/berthd/berth/internal/test/counts"
	"github.com/berthd/berth/server/search/candidates"
)

// checkTrees fails the test unless an outcome has different candidates, all of them expected, and as many as the limit
// permits.
func checkTrees(t *testing.T, about string, got, all outcome, limit int) {
	t.Helper()
	want := len(all.candidates)
	if limit > 0 {
		want = min(want, limit)
	}
	if len(got.candidates) != want || len(got.summaries) != want || !isSubset(got, all) {
		t.Errorf("%s, limit %d: %d candidates and %d summaries, want %d of %d:\n%.2000s", about, limit, len(got.candidates), len(got.summaries), want, len(all.candidates), fmt.Sprint(got))
	}
}

// orders are the orders in which a search visits trees.
var orders = []candidates.Query{{}, {BreadthFirst: true}, {Randomize: true}, {Randomize: true, BreadthFirst: true}}

// Clouds of 0 to 30 trees, and all limits up to more than that.
func TestCandidates_SmallClouds_EachTreeOnce(t *testing.T) {
	t.Parallel()
	for _, lead := range []string{"all trees", "free capacity", "equal free capacity"} {
		t.Run(lead, func(t *testing.T) {
			t.Parallel()
			cloud := newCloud(t, 0)
			search := cloud.open()
			amount := 1
			if lead != "all trees" {
				// The first trees are full, so that the search looks for those with free capacity.
				cloud.addHosts(1, 60)
				cloud.fill(100, 1, 60)
				amount = 10
			}
			var hosts []int
			all := outcome{}
			for size := range 31 {
				if size > 0 {
					host, used := 100+size, 0
					cloud.addHosts(host, host)
					if lead == "free capacity" {
						used = size % 7
						cloud.fill(used, host, host)
					}
					hosts = append(hosts, host)
					one := slotOutcome("CUSTOM_SLOT", amount, used, nil, host)
					all.candidates, all.summaries = append(all.candidates, one.candidates...), append(all.summaries, one.summaries...)
				}
				// A hint of a smaller cloud may be in use or not.
				if size%2 == 0 {
					search.AgeHints(candidates.HintAge)
				}
				for limit := 0; limit <= 40; limit++ {
					// Without all cases: those around the bounds, and some between them.
					if !counts.All() && limit > 1 && (limit < size-1 || limit > size+1) && limit%13 > 0 {
						continue
					}
					for _, order := range orders {
						query := slots(amount, limit)
						query.Randomize, query.BreadthFirst = order.Randomize, order.BreadthFirst
						checkTrees(t, fmt.Sprintf("%d hosts, randomize %t, breadth first %t", size, query.Randomize, query.BreadthFirst),
							mustRead(t, search, query), all, limit)
					}
				}
			}
			if len(hosts) != 30 {
				t.Errorf("the largest cloud has %d hosts", len(hosts))
			}
		})
	}
}

// More trees than a page has, each with two providers that lead to it, with limits below, at and above the largest page.
func TestCandidates_ManyPages_EachTreeOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; it runs without -short")
	}
	t.Parallel()
	for _, full := range []bool{false, true} {
		t.Run(fmt.Sprintf("full %t", full), func(t *testing.T) {
			t.Parallel()
			cloud := newCloud(t, 2600)
			cloud.exec(`INSERT INTO resource_providers (id, uuid, name, root_id, parent_id) OVERRIDING SYSTEM VALUE
				SELECT 10000 + n, gen_random_uuid(), 'child-' || n, n, n FROM generate_series(1, 2600) AS n`)
			cloud.exec(`INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio, used)
				SELECT 10000 + n, 20000, n, 100, 0, 1, 100, 1, 1, 0 FROM generate_series(1, 2600) AS n`)
			trees := 2600
			if full { // 1300 trees are free, every other one
				cloud.exec("UPDATE inventories SET used = 100 WHERE root_id % 20 < 10")
				cloud.exec("UPDATE inventories SET used = root_id % 3 WHERE root_id % 20 >= 10")
				trees = 1300
			}
			search := cloud.open()
			for _, limit := range []int{0, 1, 50, 999, 1000, 1001, 1299, 1300, 1301, 2599, 2600, 2601, 5199, 5200, 5201} {
				for _, order := range orders {
					query := slots(10, limit)
					query.Randomize, query.BreadthFirst = order.Randomize, order.BreadthFirst
					for range 2 {
						got := mustRead(t, search, query)
						want := 2 * trees
						if limit > 0 {
							want = min(want, limit)
						}
						slices.Sort(got.candidates)
						slices.Sort(got.summaries)
						if len(got.candidates) != want || len(slices.Compact(got.candidates)) != want || len(slices.Compact(got.summaries)) != len(got.summaries) {
							t.Errorf("limit %d, randomize %t, breadth first %t: %d candidates, %d of them different, want %d", limit,
								query.Randomize, query.BreadthFirst, len(got.candidates), len(slices.Compact(got.candidates)), want)
						}
						if want == 2*trees && len(got.summaries) != 2*trees {
							t.Errorf("limit %d: %d summaries, want %d", limit, len(got.summaries), 2*trees)
						}
					}
				}
			}
		})
	}
}

// Summaries of more pages than the search keeps are read again.
func TestCandidates_SummariesOfManyPages_AreComplete(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; it runs without -short")
	}
	t.Parallel()
	cloud := newCloud(t, 6000)
	cloud.exec("INSERT INTO traits (id, name) OVERRIDING SYSTEM VALUE VALUES (30001, 'CUSTOM_FAST')")
	cloud.exec("INSERT INTO provider_traits SELECT n, 30001 FROM generate_series(1, 6000) AS n")
	cloud.fill(7, 1, 6000)
	all := slotOutcome("CUSTOM_SLOT", 5, 7, []string{"CUSTOM_FAST"}, hostRange(1, 6000)...)
	for name, search := range map[string]*candidates.Search{"binary": cloud.open(), "text": cloud.open(throughPooler)} {
		for _, order := range orders {
			for _, limit := range []int{0, 5999, 6000, 100_000} {
				query := slots(5, limit)
				query.Randomize, query.BreadthFirst = order.Randomize, order.BreadthFirst
				checkTrees(t, name, mustRead(t, search, query), all, limit)
			}
		}
	}
}
