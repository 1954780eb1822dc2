package candidates_test

import (
	"testing"

	"github.com/berthd/berth/server/search/candidates"
)

// firstHosts counts which host comes first in the results of a query.
func firstHosts(t *testing.T, search *candidates.Search, query candidates.Query, rounds int) (first map[string]int, most int) {
	t.Helper()
	first = map[string]int{}
	for range rounds {
		host := mustRead(t, search, query).candidates[0]
		first[host]++
		most = max(most, first[host])
	}
	return first, most
}

// TestCandidates_RandomizedWithMissingIDs_SpreadsOverTrees: between the two halves of the hosts, and before them, a million
// ids are missing. The host behind a gap is not likelier than others.
func TestCandidates_RandomizedWithMissingIDs_SpreadsOverTrees(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, 0)
	cloud.addHosts(1_000_001, 1_000_100)
	cloud.addHosts(2_000_001, 2_000_100)
	search := cloud.open()
	for _, limit := range []int{1, 10} {
		query := slots(1, limit)
		query.Randomize = true
		// Of 100 draws of 200 hosts, 79 are different on average. Those behind a random one are not all equally likely.
		if first, most := firstHosts(t, search, query, 100); len(first) < 45 || most > 15 {
			t.Errorf("limit %d: 100 queries return %d different hosts first, one of them %d times", limit, len(first), most)
		}
	}
}

// TestCandidates_RandomizedInZone_SpreadsOverItsTrees: the hosts of a zone were created one after the other, and most starts
// are outside of it. The search then leads by the aggregate, which has too many hosts for one page.
func TestCandidates_RandomizedInZone_SpreadsOverItsTrees(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, 2000)
	cloud.exec("INSERT INTO traits (id, name) OVERRIDING SYSTEM VALUE VALUES (30001, 'CUSTOM_ZONE')")
	cloud.exec("INSERT INTO provider_traits SELECT n, 30001 FROM generate_series(1001, 1600) AS n")
	search := cloud.open()
	query := requiring(slots(1, 1), "CUSTOM_ZONE")
	query.Randomize = true
	// Of 200 draws of 600 hosts, 170 are different on average.
	if first, most := firstHosts(t, search, query, 200); len(first) < 140 || most > 8 {
		t.Errorf("200 queries return %d different hosts first, one of them %d times", len(first), most)
	}
	query.Limit = 700
	for range 5 {
		if got := mustRead(t, search, query); len(got.candidates) != 600 {
			t.Errorf("%d candidates, want 600", len(got.candidates))
		}
	}
}
