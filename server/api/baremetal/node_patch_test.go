package baremetal_test

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// patched sends a patch of a node.
func (s *service) patched(node, patch string) *response {
	s.t.Helper()
	return s.send(http.MethodPatch, "/v1/nodes/"+node, "1.82", patch)
}

// allPatchable lists the node members that can be changed.
const allPatchable = "automated_clean, bios_interface, boot_interface, chassis_uuid, conductor_group, console_interface, " +
	"deploy_interface, description, driver, driver_info, extra, inspect_interface, instance_info, instance_uuid, lessee, " +
	"maintenance, management_interface, name, network_data, network_interface, owner, power_interface, properties, protected, " +
	"protected_reason, raid_interface, rescue_interface, resource_class, retired, retired_reason, shard, storage_interface, vendor_interface"

func TestNode_Patch_ChangesMembers(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.machine(map[string]any{"name": "rack-7", "extra": map[string]any{"a": 1}})
	for _, test := range []struct {
		patch string
		want  map[string]any
	}{
		{`[{"op": "replace", "path": "/name", "value": "rack-8"}]`, map[string]any{"name": "rack-8"}},
		{`[{"op": "add", "path": "/name", "value": "rack-8"}]`, map[string]any{"name": "rack-8"}},
		{`[{"op": "remove", "path": "/name"}, {"op": "remove", "path": "/name"}]`, map[string]any{"name": nil}},
		{`[{"op": "remove", "path": "/description"}]`, map[string]any{"description": nil}},
		{`[{"op": "add", "path": "/extra/b", "value": {"c": [1]}}, {"op": "add", "path": "/extra/b/c/-", "value": 2}]`,
			map[string]any{"extra": map[string]any{"a": 1, "b": map[string]any{"c": []int{1, 2}}}}},
		{`[{"op": "remove", "path": "/extra/a"}]`, map[string]any{"extra": map[string]any{"b": map[string]any{"c": []int{1, 2}}}}},
		{`[{"op": "remove", "path": "/extra"}]`, map[string]any{"extra": map[string]any{}}},
		{`[{"op": "add", "path": "/properties/cpus", "value": "64"}]`, map[string]any{"properties": map[string]any{"cpus": "64"}}},
		{`[{"op": "add", "path": "/boot_interface", "value": "pxe"}]`, map[string]any{"boot_interface": "pxe"}},
		{`[{"op": "remove", "path": "/boot_interface"}]`, map[string]any{"boot_interface": "fake"}},
		{`[{"op": "add", "path": "/maintenance", "value": "true"}]`, map[string]any{"maintenance": true}},
		{`[{"op": "replace", "path": "/maintenance", "value": "false"}]`, map[string]any{"maintenance": false}},
		{`[{"op": "add", "path": "/retired", "value": "1"}, {"op": "add", "path": "/retired_reason", "value": "old"}]`,
			map[string]any{"retired": true, "retired_reason": "old"}},
		{`[{"op": "replace", "path": "/retired", "value": false}]`, map[string]any{"retired": false, "retired_reason": nil}},
		{`[{"op": "add", "path": "/automated_clean", "value": "False"}]`, map[string]any{"automated_clean": false}},
		{`[{"op": "remove", "path": "/automated_clean"}]`, map[string]any{"automated_clean": nil}},
		{`[{"op": "add", "path": "/owner", "value": "me"}, {"op": "add", "path": "/lessee", "value": "you"}]`,
			map[string]any{"owner": "me", "lessee": "you"}},
		{`[{"op": "add", "path": "/resource_class", "value": "gold"}]`, map[string]any{"resource_class": "gold"}},
		{`[{"op": "replace", "path": "/driver", "value": "fake-hardware"}]`, map[string]any{"driver": fakeDriver}},
		{`[{"op": "add", "path": "/shard", "value": "s"}, {"op": "add", "path": "/network_data", "value": {"a": {}}}]`,
			map[string]any{"shard": "s", "network_data": map[string]any{"a": map[string]any{}}}},
		{`[{"op": "remove", "path": "/chassis_uuid"}]`, map[string]any{"chassis_uuid": nil}},
		{`[{"op": "remove", "path": "/instance_uuid"}]`, map[string]any{"instance_uuid": nil}},
	} {
		s.patched(id, test.patch).wants(http.StatusOK).shows(test.want)
		s.get("/v1/nodes/"+id, "1.82").shows(test.want)
	}
}

func TestNode_PatchDriverResetInterfaces_SetsDefaults(t *testing.T) {
	t.Parallel()
	s := newService(t)
	if err := s.store.ConductorRegister(t.Context(), "berth-0", []string{"redfish"}); err != nil {
		t.Fatal(err)
	}
	id := s.machine(map[string]any{"boot_interface": "pxe", "power_interface": "ipmitool"})
	path := "/v1/nodes/" + id + "?reset_interfaces=True"
	driver := `[{"op": "add", "path": "/driver", "value": "redfish"}, {"op": "add", "path": "/power_interface", "value": "redfish"}]`
	s.send(http.MethodPatch, path, "1.44", driver).wants(http.StatusNotAcceptable)
	s.send(http.MethodPatch, path, "1.45", `[{"op": "add", "path": "/extra/a", "value": 1}]`).
		refuses(http.StatusBadRequest, "The reset_interfaces argument can only be used when the driver is changed.")
	s.get("/v1/nodes/"+id, "1.82").shows(map[string]any{"boot_interface": "pxe", "power_interface": "ipmitool"})
	s.send(http.MethodPatch, path, "1.45", driver).wants(http.StatusOK).
		shows(map[string]any{"driver": "redfish", "boot_interface": "fake", "power_interface": "redfish"})
}

func TestNode_PatchWithoutChange_WritesNothing(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.machine(nil)
	s.patched(id, `[]`).wants(http.StatusOK).shows(map[string]any{"uuid": id, "updated_at": nil})
	s.patched(idB, `[]`).refuses(http.StatusNotFound, "Node "+idB+" could not be found.")
}

func TestNode_PatchInvalidStep_ChangesNothing(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.machine(map[string]any{"extra": map[string]any{"a": 1}})
	for _, name := range []string{
		"allocation_uuid", "traits", "provision_state", "power_state", "uuid", "links", "created_at", "last_error", "maintenance_reason", "color",
	} {
		s.patched(id, `[{"op": "add", "path": "/extra/b", "value": 1}, {"op": "add", "path": "/`+name+`", "value": "x"}]`).
			refuses(http.StatusBadRequest, "Cannot patch /"+name+". Only the following can be updated: "+allPatchable)
	}
	for step, want := range map[string]string{
		`{"op": "remove", "path": "/driver"}`:                               "'/driver' is a mandatory attribute and can not be removed",
		`{"op": "replace", "path": "/driver", "value": null}`:               "Invalid value for /driver: it must be the name of a driver.",
		`{"op": "replace", "path": "/driver"}`:                              "Cannot replace /driver: the value is missing.",
		`{"op": "replace", "path": "/extra", "value": 1}`:                   "Invalid value for /extra: it must be an object or null.",
		`{"op": "replace", "path": "/owner", "value": 1}`:                   "Invalid value for /owner: it must be a text or null.",
		`{"op": "replace", "path": "/maintenance", "value": "maybe"}`:       "Invalid value for /maintenance: it must be true or false.",
		`{"op": "replace", "path": "/name/x", "value": "b"}`:                "Couldn't apply patch '[replace /name/x]'. Reason: there is nothing that could have a member x",
		`{"op": "replace", "path": "/extra/b", "value": 1}`:                 "Couldn't apply patch '[replace /extra/b]'. Reason: there is no member b",
		`{"op": "remove", "path": "/extra/b"}`:                              "Couldn't apply patch '[remove /extra/b]'. Reason: there is no member b",
		`{"op": "add", "path": "/chassis_uuid", "value": "` + idA + `"}`:    "Chassis " + idA + " could not be found.",
		`{"op": "add", "path": "/instance_uuid", "value": "abc"}`:           "Expected UUID for instance_uuid: abc",
		`{"op": "add", "path": "/instance_uuid", "value": 1}`:               "Expected UUID for instance_uuid: 1",
		`{"op": "add", "path": "/conductor_group", "value": "a b"}`:         "Invalid value for /conductor_group: it must be at most 255 letters, digits and _.-.",
		`{"op": "add", "path": "/conductor_group", "value": "B"}`:           `No valid host was found. Reason: No conductor service registered which supports driver fake-hardware for conductor group "b".`,
		`{"op": "add", "path": "/driver", "value": "ipmi"}`:                 `No valid host was found. Reason: No conductor service registered which supports driver ipmi for conductor group "".`,
		`{"op": "add", "path": "/protected_reason", "value": "x"}`:          "The protected_reason field can only be set while protected is true.",
		`{"op": "add", "path": "/retired_reason", "value": "x"}`:            "The retired_reason field can only be set while retired is true.",
		`{"op": "add", "path": "/properties/cpus", "value": "many"}`:        "Invalid value for /properties/cpus: it must be a whole number that is not negative.",
		`{"op": "add", "path": "/properties/local_gb", "value": "1.5"}`:     "Invalid value for /properties/local_gb: it must be a whole number that is not negative.",
		`{"op": "add", "path": "/properties/memory_mb", "value": -1}`:       "Invalid value for /properties/memory_mb: it must be a whole number that is not negative.",
		`{"op": "add", "path": "/resource_class", "value": "` + long + `"}`: "Invalid value for /resource_class: it must be no longer than 80 characters.",
	} {
		s.patched(id, `[{"op": "add", "path": "/extra/c", "value": 1}, `+step+`]`).refuses(http.StatusBadRequest, want)
	}
	s.get("/v1/nodes/"+id, "1.82").shows(map[string]any{"extra": map[string]any{"a": 1}, "updated_at": nil})
}

var long = strings.Repeat("a", 81)

func TestNode_PatchDuplicateNameOrInstance_Returns409(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.machine(map[string]any{"name": "rack-7", "instance_uuid": idB})
	id := s.machine(nil)
	s.patched(id, `[{"op": "add", "path": "/name", "value": "rack-7"}]`).refuses(http.StatusConflict, "A node with name rack-7 already exists.")
	s.patched(id, `[{"op": "add", "path": "/instance_uuid", "value": "`+idB+`"}]`).refuses(http.StatusConflict,
		"Instance "+idB+" is already associated with a node, it cannot be associated with this other node "+id)
}

// TestNode_PatchDuringTransition_Returns409 also checks the transient states in which patches are permitted.
func TestNode_PatchDuringTransition_Returns409(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.machine(map[string]any{"instance_uuid": idB})
	const change, free = `[{"op": "add", "path": "/extra/a", "value": 1}]`, `[{"op": "remove", "path": "/instance_uuid"}]`
	refusal := "Node " + id + " can not be updated while a state transition is in progress."
	for _, state := range []string{"cleaning", "deploying", "adopting", "deleting", "wait call-back"} {
		s.becomes(id, state, new("active"))
		s.patched(id, change).refuses(http.StatusConflict, refusal)
		s.patched(id, free).refuses(http.StatusConflict, refusal)
	}
	for _, state := range []string{
		"deploy failed", "inspecting", "inspect failed", "inspect wait", "clean failed", "error", "verifying", "adopt failed", "rescue failed",
		"unrescue failed",
	} {
		s.becomes(id, state, new("active"))
		s.patched(id, change).wants(http.StatusOK)
	}
	for _, state := range []string{"active", "available", "manageable", "deleting"} {
		s.becomes(id, state, nil)
		s.patched(id, change).wants(http.StatusOK)
	}
	s.becomes(id, "deploying", new("active"))
	s.send(http.MethodPut, "/v1/nodes/"+id+"/maintenance", "1.82", nil).wants(http.StatusAccepted)
	s.patched(id, change).refuses(http.StatusConflict, refusal)
	s.patched(id, `[{"op": "remove", "path": "/instance_uuid"}, {"op": "remove", "path": "/extra"}]`).refuses(http.StatusConflict, refusal)
	s.patched(id, `[{"op": "add", "path": "/instance_uuid", "value": null}]`).refuses(http.StatusConflict, refusal)
	s.patched(id, free).wants(http.StatusOK).shows(map[string]any{"instance_uuid": nil})
}

func TestNode_PatchInstanceUUID_OnlyWhenUnset(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.machine(nil)
	set := func(instance string) *response {
		return s.patched(id, `[{"op": "add", "path": "/instance_uuid", "value": "`+instance+`"}]`)
	}
	set(idA).wants(http.StatusOK).shows(map[string]any{"instance_uuid": idA, "allocation_uuid": nil})
	set(strings.ToUpper(idA)).wants(http.StatusOK).shows(map[string]any{"instance_uuid": idA})
	set(idB).refuses(http.StatusConflict, "Node "+id+" is associated with instance "+idA+".")
	s.get("/v1/nodes/"+id+"/allocation", "1.82").wants(http.StatusNotFound)
	for _, state := range []string{"active", "available", "enroll", "deploy failed", "error"} {
		s.becomes(id, state, nil)
		s.patched(id, `[{"op": "replace", "path": "/instance_uuid", "value": null}]`).wants(http.StatusOK).shows(map[string]any{"instance_uuid": nil})
		set(idA).wants(http.StatusOK)
	}
}

func TestNode_ConcurrentInstanceUUID_OneSucceeds(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.machine(nil)
	const rivals = 8
	statuses := make([]int, rivals)
	var all sync.WaitGroup
	for i := range rivals {
		all.Go(func() {
			statuses[i] = s.patched(id, `[{"op": "add", "path": "/instance_uuid", "value": "c0ffee00-5ca1-4b1e-8000-00000000001`+strconv.Itoa(i)+`"}]`).status
		})
	}
	all.Wait()
	won := 0
	for _, status := range statuses {
		if status == http.StatusOK {
			won++
		} else if status != http.StatusConflict {
			t.Errorf("status %d", status)
		}
	}
	if won != 1 {
		t.Errorf("successful requests = %d, want 1: %v", won, statuses)
	}
}

func TestNode_PatchRemoveInstanceUUID_DeletesAllocation(t *testing.T) {
	t.Parallel()
	s := newService(t)
	const free = `[{"op": "remove", "path": "/instance_uuid"}]`
	for _, state := range []string{"enroll", "inspecting", "inspect wait", "manageable", "available"} {
		node, allocation := s.allotted(map[string]any{"resource_class": "gold"})
		s.becomes(node, state, nil)
		s.patched(node, free).wants(http.StatusOK).shows(map[string]any{"instance_uuid": nil, "allocation_uuid": nil})
		s.get("/v1/allocations/"+allocation, "1.82").wants(http.StatusNotFound)
	}
	node, allocation := s.allotted(map[string]any{"resource_class": "gold"})
	for _, state := range []string{"active", "deploy failed", "error"} {
		s.becomes(node, state, nil)
		s.patched(node, free).refuses(http.StatusConflict, "Cannot remove instance_uuid from node "+node+
			", because it has an allocation and is in state "+state+" (and maintenance mode is off).")
	}
	s.send(http.MethodPut, "/v1/nodes/"+node+"/maintenance", "1.82", nil).wants(http.StatusAccepted)
	s.patched(node, `[{"op": "replace", "path": "/instance_uuid", "value": null}]`).wants(http.StatusOK)
	s.get("/v1/allocations/"+allocation, "1.82").wants(http.StatusNotFound)
}

func TestNode_PatchOwnerWithOwnedAllocation_Returns409(t *testing.T) {
	t.Parallel()
	s := newService(t)
	const change = `[{"op": "add", "path": "/owner", "value": "you"}]`
	node, _ := s.allotted(map[string]any{"resource_class": "gold", "owner": "me"})
	s.patched(node, change).refuses(http.StatusConflict, "The owner of node "+node+" can not be changed while its allocation has an owner.")
	s.patched(node, `[{"op": "add", "path": "/owner", "value": "me"}]`).wants(http.StatusOK)
	node, _ = s.allotted(map[string]any{"resource_class": "gold"})
	s.patched(node, change).wants(http.StatusOK).shows(map[string]any{"owner": "you"})
}

func TestNode_PatchResourceClass_OnlyInUnusedStates(t *testing.T) {
	t.Parallel()
	s := newService(t)
	node, allocation := s.allotted(map[string]any{"resource_class": "gold"})
	for i, state := range []string{"enroll", "inspecting", "inspect wait", "manageable", "available"} {
		s.becomes(node, state, nil)
		class := "class-" + strconv.Itoa(i)
		s.patched(node, `[{"op": "add", "path": "/resource_class", "value": "`+class+`"}]`).wants(http.StatusOK).
			shows(map[string]any{"resource_class": class, "allocation_uuid": allocation})
	}
	s.get("/v1/allocations/"+allocation, "1.82").wants(http.StatusOK).shows(map[string]any{"resource_class": "gold", "node_uuid": node})
	for _, state := range []string{"active", "deploy failed", "clean failed", "error", "adopt failed"} {
		s.becomes(node, state, nil)
		s.patched(node, `[{"op": "add", "path": "/resource_class", "value": "silver"}]`).refuses(http.StatusConflict,
			"The resource_class of node "+node+" can not be changed while it is in state "+state+
				": only in enroll, inspecting, inspect wait, manageable and available.")
		s.patched(node, `[{"op": "add", "path": "/resource_class", "value": "class-4"}]`).wants(http.StatusOK)
	}
}

func TestNode_PatchProtectedOrRetired_ChecksState(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.machine(nil)
	const protect = `[{"op": "add", "path": "/protected", "value": "True"}, {"op": "add", "path": "/protected_reason", "value": "mine"}]`
	s.patched(id, protect).refuses(http.StatusConflict, "Node "+id+" can only be protected in provision states active and rescue; it is in state enroll.")
	s.becomes(id, "active", nil)
	s.patched(id, protect).wants(http.StatusOK).shows(map[string]any{"protected": true, "protected_reason": "mine"})
	s.patched(id, `[{"op": "add", "path": "/protected", "value": "False"}]`).wants(http.StatusOK).
		shows(map[string]any{"protected": false, "protected_reason": nil})
	s.becomes(id, "available", nil)
	s.patched(id, `[{"op": "add", "path": "/retired", "value": true}]`).refuses(http.StatusConflict,
		"Node "+id+" can not be retired while it is in state available; make it manageable before.")
}

func TestNode_PatchMaintenanceFalse_ClearsReason(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.machine(nil)
	s.send(http.MethodPut, "/v1/nodes/"+id+"/maintenance", "1.82", `{"reason": "hums"}`).wants(http.StatusAccepted)
	s.patched(id, `[{"op": "add", "path": "/extra/a", "value": 1}]`).shows(map[string]any{"maintenance": true, "maintenance_reason": "hums"})
	s.patched(id, `[{"op": "replace", "path": "/maintenance", "value": false}]`).shows(map[string]any{"maintenance": false, "maintenance_reason": nil})
}
