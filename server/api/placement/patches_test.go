package placement_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	"github.com/berthd/berth/internal/test/scenario"
)

// merged applies a merge patch as RFC 7396 defines it.
func merged(target, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	result := map[string]any{}
	if object, ok := target.(map[string]any); ok {
		for name, value := range object {
			result[name] = value
		}
	}
	for name, value := range changes {
		if value == nil {
			delete(result, name)
		} else {
			result[name] = merged(result[name], value)
		}
	}
	return result
}

// patchModel sends merge patches and compares the responses with a model.
type patchModel struct {
	t        *testing.T
	random   *rand.Rand
	listener *httptest.Server
}

// patch sends a merge patch and returns the response.
func (m *patchModel) patch(path string, patch any) (status int, body map[string]any) {
	m.t.Helper()
	sent, err := json.Marshal(patch)
	if err != nil {
		m.t.Fatal(err)
	}
	answer, text := sendTo(m.t, m.listener, http.MethodPatch, path, string(sent),
		"OpenStack-API-Version", writesHeader, "Content-Type", "application/merge-patch+json")
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		m.t.Fatalf("%v in %s", err, text)
	}
	return answer.StatusCode, body
}

// pick returns null with a probability of a fifth, and otherwise a number from 1 to most.
func (m *patchModel) pick(most int) any {
	if m.random.IntN(5) == 0 {
		return nil
	}
	return float64(1 + m.random.IntN(most))
}

// inventories returns a random patch of inventories.
func (m *patchModel) inventories() map[string]any {
	classes := map[string]any{}
	for _, class := range []string{"VCPU", "DISK_GB", "VGPU"} {
		switch m.random.IntN(4) {
		case 0:
			classes[class] = nil
		case 1, 2:
			record := map[string]any{}
			for _, name := range []string{"total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio"} {
				if m.random.IntN(3) == 0 {
					record[name] = m.pick(3)
				}
			}
			classes[class] = record
		}
	}
	return map[string]any{"inventories": classes}
}

// completed fills in the defaults of the inventories of a patched document, and reports whether all have a total of at
// least what is reserved. The second result is the status of the response.
func completed(document any) (any, int) {
	defaults := map[string]any{"reserved": 0.0, "min_unit": 1.0, "max_unit": 2147483647.0, "step_size": 1.0, "allocation_ratio": 1.0}
	for _, of := range document.(map[string]any)["inventories"].(map[string]any) {
		record := of.(map[string]any)
		for name, value := range defaults {
			if _, sent := record[name]; !sent {
				record[name] = value
			}
		}
		if total, ok := record["total"].(float64); !ok || total < record["reserved"].(float64) {
			return nil, http.StatusBadRequest
		}
	}
	return document, http.StatusOK
}

func newPatchModel(t *testing.T) *patchModel {
	listener := httptest.NewServer(serve(t, &scenario.File{}).Handler)
	t.Cleanup(listener.Close)
	return &patchModel{t: t, random: rand.New(rand.NewPCG(7, 396)), listener: listener}
}

func (m *patchModel) send(method, path, body string) {
	m.t.Helper()
	if answer, text := sendTo(m.t, m.listener, method, path, body); answer.StatusCode > 299 {
		m.t.Fatalf("%s %s: %d %s", method, path, answer.StatusCode, text)
	}
}

func TestInventory_RandomMergePatches_AgreeWithModel(t *testing.T) {
	t.Parallel()
	m := newPatchModel(t)
	m.send(http.MethodPost, "/resource_providers", `{"name": "host", "uuid": "`+unknownProvider+`"}`)
	var document any = map[string]any{"inventories": map[string]any{}}
	generation, changed := 0.0, 0
	for range 300 {
		patch := m.inventories()
		want, status := completed(merged(document, patch))
		got, body := m.patch("/resource_providers/"+unknownProvider+"/inventories", patch)
		if got != status {
			t.Fatalf("%v on %v: status = %d, body = %v, want %d", patch, document, got, body, status)
		}
		if status != http.StatusOK {
			continue
		}
		if !reflect.DeepEqual(want, document) {
			generation++
			changed++
		}
		if !reflect.DeepEqual(body["inventories"], want.(map[string]any)["inventories"]) || body["resource_provider_generation"] != generation {
			t.Fatalf("%v on %v: body = %v, want %v at generation %v", patch, document, body, want, generation)
		}
		document = want
	}
	if changed < 50 {
		t.Errorf("%d patches changed something, want at least 50", changed)
	}
}

func TestClaim_RandomMergePatches_AgreeWithModel(t *testing.T) {
	t.Parallel()
	m := newPatchModel(t)
	const consumer = "1d5ecafe-0000-4000-8000-000000000001"
	var providers []string
	for i := range 3 {
		id := fmt.Sprintf("c0ffee00-0000-4000-8000-%012d", i)
		providers = append(providers, id)
		m.send(http.MethodPost, "/resource_providers", fmt.Sprintf(`{"name": "host%d", "uuid": %q}`, i, id))
		m.send(http.MethodPut, "/resource_providers/"+id+"/inventories",
			`{"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 9}, "DISK_GB": {"total": 9}}}`)
	}
	m.send(http.MethodPut, "/allocations/"+consumer, `{"allocations": {"`+providers[0]+`": {"resources": {"VCPU": 1}}}, "project_id": "p",
		"user_id": "u", "consumer_type": "INSTANCE", "consumer_generation": null}`)
	var document any = map[string]any{providers[0]: map[string]any{"resources": map[string]any{"VCPU": 1.0}}}
	generation := 1.0
	for range 300 {
		patch := map[string]any{}
		for _, id := range providers[m.random.IntN(2):] {
			resources := map[string]any{}
			for _, class := range []string{"VCPU", "DISK_GB"}[m.random.IntN(2):] {
				resources[class] = m.pick(9)
			}
			if patch[id] = map[string]any{"resources": resources}; m.random.IntN(9) == 0 {
				patch[id] = nil
			}
		}
		want := merged(document, patch).(map[string]any)
		for id, of := range want {
			if len(of.(map[string]any)["resources"].(map[string]any)) == 0 {
				delete(want, id)
			}
		}
		if len(want) == 0 {
			continue // would delete the consumer
		}
		status, body := m.patch("/allocations/"+consumer, map[string]any{"allocations": patch})
		if !reflect.DeepEqual(any(want), document) {
			generation++
		}
		got, _ := body["allocations"].(map[string]any)
		for _, of := range got {
			delete(of.(map[string]any), "generation")
		}
		if status != http.StatusOK || !reflect.DeepEqual(got, want) || body["consumer_generation"] != generation {
			t.Fatalf("%v on %v: status = %d, body = %v, want %v at generation %v", patch, document, status, body, want, generation)
		}
		document = want
	}
	if generation < 100 {
		t.Errorf("generation = %v, want at least 100", generation)
	}
}
