package store_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

// enabledTriggers counts the triggers of the record that fire.
const enabledTriggers = "SELECT count(*)::text FROM pg_trigger WHERE tgname LIKE 'history%' AND tgenabled <> 'D'"

func TestHistory_Settings_TurnItOnAndOff(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	first, err := b.HistorySettingsShow(t.Context())
	b.must(err)
	if first.State != store.HistoryOff || first.KeepDays != 7 || first.Since != nil || first.Newest != 0 || first.Bytes == 0 {
		t.Errorf("settings of a new database = %+v", first)
	}
	if enabled := b.texts(enabledTriggers); enabled[0] != "0" {
		t.Errorf("enabled triggers = %s, want 0", enabled[0])
	}

	err = b.HistorySettingsUpdate(t.Context(), store.HistoryOn, 30, first.Generation+1)
	violation, ok := errors.AsType[*store.RuleViolation](err)
	if !ok || violation.Rule != store.HistoryGenerationConflict {
		t.Errorf("another generation: %v", err)
	}
	b.must(b.HistorySettingsUpdate(t.Context(), store.HistoryOn, 30, first.Generation))
	if state, err := b.HistoryState(t.Context()); err != nil || state != store.HistoryStarting {
		t.Errorf("state = %s, %v, want starting", state, err)
	}
	if state, err := b.HistorySettle(t.Context(), 0); err != nil || state != store.HistoryOn {
		t.Errorf("state = %s, %v, want on", state, err)
	}
	b.provider("a host", nil, map[string]int32{"VCPU": 4})
	newest, err := b.HistoryStep(t.Context(), true)
	b.must(err)
	on, err := b.HistorySettingsShow(t.Context())
	b.must(err)
	if on.State != store.HistoryOn || on.KeepDays != 30 || on.Since == nil || on.Log == first.Log || on.Newest != newest || newest != 3 || on.Oldest != 1 {
		t.Errorf("settings = %+v, newest = %d", on, newest)
	}

	b.must(b.HistorySettingsUpdate(t.Context(), store.HistoryOff, 0, on.Generation))
	if enabled := b.texts(enabledTriggers); enabled[0] != "0" {
		t.Errorf("enabled triggers = %s, want 0", enabled[0])
	}
	b.provider("b host", nil, nil)
	if newest, err := b.HistoryStep(t.Context(), true); err != nil || newest != on.Newest {
		t.Errorf("newest = %d, %v after it was turned off, want %d", newest, err, on.Newest)
	}
	b.must(b.HistoryPrune(t.Context()))
	if days := b.texts("SELECT day::text FROM history_days"); len(days) != 0 {
		t.Errorf("days = %q, want none", days)
	}
}

func TestHistory_Readers_DelayPruning(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	b.texts("SELECT 'made' FROM (SELECT history_day('2026-01-01', 1), history_day('2026-01-02', 10)) AS days")
	reader, err := b.db.Pool.Begin(t.Context())
	b.must(err)
	_, err = reader.Exec(t.Context(), "SELECT FROM history")
	b.must(err)
	b.must(b.HistoryPrune(t.Context()))
	if days := b.texts("SELECT day::text FROM history_days"); len(days) != 2 {
		t.Errorf("days = %q while they are read, want both", days)
	}
	b.must(reader.Rollback(t.Context()))
	b.must(b.HistoryPrune(t.Context()))
	if left := b.texts("SELECT relname::text FROM pg_class WHERE relname LIKE 'history_2%'"); len(left) != 0 {
		t.Errorf("partitions = %q, want none", left)
	}
}

// A promoted standby can lack events that readers of the primary before have: its record has another log.
func TestHistory_OtherTimeline_BeginsNewLog(t *testing.T) {
	t.Parallel()
	b := recorded(t, setup(t, 2))
	_, err := b.HistoryStep(t.Context(), true)
	b.must(err)
	before, err := b.HistorySettingsShow(t.Context())
	b.must(err)
	_, err = b.db.Pool.Exec(t.Context(), "UPDATE history_state SET cluster = 'another/00000001'")
	b.must(err)
	newest, err := b.HistoryStep(t.Context(), true)
	b.must(err)
	after, err := b.HistorySettingsShow(t.Context())
	b.must(err)
	if after.Log == before.Log || newest != before.Newest+1 {
		t.Errorf("log = %s, newest = %d; before %s, %d", after.Log, newest, before.Log, before.Newest)
	}
}

func TestHistory_Callers_AreInEachChange(t *testing.T) {
	t.Parallel()
	b := recorded(t, setup(t, 2))
	ctx := store.AsProcess(t.Context(), "test")
	host := named("a host")
	_, err := b.ProviderCreate(ctx, host, "host", nil)
	b.must(err)
	_, err = b.InventoryReplace(ctx, host, 0, inventories(map[string]int32{"VCPU": 4}), 1)
	b.must(err)
	claim := store.Claim{Consumer: uuid.New(), ProjectID: "p", UserID: "u", Type: "JOB", Allocations: []store.Allocation{{Provider: host, Class: "VCPU", Amount: 1}}}
	b.must(b.AllocationReplace(ctx, []store.Claim{claim}, true))
	_, err = b.HistoryStep(t.Context(), true)
	b.must(err)
	for _, text := range b.texts("SELECT DISTINCT coalesce(caller, '{}')::text FROM history WHERE topic <> 'history'") {
		var caller map[string]any
		b.must(json.Unmarshal([]byte(text), &caller))
		if caller["process"] != "test" || caller["request_id"] != nil {
			t.Errorf("caller = %s", text)
		}
	}
	got := b.texts("SELECT after::text FROM history WHERE topic = 'allocation'")
	want := `{"user_id": "u", "resources": {"VCPU": 1}, "project_id": "p", "consumer_type": "JOB", "consumer_generation": 1}`
	if len(got) != 1 || got[0] != want {
		t.Errorf("claim = %q, want %q", got, want)
	}
}

func TestHistory_NodeSecrets_AreNotRecorded(t *testing.T) {
	t.Parallel()
	b := recorded(t, setup(t, 2))
	_, err := b.NodeCreate(t.Context(), bareNode("machine", "available"))
	b.must(err)
	b.must(b.SetBaremetalBackend(t.Context(), false))
	for _, password := range []string{"swordfish", "swordfish2"} {
		_, err := b.NodeUpdate(t.Context(), "machine", func(n *store.Node) error {
			n.Details = map[string]json.RawMessage{}
			for _, name := range []string{"driver_info", "instance_info", "driver_internal_info"} {
				n.Details[name] = json.RawMessage(`{"password": "` + password + `"}`)
			}
			return nil
		})
		b.must(err)
	}
	_, err = b.HistoryStep(t.Context(), true)
	b.must(err)
	rows := b.texts("SELECT change::text FROM history AS change")
	if text := strings.Join(rows, "\n"); strings.Contains(text, "swordfish") || !strings.Contains(text, "hidden") {
		t.Errorf("the record has a secret, or does not say what has changed: %s", text)
	}
}
