package baremetal_test

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/server/data/store"
)

// machine creates a node in state enroll through the API, with the given members and a driver, and returns its UUID.
func (s *service) machine(members map[string]any) string {
	s.t.Helper()
	body := map[string]any{"driver": fakeDriver}
	maps.Copy(body, members)
	id, _ := s.send(http.MethodPost, "/v1/nodes", "1.82", body).wants(http.StatusCreated).body["uuid"].(string)
	return id
}

// becomes sets the state of a node like a conductor does.
func (s *service) becomes(node, state string, target *string) {
	s.t.Helper()
	if _, moved, err := s.store.NodeTransition(s.t.Context(), node, store.Transition{To: state, Target: target}); err != nil || !moved {
		s.t.Fatalf("to %s: %v, %v", state, moved, err)
	}
}

// allotted creates a node with an assigned node allocation and returns the UUIDs of both.
func (s *service) allotted(members map[string]any) (node, allocation string) {
	s.t.Helper()
	node = s.machine(members)
	if _, moved, err := s.store.NodeTransition(s.t.Context(), node, store.Transition{
		To: "available", TransitionEffects: store.TransitionEffects{Power: &store.NodePower{State: new("power off")}},
	}); err != nil || !moved {
		s.t.Fatal(moved, err)
	}
	request := map[string]any{"resource_class": members["resource_class"], "candidate_nodes": []string{node}}
	if owner := members["owner"]; owner != nil {
		request["owner"] = owner
	}
	allocation, _ = s.send(http.MethodPost, "/v1/allocations", "1.82", request).wants(http.StatusCreated).body["uuid"].(string)
	s.decide(allocation)
	s.get("/v1/nodes/"+node, "1.82").shows(map[string]any{"allocation_uuid": allocation, "instance_uuid": allocation})
	return node, allocation
}

const (
	idA = "c0ffee00-5ca1-4b1e-8000-00000000000a"
	idB = "c0ffee00-5ca1-4b1e-8000-00000000000b"
)

func nodeLinks(path string) []map[string]string {
	return []map[string]string{{"href": base + "/v1/nodes/" + path, "rel": "self"}, {"href": base + "/nodes/" + path, "rel": "bookmark"}}
}

// fresh returns a new node in the newest version, without its times.
func fresh() map[string]any {
	node := map[string]any{
		"uuid": idA, "name": "rack-7", "driver": fakeDriver, "resource_class": nil, "traits": []string{},
		"instance_uuid": nil, "allocation_uuid": nil, "provision_state": "enroll", "target_provision_state": nil,
		"provision_updated_at": nil, "power_state": nil, "target_power_state": nil, "last_error": nil,
		"maintenance": false, "maintenance_reason": nil, "fault": nil, "reservation": nil, "conductor": nil, "conductor_group": "",
		"owner": nil, "lessee": nil, "description": nil, "shard": nil, "protected": false, "protected_reason": nil,
		"retired": false, "retired_reason": nil, "automated_clean": nil, "console_enabled": false, "boot_mode": nil, "secure_boot": nil,
		"inspection_started_at": nil, "inspection_finished_at": nil, "chassis_uuid": nil, "updated_at": nil,
		"network_interface": "noop", "storage_interface": "noop", "links": nodeLinks(idA),
		"ports": nodeLinks(idA + "/ports"), "states": nodeLinks(idA + "/states"),
		"portgroups": nodeLinks(idA + "/portgroups"), "volume": nodeLinks(idA + "/volume"),
	}
	for _, name := range []string{
		"properties", "driver_info", "driver_internal_info", "instance_info", "extra", "network_data", "raid_config",
		"target_raid_config", "clean_step", "deploy_step",
	} {
		node[name] = map[string]any{}
	}
	for _, name := range []string{"bios", "boot", "console", "deploy", "inspect", "management", "power", "raid", "rescue", "vendor"} {
		node[name+"_interface"] = "fake"
	}
	return node
}

func TestNode_Create_ReturnsAllMembers(t *testing.T) {
	t.Parallel()
	s := newService(t)
	made := s.send(http.MethodPost, "/v1/nodes", "1.82", `{"driver": "fake-hardware", "uuid": "C0FFEE005CA14B1E800000000000000A", "name": "rack-7"}`)
	made.wants(http.StatusCreated)
	if location := made.header.Get("Location"); location != base+"/v1/nodes/"+idA {
		t.Errorf("Location = %q", location)
	}
	got := maps.Clone(made.body)
	if at, _ := got["created_at"].(string); !strings.HasSuffix(at, "+00:00") {
		t.Errorf("created_at = %v", at)
	}
	delete(got, "created_at")
	if want := asJSON(t, fresh()); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	for _, ident := range []string{idA, "rack-7", strings.ToUpper(idA), "rack-7/"} {
		if shown := s.get("/v1/nodes/"+ident, "1.82").wants(http.StatusOK); !reflect.DeepEqual(shown.body, made.body) {
			t.Errorf("%s: response = %s", ident, shown.raw)
		}
	}
}

// TestNode_Members_HaveTheirMicroversion checks that a member exists from its version on and can be neither selected
// nor written below it.
func TestNode_Members_HaveTheirMicroversion(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.machine(map[string]any{"uuid": idA})
	since := map[int][]string{
		3: {"driver_internal_info"}, 5: {"name"}, 6: {"inspection_finished_at", "inspection_started_at"}, 7: {"clean_step"},
		12: {"raid_config", "target_raid_config"}, 14: {"states"}, 20: {"network_interface"}, 21: {"resource_class"}, 24: {"portgroups"},
		31: {
			"boot_interface", "console_interface", "deploy_interface", "inspect_interface", "management_interface", "power_interface",
			"raid_interface", "vendor_interface",
		},
		32: {"volume"}, 33: {"storage_interface"}, 37: {"traits"}, 38: {"rescue_interface"}, 40: {"bios_interface"}, 42: {"fault"},
		44: {"deploy_step"}, 46: {"conductor_group"}, 47: {"automated_clean"}, 48: {"protected", "protected_reason"}, 49: {"conductor"},
		50: {"owner"}, 51: {"description"}, 52: {"allocation_uuid"}, 61: {"retired", "retired_reason"}, 65: {"lessee"}, 66: {"network_data"},
		75: {"boot_mode", "secure_boot"}, 82: {"shard"},
	}
	before := slices.Collect(maps.Keys(s.get("/v1/nodes/"+idA, "1.1").wants(http.StatusOK).body))
	if len(before) != 22 {
		t.Errorf("1.1 has %d members: %v", len(before), slices.Sorted(slices.Values(before)))
	}
	for minor := 2; minor <= 82; minor++ {
		want := slices.Sorted(slices.Values(append(before, since[minor]...)))
		got := slices.Sorted(maps.Keys(s.get("/v1/nodes/"+idA, fmt.Sprintf("1.%d", minor)).wants(http.StatusOK).body))
		if !slices.Equal(got, want) {
			t.Fatalf("1.%d has %v, want %v", minor, got, want)
		}
		for _, name := range since[minor] {
			below := fmt.Sprintf("1.%d", minor-1)
			if minor > 8 {
				s.get("/v1/nodes/"+idA+"?fields="+name, below).wants(http.StatusNotAcceptable)
				s.get("/v1/nodes?fields="+name, below).wants(http.StatusNotAcceptable)
			}
			patch := []any{map[string]any{"op": "add", "path": "/" + name, "value": "x"}}
			if status := s.send(http.MethodPatch, "/v1/nodes/"+idA, below, patch).status; status != 406 && status != 400 {
				t.Errorf("patch of %s at %s: status = %d", name, below, status)
			}
		}
		before = got
	}
	s.send(http.MethodPost, "/v1/nodes", "1.4", `{"driver": "fake-hardware", "name": "a"}`).refuses(http.StatusNotAcceptable,
		"The field name can be sent from version 1.5 on; this request is of version 1.4.")
	s.send(http.MethodPatch, "/v1/nodes/"+idA, "1.49", `[{"op": "add", "path": "/owner", "value": "a"}]`).refuses(http.StatusNotAcceptable,
		"The field owner exists from version 1.50 on; this request is of version 1.49.")
	s.get("/v1/nodes/"+idA+"?fields=uuid", "1.7").wants(http.StatusNotAcceptable)
}

func TestNode_NameLookup_SinceVersion5(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.machine(map[string]any{"name": "rack-7"})
	s.get("/v1/nodes/rack-7", "1.4").refuses(http.StatusNotFound, "Node rack-7 could not be found.")
	s.send(http.MethodDelete, "/v1/nodes/rack-7", "1.4", nil).refuses(http.StatusNotFound, "Node rack-7 could not be found.")
	s.send(http.MethodPut, "/v1/nodes/rack-7/maintenance", "1.4", nil).refuses(http.StatusNotFound, "Node rack-7 could not be found.")
	s.get("/v1/nodes/rack-7", "1.5").wants(http.StatusOK)
	s.get("/v1/nodes/rack-8", "1.5").refuses(http.StatusNotFound, "Node rack-8 could not be found.")
	s.get("/v1/nodes/"+idA, "1.1").refuses(http.StatusNotFound, "Node "+idA+" could not be found.")
	s.get("/v1/nodes/rack+8", "1.5").refuses(http.StatusBadRequest, "Expected a logical name or UUID but received rack+8.")
}

func TestNode_InitialProvisionState_DependsOnVersion(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for version, state := range map[string]any{"1.1": nil, "1.2": "available", "1.10": "available", "1.11": "enroll"} {
		s.send(http.MethodPost, "/v1/nodes", version, `{"driver": "fake-hardware"}`).wants(http.StatusCreated).
			shows(map[string]any{"provision_state": state, "power_state": nil})
	}
}

func TestNode_CreateWithAllMembers_StoresThem(t *testing.T) {
	t.Parallel()
	s := newService(t)
	members := map[string]any{
		"name": "rack-7", "resource_class": "Gold class ß", "instance_uuid": idB, "conductor_group": "", "owner": "o", "lessee": "l",
		"description": "d", "shard": "s", "maintenance": true, "retired": true, "retired_reason": "old", "automated_clean": false,
		"properties": map[string]any{"cpus": 1}, "extra": map[string]any{"a": []any{1.5, nil, map[string]any{}}},
		"network_data": map[string]any{"links": []any{}}, "driver_info": map[string]any{"address": "x"},
		"instance_info": map[string]any{"image_source": "y"}, "boot_interface": "pxe", "rescue_interface": nil,
	}
	id := s.machine(members)
	members["rescue_interface"] = "fake"
	s.get("/v1/nodes/"+id, "1.82").shows(members)
	flags := s.machine(map[string]any{"maintenance": "true", "retired": "FALSE", "retired_reason": "kept?", "extra": nil, "chassis_uuid": nil, "uuid": nil})
	s.get("/v1/nodes/"+flags, "1.82").shows(map[string]any{"maintenance": true, "retired": false, "retired_reason": "kept?", "extra": map[string]any{}})
}

func TestNode_InvalidCreate_Rejected(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.machine(map[string]any{"uuid": idA, "name": "rack-7", "instance_uuid": idB})
	const badName = "for a node: it must consist of at most 255 letters, digits and -._~, and be neither a UUID nor one of " +
		"maintenance, management, states, vendor_passthru, detail, validate."
	for body, want := range map[string]string{
		`{"driver": "ipmi"}`: `No valid host was found. Reason: No conductor service registered which supports driver ipmi for conductor group "".`,
		`{"driver": "fake-hardware", "conductor_group": "B"}`: `No valid host was found. Reason: No conductor service registered which supports driver fake-hardware for conductor group "b".`,
		`{"driver": "fake-hardware", "uuid": "abc"}`:          "Expected UUID for uuid: abc",
		`{"driver": "fake-hardware", "instance_uuid": "abc"}`: "Expected UUID for instance_uuid: abc",
		`{"driver": "fake-hardware", "chassis_uuid": "abc"}`:  "Chassis abc could not be found.",
		`{"driver": "fake-hardware", "name": "a b"}`:          "Invalid name 'a b' " + badName,
		`{"driver": "fake-hardware", "name": ""}`:             "Invalid name '' " + badName,
		`{"driver": "fake-hardware", "name": "validate"}`:     "Invalid name 'validate' " + badName,
		`{"driver": "fake-hardware", "name": "` + idB + `"}`:  "Invalid name '" + idB + "' " + badName,
		`{"driver": "fake-hardware", "maintenance": "maybe"}`: "Invalid value for /maintenance: it must be true or false.",
	} {
		s.send(http.MethodPost, "/v1/nodes", "1.82", body).refuses(http.StatusBadRequest, want)
	}
	for _, name := range []string{"provision_state", "traits", "power_state", "protected", "allocation_uuid", "links", "color"} {
		s.send(http.MethodPost, "/v1/nodes", "1.82", map[string]any{"driver": fakeDriver, name: nil}).
			invalid("JSON does not validate: Additional properties are not allowed ('" + name + "' was unexpected)")
	}
	s.send(http.MethodPost, "/v1/nodes", "1.82", `{}`).invalid("JSON does not validate: 'driver' is a required property")
	for _, body := range []string{``, `[]`, `{"driver"`, `{"driver": "fake-hardware", "extra": 1}`, `{"driver": "fake-hardware", "extra": {"a": "\u0000"}}`} {
		s.send(http.MethodPost, "/v1/nodes", "1.82", body).wants(http.StatusBadRequest)
	}
	for body, want := range map[string]string{
		`{"driver": "fake-hardware", "uuid": "` + idA + `"}`: "A node with UUID " + idA + " already exists.",
		`{"driver": "fake-hardware", "name": "rack-7"}`:      "A node with name rack-7 already exists.",
		`{"driver": "fake-hardware", "uuid": "` + idB + `", "instance_uuid": "` + idB + `"}`: "Instance " + idB +
			" is already associated with a node, it cannot be associated with this other node " + idB,
	} {
		s.send(http.MethodPost, "/v1/nodes", "1.82", body).refuses(http.StatusConflict, want)
	}
}

func TestNode_NumberOutOfRange_Returns400(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.machine(nil)
	s.send(http.MethodPost, "/v1/allocations", "1.82", `{"resource_class": "gold", "name": "web-1"}`).wants(http.StatusCreated)
	for _, number := range []string{"1e999999", "1e-999999"} {
		s.send(http.MethodPost, "/v1/allocations", "1.82", `{"resource_class": "gold", "extra": {"a": [`+number+`]}}`).
			refuses(http.StatusBadRequest, "Invalid value for /extra: the number "+number+" cannot be kept.")
		s.send(http.MethodPatch, "/v1/allocations/web-1", "1.82", `[{"op": "add", "path": "/extra/a", "value": `+number+`}]`).
			refuses(http.StatusBadRequest, "Invalid value for /extra: the number "+number+" cannot be kept.")
		s.send(http.MethodPost, "/v1/nodes", "1.82", `{"driver": "fake-hardware", "extra": {"a": [`+number+`]}}`).
			refuses(http.StatusBadRequest, "Invalid value for /extra: the number "+number+" cannot be kept.")
		s.send(http.MethodPatch, "/v1/nodes/"+id, "1.82", `[{"op": "add", "path": "/extra/a", "value": `+number+`}]`).
			refuses(http.StatusBadRequest, "Invalid value for /extra: the number "+number+" cannot be kept.")
	}
}

func TestNode_Secrets_Masked(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.machine(map[string]any{
		"driver_info":   map[string]any{"ipmi_password": "a", "user": "u", "deep": []any{map[string]any{"Password": "b"}}},
		"instance_info": map[string]any{"configdrive": "c", "image_url": "d", "root_password": map[string]any{"a": 1}, "image_source": "e"},
		"extra":         map[string]any{"password": "not masked in extra"},
	})
	want := map[string]any{
		"driver_info":   map[string]any{"ipmi_password": "******", "user": "u", "deep": []any{map[string]any{"Password": "******"}}},
		"instance_info": map[string]any{"configdrive": "******", "image_url": "******", "root_password": "******", "image_source": "e"},
		"extra":         map[string]any{"password": "not masked in extra"},
	}
	s.get("/v1/nodes/"+id, "1.82").shows(want)
	s.send(http.MethodPatch, "/v1/nodes/"+id, "1.82", `[{"op": "add", "path": "/driver_info/port", "value": 1}]`).wants(http.StatusOK)
	kept, err := s.store.NodeShow(t.Context(), id)
	if err != nil || !strings.Contains(string(kept.Details["driver_info"]), `"ipmi_password": "a"`) {
		t.Errorf("driver_info after a patch of another member = %s (%v)", kept.Details["driver_info"], err)
	}
}

func TestNode_Delete_ChecksState(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, state := range []string{"enroll", "manageable", "adopt failed", "available"} {
		id := s.machine(nil)
		s.becomes(id, state, nil)
		s.send(http.MethodDelete, "/v1/nodes/"+id, "1.1", nil).wants(http.StatusNoContent)
		s.send(http.MethodDelete, "/v1/nodes/"+id, "1.1", nil).refuses(http.StatusNotFound, "Node "+id+" could not be found.")
	}
	id := s.machine(nil)
	s.becomes(id, "cleaning", new("available"))
	s.send(http.MethodDelete, "/v1/nodes/"+id, "1.1", nil).refuses(http.StatusConflict, `Can not delete node "`+id+
		`" while it is in provision state "cleaning". Valid provision states to perform deletion are: `+
		`"enroll, manageable, adopt failed, available"; in maintenance it is possible in any.`)
	s.send(http.MethodPut, "/v1/nodes/"+id+"/maintenance", "1.1", nil).wants(http.StatusAccepted)
	s.send(http.MethodDelete, "/v1/nodes/"+id, "1.1", nil).wants(http.StatusNoContent)
}

func TestNode_DeleteInMaintenance_DeletesAllocationAndPorts(t *testing.T) {
	t.Parallel()
	s := newService(t)
	node, allocation := s.allotted(map[string]any{"resource_class": "gold"})
	port := s.send(http.MethodPost, "/v1/ports", "1.82", map[string]any{"node_uuid": node, "address": "52:54:00:00:00:01"}).wants(http.StatusCreated)
	s.send(http.MethodDelete, "/v1/nodes/"+node, "1.82", nil).refuses(http.StatusConflict,
		"Node "+node+" is associated with instance "+allocation+".")
	s.send(http.MethodPut, "/v1/nodes/"+node+"/maintenance", "1.82", `{}`).wants(http.StatusAccepted)
	s.send(http.MethodDelete, "/v1/nodes/"+node, "1.82", nil).wants(http.StatusNoContent)
	s.get("/v1/allocations/"+allocation, "1.82").wants(http.StatusNotFound)
	s.get(fmt.Sprint("/v1/ports/", port.body["uuid"]), "1.82").wants(http.StatusNotFound)
}

func TestNode_DeleteProtected_Returns403(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.machine(nil)
	s.becomes(id, "active", nil)
	s.send(http.MethodPatch, "/v1/nodes/"+id, "1.48", `[{"op": "add", "path": "/protected", "value": true}]`).wants(http.StatusOK)
	s.send(http.MethodPut, "/v1/nodes/"+id+"/maintenance", "1.48", nil).wants(http.StatusAccepted)
	s.send(http.MethodDelete, "/v1/nodes/"+id, "1.48", nil).refuses(http.StatusForbidden,
		"Node "+id+" is protected and cannot be undeployed, rebuilt or deleted")
}
