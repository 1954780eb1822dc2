package candidates_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/berthd/berth/server/search/candidates"
)

// fullCloud has 600 hosts, of which those from first to last are free.
func fullCloud(t *testing.T, first, last int) *cloud {
	t.Helper()
	cloud := newCloud(t, 600)
	cloud.fill(100, 1, 600)
	cloud.fill(0, first, last)
	return cloud
}

func hostRange(first, last int) (hosts []int) {
	for n := first; n <= last; n++ {
		hosts = append(hosts, n)
	}
	return hosts
}

func TestCandidates_HintedTreesFill_OthersAreFound(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 10, 1000} {
		for _, randomize := range []bool{false, true} {
			t.Run(fmt.Sprintf("limit %d, randomize %t", limit, randomize), func(t *testing.T) {
				t.Parallel()
				cloud := fullCloud(t, 401, 403)
				search := cloud.open()
				query := slots(10, limit)
				query.Randomize = randomize
				count := func(about string, used, want int, hosts ...int) {
					t.Helper()
					for round := range 3 {
						got := mustRead(t, search, query).sorted()
						all := slotOutcome("CUSTOM_SLOT", 10, used, nil, hosts...)
						if limit >= len(hosts) {
							compare(t, fmt.Sprintf("%s, round %d", about, round), got, all)
						} else if len(got.candidates) != want || len(got.summaries) != want || !isSubset(got, all) {
							t.Errorf("%s, round %d: %d candidates, want %d of %d", about, round, len(got.candidates), want, len(hosts))
						}
					}
				}
				count("three free hosts", 0, min(3, limit), hostRange(401, 403)...)
				cloud.fill(100, 401, 403)
				count("none", 0, 0)
				cloud.fill(50, 100, 105)
				count("six others", 50, min(6, limit), hostRange(100, 105)...)
				cloud.fill(50, 106, 130)
				count("more", 50, min(31, limit), hostRange(100, 130)...)
				cloud.fill(91, 1, 600)
				count("too small", 0, 0)
				cloud.fill(0, 1, 600)
				count("all", 0, min(600, limit), hostRange(1, 600)...)
			})
		}
	}
}

// isSubset reports whether all candidates and summaries of some are among all.
func isSubset(some, all outcome) bool {
	known := map[string]bool{}
	for _, text := range append(all.candidates, all.summaries...) {
		known[text] = true
	}
	for _, text := range append(some.candidates, some.summaries...) {
		if !known[text] {
			return false
		}
		delete(known, text)
	}
	return true
}

func TestCandidates_HintedTraitMoves_OtherTreesAreFound(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, 300)
	search := cloud.open()
	cloud.exec("INSERT INTO traits (id, name) OVERRIDING SYSTEM VALUE VALUES (30001, 'CUSTOM_RARE'), (30002, 'CUSTOM_OTHER')")
	query := requiring(slots(10, 10), "CUSTOM_RARE", "CUSTOM_OTHER")
	traits := []string{"CUSTOM_RARE", "CUSTOM_OTHER"}
	// CUSTOM_RARE is rarer first, then CUSTOM_OTHER.
	cloud.exec("INSERT INTO provider_traits SELECT n, 30001 FROM generate_series(250, 251) AS n")
	cloud.exec("INSERT INTO provider_traits SELECT n, 30002 FROM generate_series(251, 300) AS n")
	for range 3 {
		compare(t, "rare", mustRead(t, search, query), slotOutcome("CUSTOM_SLOT", 10, 0, traits, 251))
	}
	cloud.exec("DELETE FROM provider_traits")
	cloud.exec("INSERT INTO provider_traits SELECT n, 30001 FROM generate_series(1, 300) AS n")
	cloud.exec("INSERT INTO provider_traits SELECT n, 30002 FROM generate_series(271, 274) AS n")
	for range 3 {
		compare(t, "moved", mustRead(t, search, query), slotOutcome("CUSTOM_SLOT", 10, 0, traits, 271, 272, 273, 274))
	}
	cloud.exec("DELETE FROM provider_traits")
	for range 3 {
		compare(t, "nowhere", mustRead(t, search, query), outcome{})
	}
	cloud.exec("INSERT INTO provider_traits SELECT n, trait FROM generate_series(1, 2) AS n, unnest(ARRAY[30001, 30002]) AS trait")
	for range 3 {
		compare(t, "first", mustRead(t, search, query), slotOutcome("CUSTOM_SLOT", 10, 0, traits, 1, 2))
	}
}

// Each of 100 free hosts among 600 has the same free capacity, so that the order of the lead is that of their ids.
func TestCandidates_RandomizedWithHint_SpreadsOverFreeTrees(t *testing.T) {
	t.Parallel()
	cloud := fullCloud(t, 301, 400)
	search := cloud.open()
	for _, limit := range []int{1, 10} {
		for _, amount := range []int{1, 90} {
			query := slots(amount, limit)
			query.Randomize = true
			first := map[string]int{}
			hinted := 0
			for range 100 {
				got := mustRead(t, search, query)
				first[got.candidates[0]]++
				if got.onePage {
					hinted++
				}
			}
			most := 0
			for _, count := range first {
				most = max(most, count)
			}
			t.Logf("amount %d, limit %d: %d different hosts, the most frequent %d times, %d times in one page", amount, limit, len(first), most, hinted)
			// Of 100 draws of 100 hosts, 63 are different on average, and hardly ever fewer than 45.
			if len(first) < 40 || most > 15 || hinted < 80 {
				t.Errorf("amount %d, limit %d: 100 queries return %d different hosts first, one of them %d times, %d in one page", amount, limit, len(first), most, hinted)
			}
		}
	}
}

// As above, with a trait of 100 hosts that is the most selective condition.
func TestCandidates_RandomizedWithHintedTrait_SpreadsOverItsTrees(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, 600)
	search := cloud.open()
	cloud.exec("INSERT INTO traits (id, name) OVERRIDING SYSTEM VALUE VALUES (30001, 'CUSTOM_RARE')")
	cloud.exec("INSERT INTO provider_traits SELECT n, 30001 FROM generate_series(301, 400) AS n")
	query := requiring(slots(1, 1), "CUSTOM_RARE")
	query.Randomize = true
	for mustRead(t, search, query).onePage {
		search.AgeHints(candidates.HintAge) // the first trees had the trait by chance
	}
	first := map[string]int{}
	for range 100 {
		first[mustRead(t, search, query).candidates[0]]++
	}
	if len(first) < 40 {
		t.Errorf("100 queries return %d different hosts", len(first))
	}
}

// A query with a small limit does not read more trees each time.
func TestCandidates_RepeatedWithHint_ReadsFewTrees(t *testing.T) {
	t.Parallel()
	cloud := fullCloud(t, 201, 600)
	cloud.addHosts(601, 3000)
	cloud.fill(100, 1, 200)
	search := cloud.open()
	for _, breadthFirst := range []bool{false, true} {
		query := slots(10, 1)
		query.BreadthFirst = breadthFirst
		for range 40 {
			mustRead(t, search, query)
		}
		if roots := searchedTrees(t, search, query); roots > 200 {
			t.Errorf("breadth first %t: one candidate takes %d trees", breadthFirst, roots)
		}
	}
}

// searchedTrees returns how many trees a query searches.
func searchedTrees(t *testing.T, s *candidates.Search, query candidates.Query) int {
	t.Helper()
	result, err := s.List(context.WithoutCancel(t.Context()), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = result.Close() }() // only read
	for _, err := range result.All() {
		if err != nil {
			t.Fatal(err)
		}
	}
	return result.Stats().Roots
}

func TestCandidates_HintExpired_SearchBeginsWithAllTrees(t *testing.T) {
	t.Parallel()
	cloud := fullCloud(t, 401, 600)
	search := cloud.open()
	query := slots(10, 20)
	mustRead(t, search, query)
	// With the hint the search begins with the most free capacity and the highest id.
	hinted := mustRead(t, search, query)
	compare(t, "hinted", hinted, slotOutcome("CUSTOM_SLOT", 10, 0, nil, hostRange(581, 600)...))
	if !hinted.onePage {
		t.Error("the hint was not used")
	}
	cloud.fill(0, 1, 600)
	search.AgeHints(candidates.HintAge / 2)
	compare(t, "still hinted", mustRead(t, search, query), slotOutcome("CUSTOM_SLOT", 10, 0, nil, hostRange(581, 600)...))
	search.AgeHints(candidates.HintAge)
	expired := mustRead(t, search, query)
	compare(t, "expired", expired, slotOutcome("CUSTOM_SLOT", 10, 0, nil, hostRange(1, 20)...))
	if !expired.onePage {
		t.Error("the first trees do not suffice")
	}
}
