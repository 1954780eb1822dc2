package placement_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestHistory_AtOfExample_ShowsTreeAndConsumer follows example 7 of the contract: two claims on a host with a NUMA node, and a release.
func TestHistory_AtOfExample_ShowsTreeAndConsumer(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	host, node := rehearsedProviders[0], rehearsedProviders[1]
	r.write(http.MethodPut, "/resource_providers/"+host+"/tree", object{"resource_providers": []any{
		object{"uuid": host, "name": "compute-2", "parent_provider_uuid": nil, "generation": nil, "inventories": object{"DISK_GB": object{"total": 2000}}},
		object{"uuid": node, "name": "compute-2-numa-0", "parent_provider_uuid": host, "generation": nil,
			"inventories": object{"VCPU": object{"total": 32}}},
	}})
	claim := func(consumer string, disk, vcpu int) {
		t.Helper()
		r.write(http.MethodPut, "/allocations/"+consumer, object{"project_id": "prod", "user_id": "bob", "consumer_type": "INSTANCE", "consumer_generation": nil,
			"allocations": object{host: object{"resources": object{"DISK_GB": disk}}, node: object{"resources": object{"VCPU": vcpu}}}})
	}
	claim(rehearsedConsumers[0], 200, 16)
	claim(rehearsedConsumers[1], 20, 4)
	event := r.events("?limit=1")[0]
	r.write(http.MethodDelete, "/allocations/"+rehearsedConsumers[0], nil)

	moment := object{"index": event["index"], "time": event["at"]}
	for _, at := range []string{fmt.Sprintf("%.0f", event["index"]), event["at"].(string)} {
		status, text, shown := r.send(http.MethodGet, "/resource_providers/"+node+"/tree?include=usages&at="+at, nil)
		if want := (object{"root_provider_uuid": host, "at": moment, "resource_providers": []any{
			object{"uuid": host, "name": "compute-2", "generation": 2.0, "parent_provider_uuid": nil, "root_provider_uuid": host, "usages": object{"DISK_GB": 220.0}},
			object{"uuid": node, "name": "compute-2-numa-0", "generation": 2.0, "parent_provider_uuid": host, "root_provider_uuid": host, "usages": object{"VCPU": 20.0}},
		}}); status != http.StatusOK || !reflect.DeepEqual(withoutGenerations(shown), withoutGenerations(want)) {
			t.Errorf("tree at %s: %d %s, want %v", at, status, text, want)
		}
		status, text, shown = r.send(http.MethodGet, "/consumers/"+rehearsedConsumers[0]+"?at="+at, nil)
		held := func(name, class string, used float64) object {
			return object{"name": name, "root_provider_uuid": host, "generation": 2.0, "created_at": nil, "resources": object{class: used}}
		}
		if want := (object{"uuid": rehearsedConsumers[0], "project_id": "prod", "user_id": "bob", "consumer_type": "INSTANCE", "consumer_generation": 1.0,
			"created_at": nil, "updated_at": nil, "resources": object{"DISK_GB": 200.0, "VCPU": 16.0}, "resource_provider_count": 2.0, "lease": nil,
			"allocations": object{host: held("compute-2", "DISK_GB", 200), node: held("compute-2-numa-0", "VCPU", 16)}, "at": moment,
		}); status != http.StatusOK || !reflect.DeepEqual(withoutGenerations(shown), withoutGenerations(want)) {
			t.Errorf("consumer at %s: %d %s, want %v", at, status, text, want)
		}
	}
}

// withoutGenerations deletes the generations of providers, of which a test does not know how often writes raise them. They are numbers.
func withoutGenerations(value any) any {
	switch value := value.(type) {
	case object:
		if _, isNumber := value["generation"].(float64); isNumber {
			delete(value, "generation")
		}
		for _, member := range value {
			withoutGenerations(member)
		}
	case []any:
		for _, member := range value {
			withoutGenerations(member)
		}
	}
	return value
}

// TestHistory_AtInvalid_Rejected has each error of at.
func TestHistory_AtInvalid_Rejected(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	host, missing := rehearsedProviders[0], rehearsedProviders[3]
	r.write(http.MethodPost, "/resource_providers", object{"name": "host", "uuid": host})
	expect := func(path string, status int, code, detail string) {
		t.Helper()
		got, text, shown := r.send(http.MethodGet, path, nil)
		if got != status {
			t.Fatalf("GET %s: %d %s, want %d", path, got, text, status)
		}
		failure := shown["errors"].([]any)[0].(object)
		if failure["code"] != code || !strings.Contains(failure["detail"].(string), detail) {
			t.Errorf("GET %s: %v, want code %s, detail %q", path, failure, code, detail)
		}
	}
	for _, path := range []string{"/resource_providers/" + host + "/tree", "/consumers/" + rehearsedConsumers[0]} {
		expect(path+"?at=1", http.StatusConflict, "berth.history.off", "No history is kept. Turn it on with PUT /history/settings.")
	}
	exec := func(statement string) {
		t.Helper()
		if _, err := r.DB.Pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	exec(`SELECT history_update('on', 7, state.generation) FROM history_state AS state`)
	expect("/consumers/"+rehearsedConsumers[0]+"?at=1", http.StatusConflict, "berth.history.off", "The record is not complete yet: its state is starting.")
	for more := true; more; {
		if err := r.DB.Pool.QueryRow(t.Context(), `SELECT history_switch()`).Scan(&more); err != nil {
			t.Fatal(err)
		}
	}
	exec(`SELECT history_settle('0')`)
	r.write(http.MethodPut, "/resource_providers/"+host, object{"name": "renamed"})
	_, _, settings := r.send(http.MethodGet, historySettings, nil)
	since, err := time.Parse(time.RFC3339, settings["since"].(string))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/resource_providers/" + host + "/tree", "/consumers/" + rehearsedConsumers[0]} {
		begins := "The record begins at " + since.Format(time.RFC3339Nano) + ", index 2."
		expect(path+"?at=yesterday", http.StatusBadRequest, "berth.bad_value", "'at' is neither a time nor an index: yesterday.")
		expect(path+"?at=2100-01-01T00:00:00Z", http.StatusBadRequest, "berth.bad_value", "'at' is in the future: 2100-01-01T00:00:00Z.")
		expect(path+"?at=50000", http.StatusBadRequest, "berth.bad_value", "'at' is index 50000, the newest is 2.")
		expect(path+"?at=0", http.StatusGone, "berth.history.gone", begins)
		expect(path+"?at="+since.Add(-time.Microsecond).Format(time.RFC3339Nano), http.StatusGone, "berth.history.gone", begins)
		expect(path+"?at=1&at=2", http.StatusBadRequest, "berth.query.duplicate_key", "Query parameter 'at' may be specified only once.")
	}
	expect("/resource_providers/"+missing+"/tree?at=1", http.StatusNotFound, "placement.undefined_code",
		"No resource provider with uuid "+missing+" existed at index 1")
	expect("/consumers/"+missing+"?at="+settings["since"].(string), http.StatusNotFound, "placement.undefined_code",
		"No consumer with uuid "+missing+" existed at "+since.Format(time.RFC3339Nano))
	expect("/resource_providers/"+host+"/tree?at=1&include=sharing", http.StatusBadRequest, "berth.bad_value",
		"'include' names sharing; known are aggregates, consumers, inventories, traits, usages.")

	// The name before the only event, by its index and by a time before it.
	for _, at := range []string{"1", settings["since"].(string)} {
		_, text, shown := r.send(http.MethodGet, "/resource_providers/"+host+"/tree?include=traits&at="+at, nil)
		if provider := shown["resource_providers"].([]any)[0].(object); provider["name"] != "host" || provider["generation"] != nil {
			t.Errorf("at %s: %s, want the old name, and no generation", at, text)
		}
	}
}

// TestHistory_AtBelowVersion_IsUnknown sends at to versions that do not have it.
func TestHistory_AtBelowVersion_IsUnknown(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	for _, path := range []string{"/resource_providers/" + rehearsedProviders[0] + "/tree?at=1&at=2", "/consumers/" + rehearsedConsumers[0] + "?at=1"} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		request.Header.Set("X-Auth-Token", "admin")
		request.Header.Set("X-Roles", "admin,service")
		request.Header.Set("OpenStack-API-Version", "placement 1.39, berth 1.6")
		response := httptest.NewRecorder()
		r.Handler.ServeHTTP(response, request)
		if response.Code != http.StatusBadRequest || !strings.Contains(response.Body.String(), "Additional properties are not allowed ('at' was unexpected)") {
			t.Errorf("GET %s: %d %s", path, response.Code, response.Body)
		}
	}
}
