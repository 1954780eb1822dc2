package candidates_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/search/candidates"
)

// TestCandidates_SearchLanguageWithHint_OnePage asks twice in a nearly full deployment: the hint of the first search leads
// the second one, whatever the features of the query.
func TestCandidates_SearchLanguageWithHint_OnePage(t *testing.T) {
	t.Parallel()
	cloud := fullCloud(t, 301, 310)
	aggregate := dbtest.NumberedUUID("a9", 1)
	cloud.exec("INSERT INTO aggregates (id, uuid) OVERRIDING SYSTEM VALUE VALUES (1, $1)", aggregate)
	cloud.exec("INSERT INTO provider_aggregates (provider_id, aggregate_id) SELECT n, 1 FROM generate_series(1, 305) AS n")
	search := cloud.open()
	for name, test := range map[string]struct {
		change func(*candidates.Query)
		want   int
	}{
		"none":               {func(*candidates.Query) {}, 5},
		"limit of each tree": {func(q *candidates.Query) { q.LimitPerTree = 1 }, 5},
		"aggregate of root":  {func(q *candidates.Query) { q.RootMemberOf = [][]uuid.UUID{{aggregate}} }, 5},
		"no aggregate":       {func(q *candidates.Query) { q.RootNotMemberOf = []uuid.UUID{aggregate} }, 5},
		"split":              {func(q *candidates.Query) { q.CanSplit = []string{"CUSTOM_SLOT"} }, 5},
	} {
		query := slots(50, 5)
		query.Extended = true
		test.change(&query)
		warm(t, search, query)
		if got := mustRead(t, search, query); !got.onePage || len(got.candidates) != test.want {
			t.Errorf("%s: one page %t, %d candidates, want %d", name, got.onePage, len(got.candidates), test.want)
		}
	}
}

// TestCandidates_Ordered_TreesByFreeCapacity has 600 hosts with different free capacity, and rare traits.
func TestCandidates_Ordered_TreesByFreeCapacity(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, 600)
	cloud.exec("UPDATE inventories SET used = (provider_id * 37) % 100")
	cloud.exec("INSERT INTO traits (id, name) OVERRIDING SYSTEM VALUE VALUES (30001, 'CUSTOM_RARE'), (30002, 'CUSTOM_COMMON')")
	cloud.exec("INSERT INTO provider_traits SELECT n, 30001 FROM generate_series(3, 600, 50) AS n")
	cloud.exec("INSERT INTO provider_traits SELECT n, 30002 FROM generate_series(1, 600, 2) AS n")
	search := cloud.open()
	for _, order := range []candidates.OrderBy{candidates.OrderID, candidates.OrderPack, candidates.OrderSpread} {
		for trait, step := range map[string]int{"": 1, "CUSTOM_RARE": 50, "CUSTOM_COMMON": 2} {
			hosts := orderedHosts(order, step)
			for _, limit := range []int{1, 7, 200, 0} {
				query := slots(orderedAmount, limit)
				if trait != "" {
					query = requiring(query, trait)
				}
				query.Extended, query.BreadthFirst, query.Order = true, true, candidates.Order{By: order, Class: "CUSTOM_SLOT"}
				want := hosts
				if limit > 0 {
					want = hosts[:min(limit, len(hosts))]
				}
				for range 3 {
					if got := mustRead(t, search, query); !slices.Equal(got.candidates, candidatesOf(want)) {
						t.Fatalf("order %d, trait %q, limit %d: candidates\n%v\nwant those of hosts %v", order, trait, limit, got.candidates, want)
					}
				}
			}
		}
	}
}

const orderedAmount = 10

func usedOf(host int) int { return host * 37 % 100 }

// orderedHosts returns the hosts with enough free capacity, and with the trait of every step-th host, in an order.
func orderedHosts(order candidates.OrderBy, step int) (hosts []int) {
	for n := 1; n <= 600; n++ {
		if 100-usedOf(n) >= orderedAmount && (step < 50 || n%step == 3) && (step != 2 || n%2 == 1) {
			hosts = append(hosts, n)
		}
	}
	slices.SortFunc(hosts, func(a, b int) int {
		switch order {
		case candidates.OrderPack:
			return cmp.Or(usedOf(b)-usedOf(a), a-b)
		case candidates.OrderSpread:
			return cmp.Or(usedOf(a)-usedOf(b), b-a)
		}
		return a - b
	})
	return hosts
}

// candidatesOf returns the candidates of hosts as text.
func candidatesOf(hosts []int) (all []string) {
	for _, host := range hosts {
		id := hostUUID(host)
		all = append(all, fmt.Sprintf("{[{%s [{CUSTOM_SLOT %d}]}] [[%s]]}", id, orderedAmount, id))
	}
	return all
}
