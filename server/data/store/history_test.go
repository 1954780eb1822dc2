package store_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/dbtest"
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

	_, err = b.HistorySettingsUpdate(t.Context(), store.HistoryOn, 30, first.Generation+1)
	violation, ok := errors.AsType[*store.RuleViolation](err)
	if !ok || violation.Rule != store.HistoryGenerationConflict || *violation.Values.Actual != 0 || *violation.Values.Given != 1 {
		t.Errorf("another generation: %v", err)
	}
	if got := b.progress(); got != (store.HistoryProgress{State: store.HistoryOff, IsSwitched: true}) {
		t.Errorf("before the first settings: %+v, want nothing to do", got)
	}
	starting, err := b.HistorySettingsUpdate(t.Context(), store.HistoryOn, 30, first.Generation)
	b.must(err)
	if starting.State != store.HistoryStarting || starting.KeepDays != 30 || starting.Since != nil || starting.Log == first.Log || starting.Generation != 1 {
		t.Errorf("settings after on = %+v", starting)
	}
	if got := b.progress(); got.State != store.HistoryStarting || !got.IsSwitched || got.Waiting != 1 || got.LagSeconds <= 0 || got.HasOldDays {
		t.Errorf("after on: %+v", got)
	}
	if state, err := b.HistorySettle(t.Context(), 0); err != nil || state != store.HistoryOn {
		t.Errorf("state = %s, %v, want on", state, err)
	}
	b.provider("a host", nil, map[string]int32{"VCPU": 4})
	newest, err := b.HistoryStep(t.Context(), true)
	b.must(err)
	on, err := b.HistorySettingsShow(t.Context())
	b.must(err)
	if on.State != store.HistoryOn || on.KeepDays != 30 || on.Since == nil || on.Log != starting.Log || on.Newest != newest || newest != 3 || on.Oldest != 1 {
		t.Errorf("settings = %+v, newest = %d", on, newest)
	}

	off, err := b.HistorySettingsUpdate(t.Context(), store.HistoryOff, 7, on.Generation)
	b.must(err)
	if off.State != store.HistoryOff || off.Since != nil || off.Oldest != 1 || off.Newest != on.Newest || off.Log != on.Log {
		t.Errorf("settings after off = %+v", off)
	}
	if enabled := b.texts(enabledTriggers); enabled[0] != "0" {
		t.Errorf("enabled triggers = %s, want 0", enabled[0])
	}
	b.provider("b host", nil, nil)
	if newest, err := b.HistoryStep(t.Context(), true); err != nil || newest != on.Newest {
		t.Errorf("newest = %d, %v after it was turned off, want %d", newest, err, on.Newest)
	}
	gone, err := b.HistorySettingsUpdate(t.Context(), store.HistoryOff, 0, off.Generation)
	b.must(err)
	if days := b.texts("SELECT day::text FROM history_days"); len(days) != 0 || gone.Oldest != 0 || gone.Bytes >= off.Bytes || gone.KeepDays != 0 {
		t.Errorf("days = %q, settings = %+v, want none", days, gone)
	}
	if got := b.progress(); got != (store.HistoryProgress{State: store.HistoryOff, Newest: gone.Newest, IsSwitched: true}) {
		t.Errorf("after everything was deleted: %+v, want nothing to do", got)
	}
}

// progress returns the state of the record, and what is left to do.
func (b *bundle) progress() store.HistoryProgress {
	b.t.Helper()
	progress, err := b.HistoryState(b.t.Context())
	b.must(err)
	return progress
}

// A transaction that is under way when the record is turned off notes its changes at its commit.
func TestHistory_WriteDuringOff_LeavesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, 4)
	dbtest.TurnRecordOn(t, b.db)
	on, err := b.HistorySettingsShow(t.Context())
	b.must(err)
	writer, err := b.db.Pool.Begin(t.Context())
	b.must(err)
	_, err = writer.Exec(t.Context(), "INSERT INTO traits (name) VALUES ('CUSTOM_LATE')")
	b.must(err)
	off, err := b.HistorySettingsUpdate(t.Context(), store.HistoryOff, 0, on.Generation)
	b.must(err)
	if got := b.progress(); off.State != store.HistoryOff || got.IsSwitched {
		t.Errorf("settings = %+v, progress = %+v, want enabled triggers of the table that is written", off, got)
	}
	b.must(writer.Commit(t.Context()))
	if got := b.progress(); got.Waiting == 0 {
		t.Errorf("progress = %+v, want a note of the late commit", got)
	}
	b.must(b.HistorySwitch(t.Context()))
	_, err = b.HistoryStep(t.Context(), true)
	b.must(err)
	if got := b.progress(); got != (store.HistoryProgress{State: store.HistoryOff, Newest: off.Newest, IsSwitched: true}) {
		t.Errorf("progress = %+v, want nothing to do", got)
	}
	if left := b.texts("SELECT relname::text FROM pg_class WHERE relname LIKE 'history_2%' AND relkind = 'r'"); len(left) != 0 {
		t.Errorf("partitions = %q, want none", left)
	}
}

func TestHistory_DryRunOfSettings_ChangesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, 4)
	before, err := b.HistorySettingsShow(t.Context())
	b.must(err)
	ctx, _ := store.WithRehearsal(t.Context())
	shown, err := b.HistorySettingsUpdate(ctx, store.HistoryOn, 90, before.Generation)
	b.must(err)
	if shown.State != store.HistoryStarting || shown.KeepDays != 90 || shown.Generation != before.Generation+1 || shown.Log == before.Log {
		t.Errorf("dry run = %+v", shown)
	}
	after, err := b.HistorySettingsShow(t.Context())
	b.must(err)
	after.Bytes = before.Bytes // PostgreSQL does not shrink the file of outbox when it rolls back
	if enabled := b.texts(enabledTriggers); after != before || enabled[0] != "0" {
		t.Errorf("settings = %+v, want %+v; enabled triggers = %s", after, before, enabled[0])
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
	if isDone, err := b.HistoryPrune(t.Context()); isDone || err != nil {
		t.Errorf("done = %t, %v while a day is read", isDone, err)
	}
	if days := b.texts("SELECT day::text FROM history_days"); len(days) != 2 {
		t.Errorf("days = %q while they are read, want both", days)
	}
	b.must(reader.Rollback(t.Context()))
	if got := b.progress(); !got.HasOldDays {
		t.Errorf("progress = %+v, want old days", got)
	}
	if isDone, err := b.HistoryPrune(t.Context()); !isDone || err != nil {
		t.Errorf("done = %t, %v", isDone, err)
	}
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

// TestHistory_ClaimsOfOneTransaction_AreEachNoted: functions that note claims themselves leave later writes of the transaction to the
// triggers, also if one of them fails and the client rolls back to a savepoint.
func TestHistory_ClaimsOfOneTransaction_AreEachNoted(t *testing.T) {
	t.Parallel()
	b := recorded(t, setup(t, 2))
	host := b.provider("a host", nil, map[string]int32{"VCPU": 3})
	used := b.candidate(host).Uses[0]
	tx, err := b.db.Pool.Begin(t.Context())
	b.must(err)
	const (
		one  = "SELECT claim_create_named(ARRAY[$1::uuid], '{p}', '{u}', '{JOB}', NULL, '{1}', ARRAY[$2::uuid], '{VCPU}', ARRAY[$3::bigint])"
		many = "SELECT claim_create_many(ARRAY[$1, $2]::uuid[], '{p,q}', '{u,v}', '{JOB,\"\"}', '{1,2}', ARRAY[$3, $3]::bigint[], ARRAY[$4, $4]::int[], '{1,1}', '{}', '{}', '{}', '{}')"
	)
	run := func(statement string, values ...any) error {
		_, err := tx.Exec(t.Context(), statement, values...)
		return err
	}
	b.must(run(`SELECT set_config('berth.caller', '{"process": "test"}', true)`))
	b.must(run("SAVEPOINT before"))
	if err := run(one, named("a server"), host, 4); err == nil {
		t.Error("a claim of more than the capacity succeeds")
	}
	b.must(run("ROLLBACK TO before"))
	b.must(run("UPDATE provider_generations SET generation = generation + 1 WHERE provider_id = $1", used.Provider))
	b.must(run(one, named("b server"), host, 1))
	b.must(run(many, named("c server"), named("d server"), used.Provider, used.Class))
	b.must(run("INSERT INTO consumers (uuid, generation, project_id, user_id) SELECT gen_random_uuid(), 1, project_id, user_id FROM consumers LIMIT 1"))
	b.must(run("SAVEPOINT after"))
	if err := run(many, named("e server"), named("f server"), used.Provider, used.Class); err == nil {
		t.Error("claims of more than the capacity succeed")
	}
	b.must(run("ROLLBACK TO after"))
	b.must(run("DELETE FROM consumers WHERE uuid NOT IN ($1, $2, $3)", named("b server"), named("c server"), named("d server")))
	b.must(tx.Commit(t.Context()))
	_, err = b.HistoryStep(t.Context(), true)
	b.must(err)
	got := b.texts(`SELECT concat_ws(' ', consumer, generation, before, after -> 'resources', caller ->> 'process') FROM history
		WHERE topic = 'allocation' ORDER BY index, place`)
	want := []string{
		named("b server").String() + ` 3 {"VCPU": 1} test`,
		named("c server").String() + ` 4 {"VCPU": 1} test`,
		named("d server").String() + ` 4 {"VCPU": 1} test`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("changes = %q, want %q", got, want)
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
