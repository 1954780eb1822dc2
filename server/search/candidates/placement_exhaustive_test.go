package candidates_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/search/candidates"
)

// sharingHosts creates hosts with CUSTOM_CPU and some slots of their own, and pools with both. Each pool and its hosts are in an
// aggregate.
func sharingHosts(t *testing.T, pools, hostsEach, ownSlots, poolSlots int) *cloud {
	t.Helper()
	made := newCloud(t, 0)
	made.exec("INSERT INTO resource_classes (id, name) VALUES (20001, 'CUSTOM_CPU')")
	made.addHosts(1, pools*(hostsEach+1))
	made.addInventory(20001, 1, pools*(hostsEach+1))
	made.exec("UPDATE inventories SET total = $1 WHERE class_id = 20000", ownSlots)
	for pool := range pools {
		first := pool*(hostsEach+1) + 1
		made.exec("INSERT INTO aggregates (id, uuid) OVERRIDING SYSTEM VALUE VALUES ($1, $2)", pool+1, dbtest.NumberedUUID("a9", pool+1))
		made.exec("INSERT INTO provider_aggregates (provider_id, aggregate_id) SELECT n, $1 FROM generate_series($2::int, $3::int) AS n", pool+1, first, first+hostsEach)
		made.exec("INSERT INTO provider_traits SELECT $1::int, id FROM traits WHERE name = 'MISC_SHARES_VIA_AGGREGATE'", first)
		made.exec("UPDATE inventories SET total = $1 WHERE class_id = 20000 AND provider_id = $2", poolSlots, first)
	}
	return made
}

// sharingQuestion asks for slots and a CPU.
func sharingQuestion(slots int, by candidates.OrderBy) candidates.Query {
	return candidates.Query{
		Extended: true, Order: candidates.Order{By: by, Class: "CUSTOM_SLOT"}, Groups: []candidates.Group{wants("", "CUSTOM_SLOT", slots, "CUSTOM_CPU", 1)},
	}
}

// TestCandidates_PlacementApartWithPool_FoundInEveryOrder has a pool with slots for one member and a host with slots of its own.
// Two members fit only if the one on the host leaves the pool to the other one.
func TestCandidates_PlacementApartWithPool_FoundInEveryOrder(t *testing.T) {
	t.Parallel()
	search := sharingHosts(t, 1, 1, 10, 4).open()
	for _, by := range []candidates.OrderBy{
		candidates.OrderDefault, candidates.OrderRandom, candidates.OrderID, candidates.OrderPack, candidates.OrderSpread,
	} {
		for range 10 {
			found := mustPlace(t, search, 2, candidates.RelationApart, sharingQuestion(4, by))
			if want := map[int64]int{1: 1, 2: 1}; !maps.Equal(membersByRoot(found), want) {
				t.Errorf("order %v: members by root = %v, want %v", by, membersByRoot(found), want)
			}
		}
	}
	found := mustPlace(t, search, 4, candidates.RelationNone, sharingQuestion(4, candidates.OrderID))
	if len(found.Members) != 0 || found.Fit != 3 || !found.IsExact {
		t.Errorf("found = %+v, want exactly 3 that fit", found)
	}
}

// TestCandidates_PlacementOnManyPools_Decided has pools with hosts that need them, beside a host for all pools. Each pool serves
// fewer members than it has hosts.
func TestCandidates_PlacementOnManyPools_Decided(t *testing.T) {
	t.Parallel()
	const pools, hosts = 12, 9
	cloud := sharingHosts(t, pools, hosts, 1, 21)
	cloud.addHosts(1000, 1000)
	cloud.addInventory(20001, 1000, 1000)
	cloud.exec("UPDATE inventories SET total = 4 WHERE class_id = 20000 AND provider_id = 1000")
	cloud.exec("INSERT INTO provider_aggregates (provider_id, aggregate_id) SELECT 1000, id FROM aggregates")
	search := cloud.open()
	// A pool has five times four slots. The host has four of its own.
	for relation, most := range map[candidates.Relation]int{candidates.RelationApart: pools*5 + 1, candidates.RelationNone: pools*5 + 1} {
		for _, by := range []candidates.OrderBy{candidates.OrderDefault, candidates.OrderID, candidates.OrderSpread} {
			t.Run(fmt.Sprint(relation, by), func(t *testing.T) {
				if found := mustPlace(t, search, most, relation, sharingQuestion(4, by)); len(found.Members) != most {
					t.Errorf("found %d members, fit = %d, exact = %t, want %d", len(found.Members), found.Fit, found.IsExact, most)
				}
				if found := mustPlace(t, search, most+1, relation, sharingQuestion(4, by)); found.Fit != most || !found.IsExact {
					t.Errorf("fit = %d, exact = %t, want exactly %d", found.Fit, found.IsExact, most)
				}
			})
		}
	}
}

// TestCandidates_PlacementOnCommonPools_Decided has hosts that can all use each of four pools, so that a number of members can use
// the pools in very many ways. Ten hosts have slots of their own.
func TestCandidates_PlacementOnCommonPools_Decided(t *testing.T) {
	t.Parallel()
	cloud := sharingHosts(t, 4, 30, 1, 45)
	cloud.exec("INSERT INTO provider_aggregates (provider_id, aggregate_id) SELECT p.id, a.id FROM resource_providers AS p, aggregates AS a ON CONFLICT DO NOTHING")
	cloud.exec("UPDATE inventories SET total = 4 WHERE class_id = 20000 AND provider_id BETWEEN 2 AND 11")
	search := cloud.open()
	const most = 4*11 + 10 // a pool has eleven times four slots
	for _, by := range []candidates.OrderBy{candidates.OrderDefault, candidates.OrderID, candidates.OrderSpread} {
		for _, relation := range []candidates.Relation{candidates.RelationApart, candidates.RelationNone} {
			if found := mustPlace(t, search, most, relation, sharingQuestion(4, by)); len(found.Members) != most {
				t.Errorf("order %v, relation %d: fit = %d, exact = %t, want %d members", by, relation, found.Fit, found.IsExact, most)
			}
			if found := mustPlace(t, search, most+1, relation, sharingQuestion(4, by)); found.Fit != most || !found.IsExact {
				t.Errorf("order %v, relation %d: fit = %d, exact = %t, want exactly %d", by, relation, found.Fit, found.IsExact, most)
			}
		}
	}
}
