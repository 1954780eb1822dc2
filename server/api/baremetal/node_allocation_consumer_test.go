package baremetal_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

// readPlacement sends a read to the Placement API and decodes the response into a value.
func (s *service) readPlacement(target string, into any) {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodGet, target, nil)
	r.Header.Set("X-Auth-Token", "admin")
	r.Header.Set("OpenStack-API-Version", "placement 1.39, berth 1.4")
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	if err := json.Unmarshal(w.Body.Bytes(), into); err != nil || w.Code != http.StatusOK {
		s.t.Fatalf("status %d, %v: %s", w.Code, err, w.Body)
	}
}

// consumer returns members of a consumer as the Placement API lists it.
func (s *service) consumer(id, fields string) map[string]any {
	s.t.Helper()
	var got struct {
		Consumers []map[string]any `json:"consumers"`
	}
	s.readPlacement("/consumers?uuid="+id+"&fields="+fields, &got)
	if len(got.Consumers) != 1 {
		s.t.Fatalf("consumers = %v, want one", got.Consumers)
	}
	return got.Consumers[0]
}

// treeConsumers returns the consumers of a provider's tree as the Placement API shows it, by UUID.
func (s *service) treeConsumers(provider, include string) (consumers map[string]map[string]any) {
	s.t.Helper()
	var got struct {
		Consumers map[string]map[string]any `json:"consumers"`
	}
	s.readPlacement("/resource_providers/"+provider+"/tree?include="+include, &got)
	return got.Consumers
}

// removeTimes removes the times from the allocations of a consumer.
func removeTimes(consumer map[string]any) map[string]any {
	allocations, _ := consumer["allocations"].(map[string]any)
	for _, on := range allocations {
		delete(on.(map[string]any), "created_at") //nolint:forcetypeassert // the documents have an object
	}
	return consumer
}

// TestNodeAllocation_PlacementBackend_NamedAtConsumer lists the consumers of a node allocation with a name, of one without,
// and of a claim by the Placement API.
func TestNodeAllocation_PlacementBackend_NamedAtConsumer(t *testing.T) {
	t.Parallel()
	s := newService(t)
	if err := s.store.SetBaremetalBackend(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"rack-1", "rack-2"} {
		s.free(name, "gold")
	}
	s.works()
	for _, body := range []map[string]any{
		{"resource_class": "gold", "name": "web", "wait": 60}, {"resource_class": "gold", "wait": 60},
	} {
		made := s.createExtended(body).wants(http.StatusCreated)
		id, _ := made.body["uuid"].(string)
		want := map[string]any{
			"uuid": id, "resources": map[string]any{"CUSTOM_GOLD": 1.0}, "consumer_type": "BAREMETAL",
			"node_allocation": map[string]any{"uuid": id, "name": body["name"]},
		}
		if got := s.consumer(id, "resources,consumer_type,node_allocation"); !reflect.DeepEqual(got, want) {
			t.Errorf("consumer = %v, want %v", got, want)
		}
	}
	s.claimed(s.free("rack-3", "silver").UUID.String(), "CUSTOM_SILVER")
	if got := s.consumer(idA, "node_allocation"); !reflect.DeepEqual(got, map[string]any{"uuid": idA}) {
		t.Errorf("consumer of the Placement API = %v, want no node allocation", got)
	}
}

// TestNodeAllocation_NodesAlone_NotAtConsumerWithItsUUID claims on another provider with the UUID of a node allocation.
func TestNodeAllocation_NodesAlone_NotAtConsumerWithItsUUID(t *testing.T) {
	t.Parallel()
	s := newService(t)
	other := uuid.New()
	if _, err := s.store.ProviderCreate(t.Context(), other, "host", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.store.InventoryReplace(t.Context(), other, 0, []store.Inventory{
		{Class: "VCPU", Total: 1, MinUnit: 1, MaxUnit: 1, StepSize: 1, AllocationRatio: 1},
	}, 1); err != nil {
		t.Fatal(err)
	}
	s.free("rack-1", "gold")
	s.works()
	made := s.createExtended(map[string]any{"resource_class": "gold", "name": "web", "wait": 60}).wants(http.StatusCreated)
	id, _ := made.body["uuid"].(string)
	s.claimedBy(id, other.String(), "VCPU")
	if got := s.consumer(id, "node_allocation"); !reflect.DeepEqual(got, map[string]any{"uuid": id}) {
		t.Errorf("consumer = %v, want no node allocation", got)
	}
}

// TestNodeAllocation_PlacementBackend_NamedInTree shows the trees of two nodes: one has the consumer of a node allocation, the
// other that of a claim by the Placement API.
func TestNodeAllocation_PlacementBackend_NamedInTree(t *testing.T) {
	t.Parallel()
	s := newService(t)
	if err := s.store.SetBaremetalBackend(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	node := s.free("rack-1", "gold").UUID.String()
	s.works()
	for _, name := range []any{"web", nil} {
		body := map[string]any{"resource_class": "gold", "wait": 60}
		if name != nil {
			body["name"] = name
		}
		made := s.createExtended(body).wants(http.StatusCreated)
		id, _ := made.body["uuid"].(string)
		var on struct {
			Generation int64  `json:"resource_provider_generation"`
			Project    string `json:"project_id"`
			User       string `json:"user_id"`
		}
		s.readPlacement("/resource_providers/"+node+"/allocations", &on)
		var owner struct {
			Project string `json:"project_id"`
			User    string `json:"user_id"`
		}
		s.readPlacement("/allocations/"+id, &owner)
		for _, include := range []string{"consumers", "consumers,sharing"} {
			got := s.treeConsumers(node, include)
			want := map[string]map[string]any{id: {
				"allocations": map[string]any{node: map[string]any{
					"generation": float64(on.Generation), "name": node, "root_provider_uuid": node,
					"resources": map[string]any{"CUSTOM_GOLD": 1.0},
				}},
				"project_id": owner.Project, "user_id": owner.User, "consumer_type": "BAREMETAL", "consumer_generation": 1.0,
				"node_allocation": map[string]any{"uuid": id, "name": name},
			}}
			for _, consumer := range got {
				removeTimes(consumer)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("include=%s: consumers = %v, want %v", include, got, want)
			}
		}
		s.send(http.MethodDelete, "/v1/allocations/"+id, "1.82", nil).wants(http.StatusNoContent)
	}
	other := s.free("rack-3", "silver").UUID.String()
	s.claimed(other, "CUSTOM_SILVER")
	if got := s.treeConsumers(other, "consumers"); len(got) != 1 || got[idA] == nil || got[idA]["node_allocation"] != nil {
		t.Errorf("consumers = %v, want that of the Placement API without a node allocation", got)
	}
}
