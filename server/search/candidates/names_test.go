package candidates_test

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/candidates"
)

// rejected fails the test unless an error is the violation of a rule by a name.
func rejected(t *testing.T, err error, rule store.Rule, name string) {
	t.Helper()
	violation, ok := errors.AsType[*store.RuleViolation](err)
	if !ok || violation.Rule != rule || violation.Values.Class != name && violation.Values.Traits != name {
		t.Errorf("error = %v, want rule %v and the name %s", err, rule, name)
	}
}

// compare fails the test if two outcomes differ.
func compare(t *testing.T, about string, got, want outcome) {
	t.Helper()
	if got, want := got.sorted(), want.sorted(); !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n%v\nwant\n%v", about, got, want)
	}
}

func requiring(query candidates.Query, traits ...string) candidates.Query {
	query.Groups = slices.Clone(query.Groups)
	for _, trait := range traits {
		query.Groups[0].Required = append(query.Groups[0].Required, []string{trait})
	}
	return query
}

func TestCandidates_ClassRenamed_CacheForgetsOldName(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, 3)
	search, other := cloud.open(), cloud.open()
	for _, s := range []*candidates.Search{search, other} {
		compare(t, "before", warm(t, s, slots(10, 10)), slotOutcome("CUSTOM_SLOT", 10, 0, nil, 1, 2, 3))
	}
	cloud.exec("SELECT resource_class_rename('CUSTOM_SLOT', 'CUSTOM_BAY')")
	for _, s := range []*candidates.Search{search, other} {
		_, err := read(t.Context(), s, slots(10, 10))
		rejected(t, err, store.ClassNotFound, "CUSTOM_SLOT")
		bays := slots(10, 10)
		bays.Groups[0].Resources[0].Class = "CUSTOM_BAY"
		compare(t, "after", mustRead(t, s, bays), slotOutcome("CUSTOM_BAY", 10, 0, nil, 1, 2, 3))
		compare(t, "after, warm", warm(t, s, bays), slotOutcome("CUSTOM_BAY", 10, 0, nil, 1, 2, 3))
	}
	// The old name becomes that of another class.
	cloud.exec("INSERT INTO resource_classes (id, name) VALUES (20001, 'CUSTOM_SLOT')")
	cloud.exec("DELETE FROM inventories WHERE provider_id = 2")
	cloud.addInventory(20001, 2, 2)
	for _, s := range []*candidates.Search{search, other} {
		compare(t, "recycled name", mustRead(t, s, slots(10, 10)), slotOutcome("CUSTOM_SLOT", 10, 0, nil, 2))
		compare(t, "recycled name, warm", warm(t, s, slots(10, 10)), slotOutcome("CUSTOM_SLOT", 10, 0, nil, 2))
	}
}

func TestCandidates_TraitRecreated_CacheFollows(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, 3)
	search := cloud.open()
	fast := requiring(slots(10, 10), "CUSTOM_FAST")
	slow := slots(10, 10)
	slow.Groups[0].Forbidden = []string{"CUSTOM_FAST"}
	root := slots(10, 10)
	root.RootRequired = []string{"CUSTOM_FAST"}
	all := map[string]candidates.Query{"required": fast, "forbidden": slow, "root_required": root}
	for range 2 {
		for _, query := range all {
			_, err := read(t.Context(), search, query)
			rejected(t, err, store.TraitNotFound, "CUSTOM_FAST")
		}
		for _, host := range []int{1, 2, 3} {
			cloud.exec("INSERT INTO traits (name) VALUES ('CUSTOM_FAST')")
			cloud.exec("INSERT INTO provider_traits SELECT $1::int, id FROM traits WHERE name = 'CUSTOM_FAST'", host)
			for kind, query := range all {
				want := slotOutcome("CUSTOM_SLOT", 10, 0, []string{"CUSTOM_FAST"}, host)
				if kind == "forbidden" {
					want = slotOutcome("CUSTOM_SLOT", 10, 0, nil, slices.DeleteFunc([]int{1, 2, 3}, func(n int) bool { return n == host })...)
				}
				compare(t, kind, mustRead(t, search, query), want)
				compare(t, kind+", warm", warm(t, search, query), want)
			}
			cloud.exec("DELETE FROM provider_traits")
			cloud.exec("SELECT trait_delete('CUSTOM_FAST')")
		}
	}
}

// Two classes and two traits exchange their names in one transaction, again and again. Each query has to see either
// state and nothing between.
func TestCandidates_NamesExchangedConcurrently_QueriesSeeOneState(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, 1)
	cloud.exec("INSERT INTO resource_classes (id, name) VALUES (20001, 'CUSTOM_BAY')")
	cloud.addHosts(2, 2)
	cloud.exec("UPDATE inventories SET class_id = 20001, used = 7 WHERE provider_id = 2")
	cloud.exec("INSERT INTO traits (id, name) OVERRIDING SYSTEM VALUE VALUES (30001, 'CUSTOM_ODD'), (30002, 'CUSTOM_EVEN')")
	cloud.exec("INSERT INTO provider_traits VALUES (1, 30001), (2, 30002)")
	swap := `WITH later AS (SELECT id, name FROM %[1]s WHERE id IN (%[2]s))
		UPDATE %[1]s AS old SET name = 'CUSTOM_' || nextval('swaps') FROM later WHERE later.id = old.id`
	cloud.exec("CREATE SEQUENCE swaps")
	exchange := func(even bool) {
		tx, err := cloud.Pool.Begin(t.Context())
		if err != nil {
			t.Error(err)
			return
		}
		first, second := 0, 1
		if even {
			first, second = 1, 0
		}
		for _, sql := range []string{
			fmt.Sprintf(swap, "resource_classes", "20000, 20001"), fmt.Sprintf(swap, "traits", "30001, 30002"),
			fmt.Sprintf("UPDATE resource_classes SET name = (ARRAY['CUSTOM_SLOT', 'CUSTOM_BAY'])[1 + CASE id WHEN 20000 THEN %d ELSE %d END] WHERE id IN (20000, 20001)", first, second),
			fmt.Sprintf("UPDATE traits SET name = (ARRAY['CUSTOM_ODD', 'CUSTOM_EVEN'])[1 + CASE id WHEN 30001 THEN %d ELSE %d END] WHERE id IN (30001, 30002)", first, second),
		} {
			if _, err := tx.Exec(t.Context(), sql); err != nil {
				t.Error(err)
			}
		}
		if err := tx.Commit(t.Context()); err != nil {
			t.Error(err)
		}
	}
	states := []outcome{
		slotOutcome("CUSTOM_SLOT", 1, 0, []string{"CUSTOM_ODD"}, 1), slotOutcome("CUSTOM_SLOT", 1, 7, []string{"CUSTOM_ODD"}, 2),
	}
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		search := cloud.open()
		for range 2 {
			readers.Go(func() {
				seen := map[int]int{}
				for {
					select {
					case <-done:
						t.Logf("states: %v", seen)
						return
					default:
					}
					got, err := read(t.Context(), search, requiring(slots(1, 5), "CUSTOM_ODD"))
					state := slices.IndexFunc(states, func(o outcome) bool { return reflect.DeepEqual(o, got.sorted()) })
					if err != nil || state < 0 {
						t.Errorf("error = %v: %v", err, got)
						return
					}
					seen[state]++
				}
			})
		}
	}
	for i := range 150 {
		exchange(i%2 == 0)
	}
	close(done)
	readers.Wait()
}

// The trees of the first query have a class that is deleted later. The memory of its page serves further queries, of this
// database and of others, which must not look for the class.
func TestCandidates_ClassDeleted_ReusedMemoryHasNoTrace(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, 20)
	search := cloud.open()
	// Several rows of one inventory leave gaps in the list of inventories.
	twice := candidates.Query{Limit: 10, Groups: []candidates.Group{wants("1", "CUSTOM_SLOT", 1), wants("2", "CUSTOM_SLOT", 2)}}
	twice.Isolate = false
	want := warm(t, search, twice)
	for round := range 20 {
		class := 20100 + round
		cloud.exec("INSERT INTO resource_classes (id, name) VALUES ($1::int, 'CUSTOM_' || $1::int)", class)
		cloud.addInventory(class, 1, 20)
		bays := candidates.Query{Limit: 10, Groups: []candidates.Group{wants("", fmt.Sprintf("CUSTOM_%d", class), 1)}}
		for range 5 {
			mustRead(t, search, bays)
		}
		cloud.exec("DELETE FROM inventories WHERE class_id = $1", class)
		cloud.exec("DELETE FROM resource_classes WHERE id = $1", class)
		for range 3 {
			got, err := read(t.Context(), search, twice)
			if err != nil || !reflect.DeepEqual(got.sorted(), want.sorted()) {
				t.Fatalf("round %d: error = %v\n%v\nwant\n%v", round, err, got, want)
			}
		}
	}
}

func TestCandidates_SharingTurnedOnAndOff_CacheFollows(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, 3)
	search := cloud.open()
	cloud.exec("INSERT INTO aggregates (id, uuid) OVERRIDING SYSTEM VALUE VALUES (500, gen_random_uuid())")
	cloud.exec("INSERT INTO resource_classes (id, name) VALUES (20001, 'CUSTOM_BAY')")
	cloud.exec("UPDATE inventories SET class_id = 20001 WHERE provider_id = 3")
	cloud.exec("INSERT INTO provider_aggregates SELECT n, 500 FROM generate_series(1, 3) AS n")
	both := candidates.Query{Limit: 10, Groups: []candidates.Group{wants("", "CUSTOM_SLOT", 1, "CUSTOM_BAY", 2)}}
	// One class, so that the page of one statement is complete.
	alone := slots(1, 10)
	unshared := slotOutcome("CUSTOM_SLOT", 1, 0, nil, 1, 2)
	for round := range 3 {
		compare(t, "off", mustRead(t, search, both), outcome{})
		compare(t, "off", mustRead(t, search, alone), unshared)
		compare(t, "off, warm", warm(t, search, alone), unshared)
		cloud.exec("INSERT INTO provider_traits SELECT 3, id FROM traits WHERE name = 'MISC_SHARES_VIA_AGGREGATE'")
		var want outcome
		for _, n := range []int{1, 2} {
			want.candidates = append(want.candidates, fmt.Sprintf("{[{%[1]s [{CUSTOM_SLOT 1}]} {%[2]s [{CUSTOM_BAY 2}]}] [[%[1]s %[2]s]]}", hostUUID(n), hostUUID(3)))
			want.summaries = append(want.summaries, fmt.Sprintf("%s none %[1]s [] [{CUSTOM_SLOT 100 0}]", hostUUID(n)))
		}
		want.summaries = append(want.summaries, fmt.Sprintf("%s none %[1]s [MISC_SHARES_VIA_AGGREGATE] [{CUSTOM_BAY 100 0}]", hostUUID(3)))
		compare(t, fmt.Sprintf("on %d", round), mustRead(t, search, both), want)
		compare(t, "on, again", mustRead(t, search, both), want)
		compare(t, "on, another server", warm(t, cloud.open(), both), want)
		compare(t, "on, alone", mustRead(t, search, alone), unshared)
		cloud.exec("DELETE FROM provider_traits")
	}
}

// TestCandidates_ManyGroups_NamesTakeLinearMemory has as many groups as a request body can. To copy the names of all
// groups for each of them would take gigabytes.
func TestCandidates_ManyGroups_NamesTakeLinearMemory(t *testing.T) { // not parallel: it measures allocations
	const limit = 64 << 20
	query := candidates.Query{}
	for range 10_000 {
		query.Groups = append(query.Groups, candidates.Group{Forbidden: []string{"CUSTOM_OLD"}, NotMemberOf: []uuid.UUID{hostUUID(1)}})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	candidates.CountNames(&query)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > limit {
		t.Errorf("the names of %d groups take %d MB, want at most %d", len(query.Groups), used>>20, limit>>20)
	}
}
