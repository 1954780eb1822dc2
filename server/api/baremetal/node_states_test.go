package baremetal_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/work/provision"
)

// provisioned requests a transition of a node.
func (s *service) provisioned(node, target string) *response {
	s.t.Helper()
	body := map[string]any{"target": target}
	if target == "clean" {
		body["clean_steps"] = []any{map[string]any{"interface": "deploy", "step": "erase_devices"}}
	}
	return s.send(http.MethodPut, "/v1/nodes/"+node+"/states/provision", "1.82", body)
}

func TestNode_States_ShowMembersOfVersion(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.machine(map[string]any{"name": "rack-7"})
	want := map[string]any{
		"console_enabled": false, "last_error": nil, "power_state": nil, "provision_state": "enroll", "target_power_state": nil,
		"target_provision_state": nil, "provision_updated_at": nil,
	}
	for _, step := range []struct {
		version string
		adds    []string
	}{
		{"1.1", nil}, {"1.11", nil}, {"1.12", []string{"raid_config", "target_raid_config"}}, {"1.74", nil},
		{"1.75", []string{"boot_mode", "secure_boot"}}, {"1.82", nil},
	} {
		for _, name := range step.adds {
			want[name] = nil
			if strings.HasSuffix(name, "config") {
				want[name] = map[string]any{}
			}
		}
		if got := s.get("/v1/nodes/"+id+"/states", step.version).wants(http.StatusOK); !reflect.DeepEqual(got.body, asJSON(t, want)) {
			t.Errorf("%s: %s", step.version, got.raw)
		}
	}
	s.get("/v1/nodes/rack-8/states", "1.82").refuses(http.StatusNotFound, "Node rack-8 could not be found.")
	s.becomes(id, "available", nil)
	s.get("/v1/nodes/"+id+"/states", "1.1").shows(map[string]any{"provision_state": nil})
	s.get("/v1/nodes/"+id, "1.1").shows(map[string]any{"provision_state": nil})
	s.get("/v1/nodes/"+id+"/states", "1.2").shows(map[string]any{"provision_state": "available"})
	s.get("/v1/nodes/"+id, "1.2").shows(map[string]any{"provision_state": "available"})
}

// TestNode_ProvisionVerbs_FollowStateMachine checks that permitted transitions start and that all others return the
// text that clients match.
func TestNode_ProvisionVerbs_FollowStateMachine(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.machine(map[string]any{"name": "rack-7"})
	for _, state := range provision.States() {
		for _, verb := range []string{
			"active", "deploy", "rebuild", "deleted", "undeploy", "manage", "provide", "inspect", "abort", "clean", "adopt",
		} {
			s.becomes(id, state, nil)
			answer := s.provisioned("rack-7", verb)
			edge, allowed := provision.EdgeForVerb(state, verb)
			if !allowed {
				answer.refuses(http.StatusBadRequest,
					`The requested action "`+verb+`" can not be performed on node "`+id+`" while it is in state "`+state+`".`)
				continue
			}
			answer.wants(http.StatusAccepted)
			if location := answer.header.Get("Location"); location != base+"/v1/nodes/rack-7/states" || answer.raw != "" {
				t.Errorf("%s in %s: Location = %q, body = %q", verb, state, location, answer.raw)
			}
			want := map[string]any{"provision_state": edge.To, "target_provision_state": nil}
			if edge.Target != "" {
				want["target_provision_state"] = edge.Target
			}
			s.get("/v1/nodes/"+id+"/states", "1.82").shows(want)
		}
	}
}

func TestNode_ProvisionVerbs_HaveTheirMicroversion(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.machine(nil)
	for verb, versions := range map[string][2]string{
		"manage": {"1.3", "1.4"}, "provide": {"1.3", "1.4"}, "inspect": {"1.5", "1.6"}, "abort": {"1.12", "1.13"},
		"adopt": {"1.16", "1.17"}, "deploy": {"1.72", "1.73"}, "undeploy": {"1.72", "1.73"},
	} {
		s.becomes(id, "active", nil)
		below := s.send(http.MethodPut, "/v1/nodes/"+id+"/states/provision", versions[0], map[string]any{"target": verb})
		below.refuses(http.StatusNotAcceptable, "The target "+verb+" exists from version "+versions[1]+" on; this request is of version "+versions[0]+".")
		if at := s.send(http.MethodPut, "/v1/nodes/"+id+"/states/provision", versions[1], map[string]any{"target": verb}); at.status == 406 {
			t.Errorf("%s at %s: %s", verb, versions[1], at.raw)
		}
	}
}

func TestNode_InvalidProvisionRequest_Returns400(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.machine(map[string]any{"name": "rack-7"})
	path := "/v1/nodes/" + id + "/states/provision"
	const cleanSteps = "The target clean requires at least one clean step; clean_steps is not allowed with other targets."
	for body, want := range map[string]string{
		`{"target": "fly"}`: `The requested target "fly" is unknown; the valid targets are: active, deploy, rebuild, deleted, undeploy, manage, provide, ` +
			`inspect, abort, clean, adopt.`,
		`{"target": "clean"}`:                          cleanSteps,
		`{"target": "clean", "clean_steps": []}`:       cleanSteps,
		`{"target": "manage", "clean_steps": []}`:      cleanSteps,
		`{"target": "manage", "configdrive": "x"}`:     "configdrive is only allowed with the targets active, deploy and rebuild.",
		`{"target": "active", "configdrive": [1]}`:     "Invalid value for configdrive: it must be a text or an object.",
		`{"target": "active", "configdrive": 1e99999}`: "Invalid value for configdrive: it must be a text or an object.",
	} {
		s.send(http.MethodPut, path, "1.82", body).refuses(http.StatusBadRequest, want)
	}
	for _, body := range []string{``, `{}`, `{"target": null}`, `{"target": 1}`, `{"target": "manage", "color": 1}`} {
		s.send(http.MethodPut, path, "1.82", body).wants(http.StatusBadRequest)
	}
	s.send(http.MethodPut, "/v1/nodes/rack-8/states/provision", "1.82", `{"target": "manage"}`).
		refuses(http.StatusNotFound, "Node rack-8 could not be found.")
}

func TestNode_MaintenanceDeploy_Returns400(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.machine(map[string]any{"maintenance": true})
	for verb, state := range map[string]string{"active": "available", "deploy": "available", "rebuild": "active", "clean": "manageable"} {
		s.becomes(id, state, nil)
		s.provisioned(id, verb).refuses(http.StatusBadRequest,
			"The provisioning operation can't be performed on node "+id+" because it's in maintenance mode.")
	}
	for verb, state := range map[string]string{"provide": "manageable", "manage": "enroll", "deleted": "active"} {
		s.becomes(id, state, nil)
		s.provisioned(id, verb).wants(http.StatusAccepted)
	}
}

func TestNode_Reserved_Returns409(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.machine(nil)
	host := conductor
	step := store.Transition{To: "verifying", Target: new("manageable"), Conductor: &host}
	if _, moved, err := s.store.NodeTransition(t.Context(), id, step); err != nil || !moved {
		t.Fatal(moved, err)
	}
	want := "Node " + id + " is locked by host berth-1, please retry after the current operation is completed."
	s.provisioned(id, "manage").refuses(http.StatusConflict, want)
	s.send(http.MethodPut, "/v1/nodes/"+id+"/states/power", "1.82", `{"target": "power on"}`).refuses(http.StatusConflict, want)
	s.get("/v1/nodes/"+id, "1.82").shows(map[string]any{"reservation": conductor, "conductor": conductor})
}

func TestNode_ProtectedOrRetired_ProvisionRejected(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.machine(nil)
	s.becomes(id, "active", nil)
	s.patched(id, `[{"op": "add", "path": "/protected", "value": true}]`).wants(http.StatusOK)
	for _, verb := range []string{"deleted", "undeploy", "rebuild"} {
		s.provisioned(id, verb).refuses(http.StatusForbidden, "Node "+id+" is protected and cannot be undeployed, rebuilt or deleted")
	}
	id = s.machine(map[string]any{"retired": true})
	s.becomes(id, "manageable", nil)
	s.provisioned(id, "provide").refuses(http.StatusBadRequest, "The provide operation can't be performed on node "+id+" because it is retired.")
}

func TestNode_ManageAllocatedNode_KeepsAllocation(t *testing.T) {
	t.Parallel()
	s := newService(t)
	node, allocation := s.allotted(map[string]any{"resource_class": "gold"})
	s.provisioned(node, "manage").wants(http.StatusAccepted)
	s.get("/v1/nodes/"+node, "1.82").shows(map[string]any{
		"provision_state": "manageable", "target_provision_state": nil, "instance_uuid": allocation, "allocation_uuid": allocation,
	})
}

func TestNode_ConfigDrive_Stored(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, config := range []any{"H4sIAAAA", map[string]any{"meta_data": map[string]any{"name": "web-1"}}} {
		id := s.machine(map[string]any{"instance_info": map[string]any{"a": 1}})
		s.becomes(id, "available", nil)
		s.send(http.MethodPut, "/v1/nodes/"+id+"/states/provision", "1.82", map[string]any{"target": "active", "configdrive": config}).
			wants(http.StatusAccepted)
		s.get("/v1/nodes/"+id, "1.82").shows(map[string]any{
			"provision_state": "deploying", "instance_info": map[string]any{"a": 1, "configdrive": "******"},
		})
		kept, err := s.store.NodeShow(t.Context(), id)
		var info map[string]any
		if err == nil {
			err = json.Unmarshal(kept.Details["instance_info"], &info)
		}
		if err != nil || !reflect.DeepEqual(info["configdrive"], asJSON(t, config)) {
			t.Errorf("kept %v (%v)", info, err)
		}
	}
}

func TestNode_PowerTarget_SetsTargetPowerState(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.machine(map[string]any{"name": "rack-7"})
	path := "/v1/nodes/rack-7/states/power"
	for target, shown := range map[string]string{
		"power on": "power on", "power off": "power off", "rebooting": "power on", "soft power off": "power off", "soft rebooting": "power on",
	} {
		answer := s.send(http.MethodPut, path, "1.27", map[string]any{"target": target}).wants(http.StatusAccepted)
		if location := answer.header.Get("Location"); location != base+"/v1/nodes/rack-7/states" || answer.raw != "" {
			t.Errorf("%s: Location = %q, body = %q", target, location, answer.raw)
		}
		s.get("/v1/nodes/"+id+"/states", "1.82").shows(map[string]any{
			"target_power_state": shown, "power_state": nil, "provision_state": "enroll", "target_provision_state": nil,
		})
		kept, err := s.store.NodeShow(t.Context(), id)
		if err != nil || *kept.TargetPowerState != target {
			t.Errorf("target_power_state = %v (%v)", kept.TargetPowerState, err)
		}
	}
	s.send(http.MethodPut, path, "1.27", `{"target": "soft rebooting", "timeout": 5}`).wants(http.StatusAccepted)
	s.send(http.MethodPut, path, "1.27", `{"target": "soft rebooting", "timeout": 0}`).wants(http.StatusBadRequest)
	for _, long := range []string{"1e400", "123456789012345678901234567890", "50e-1"} {
		s.send(http.MethodPut, path, "1.27", `{"target": "power on", "timeout": `+long+`}`).wants(http.StatusAccepted)
	}
	s.send(http.MethodPut, path, "1.26", `{"target": "power on", "timeout": 5}`).wants(http.StatusNotAcceptable)
	s.send(http.MethodPut, path, "1.26", `{"target": "soft power off"}`).refuses(http.StatusNotAcceptable,
		"The target soft power off exists from version 1.27 on; this request is of version 1.26.")
	s.send(http.MethodPut, path, "1.82", `{"target": "power down"}`).refuses(http.StatusBadRequest,
		`The requested power state "power down" is unknown; the valid states are: power on, power off, rebooting, soft power off, soft rebooting.`)
	s.send(http.MethodPut, path, "1.82", `{}`).wants(http.StatusBadRequest)
	s.send(http.MethodPut, "/v1/nodes/rack-8/states/power", "1.82", `{"target": "power on"}`).
		refuses(http.StatusNotFound, "Node rack-8 could not be found.")
}

func TestNode_Maintenance_SetAndClearedImmediately(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.machine(map[string]any{"name": "rack-7"})
	path := "/v1/nodes/rack-7/maintenance"
	for _, test := range []struct {
		body   any
		reason any
	}{{nil, nil}, {`{}`, nil}, {`{"reason": null}`, nil}, {`{"reason": "hums"}`, "hums"}} {
		if answer := s.send(http.MethodPut, path, "1.82", test.body).wants(http.StatusAccepted); answer.raw != "" {
			t.Errorf("a body: %s", answer.raw)
		}
		s.get("/v1/nodes/"+id, "1.82").shows(map[string]any{"maintenance": true, "maintenance_reason": test.reason})
	}
	if _, err := s.store.NodeUpdate(t.Context(), id, func(n *store.Node) error { n.Fault = new("clean failure"); return nil }); err != nil {
		t.Fatal(err)
	}
	s.get("/v1/nodes/"+id, "1.82").shows(map[string]any{"fault": "clean failure"})
	s.send(http.MethodDelete, path, "1.82", nil).wants(http.StatusAccepted)
	s.get("/v1/nodes/"+id, "1.82").shows(map[string]any{"maintenance": false, "maintenance_reason": nil, "fault": nil})
	s.send(http.MethodDelete, path, "1.82", nil).wants(http.StatusAccepted)
	s.send(http.MethodPut, path, "1.82", `{"reason": 1}`).wants(http.StatusBadRequest)
	for _, method := range []string{http.MethodPut, http.MethodDelete} {
		s.send(method, "/v1/nodes/rack-8/maintenance", "1.82", nil).refuses(http.StatusNotFound, "Node rack-8 could not be found.")
	}
}
