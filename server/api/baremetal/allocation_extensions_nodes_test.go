package baremetal_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/server/data/store"
)

func TestNodeAllocation_ForbiddenAndAnyOfTraits_Applied(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.free("a", "gold", "CUSTOM_A")
	s.free("b", "gold", "CUSTOM_B", "HW_CPU_X86_AVX2")
	s.free("none", "gold")
	for _, test := range []struct {
		traits []string
		node   string
	}{
		{[]string{"!CUSTOM_A", "!CUSTOM_B"}, "none"},
		{[]string{"in:CUSTOM_A,CUSTOM_C"}, "a"},
		{[]string{"in:CUSTOM_A,CUSTOM_B", "!CUSTOM_A"}, "b"},
		{[]string{"HW_CPU_X86_AVX2", "!CUSTOM_A"}, "b"},
		{[]string{"in:CUSTOM_A,CUSTOM_B", "in:HW_CPU_X86_AVX2,CUSTOM_C"}, "b"},
		{[]string{"CUSTOM_A", "!CUSTOM_A"}, ""},
		{[]string{"in:CUSTOM_C,CUSTOM_D"}, ""},
	} {
		made := s.createExtended(map[string]any{"resource_class": "gold", "traits": test.traits}).wants(http.StatusCreated).shows(map[string]any{"traits": test.traits})
		id := made.body["uuid"].(string)
		got := ""
		if given := s.decide(id).body["node_uuid"]; given != nil {
			node, err := s.store.NodeShow(t.Context(), given.(string))
			if err != nil {
				t.Fatal(err)
			}
			got = *node.Name
			if info := string(node.Details["instance_info"]); strings.Contains(info, "!") || strings.Contains(info, "in:") {
				t.Errorf("%v: instance_info = %s", test.traits, info)
			}
		}
		if got != test.node {
			t.Errorf("%v: got %q, want %q", test.traits, got, test.node)
		}
		s.send(http.MethodDelete, "/v1/allocations/"+id, "1.82", nil).wants(http.StatusNoContent)
	}
	for _, trait := range []string{"!", "in:", "in:CUSTOM_A,", "!!CUSTOM_A", "!in:CUSTOM_A", "in:!CUSTOM_A", "in:CUSTOM_A, CUSTOM_B"} {
		s.createExtended(map[string]any{"resource_class": "gold", "traits": []string{trait}}).wants(http.StatusBadRequest)
	}
	s.node(store.Node{Name: new("used"), ResourceClass: new("gold"), ProvisionState: "active"}, "CUSTOM_A")
	refused := s.createExtended(map[string]any{"node": "used", "traits": []string{"!CUSTOM_A", "in:CUSTOM_A,CUSTOM_B", "in:CUSTOM_B,CUSTOM_C"}}).wants(http.StatusConflict)
	if !strings.Contains(refused.raw, "Node is missing requested traits !CUSTOM_A, in:CUSTOM_B,CUSTOM_C.") {
		t.Errorf("got %s", refused.raw)
	}
}

func TestNodeAllocation_Sticky_SurvivesTeardown(t *testing.T) {
	t.Parallel()
	for name, sticky := range map[string]bool{"sticky": true, "default": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			s.free("rack-7", "gold", "CUSTOM_A")
			s.works()
			made := s.createExtended(map[string]any{"resource_class": "gold", "name": "a", "wait": 60, "sticky": sticky, "traits": []string{"CUSTOM_A"}}).wants(http.StatusCreated)
			made.shows(map[string]any{"state": "active"})
			at := func(state string) store.Node {
				t.Helper()
				for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
					node, err := s.store.NodeShow(t.Context(), "rack-7")
					if err != nil {
						t.Fatal(err)
					}
					if node.ProvisionState == state {
						return node
					}
				}
				t.Fatalf("the node did not reach state %s", state)
				return store.Node{}
			}
			for range 2 {
				for _, step := range []store.Transition{
					{From: []string{"available"}, To: "deploying", Target: new("active")},
					{From: []string{"active"}, To: "deleting", Target: new("available")},
				} {
					at(step.From[0])
					if _, moved, err := s.store.NodeTransition(t.Context(), "rack-7", step); err != nil || !moved {
						t.Fatalf("to %s: %v, %v", step.To, moved, err)
					}
				}
				node := at("available")
				if !sticky {
					if node.InstanceUUID != nil || string(node.Details["instance_info"]) != "{}" {
						t.Errorf("instance %v with %s", node.InstanceUUID, node.Details["instance_info"])
					}
					s.get("/v1/allocations/a", "1.82").wants(http.StatusNotFound)
					return
				}
				if node.InstanceUUID == nil || string(node.Details["instance_info"]) != `{"traits": ["CUSTOM_A"]}` {
					t.Errorf("instance %v with %s", node.InstanceUUID, node.Details["instance_info"])
				}
				s.get("/v1/allocations/a", "1.82").wants(http.StatusOK).is(made.body)
			}
			s.createExtended(map[string]any{"resource_class": "gold", "wait": 60}).wants(http.StatusCreated).shows(map[string]any{"state": "error"})
			s.send(http.MethodDelete, "/v1/allocations/a", "1.82", nil).wants(http.StatusNoContent)
			s.createExtended(map[string]any{"resource_class": "gold", "wait": 60}).wants(http.StatusCreated).shows(map[string]any{"state": "active"})
		})
	}
}
