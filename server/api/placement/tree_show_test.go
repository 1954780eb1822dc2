package placement_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/servertest"
)

// treeRequest sends a request at berth 1.4 and decodes the response.
func treeRequest(t *testing.T, server *servertest.Server, method, path string, body any, want int) map[string]json.RawMessage {
	t.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(string(encoded)))
	request.Header.Set("OpenStack-API-Version", "placement 1.39, berth 1.4")
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Auth-Token", "admin")
	request.Header.Set("X-Roles", "admin,service")
	recorder := httptest.NewRecorder()
	server.Handler.ServeHTTP(recorder, request)
	if recorder.Code != want {
		t.Fatalf("%s %s: status = %d, want %d: %s", method, path, recorder.Code, want, recorder.Body)
	}
	var decoded map[string]json.RawMessage
	if recorder.Body.Len() > 0 {
		if err := json.Unmarshal(recorder.Body.Bytes(), &decoded); err != nil {
			t.Fatal(err)
		}
	}
	return decoded
}

// usedTree creates a tree of two providers that reaches a sharing provider, and two consumers. It returns the root.
func usedTree(t *testing.T, server *servertest.Server) string {
	t.Helper()
	root, child, pool := dbtest.NumberedUUID("c0", 1).String(), dbtest.NumberedUUID("c0", 2).String(), dbtest.NumberedUUID("c0", 3).String()
	rack := dbtest.NumberedUUID("a9", 1).String()
	treeRequest(t, server, http.MethodPut, "/resource_providers/"+root+"/tree", json.RawMessage(fmt.Sprintf(`{"resource_providers": [
		{"uuid": "%s", "name": "host", "parent_provider_uuid": null, "generation": null, "aggregates": ["%[3]s"]},
		{"uuid": "%[2]s", "name": "node", "parent_provider_uuid": "%[1]s", "generation": null, "traits": ["HW_NUMA_ROOT", "CUSTOM_A"],
			"inventories": {"VCPU": {"total": 8, "reserved": 1, "allocation_ratio": 2.5}, "MEMORY_MB": {"total": 64}}}]}`, root, child, rack)), http.StatusOK)
	treeRequest(t, server, http.MethodPut, "/resource_providers/"+pool+"/tree", json.RawMessage(fmt.Sprintf(`{"resource_providers": [
		{"uuid": "%s", "name": "pool", "parent_provider_uuid": null, "generation": null, "aggregates": ["%s"],
			"traits": ["MISC_SHARES_VIA_AGGREGATE"], "inventories": {"DISK_GB": {"total": 100}}}]}`, pool, rack)), http.StatusOK)
	for i, allocations := range []string{
		fmt.Sprintf(`{"%s": {"resources": {"VCPU": 2, "MEMORY_MB": 8}}, "%s": {"resources": {"DISK_GB": 5}}}`, child, pool),
		fmt.Sprintf(`{"%s": {"resources": {"DISK_GB": 7}}}`, pool),
	} {
		treeRequest(t, server, http.MethodPut, "/allocations/"+dbtest.NumberedUUID("cc", i+1).String(), json.RawMessage(`{"allocations": `+allocations+`,
			"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE", "consumer_generation": null}`), http.StatusNoContent)
	}
	return root
}

func TestProvider_ShownTree_CanBeWrittenBack(t *testing.T) {
	t.Parallel()
	server := servertest.New(t, servertest.Options{StandardNames: true})
	root := usedTree(t, server)
	path := "/resource_providers/" + root + "/tree"
	for query, consumers := range map[string]int{"": 0, "?include=inventories,usages,traits,aggregates,sharing,consumers": 2} {
		shown := treeRequest(t, server, http.MethodGet, path+query, nil, http.StatusOK)
		delete(shown, "sharing_providers")
		delete(shown, "root_provider_uuid")
		before := dbtest.Snapshot(t, server.DB)
		done := treeRequest(t, server, http.MethodPut, path, shown, http.StatusOK)
		if changes := before.Diff(dbtest.Snapshot(t, server.DB)); len(changes) > 0 {
			t.Errorf("%q: the database changed: %q", query, changes)
		}
		var changed map[string]struct{ Change string }
		for member, want := range map[string]int{"resource_providers": 2, "consumers": consumers} {
			changed = nil
			if err := json.Unmarshal(done[member], &changed); err != nil || len(changed) != want {
				t.Errorf("%q: %s = %s, want %d", query, member, done[member], want)
			}
			for id, one := range changed {
				if one.Change != "unchanged" {
					t.Errorf("%q: change of %s = %s, want unchanged", query, id, one.Change)
				}
			}
		}
	}
}

func TestReshape_ConsumersOfShownTree_Accepted(t *testing.T) {
	t.Parallel()
	server := servertest.New(t, servertest.Options{StandardNames: true})
	path := "/resource_providers/" + usedTree(t, server) + "/tree?include=sharing,consumers"
	shown := treeRequest(t, server, http.MethodGet, path, nil, http.StatusOK)
	treeRequest(t, server, http.MethodPatch, "/reshaper", map[string]any{"inventories": map[string]any{}, "allocations": shown["consumers"]}, http.StatusOK)
	after := treeRequest(t, server, http.MethodGet, path, nil, http.StatusOK)
	resources := func(text json.RawMessage) (made string) {
		var consumers map[string]struct {
			Allocations map[string]struct{ Resources map[string]int64 }
			SharingOnly bool `json:"sharing_only"`
		}
		if err := json.Unmarshal(text, &consumers); err != nil || len(consumers) != 2 {
			t.Fatalf("consumers = %s; error %v", text, err)
		}
		encoded, err := json.Marshal(consumers)
		if err != nil {
			t.Fatal(err)
		}
		return string(encoded)
	}
	if got, want := resources(after["consumers"]), resources(shown["consumers"]); got != want {
		t.Errorf("consumers = %s, want %s", got, want)
	}
}

func TestProvider_ShownTreeWithTenThousandConsumers_Complete(t *testing.T) {
	t.Parallel()
	server := servertest.New(t, servertest.Options{StandardNames: true, DB: dbtest.New(t)})
	root := usedTree(t, server)
	fill := func(from, to int) {
		if _, err := server.DB.Pool.Exec(t.Context(), fmt.Sprintf(`WITH made AS (
			INSERT INTO consumers (uuid, generation, project_id, user_id)
			SELECT gen_random_uuid(), 1, (SELECT min(id) FROM projects), (SELECT min(id) FROM users) FROM generate_series(%d, %d)
			RETURNING id)
			INSERT INTO allocations (consumer_id, provider_id, class_id, used)
			SELECT made.id, provider.id, 0, 1 FROM made, resource_providers AS provider WHERE provider.name = 'node'`, from, to)); err != nil {
			t.Fatal(err)
		}
	}
	count := func(query string) int {
		var consumers map[string]json.RawMessage
		shown := treeRequest(t, server, http.MethodGet, "/resource_providers/"+root+"/tree?include="+query, nil, http.StatusOK)
		if err := json.Unmarshal(shown["consumers"], &consumers); err != nil {
			t.Fatal(err)
		}
		return len(consumers)
	}
	fill(3, 10_000) // with the two of the tree and the pool
	if of, both := count("consumers"), count("consumers,sharing"); of != 9_999 || both != 10_000 {
		t.Errorf("consumers = %d and %d, want 9999 and 10000", of, both)
	}
	fill(1, 1)
	if of := count("consumers"); of != 10_000 {
		t.Errorf("consumers = %d, want 10000", of)
	}
	for query, want := range map[string]string{
		"consumers,sharing": "More than 10000 consumers have something of this tree and of the providers that it reaches. Page through GET /consumers?in_tree=" + root + " instead.",
		"consumers":         "More than 10000 consumers have something of this tree. Page through GET /consumers?in_tree=" + root + " instead.",
	} {
		if query == "consumers" {
			fill(1, 1)
		}
		refused := treeRequest(t, server, http.MethodGet, "/resource_providers/"+root+"/tree?include="+query, nil, http.StatusBadRequest)
		if errors := string(refused["errors"]); !strings.Contains(errors, want) || !strings.Contains(errors, "berth.tree.too_many_consumers") {
			t.Errorf("%s: errors = %s, want %q", query, errors, want)
		}
	}
}
