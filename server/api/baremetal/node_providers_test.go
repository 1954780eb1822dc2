package baremetal_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berthd/berth/server/data/store"
)

// claimed claims a node's inventory through the Placement API.
func (s *service) claimed(node, class string) {
	s.t.Helper()
	s.claimedBy(idA, node, class)
}

func (s *service) claimedBy(consumer, node, class string) {
	s.t.Helper()
	body := `{"allocations": {"` + node + `": {"resources": {"` + class + `": 1}}}, "project_id": "p", "user_id": "u", "consumer_generation": null}`
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodPut, "/allocations/"+consumer, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Auth-Token", "admin")
	r.Header.Set("OpenStack-API-Version", "placement 1.28")
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	if w.Code != http.StatusNoContent {
		s.t.Fatalf("status %d: %s", w.Code, w.Body)
	}
}

func TestNode_ClaimedInPlacement_ClassChangeReturns409(t *testing.T) {
	t.Parallel()
	s := newService(t)
	if err := s.store.SetBaremetalBackend(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	id := s.machine(map[string]any{"name": "rack-7", "resource_class": "gold"})
	if _, moved, err := s.store.NodeTransition(t.Context(), id, store.Transition{
		To: "available", TransitionEffects: store.TransitionEffects{Power: &store.NodePower{State: new("power off")}},
	}); err != nil || !moved {
		t.Fatal(moved, err)
	}
	s.claimed(id, "CUSTOM_GOLD")
	s.patched("rack-7", `[{"op": "replace", "path": "/resource_class", "value": "silver"}]`).refuses(http.StatusConflict,
		"The resource_class of node "+id+" can not be changed while its CUSTOM_GOLD is claimed in Placement.")
	s.patched("rack-7", `[{"op": "replace", "path": "/resource_class", "value": "Gold"}]`).wants(http.StatusOK)
	s.send(http.MethodDelete, "/v1/nodes/rack-7", "1.82", nil).refuses(http.StatusConflict,
		"Node rack-7 is a resource provider that has allocations in Placement; delete them before.")
}
