package baremetal_test

import (
	"net/http"
	"testing"
	"time"
)

// rests waits until a node is in a state without work in progress.
func (s *service) rests(node, state string) {
	s.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		now := s.get("/v1/nodes/"+node, "1.82").wants(http.StatusOK).body
		if now["provision_state"] == state && now["target_provision_state"] == nil && now["target_power_state"] == nil && now["reservation"] == nil {
			return
		}
	}
	s.t.Fatalf("the node did not reach state %s without work in progress: %s", state, s.get("/v1/nodes/"+node, "1.82").raw)
}

// TestNode_Lifecycle_EnrollToDeleted sends the requests of an operator and a user in order.
func TestNode_Lifecycle_EnrollToDeleted(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.works()
	node := s.machine(map[string]any{"name": "rack-7", "resource_class": "gold", "driver_info": map[string]any{"fake_password": "x"}})
	s.send(http.MethodPut, "/v1/nodes/rack-7/traits/CUSTOM_FAST", "1.82", nil).wants(http.StatusNoContent)
	s.port(node, mac)
	s.provisioned("rack-7", "manage").wants(http.StatusAccepted)
	s.rests("rack-7", "manageable")
	s.provisioned("rack-7", "provide").wants(http.StatusAccepted)
	s.rests("rack-7", "available")
	s.get("/v1/nodes/rack-7", "1.82").shows(map[string]any{"power_state": "power off", "last_error": nil, "instance_uuid": nil})

	s.send(http.MethodPost, "/v1/allocations", "1.82", map[string]any{
		"name": "web-1", "resource_class": "gold", "traits": []string{"CUSTOM_FAST"},
	}).wants(http.StatusCreated).shows(map[string]any{"state": "allocating", "node_uuid": nil})
	allocation, _ := s.decided("web-1").shows(map[string]any{"state": "active", "node_uuid": node}).body["uuid"].(string)
	s.get("/v1/nodes/rack-7", "1.82").shows(map[string]any{
		"provision_state": "available", "instance_uuid": allocation, "allocation_uuid": allocation,
		"instance_info": map[string]any{"traits": []string{"CUSTOM_FAST"}},
	})
	s.send(http.MethodPut, "/v1/nodes/rack-7/states/provision", "1.82", `{"target": "active", "configdrive": "H4sI"}`).wants(http.StatusAccepted)
	s.rests("rack-7", "active")
	s.get("/v1/nodes/rack-7", "1.82").shows(map[string]any{"power_state": "power on"})
	s.send(http.MethodPut, "/v1/nodes/rack-7/states/power", "1.82", `{"target": "power off"}`).wants(http.StatusAccepted)
	s.rests("rack-7", "active")
	s.get("/v1/nodes/rack-7", "1.82").shows(map[string]any{"power_state": "power off"})
	s.send(http.MethodDelete, "/v1/allocations/web-1", "1.82", nil).wants(http.StatusConflict)

	s.provisioned("rack-7", "deleted").wants(http.StatusAccepted)
	s.rests("rack-7", "available")
	s.get("/v1/nodes/rack-7", "1.82").shows(map[string]any{
		"instance_uuid": nil, "allocation_uuid": nil, "instance_info": map[string]any{}, "traits": []string{"CUSTOM_FAST"},
	})
	s.get("/v1/allocations/web-1", "1.82").wants(http.StatusNotFound)
	s.send(http.MethodDelete, "/v1/nodes/rack-7", "1.82", nil).wants(http.StatusNoContent)
	s.get("/v1/ports?address="+mac, "1.82").shows(map[string]any{"ports": []any{}})
}
