package baremetal_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/store"
)

// consumer returns members of a consumer as the Placement API lists it.
func (s *service) consumer(id, fields string) map[string]any {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodGet, "/consumers?uuid="+id+"&fields="+fields, nil)
	r.Header.Set("X-Auth-Token", "admin")
	r.Header.Set("OpenStack-API-Version", "placement 1.39, berth 1.4")
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	var got struct {
		Consumers []map[string]any `json:"consumers"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK || len(got.Consumers) != 1 {
		s.t.Fatalf("status %d, %v: %s", w.Code, err, w.Body)
	}
	return got.Consumers[0]
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
