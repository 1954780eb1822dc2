package candidates_test

import (
	"testing"
	"time"

	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/search/candidates"
	"github.com/google/uuid"
)

// TestCandidates_FitStatements_NoSequentialScan is TestCandidates_Statements_NoSequentialScan for queries about capacity.
func TestCandidates_FitStatements_NoSequentialScan(t *testing.T) {
	t.Parallel()
	made, search, sent := explained(t)
	conn, err := made.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Exec(t.Context(), "ANALYZE"); err != nil {
		t.Fatal(err)
	}
	var host, aggregate uuid.UUID
	err = conn.QueryRow(t.Context(), "SELECT (SELECT uuid FROM resource_providers WHERE id = 8), (SELECT uuid FROM aggregates WHERE id = 1)").Scan(&host, &aggregate)
	if err != nil {
		t.Fatal(err)
	}
	numa := candidates.Query{Extended: true, Groups: []candidates.Group{wants("_NUMA", "VCPU", 8, "MEMORY_MB", 1024)}}
	rare := candidates.Query{Extended: true, Groups: []candidates.Group{wants("", "DISK_GB", 600)}}
	seen := map[string]bool{}
	for name, asked := range map[string]struct {
		question candidates.FitQuery
		fit      int64
		stopped  candidates.FitStop
	}{
		"count":          {candidates.FitQuery{Query: numa, Count: 100}, 100, candidates.StoppedByCount},
		"rare disks":     {candidates.FitQuery{Query: rare, Count: 100}, 10, candidates.StoppedAtEnd},
		"few rare disks": {candidates.FitQuery{Query: rare, Count: 5}, 5, candidates.StoppedByCount},
		"changes": {candidates.FitQuery{Query: numa, Count: 100, Changes: []candidates.FitChange{
			{Like: &host, Copies: 3}, {Class: "VCPU", Ratio: new(2.0), MemberOf: &aggregate}, {Class: "VCPU", Reserved: new(int64(1)), InTree: &host},
		}}, 100, candidates.StoppedByCount},
	} {
		sent.Reset()
		found := mustFit(t, search, asked.question)
		if found.Fit != asked.fit || found.Stopped != asked.stopped {
			t.Errorf("%s: found = %+v, want %d, stopped %d", name, found, asked.fit, asked.stopped)
		}
		if name == "rare disks" && (found.Looked != 5050 || found.Classes[0].Free != 5000*500+10*500) {
			t.Errorf("%s: found = %+v, want the free capacity of each of 5050 trees once", name, found)
		}
		if name == "few rare disks" && found.Looked > 1000 {
			t.Errorf("%s: %d searched trees, want those that free capacity leads to", name, found.Looked)
		}
		explainSent(t, conn.Conn(), sent, name, seen)
	}
	for _, name := range []string{"CapacityFitNames", "CapacityFitInventories", "CandidatePageGeneral"} {
		if !seen[name] {
			t.Errorf("statements = %v, want %s", seen, name)
		}
	}
}

// TestCandidates_FitLimits_StopSearch ends a search by its budget and by its time.
func TestCandidates_FitLimits_StopSearch(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, 12)
	cloud.exec("UPDATE resource_providers SET parent_id = 1, root_id = 1 WHERE id > 1")
	cloud.exec("UPDATE inventories SET root_id = 1, used = 50 + 3 * provider_id")
	cloud.addHosts(13, 20)
	search := cloud.open()
	query := candidates.Query{
		Extended: true, Isolate: true, Subtrees: []candidates.Subtree{{Inside: []int{0, 1}}},
		Groups: []candidates.Group{wants("_A", "CUSTOM_SLOT", 3), wants("_B", "CUSTOM_SLOT", 3)},
	}
	query.Budget = 2048
	found := mustFit(t, search, candidates.FitQuery{Query: query, Count: 100})
	if found.Stopped != candidates.StoppedByBudget || found.Fit == 0 || found.Looked != 1 {
		t.Errorf("found = %+v, want the members of one tree, stopped by the budget", found)
	}
	question := candidates.FitQuery{Query: slots(30, 0), Count: 100, Until: time.Now().Add(-time.Second)}
	if found = mustFit(t, search, question); found.Stopped != candidates.StoppedByTime || found.Looked != 0 {
		t.Errorf("found = %+v, want none, stopped by the time", found)
	}
	host := hostUUID(13)
	question.Changes = []candidates.FitChange{{Like: &host, Copies: 1}}
	if found = mustFit(t, search, question); found.Stopped != candidates.StoppedByTime || found.Before.Stopped != candidates.StoppedByTime {
		t.Errorf("found = %+v, want both searches stopped by the time", found)
	}
}

// TestCandidates_FitCopiesOfMany_SearchedOnce counts 10,000 copies of a host without a statement for each.
func TestCandidates_FitCopiesOfMany_SearchedOnce(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, 2)
	cloud.fill(100, 1, 2)
	host := hostUUID(1)
	ctx, trips := postgres.CountRoundTrips(t.Context())
	found, err := cloud.open().CapacityFit(ctx, candidates.FitQuery{
		Query: slots(30, 0), Count: 1_000_000, Changes: []candidates.FitChange{{Like: &host, Copies: 10_000}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if found.Fit != 30_000 || found.AtMost != 30_000 || found.Looked != 10_002 || found.Before.Fit != 0 {
		t.Errorf("found = %+v, before = %+v, want 30000 on 10000 copies", found, found.Before)
	}
	if trips.Count() > 12 {
		t.Errorf("round trips = %d, want at most 12", trips.Count())
	}
}

// TestCandidates_FitManyInOneTree_IsBounded counts up to a million members of a tree in which two groups use the same class: all
// of them if they make the same choice, and what the time permits if each member is searched.
func TestCandidates_FitManyInOneTree_IsBounded(t *testing.T) {
	t.Parallel()
	const million = 1_000_000
	cloud := newCloud(t, 2)
	cloud.exec("UPDATE inventories SET total = 2000000000")
	search := cloud.open()
	query := candidates.Query{Extended: true, Groups: []candidates.Group{wants("_A", "CUSTOM_SLOT", 1), wants("_B", "CUSTOM_SLOT", 1)}}
	const limit = time.Minute // a search that counts each member takes longer
	began := time.Now()
	found := mustFit(t, search, candidates.FitQuery{Query: query, Count: million, Until: began.Add(limit)})
	if found.Fit != million || found.Stopped != candidates.StoppedByCount {
		t.Errorf("found = %+v, want %d in %v", found, million, limit)
	}
	cloud.exec("UPDATE resource_providers SET parent_id = 1, root_id = 1 WHERE id = 2")
	cloud.exec("UPDATE inventories SET root_id = 1, max_unit = 1")
	began = time.Now()
	query = candidates.Query{Extended: true, CanSplit: []string{"CUSTOM_SLOT"}, Groups: []candidates.Group{wants("", "CUSTOM_SLOT", 2)}}
	found = mustFit(t, search, candidates.FitQuery{Query: query, Count: million, Until: began.Add(time.Second)})
	if took := time.Since(began); found.Fit == 0 || found.Stopped != candidates.StoppedByTime || took > limit {
		t.Errorf("found = %+v in %v, want some, stopped by the time of a second", found, took)
	}
}
