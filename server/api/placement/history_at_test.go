package placement_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/counts"
)

// atFault is a text of a function and its replacement. The last state finds a quick one.
type atFault struct {
	function, text, replacement string
	isQuick                     bool
}

// plantedAtFaults are changes of functions, each of which the comparison must find.
var plantedAtFaults = []atFault{
	{"history_later", "one.index > p_index", "one.index >= p_index", true},
	{"history_later", "one.index > p_index", "one.index > p_index + 1", false},
	{"history_providers_at", "change.provider, change.index", "change.provider, change.index DESC", false},
	{"history_providers_at", "one.index <= p_index", "one.index < p_index", false},
	{"tree_members_at", "one.before ->> 'root' = v_root::text", "false", false},
	{"tree_members_at", "member.root = v_root", "true", false},
	{"history_inventories_at", "named.class, change.index", "named.class, change.index DESC", false},
	{"history_inventories_at", "history_class_then(v_renames, change.class, change.index)", "change.class", false},
	{"history_inventories_at", "history_class_then(v_renames, held.name, NULL)", "held.name", false},
	{"history_class_then", "::bigint < p_index", "::bigint > p_index", false},
	{"history_renames", "change.index DESC", "change.index", false},
	{"history_allocations_at", "coalesce(change.after -> 'resources', '{}')", "'{}'", false},
	{"history_allocations_at", "coalesce(change.before -> 'resources', '{}') ||", "", false},
	{"history_allocations_at", "later.provider = present.provider AND", "", false},
	{"history_allocations_at", "history_class_then(v_renames, touched.class, change.index)", "touched.class", false},
	{"history_consumers_at", "ORDER BY later.consumer, later.index", "ORDER BY later.consumer, later.index DESC", false},
	{"history_consumers_at", "AND (first.gone IS NULL OR later.index <= first.gone)", "", false},
	{"history_consumers_at", "WHEN first.gone IS NULL THEN present.lease", "ELSE present.lease", false},
	{"history_consumers_at", "CASE WHEN first.gone IS NULL THEN present.created_at END", "present.created_at", false},
	{"history_index_at", "one.index - 1", "one.index", false},
	{"tree_show_at", "coalesce(sums.used, 0)", "0", true},
	{"tree_show_at", "change.topic, change.index", "change.topic, change.index DESC", false},
}

// TestHistory_At_EqualsWhatWasShown saves after random writes what the routes show, and compares it later with what they show with at. It
// then plants faults, and must find each.
func TestHistory_At_EqualsWhatWasShown(t *testing.T) {
	t.Parallel()
	s := newSaver(t, 5)
	s.save()
	s.randomWrites(1+counts.Of(10), func() {
		if s.save() {
			s.compareEarlier()
		}
	})
	s.seldomWrites()
	states := s.known()
	found := s.compareAll(states)
	for _, finding := range found[:min(len(found), 5)] {
		t.Error(finding)
	}
	t.Logf("%d states, %d findings", len(states), len(found))
	for _, fault := range plantedAtFaults {
		if !t.Failed() {
			s.findFault(states, fault)
		}
	}
}

// compareEarlier compares a state of some time ago with what its time shows, while the record goes on.
func (s *saver) compareEarlier() {
	s.t.Helper()
	known := s.known()
	state := known[s.dice.IntN(len(known))]
	if state.index == 1 { // its time is before the record was complete
		return
	}
	var findings historyFindings
	findings.compare(&state, s.shownThen("?at="+state.at))
	for _, finding := range findings.found {
		s.t.Errorf("by time: %s", finding)
	}
}

// findFault plants a fault, and must find it. Those that are not quick are planted with RAPID_CHECKS=100.
func (s *saver) findFault(states []savedState, fault atFault) {
	s.t.Helper()
	var definition string
	if err := s.DB.Pool.QueryRow(s.t.Context(), `SELECT pg_get_functiondef($1::regproc)`, fault.function).Scan(&definition); err != nil {
		s.t.Fatal(err)
	}
	changed := strings.ReplaceAll(definition, fault.text, fault.replacement)
	if changed == definition {
		s.t.Errorf("%s does not contain %q", fault.function, fault.text)
		return
	}
	if !fault.isQuick && !counts.All() {
		return
	}
	if _, err := s.DB.Pool.Exec(s.t.Context(), changed); err != nil {
		s.t.Fatal(err)
	}
	isFound := false
	for i := len(states) - 1; i >= 0 && !isFound; i-- {
		var findings historyFindings
		at := fmt.Sprintf("?at=%.0f", states[i].index)
		if fault.function == "history_index_at" {
			at = "?at=" + states[i].at
		}
		findings.compare(&states[i], s.shownThen(at))
		isFound = len(findings.found) > 0
	}
	if !isFound {
		s.t.Errorf("%s with %q in place of %q: not found", fault.function, fault.replacement, fault.text)
	}
	if _, err := s.DB.Pool.Exec(s.t.Context(), definition); err != nil {
		s.t.Fatal(err)
	}
}

// TestHistory_AtBesideNotes_CountsThemAsLater compares what the functions return of an event while notes are not in order with what they
// return afterwards.
func TestHistory_AtBesideNotes_CountsThemAsLater(t *testing.T) {
	t.Parallel()
	s := newSaver(t, 6)
	query := func(statement string, values ...any) (text string) {
		t.Helper()
		if err := s.DB.Pool.QueryRow(t.Context(), statement, values...).Scan(&text); err != nil {
			t.Fatal(err)
		}
		return text
	}
	const trees = `SELECT coalesce(json_agg(tree ORDER BY one.uuid, tree.uuid), '[]')::text FROM unnest($2::uuid[]) AS one (uuid)
		CROSS JOIN LATERAL tree_show_at($1::bigint, '-infinity', one.uuid, true, true, true) AS tree`
	const consumers = `SELECT coalesce(json_agg(held.*), '[]')::text FROM history_consumers_at($1::bigint, '-infinity', $2::uuid[]) AS held`
	var newest int64
	if err := s.DB.Pool.QueryRow(t.Context(), `SELECT history_step(true)`).Scan(&newest); err != nil {
		t.Fatal(err)
	}
	pending := 0
	s.randomWrites(counts.Of(10), func() {
		var notes int
		if err := s.DB.Pool.QueryRow(t.Context(), `SELECT count(*) FROM outbox, history_state AS state WHERE seq > state.swept`).Scan(&notes); err != nil {
			t.Fatal(err)
		}
		if notes == 0 {
			return
		}
		pending++
		at := newest
		tree, consumer := query(trees, at, rehearsedProviders), query(consumers, at, rehearsedConsumers)
		if err := s.DB.Pool.QueryRow(t.Context(), `SELECT history_step(true)`).Scan(&newest); err != nil {
			t.Fatal(err)
		}
		if got := query(trees, at, rehearsedProviders); got != tree {
			t.Errorf("trees at %d before the step: %s, afterwards %s", at, tree, got)
		}
		if got := query(consumers, at, rehearsedConsumers); got != consumer {
			t.Errorf("consumers at %d before the step: %s, afterwards %s", at, consumer, got)
		}
	})
	if pending < 10 {
		t.Errorf("notes were not in order at %d comparisons, want more", pending)
	}
}

// TestHistory_AtWhileOthersWrite_NeverChanges asks for one event while clients write.
func TestHistory_AtWhileOthersWrite_NeverChanges(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	r.until = time.Now().UTC().Truncate(time.Second).Add(24 * time.Hour)
	random := func(seed uint64) recorder {
		client := *r.rehearsed
		client.dice, client.undone = rand.New(rand.NewPCG(seed, 7)), map[string]int{}
		return recorder{&client}
	}
	random(1).randomWrites(1, func() {})
	at := fmt.Sprintf("?at=%.0f", r.list("?limit=1")["newest"])
	want := r.shownThen(at)
	var writers sync.WaitGroup
	done := make(chan struct{})
	for seed := range uint64(2) {
		writers.Go(func() { random(seed+2).randomWrites(counts.Of(10), func() {}) })
	}
	go func() {
		writers.Wait()
		close(done)
	}()
	asked := 0
	for isDone := false; !isDone; asked++ {
		select {
		case <-done:
			isDone = true
		default:
		}
		got := r.shownThen(at)
		for key := range want {
			for _, shown := range []object{want, got} {
				if consumer, ok := shown[key].(object); ok {
					dropUnrecorded(consumer)
				}
			}
			if !reflect.DeepEqual(got[key], want[key]) {
				t.Fatalf("%s%s: %v, want %v", key, at, got[key], want[key])
			}
		}
	}
	t.Logf("asked %d times", asked)
}

// dropUnrecorded deletes members that change while an object is not recorded to change.
func dropUnrecorded(shown object) {
	for _, name := range []string{"created_at", "updated_at", "consumer_generation", "expires_at"} {
		delete(shown, name)
	}
	for _, member := range shown {
		if nested, ok := member.(object); ok {
			dropUnrecorded(nested)
		}
	}
	for _, set := range []string{"traits", "aggregates"} {
		if names, ok := shown[set].([]any); ok {
			shown[set] = sorted(names)
		}
	}
	if providers, ok := shown["resource_providers"].([]any); ok {
		slices.SortFunc(providers, func(a, b any) int {
			return strings.Compare(a.(object)["uuid"].(string), b.(object)["uuid"].(string))
		})
		for _, provider := range providers {
			dropUnrecorded(provider.(object))
		}
	}
}
