package placement_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server"
)

// newRecording returns a server whose record of changes is on.
func newRecording(t *testing.T) recorder {
	t.Helper()
	r := newRecorder(t)
	dbtest.TurnRecordOn(t, r.DB)
	if _, err := r.Store.HistoryState(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

// list returns the response to GET /history with these parameters.
func (r recorder) list(query string) object {
	r.t.Helper()
	status, text, shown := r.send(http.MethodGet, "/history"+query, nil)
	if status != http.StatusOK {
		r.t.Fatalf("GET /history%s: %d %s", query, status, text)
	}
	return shown
}

// events returns the events of a list.
func (r recorder) events(query string) []object {
	r.t.Helper()
	var events []object
	for _, event := range r.list(query)["events"].([]any) {
		events = append(events, event.(object))
	}
	return events
}

// write sends a request that must succeed.
func (r recorder) write(method, path string, body any) {
	r.t.Helper()
	if status, text, _ := r.send(method, path, body); status >= 300 {
		r.t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
}

// TestHistory_EventOfEveryWrite_EqualsDryRun sends random requests of each write operation: first as a dry run, then as a write, whose
// event must have the changes that the dry run has shown.
func TestHistory_EventOfEveryWrite_EqualsDryRun(t *testing.T) {
	t.Parallel()
	rounds := 12
	if testing.Short() {
		rounds = 4
	}
	r := newRecording(t)
	r.dice, r.undone = rand.New(rand.NewPCG(1, 4)), map[string]int{}
	r.until = time.Now().UTC().Truncate(time.Second).Add(24 * time.Hour)
	recorded := map[string]bool{}
	for range rounds {
		for _, op := range server.Table(server.Options{}).Operations() {
			request := rehearsedRequests[op.ID]
			if request == nil || op.ID == "history-settings-update" {
				continue
			}
			if r.dice.IntN(2) == 0 {
				r.supply()
			}
			path, query, body := request(r.rehearsed)
			newest := r.list("?limit=1")["newest"].(float64)
			status, _, dry := r.send(op.Method, path+"?dry_run=true"+query, body)
			wrote, _, _ := r.send(op.Method, path+strings.Replace(query, "&", "?", 1), body)
			var want object
			if status == http.StatusOK && wrote < 300 {
				want = recordedChanges(dry["changes"].(object))
			}
			events := r.events(fmt.Sprintf("?sort=index&since=%.0f", newest+1))
			switch {
			case len(want) == 0:
				if len(events) > 0 {
					t.Errorf("%s %s %v: %d without changes is the event %v", op.Method, path, body, wrote, events)
				}
			case len(events) != 1:
				t.Errorf("%s %s %v: %d events, want 1 with %v", op.Method, path, body, len(events), want)
			default:
				recorded[op.ID] = true
				if got := recordedChanges(events[0]["changes"].(object)); !reflect.DeepEqual(got, want) {
					t.Errorf("%s %s %v: event with\n%v, want\n%v", op.Method, path, body, got, want)
				}
				if by := events[0]["by"].(object); by["operation"] != op.ID {
					t.Errorf("%s %s is by %v, want operation %s", op.Method, path, by, op.ID)
				}
			}
		}
	}
	if len(recorded) < 12 {
		t.Errorf("events of %v, want of most operations", recorded)
	}
}

// recordedChanges returns changes without what either the events or dry runs do not have: usages, the roots of providers, generations before
// the write, no lease, times of leases, empty lists, and kinds without changes. Changed generations alone are none.
func recordedChanges(changes object) object {
	found := object{}
	isEvent := false
	for kind, objects := range changes {
		for key, change := range objects.(object) {
			for side, part := range change.(object) {
				members, ok := part.(object)
				if !ok {
					continue
				}
				delete(members, "usages")
				for _, name := range []string{"inventories", "traits", "aggregates"} {
					if reflect.ValueOf(members[name]).IsValid() && reflect.ValueOf(members[name]).Len() == 0 {
						delete(members, name)
					}
				}
				delete(members, "root_provider_uuid")
				if side == "before" && kind == "resource_providers" {
					delete(members, "generation")
				}
				switch lease := members["lease"].(type) {
				case nil:
					delete(members, "lease")
				case object:
					delete(lease, "expires_at")
				}
			}
			before, after := change.(object)["before"], change.(object)["after"]
			if reflect.DeepEqual(before, after) {
				continue
			}
			if found[kind] == nil {
				found[kind] = object{}
			}
			found[kind].(object)[key] = change
			members, ok := after.(object)
			isEvent = isEvent || !ok || !reflect.DeepEqual(before, object{}) || len(members) != 1 || members["generation"] == nil
		}
	}
	if !isEvent {
		return nil
	}
	return found
}

// TestHistory_List_ShowsEvents follows a provider and a consumer through their lives.
func TestHistory_List_ShowsEvents(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	host, vm := rehearsedProviders[0], rehearsedConsumers[0]
	r.write(http.MethodPost, "/resource_providers", object{"name": "host", "uuid": host})
	r.write(http.MethodPut, "/resource_providers/"+host+"/inventories", object{"resource_provider_generation": 0, "inventories": object{"VCPU": object{"total": 8}}})
	r.write(http.MethodPut, "/allocations/"+vm, object{"allocations": object{host: object{"resources": object{"VCPU": 2}}}, "project_id": "demo",
		"user_id": "alice", "consumer_generation": nil, "consumer_type": "INSTANCE"})
	r.write(http.MethodDelete, "/allocations/"+vm, nil)
	r.write(http.MethodDelete, "/resource_providers/"+host, nil)

	inventory := object{"total": 8.0, "reserved": 0.0, "min_unit": 1.0, "max_unit": 2147483647.0, "step_size": 1.0, "allocation_ratio": 1.0}
	consumer := object{"consumer_generation": 1.0, "project_id": "demo", "user_id": "alice", "consumer_type": "INSTANCE",
		"allocations": object{host: object{"resources": object{"VCPU": 2.0}}}}
	want := []struct {
		operation string
		changes   object
	}{
		{"provider-create", object{"resource_providers": object{host: object{"before": nil, "after": object{"name": "host", "parent_provider_uuid": nil,
			"root_provider_uuid": host, "generation": 0.0, "inventories": object{}, "traits": []any{}, "aggregates": []any{}}}}}},
		{"inventory-replace", object{"resource_providers": object{host: object{"before": object{"inventories": object{}},
			"after": object{"generation": 1.0, "inventories": object{"VCPU": inventory}}}}}},
		{"allocation-replace", object{"resource_providers": object{host: object{"before": object{}, "after": object{"generation": 2.0}}},
			"consumers": object{vm: object{"before": nil, "after": consumer}}}},
		{"allocation-delete", object{"consumers": object{vm: object{"before": consumer, "after": nil}}}},
		{"provider-delete", object{"resource_providers": object{host: object{"before": object{"name": "host", "parent_provider_uuid": nil,
			"root_provider_uuid": host, "inventories": object{"VCPU": inventory}, "traits": []any{}, "aggregates": []any{}}, "after": nil}}}},
	}
	list := r.list("?sort=index&since=2")
	events := list["events"].([]any)
	if len(events) != len(want) || list["oldest"] != 1.0 || list["newest"] != 6.0 || list["events_links"] != nil {
		t.Fatalf("list = %v, want %d events", list, len(want))
	}
	for i, each := range want {
		event := events[i].(object)
		by := event["by"].(object)
		if event["kind"] != "write" || event["index"] != float64(i+2) || by["operation"] != each.operation || by["process"] != nil || by["user_id"] != "admin" ||
			!strings.HasPrefix(fmt.Sprint(by["request_id"]), "req-") {
			t.Errorf("event %d = %v, want by %s", i+2, event, each.operation)
		}
		if !reflect.DeepEqual(event["changes"], each.changes) {
			t.Errorf("event %d: changes = %v, want %v", i+2, event["changes"], each.changes)
		}
	}
	request := events[2].(object)["by"].(object)["request_id"].(string)
	for query, indexes := range map[string][]float64{
		"?resource_provider=" + host: {6, 5, 4, 3, 2}, "?in_tree=" + host: {6, 5, 4, 3, 2}, "?name=host": {6, 5, 4, 3, 2},
		"?consumer=" + vm: {5, 4}, "?consumer=in:" + vm + "," + rehearsedConsumers[1] + "&sort=index": {4, 5}, "?request=" + request: {4},
		"?project_id=demo": {5, 4}, "?user_id=admin&topic=inventory": {6, 3}, "?topic=in:provider,trait": {6, 2}, "?topic=history": {1},
		"?since=3&until=5": {4, 3}, "?until=2000-01-01T00:00:00Z": {}, "?node=" + host + "&limit=2": {6, 5}, "?user_id=bob": {},
		"?resource_provider=" + rehearsedProviders[1]: {}, "?name=nothing": {},
	} {
		got := []float64{}
		for _, event := range r.events(query) {
			got = append(got, event["index"].(float64))
		}
		if !reflect.DeepEqual(got, indexes) {
			t.Errorf("GET /history%s: events %v, want %v", query, got, indexes)
		}
	}
}

// TestHistory_ListPages_FollowLinks follows the links of a list.
func TestHistory_ListPages_FollowLinks(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	for i := range 5 {
		r.write(http.MethodPut, fmt.Sprintf("/traits/CUSTOM_%d", i), nil)
	}
	var indexes []float64
	for target := "?limit=2&topic=name"; target != ""; {
		list := r.list(target)
		for _, event := range list["events"].([]any) {
			indexes = append(indexes, event.(object)["index"].(float64))
		}
		target = ""
		if links, ok := list["events_links"].([]any); ok {
			target = strings.TrimPrefix(links[0].(object)["href"].(string), "/history")
		}
	}
	if want := []float64{6, 5, 4, 3, 2}; !reflect.DeepEqual(indexes, want) {
		t.Errorf("events %v, want %v", indexes, want)
	}
}

// TestHistory_InvalidLists_Rejected has each error of the parameters.
func TestHistory_InvalidLists_Rejected(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	expect := func(query string, status int, code, detail string) {
		t.Helper()
		got, text, shown := r.send(http.MethodGet, "/history"+query, nil)
		if got != status {
			t.Fatalf("GET /history%s: %d %s, want %d", query, got, text, status)
		}
		failure := shown["errors"].([]any)[0].(object)
		if failure["code"] != code || !strings.Contains(failure["detail"].(string), detail) {
			t.Errorf("GET /history%s: %v, want code %s, detail %q", query, failure, code, detail)
		}
	}
	expect("", http.StatusConflict, "berth.history.off", "No history is kept. Turn it on with PUT /history/settings.")
	expect("?since=yesterday", http.StatusBadRequest, "berth.bad_value", "'since' is neither a time nor an index: yesterday.")
	expect("?until=-1", http.StatusBadRequest, "berth.bad_value", "'until' is neither a time nor an index: -1.")
	expect("?topic=color", http.StatusBadRequest, "berth.bad_value",
		"'topic' names color; known are aggregate, allocation, history, inventory, name, node, node_allocation, provider, trait.")
	expect("?marker=aDE6NDE4MDA", http.StatusBadRequest, "berth.page.bad_marker", "The marker does not belong to this list.")
	expect("?topic=trait&topic=name", http.StatusBadRequest, "berth.query.duplicate_key", "Query parameter 'topic' may be specified only once.")
	expect("?consumer=me", http.StatusBadRequest, "placement.undefined_code", "Invalid query string parameters: 'me' is not a 'uuid'")
	expect("?color=red", http.StatusBadRequest, "placement.undefined_code", "Invalid query string parameters: Additional properties are not allowed")
}

// TestHistory_ClaimWithLease_IsOneChange has a claim whose lease the record has apart, and a deletion.
func TestHistory_ClaimWithLease_IsOneChange(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	host, vm := rehearsedProviders[0], rehearsedConsumers[0]
	r.write(http.MethodPost, "/resource_providers", object{"name": "host", "uuid": host})
	r.write(http.MethodPut, "/resource_providers/"+host+"/inventories", object{"resource_provider_generation": 0, "inventories": object{"VCPU": object{"total": 8}}})
	r.write(http.MethodPost, "/claims", object{
		"consumers": []object{{"uuid": vm, "project_id": "demo", "user_id": "alice", "consumer_type": "INSTANCE", "consumer_generation": nil, "lease": object{"seconds": 60}}},
		"queries":   []object{{"groups": object{"": object{"resources": object{"VCPU": 2}}}}},
	})
	r.write(http.MethodDelete, "/allocations/"+vm, nil)
	events := r.events("?sort=index&consumer=" + vm)
	if len(events) != 2 {
		t.Fatalf("events = %v, want a claim and a deletion", events)
	}
	for i, side := range []string{"after", "before"} {
		change := events[i]["changes"].(object)["consumers"].(object)[vm].(object)
		part, ok := change[side].(object)
		if !ok {
			t.Fatalf("change = %v, want the consumer %s", change, side)
		}
		lease := part["lease"].(object)
		delete(lease, "expires_at")
		want := object{"consumer_generation": 1.0, "project_id": "demo", "user_id": "alice", "consumer_type": "INSTANCE",
			"allocations": object{host: object{"resources": object{"VCPU": 2.0}}}, "lease": object{"seconds": 60.0, "until": nil}}
		if !reflect.DeepEqual(part, want) || change[map[string]string{"after": "before", "before": "after"}[side]] != nil {
			t.Errorf("change = %v, want %s %v and null", change, side, want)
		}
	}
}
