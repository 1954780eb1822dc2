package candidates_test

import (
	"maps"
	"testing"

	"github.com/berthd/berth/server/search/candidates"
)

// mustPlace searches a placement.
func mustPlace(
	t *testing.T, search *candidates.Search, members int, relation candidates.Relation, questions ...candidates.Query,
) *candidates.PlacementSearch {
	t.Helper()
	found, err := search.FindPlacement(t.Context(), questions, candidates.PlacementOptions{Members: members, Relation: relation})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// membersByRoot returns how many members each anchor has.
func membersByRoot(of *candidates.PlacementSearch) map[int64]int {
	made := map[int64]int{}
	for i := range of.Members {
		made[of.Members[i].RootID]++
	}
	return made
}

func TestCandidates_PlacementInOrder_FillsTreesOrTakesTurns(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, 4)
	cloud.fill(40, 1, 1)
	cloud.fill(10, 2, 2)
	search := cloud.open()
	for name, c := range map[string]struct {
		order    candidates.OrderBy
		members  int
		relation candidates.Relation
		want     map[int64]int
	}{
		"id fills":                   {candidates.OrderID, 6, candidates.RelationNone, map[int64]int{1: 3, 2: 3}},
		"pack fills":                 {candidates.OrderPack, 5, candidates.RelationNone, map[int64]int{1: 3, 2: 2}},
		"spread takes turns":         {candidates.OrderSpread, 4, candidates.RelationNone, map[int64]int{1: 1, 2: 1, 3: 1, 4: 1}},
		"spread takes further turns": {candidates.OrderSpread, 6, candidates.RelationNone, map[int64]int{1: 1, 2: 1, 3: 2, 4: 2}},
		"spread until all is full":   {candidates.OrderSpread, 16, candidates.RelationNone, map[int64]int{1: 3, 2: 4, 3: 5, 4: 4}},
		"apart":                      {candidates.OrderPack, 3, candidates.RelationApart, map[int64]int{1: 1, 2: 1, 3: 1}},
		"together":                   {candidates.OrderPack, 5, candidates.RelationTogether, map[int64]int{3: 5}},
		"together with room for all": {candidates.OrderID, 2, candidates.RelationTogether, map[int64]int{1: 2}},
	} {
		query := slots(20, 0)
		query.Extended, query.Order = true, candidates.Order{By: c.order, Class: "CUSTOM_SLOT"}
		found := mustPlace(t, search, c.members, c.relation, query)
		got := membersByRoot(found)
		if name == "spread takes further turns" || name == "spread until all is full" || name == "together" {
			// Hosts 3 and 4 are equal.
			if got[3] < got[4] {
				got[3], got[4] = got[4], got[3]
			}
			maps.DeleteFunc(got, func(_ int64, count int) bool { return count == 0 })
		}
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: members by root = %v, want %v", name, got, c.want)
		}
	}
}

func TestCandidates_PlacementRefused_FitAndExact(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, 4)
	cloud.fill(95, 4, 4)
	search, query := cloud.open(), slots(30, 0)
	for name, c := range map[string]struct {
		members  int
		relation candidates.Relation
		fit      int
	}{
		"anywhere": {10, candidates.RelationNone, 9}, "apart": {4, candidates.RelationApart, 3}, "together": {100, candidates.RelationTogether, 3},
	} {
		found := mustPlace(t, search, c.members, c.relation, query)
		if found.Members != nil || found.Fit != c.fit || !found.IsExact || found.Reason != "" {
			t.Errorf("%s: found = %+v, want %d that fit", name, found, c.fit)
		}
	}
	found := mustPlace(t, search, 4, candidates.RelationApart, slots(30, 0), slots(101, 0))
	if found.Query != 1 || found.Fit != 3 || found.Reason != candidates.EmptyAmount {
		t.Errorf("found = %+v, want the reason of the last question", found)
	}
	found = mustPlace(t, search, 4, candidates.RelationApart, slots(30, 0), slots(5, 0))
	if found.Query != 1 || len(found.Members) != 4 {
		t.Errorf("found = %+v, want a placement for the second question", found)
	}
}

// TestCandidates_PlacementOnSharingPool_DeductsMembers has two hosts that share a pool with room for one member. A member
// needs it on both hosts, so no other choice helps.
func TestCandidates_PlacementOnSharingPool_DeductsMembers(t *testing.T) {
	t.Parallel()
	cloud := sharedPool(t)
	search := cloud.open()
	cloud.fill(40, 1, 1)
	found := mustPlace(t, search, 2, candidates.RelationApart, poolQuestion(40))
	if found.Fit != 1 || !found.IsExact {
		t.Errorf("found = %+v, want exactly 1 that fits", found)
	}
	if found = mustPlace(t, search, 2, candidates.RelationApart, poolQuestion(30)); !maps.Equal(membersByRoot(found), map[int64]int{2: 1, 3: 1}) {
		t.Errorf("found = %+v, want one member on each host", found)
	}
	if found = mustPlace(t, search, 3, candidates.RelationTogether, poolQuestion(30)); found.Fit != 2 || !found.IsExact {
		t.Errorf("found = %+v, want exactly 2 that fit", found)
	}
}

// TestCandidates_PlacementMaxUnit_LimitsEachMember has a host of 100 units of which a consumer may have 50.
func TestCandidates_PlacementMaxUnit_LimitsEachMember(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, 1)
	cloud.exec("UPDATE inventories SET max_unit = 50")
	search := cloud.open()
	query := candidates.Query{Extended: true, Groups: []candidates.Group{wants("_A", "CUSTOM_SLOT", 25), wants("_B", "CUSTOM_SLOT", 25)}}
	if found := mustPlace(t, search, 2, candidates.RelationNone, query); len(found.Members) != 2 {
		t.Errorf("found = %+v, want 2 members", found)
	}
	query.Groups[0].Resources[0].Amount = 26
	if found := mustPlace(t, search, 2, candidates.RelationNone, query); found.Fit != 0 || !found.IsExact {
		t.Errorf("found = %+v, want none", found)
	}
}

func TestCandidates_PlacementSplit_EachMemberByItself(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, 3)
	cloud.exec("UPDATE resource_providers SET parent_id = 1, root_id = 1 WHERE id > 1")
	cloud.exec("UPDATE inventories SET root_id = 1")
	search := cloud.open()
	query := slots(60, 0)
	query.Extended, query.CanSplit = true, []string{"CUSTOM_SLOT"}
	if found := mustPlace(t, search, 5, candidates.RelationTogether, query); len(found.Members) != 5 {
		t.Errorf("found = %+v, want 5 members", found)
	}
	if found := mustPlace(t, search, 6, candidates.RelationNone, query); found.Fit != 5 || !found.IsExact {
		t.Errorf("found = %+v, want exactly 5 that fit", found)
	}
}

// TestCandidates_PlacementOverLimits_EndsAndIsNotExact has a root with 47 free units and eleven children. Each member has
// two isolated groups in one subtree, so one of them is on the root, where 15 fit.
func TestCandidates_PlacementOverLimits_EndsAndIsNotExact(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, 12)
	cloud.exec("UPDATE resource_providers SET parent_id = 1, root_id = 1 WHERE id > 1")
	cloud.exec("UPDATE inventories SET root_id = 1, used = 50 + 3 * provider_id")
	query := candidates.Query{
		Extended: true, Isolate: true, Subtrees: []candidates.Subtree{{Inside: []int{0, 1}}},
		Groups: []candidates.Group{wants("_A", "CUSTOM_SLOT", 3), wants("_B", "CUSTOM_SLOT", 3)},
	}
	found := mustPlace(t, cloud.open(), 100, candidates.RelationNone, query)
	if found.Fit == 0 || found.Fit > 15 || found.IsExact {
		t.Errorf("fit = %d, exact = %t, want at most 15 that fit, not exact", found.Fit, found.IsExact)
	}
}
