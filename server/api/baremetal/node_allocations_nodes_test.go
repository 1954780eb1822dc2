package baremetal_test

import (
	"net/http"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

func TestNodeAllocation_DeleteByAllocationOrNode_ReleasesNode(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for i, path := range []string{"/v1/allocations/a", "/v1/nodes/rack-7/allocation"} {
		if i == 0 {
			s.free("rack-7", "gold")
		}
		s.allocate(map[string]any{"resource_class": "gold", "name": "a"}).wants(http.StatusCreated)
		s.decide("a").shows(map[string]any{"state": "active"})
		if got := s.send(http.MethodDelete, path, "1.52", nil).wants(http.StatusNoContent); got.raw != "" {
			t.Errorf("%s: a body: %s", path, got.raw)
		}
		s.get("/v1/allocations/a", "1.82").refuses(http.StatusNotFound, "Allocation a could not be found.")
		node, err := s.store.NodeShow(t.Context(), "rack-7")
		if err != nil || node.InstanceUUID != nil {
			t.Errorf("%s: instance %v, %v", path, node.InstanceUUID, err)
		}
	}
	s.send(http.MethodDelete, "/v1/allocations/a", "1.82", nil).refuses(http.StatusNotFound, "Allocation a could not be found.")
	s.send(http.MethodDelete, "/v1/allocations/no%20name", "1.82", nil).refuses(http.StatusBadRequest,
		"Expected a logical name or UUID but received no name.")
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		s.send(method, "/v1/nodes/rack-7/allocation", "1.82", nil).refuses(http.StatusNotFound, "Allocation for node rack-7 was not found")
		s.send(method, "/v1/nodes/rack-8/allocation", "1.82", nil).refuses(http.StatusNotFound, "Node rack-8 could not be found.")
	}
	s.get("/v1/nodes/rack-7/allocation?limit=1", "1.82").refuses(http.StatusBadRequest, "Unexpected arguments: limit")
}

func TestNodeAllocation_DeleteWithNodeInUse_Returns409(t *testing.T) {
	t.Parallel()
	s := newService(t)
	node := s.free("rack-7", "gold")
	id := s.allocate(map[string]any{"resource_class": "gold", "name": "a"}).wants(http.StatusCreated).body["uuid"].(string)
	s.decide("a")
	move := func(from, to string, target *string) {
		t.Helper()
		if _, moved, err := s.store.NodeTransition(t.Context(), "rack-7", store.Transition{From: []string{from}, To: to, Target: target}); err != nil || !moved {
			t.Fatalf("to %s: %v, %v", to, moved, err)
		}
	}
	refused := func(reason string) {
		t.Helper()
		for _, path := range []string{"/v1/allocations/a", "/v1/nodes/rack-7/allocation"} {
			s.send(http.MethodDelete, path, "1.82", nil).refuses(http.StatusConflict, "Cannot remove allocation "+id+" for node "+
				node.UUID.String()+", because the node is "+reason+" (and maintenance mode is off)")
		}
	}
	move("available", "deploying", new("active"))
	refused("in state deploying where updates are not allowed")
	move("deploying", "active", nil)
	refused("active")
	if err := s.store.NodeMaintenance(t.Context(), "rack-7", true, nil); err != nil {
		t.Fatal(err)
	}
	s.send(http.MethodDelete, "/v1/allocations/a", "1.82", nil).wants(http.StatusNoContent)
}

func TestNodeAllocation_DeletedBeforeDecision_NoNodeAssigned(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.free("rack-7", "gold")
	id := s.allocate(map[string]any{"resource_class": "gold"}).wants(http.StatusCreated).body["uuid"].(string)
	s.send(http.MethodDelete, "/v1/allocations/"+id, "1.82", nil).wants(http.StatusNoContent)
	if _, err := s.store.NodeAllocationProcess(t.Context(), uuid.MustParse(id), conductor); err != nil {
		t.Error(err)
	}
	if _, err := s.store.NodeAllocationShow(t.Context(), id); store.AsRuleViolation(err) == nil {
		t.Errorf("the deleted allocation exists: %v", err)
	}
	if node, err := s.store.NodeShow(t.Context(), "rack-7"); err != nil || node.InstanceUUID != nil {
		t.Errorf("instance %v, %v", node.InstanceUUID, err)
	}
}

func TestNodeAllocation_BackfillNodeInUse_CreatesActiveAllocation(t *testing.T) {
	t.Parallel()
	s := newService(t)
	const instance = "ba5eba11-0000-4000-8000-000000000001"
	old := s.node(store.Node{Name: new("old"), ResourceClass: new("gold"), ProvisionState: "active", InstanceUUID: new(uuid.MustParse(instance))}, "CUSTOM_A")
	s.send(http.MethodPost, "/v1/allocations", "1.58", map[string]any{"node": "no-such"}).refuses(http.StatusBadRequest,
		"Node no-such could not be found.")
	made := s.allocate(map[string]any{"node": "old", "name": "a", "traits": []string{"CUSTOM_A"}, "candidate_nodes": []string{"old"}}).wants(http.StatusCreated)
	made.is(made.plain(map[string]any{
		"uuid": instance, "name": "a", "state": "active", "node_uuid": old.UUID, "traits": []string{"CUSTOM_A"},
		"candidate_nodes": []string{old.UUID.String()}, "updated_at": made.body["updated_at"],
	}))
	s.get("/v1/nodes/old/allocation", "1.82").wants(http.StatusOK).is(made.body)
	s.allocate(map[string]any{"node": "old"}).refuses(http.StatusConflict, "An allocation with the instance UUID of node old already exists.")
	s.allocate(map[string]any{"node": "old", "uuid": instance}).refuses(http.StatusConflict, "An allocation with UUID "+instance+" already exists.")
}

func TestNodeAllocation_BackfillUnsuitableNode_RejectedWithoutTrace(t *testing.T) {
	t.Parallel()
	s := newService(t)
	const id, other = "ba5eba11-0000-4000-8000-000000000001", "ba5eba11-0000-4000-8000-000000000002"
	available := s.free("available", "gold").UUID.String()
	used := s.node(store.Node{Name: new("used"), ResourceClass: new("gold"), ProvisionState: "active"}, "CUSTOM_A").UUID.String()
	taken := s.node(store.Node{Name: new("taken"), ProvisionState: "active", InstanceUUID: new(uuid.MustParse(other))}).UUID.String()
	const prefix = "Cannot backfill an allocation for node "
	for _, test := range []struct {
		body   map[string]any
		reason string
	}{
		{map[string]any{"node": "available", "name": "a"}, prefix + available + `: Node must be in the "active" state, but the current state is "available".`},
		{map[string]any{"node": "available", "uuid": id}, "Failed to process allocation " + id + ": " + prefix + available +
			`: Node must be in the "active" state, but the current state is "available".`},
		{map[string]any{"node": "used", "resource_class": "lead"}, prefix + used + ": Resource class gold does not match the expected value lead."},
		{map[string]any{"node": "used", "traits": []string{"CUSTOM_B", "CUSTOM_A"}}, prefix + used + ": Node is missing requested traits CUSTOM_B."},
		{map[string]any{"node": "used", "candidate_nodes": []string{"taken"}}, prefix + used + ": It is not one of the candidate nodes."},
		{map[string]any{"node": "taken", "uuid": id}, "Node " + taken + " is associated with instance " + other + "."},
		{map[string]any{"node": "used", "uuid": other}, "Instance " + other + " is already associated with node " + taken + "."},
	} {
		s.allocate(test.body).refuses(http.StatusConflict, test.reason)
	}
	s.get("/v1/allocations", "1.82").wants(http.StatusOK).is(map[string]any{"allocations": []any{}})
}
