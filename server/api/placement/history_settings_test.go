package placement_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/work/history"
)

const historySettings = "/history/settings"

// recorder is a server whose record of changes is turned on and off.
type recorder struct{ *rehearsed }

func newRecorder(t *testing.T) recorder {
	t.Helper()
	return recorder{&rehearsed{t: t, Server: servertest.New(t, servertest.Options{})}}
}

// settings sends a request about the settings and returns the body of a response with this status.
func (r recorder) settings(method, query string, body any, status int) object {
	r.t.Helper()
	got, text, shown := r.send(method, historySettings+query, body)
	if got != status {
		r.t.Fatalf("%s %s%s %v: status = %d, want %d: %s", method, historySettings, query, body, got, status, text)
	}
	return shown
}

// differs fails the test if a response is not the expected one, apart from the size of the record, which is positive.
func (r recorder) differs(what string, shown, want object) {
	r.t.Helper()
	if size, ok := shown["bytes"].(float64); !ok || size <= 0 {
		r.t.Errorf("%s: bytes = %v", what, shown["bytes"])
	}
	want["bytes"] = shown["bytes"]
	if !reflect.DeepEqual(shown, want) {
		r.t.Errorf("%s: settings = %v, want %v", what, shown, want)
	}
}

func TestHistory_Settings_OnAndOff(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	first := r.settings(http.MethodGet, "", nil, http.StatusOK)
	log := first["log"].(string)
	if uuid.Validate(log) != nil {
		t.Errorf("log = %q, want a UUID", log)
	}
	number := func(n int) any { return float64(n) }
	r.differs("at the beginning", first, object{"state": "off", "keep_days": number(7), "since": nil, "log": log, "oldest": number(0),
		"newest": number(0), "waiting": number(0), "generation": number(0)})

	starting := r.settings(http.MethodPut, "", object{"state": "on", "keep_days": 90, "generation": 0}, http.StatusOK)
	if starting["log"] == log {
		t.Errorf("log = %s, want another one", log)
	}
	log = starting["log"].(string)
	want := object{"state": "starting", "keep_days": number(90), "since": nil, "log": log, "oldest": number(0), "newest": number(0),
		"waiting": number(1), "generation": number(1)}
	r.differs("after on", starting, want)
	r.differs("when read after on", r.settings(http.MethodGet, "", nil, http.StatusOK), want)

	if state, err := r.Store.HistorySettle(t.Context(), 0); err != nil || state != store.HistoryOn {
		t.Fatalf("state = %s, %v", state, err)
	}
	r.send(http.MethodPost, "/resource_providers", object{"name": "host", "uuid": rehearsedProviders[0]})
	if _, err := r.Store.HistoryStep(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	on := r.settings(http.MethodGet, "", nil, http.StatusOK)
	since, err := time.Parse("2006-01-02T15:04:05.000000Z", on["since"].(string))
	if err != nil || time.Since(since) > time.Hour {
		t.Errorf("since = %v, %v", on["since"], err)
	}
	r.differs("when it is on", on, object{"state": "on", "keep_days": number(90), "since": on["since"], "log": log, "oldest": number(1),
		"newest": number(2), "waiting": number(0), "generation": number(1)})
	var caller string
	if err := r.DB.Pool.QueryRow(t.Context(), "SELECT caller ->> 'operation' FROM history WHERE index = 1").Scan(&caller); err != nil || caller != "history-settings-update" {
		t.Errorf("the first event is by %q, %v", caller, err)
	}

	other := r.settings(http.MethodPut, "", object{"state": "on", "generation": 1}, http.StatusOK)
	if other["keep_days"] != number(30) || other["log"] != log || other["since"] != on["since"] || other["state"] != "on" {
		t.Errorf("after other settings: %v", other)
	}
	off := r.settings(http.MethodPut, "", object{"state": "off", "keep_days": 1, "generation": 2}, http.StatusOK)
	r.differs("after off", off, object{"state": "off", "keep_days": number(1), "since": nil, "log": log, "oldest": number(1),
		"newest": off["newest"], "waiting": number(0), "generation": number(3)})
	gone := r.settings(http.MethodPut, "", object{"state": "off", "keep_days": 0, "generation": 3}, http.StatusOK)
	r.differs("after everything was deleted", gone, object{"state": "off", "keep_days": number(0), "since": nil, "log": log, "oldest": number(0),
		"newest": off["newest"], "waiting": number(0), "generation": number(4)})
	var left int
	if err := r.DB.Pool.QueryRow(t.Context(), "SELECT (SELECT count(*) FROM history) + (SELECT count(*) FROM outbox)").Scan(&left); err != nil || left != 0 {
		t.Errorf("%d rows are left, %v", left, err)
	}
}

// TestHistory_SettingsWithServer_BecomesOn waits for the state, not for time.
func TestHistory_SettingsWithServer_BecomesOn(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	stepper := history.New(history.Options{Store: r.Store, Log: servertest.Log(t)})
	stepper.Start()
	t.Cleanup(stepper.Close)
	shown := r.settings(http.MethodPut, "", object{"state": "on", "generation": 0}, http.StatusOK)
	for deadline := time.Now().Add(time.Minute); shown["state"] != "on"; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) || shown["since"] != nil {
			t.Fatalf("settings = %v", shown)
		}
		shown = r.settings(http.MethodGet, "", nil, http.StatusOK)
	}
	if shown["since"] == nil {
		t.Errorf("settings = %v", shown)
	}
}

func TestHistory_SettingsErrors_HaveTextAndCode(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	r.settings(http.MethodPut, "", object{"state": "off", "generation": 0}, http.StatusOK)
	before := dbtest.Snapshot(t, r.DB)
	for name, c := range map[string]struct {
		body         any
		status       int
		code, detail string
	}{
		"a stale generation": {object{"state": "on", "generation": 0}, 409, "placement.concurrent_update",
			"history generation conflict - expected 1 but got 0"},
		"a later generation": {object{"state": "off", "keep_days": 0, "generation": 2}, 409, "placement.concurrent_update",
			"history generation conflict - expected 1 but got 2"},
		"on without a day": {object{"state": "on", "keep_days": 0, "generation": 1}, 400, "berth.bad_value",
			"'keep_days' is 0 and 'state' is on. 0 deletes the record and needs 'state' off; a record that is on keeps 1 to 3650 days."},
		"another state":     {object{"state": "starting", "generation": 1}, 400, "placement.undefined_code", "JSON does not validate: 'starting' is not one of ['on', 'off']"},
		"too many days":     {object{"state": "on", "keep_days": 3651, "generation": 1}, 400, "placement.undefined_code", "JSON does not validate: 3651 is greater than the maximum of 3650"},
		"a negative number": {object{"state": "off", "keep_days": -1, "generation": 1}, 400, "placement.undefined_code", "JSON does not validate: -1 is less than the minimum of 0"},
		"half a day":        {object{"state": "on", "keep_days": 1.5, "generation": 1}, 400, "placement.undefined_code", "JSON does not validate: 1.5 is not of type 'integer'"},
		"null":              {object{"state": "on", "keep_days": nil, "generation": 1}, 400, "placement.undefined_code", "JSON does not validate: None is not of type 'integer'"},
		"no generation":     {object{"state": "on"}, 400, "placement.undefined_code", "JSON does not validate: 'generation' is a required property"},
		"no state":          {object{"generation": 1}, 400, "placement.undefined_code", "JSON does not validate: 'state' is a required property"},
		"another member":    {object{"state": "on", "generation": 1, "log": "x"}, 400, "placement.undefined_code", "JSON does not validate: Additional properties are not allowed ('log' was unexpected)"},
	} {
		_, text, answer := r.send(http.MethodPut, historySettings, c.body)
		first := answer["errors"].([]any)[0].(object)
		if first["status"] != float64(c.status) || first["code"] != c.code || !strings.Contains(first["detail"].(string), c.detail) {
			t.Errorf("%s: %s, want %d, %s, %s", name, text, c.status, c.code, c.detail)
		}
	}
	if diff := before.Diff(dbtest.Snapshot(t, r.DB)); len(diff) > 0 {
		t.Errorf("errors have changed %q", diff)
	}
}

func TestHistory_DryRunOfSettings_ShowsThem(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	before, first := dbtest.Snapshot(t, r.DB), r.settings(http.MethodGet, "", nil, http.StatusOK)
	dry := r.settings(http.MethodPut, "?dry_run=true", object{"state": "on", "keep_days": 3650, "generation": 0}, http.StatusOK)
	body := dry["body"].(object)
	if log := body["log"].(string); log == first["log"] || uuid.Validate(log) != nil {
		t.Errorf("log = %s, want another one", log)
	}
	r.differs("dry run", body, object{"state": "starting", "keep_days": 3650.0, "since": nil, "log": body["log"], "oldest": 0.0, "newest": 0.0,
		"waiting": 0.0, "generation": 1.0})
	none := object{"resource_providers": object{}, "consumers": object{}, "resource_classes": object{}, "traits": object{}}
	if dry["would"] != 200.0 || dry["inverse"] != nil || !reflect.DeepEqual(dry["changes"], none) {
		t.Errorf("dry run = %v", dry)
	}
	refused := r.settings(http.MethodPut, "?dry_run=true", object{"state": "on", "generation": 7}, http.StatusOK)
	if refused["would"] != 409.0 || !strings.Contains(fmt.Sprint(refused["body"]), "history generation conflict - expected 0 but got 7") {
		t.Errorf("dry run of a stale generation = %v", refused)
	}
	if diff := before.Diff(dbtest.Snapshot(t, r.DB)); len(diff) > 0 {
		t.Errorf("dry runs have changed %q", diff)
	}
	var enabled int
	const query = "SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'history%' AND tgenabled <> 'D'"
	if err := r.DB.Pool.QueryRow(t.Context(), query).Scan(&enabled); err != nil || enabled != 0 {
		t.Errorf("%d triggers are enabled, %v", enabled, err)
	}
}

// TestHistory_SettingsWithoutOptIn_AreUnknown compares the responses with those of a path that no version has.
func TestHistory_SettingsWithoutOptIn_AreUnknown(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	send := func(method, path, version string) *httptest.ResponseRecorder {
		sent := httptest.NewRequestWithContext(t.Context(), method, path, bytes.NewReader([]byte(`{"state": "on", "generation": 0}`)))
		sent.Header.Set("X-Auth-Token", "admin")
		sent.Header.Set("Content-Type", "application/json")
		if version != "" {
			sent.Header.Set("OpenStack-API-Version", version)
		}
		answer := httptest.NewRecorder()
		r.Handler.ServeHTTP(answer, sent)
		return answer
	}
	for _, version := range []string{"", "placement 1.0", "placement 1.39", "placement 1.39, berth 1.6"} {
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
			got, want := send(method, historySettings, version), send(method, "/mystery", version)
			if got.Code != http.StatusNotFound || want.Code != got.Code || stripped(got.Body.String()) != stripped(want.Body.String()) {
				t.Errorf("%s at %q: %d %s, want %d %s", method, version, got.Code, got.Body, want.Code, want.Body)
			}
		}
	}
	if got := send(http.MethodDelete, historySettings, "placement 1.39, berth 1.7"); got.Code != http.StatusMethodNotAllowed || got.Header().Get("Allow") != "GET, PUT" {
		t.Errorf("DELETE at berth 1.7: %d, Allow = %q", got.Code, got.Header().Get("Allow"))
	}
	if got := send(http.MethodGet, historySettings+"?color=red", "placement 1.39, berth 1.7"); got.Code != http.StatusBadRequest {
		t.Errorf("an unknown parameter: %d %s", got.Code, got.Body)
	}
}
