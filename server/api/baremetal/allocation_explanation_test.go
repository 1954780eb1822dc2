package baremetal_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/explainlog"
)

// explainedVersion is the header of a request for explanations.
const explainedVersion = "baremetal 1.82, berth 1.2"

// explains compares the explanation of a node allocation with JSON, without its time and duration.
func (s *service) explains(ident, want string) {
	s.t.Helper()
	got := s.get("/v1/allocations/"+ident+"/explanation", explainedVersion).wants(http.StatusOK)
	got.isExplained(want)
}

// isExplained compares an explanation with JSON, without its time and duration, and the order of its members.
func (r *response) isExplained(want string) {
	r.t.Helper()
	if r.body["made_at"] == nil || r.body["took_ms"] == nil {
		r.t.Errorf("%s: no time in %s", r.what, r.raw)
	}
	got := r.raw[:strings.Index(r.raw, `,"made_at":`)] + "}"
	if want = strings.NewReplacer("\n", "", "\t", "").Replace(want); got != want {
		r.t.Errorf("%s:\n got %s\nwant %s", r.what, got, want)
	}
}

// TestExplain_NodeAllocationWorkedExample_ShownWhole is the example of docs/contract/berth/explain.md.
func TestExplain_NodeAllocationWorkedExample_ShownWhole(t *testing.T) {
	t.Parallel()
	s := newService(t)
	first, second := s.free("rack-1", "gold", "CUSTOM_A").UUID.String(), s.free("rack-2", "gold", "CUSTOM_A").UUID.String()
	third := s.node(store.Node{Name: new("rack-3"), ResourceClass: new("gold"), ProvisionState: "active", InstanceUUID: new(uuid.New())}, "CUSTOM_A").UUID.String()
	s.free("other-1", "iron")
	s.free("other-2", "iron")
	s.allocate(map[string]any{"resource_class": "gold", "name": "web", "traits": []string{"CUSTOM_A", "CUSTOM_B"}}).wants(http.StatusCreated)
	s.decide("web").shows(map[string]any{"state": "error"})
	s.explains("web", `{"kind":"node_allocation","reason":"traits",
		"summary":"Of 2 available nodes of class gold with CUSTOM_A, none has the trait CUSTOM_B. Nearest: rack-1 lacks the trait CUSTOM_B. Without traits=CUSTOM_B there would be 2 nodes.",
		"sample":{"exact":true,"nodes":5},
		"funnel":[
		{"stage":"all","nodes":5},{"stage":"resource_class","value":"gold","nodes":3},{"stage":"available","nodes":2},
		{"stage":"no_instance","nodes":2},{"stage":"no_maintenance","nodes":2},{"stage":"powered","nodes":2},{"stage":"owner","nodes":2},
		{"stage":"candidate_nodes","nodes":2},{"stage":"traits","value":"CUSTOM_A","nodes":2},{"stage":"traits","value":"CUSTOM_B","nodes":0}],
		"states":{"active":1,"available":2},
		"conflicts":[{"conflict":"trait_unused","name":"CUSTOM_B","similar":[]}],
		"nearest":[
		{"node":{"uuid":"`+first+`","name":"rack-1"},"distance":1,"missing":[{"step":"traits","value":"CUSTOM_B"}]},
		{"node":{"uuid":"`+second+`","name":"rack-2"},"distance":1,"missing":[{"step":"traits","value":"CUSTOM_B"}]},
		{"node":{"uuid":"`+third+`","name":"rack-3"},"distance":3,"missing":[{"step":"available","value":"active"},{"step":"no_instance"},{"step":"traits","value":"CUSTOM_B"}]}],
		"relaxations":[{"change":"drop","value":"traits=CUSTOM_B","nodes":2}],
		"relaxations_complete":true}`)
}

func TestExplain_NodeAllocationWithNodesAsProviders_CountsUnclaimed(t *testing.T) {
	t.Parallel()
	s := newService(t)
	if err := s.store.SetBaremetalBackend(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	node := s.free("rack-1", "gold").UUID.String()
	s.allocate(map[string]any{"resource_class": "gold", "name": "web"}).wants(http.StatusCreated)
	s.claimed(node, "CUSTOM_GOLD")
	const begin = `"sample":{"exact":true,"nodes":1},
		"funnel":[{"stage":"all","nodes":1},{"stage":"resource_class","value":"gold","nodes":1},{"stage":"available","nodes":1},{"stage":"no_instance","nodes":1},
		{"stage":"no_maintenance","nodes":1},{"stage":"powered","nodes":1},{"stage":"owner","nodes":1},{"stage":"candidate_nodes","nodes":1},`
	s.explains("web", `{"kind":"node_allocation","reason":"claimed",
		"summary":"The 1 node that fits is claimed through Placement. Nearest: rack-1 lacks a free unit in Placement. No single change of the request that was tried gives a node.",`+begin+`
		{"stage":"unclaimed","nodes":0}],"states":{"available":1},"conflicts":[],
		"nearest":[{"node":{"uuid":"`+node+`","name":"rack-1"},"distance":1,"missing":[{"step":"unclaimed"}]}],
		"relaxations":[],"relaxations_complete":true}`)
}

func TestExplain_NodeAllocation_FirstSentenceAndRelaxations(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.free("rack-1", "gold", "CUSTOM_A", "CUSTOM_OLD")
	s.free("rack-2", "gold", "CUSTOM_A", "CUSTOM_OLD")
	s.node(store.Node{ResourceClass: new("gold"), ProvisionState: "cleaning", Owner: new("mine")})
	busy := s.node(store.Node{Name: new("b"), ResourceClass: new("silver"), ProvisionState: "active"}).UUID.String()
	s.node(store.Node{Name: new("c"), ResourceClass: new("silver"), ProvisionState: "active"})
	s.node(store.Node{Name: new("d"), ResourceClass: new("silver"), ProvisionState: "cleaning"})
	for i, test := range []struct {
		body            map[string]any
		reason, summary string
		relaxations     []any
	}{
		{map[string]any{"resource_class": "golf"}, "class",
			"No node has the resource class golf. With resource_class=gold there would be 2 nodes.",
			[]any{map[string]any{"change": "replace", "value": "resource_class=gold", "nodes": 2.}}},
		{map[string]any{"resource_class": "lead"}, "class",
			"No node has the resource class lead. No single change of the request that was tried gives a node.", []any{}},
		{map[string]any{"resource_class": "silver"}, "busy",
			"No node of class silver is free: 2 active, 1 cleaning. Nearest: b lacks the state available (it is active). No single change of the request that was tried gives a node.", []any{}},
		{map[string]any{"resource_class": "gold", "owner": "mine"}, "owner",
			"No free node of class gold belongs to mine. Nearest: rack-1 lacks the owner or lessee mine. Without owner=mine there would be 2 nodes.",
			[]any{map[string]any{"change": "drop", "value": "owner=mine", "nodes": 2.}}},
		{map[string]any{"resource_class": "gold", "candidate_nodes": []string{"b"}}, "candidate_nodes",
			"None of the 1 candidate node is free and of class gold. Nearest: rack-1 lacks a place among the candidate nodes. Without candidate_nodes=" + busy + " there would be 2 nodes.",
			[]any{map[string]any{"change": "drop", "value": "candidate_nodes=" + busy, "nodes": 2.}}},
		{map[string]any{"resource_class": "gold", "traits": []string{"CUSTOM_B"}}, "traits",
			"No available node of class gold has the trait CUSTOM_B. Nearest: rack-1 lacks the trait CUSTOM_B. Without traits=CUSTOM_B there would be 2 nodes.",
			[]any{map[string]any{"change": "drop", "value": "traits=CUSTOM_B", "nodes": 2.}}},
		{map[string]any{"resource_class": "gold", "traits": []string{"!CUSTOM_OLD"}}, "traits",
			"All available nodes of class gold have the forbidden trait CUSTOM_OLD. Nearest: rack-1 lacks the absence of the trait CUSTOM_OLD. Without traits=!CUSTOM_OLD there would be 2 nodes.",
			[]any{map[string]any{"change": "drop", "value": "traits=!CUSTOM_OLD", "nodes": 2.}}},
		{map[string]any{"resource_class": "gold", "traits": []string{"CUSTOM_A", "in:CUSTOM_A,CUSTOM_B", "!CUSTOM_C", "in:CUSTOM_X,CUSTOM_Y"}}, "traits",
			"Of 2 available nodes of class gold with CUSTOM_A and any of the traits CUSTOM_A, CUSTOM_B without CUSTOM_C, none has any of the traits CUSTOM_X, CUSTOM_Y. " +
				"Nearest: rack-1 lacks any of the traits CUSTOM_X, CUSTOM_Y. Without traits=in:CUSTOM_X,CUSTOM_Y there would be 2 nodes.",
			[]any{map[string]any{"change": "drop", "value": "traits=in:CUSTOM_X,CUSTOM_Y", "nodes": 2.}}},
		{map[string]any{"resource_class": "gold"}, "fits", "2 nodes fit. Nearest: " + s.unnamed() + " lacks the state available (it is cleaning).", []any{}},
	} {
		id := s.createExtended(test.body).wants(http.StatusCreated).body["uuid"].(string)
		s.get("/v1/allocations/"+id+"/explanation", explainedVersion).wants(http.StatusOK).shows(map[string]any{
			"reason": test.reason, "summary": test.summary, "relaxations": test.relaxations,
		})
		if t.Failed() {
			t.Fatalf("request %d: %v", i, test.body)
		}
	}
}

// unnamed returns the UUID of the node without a name.
func (s *service) unnamed() string {
	s.t.Helper()
	for _, one := range s.get("/v1/nodes", "1.82").wants(http.StatusOK).body["nodes"].([]any) {
		if node := one.(map[string]any); node["name"] == nil {
			return node["uuid"].(string)
		}
	}
	s.t.Fatal("all nodes have names")
	return ""
}

func TestExplain_NodeAllocationOfOtherVersionOrUnknown_Returns404(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.allocate(map[string]any{"resource_class": "gold", "name": "web"}).wants(http.StatusCreated)
	for _, version := range []string{"1.82", "baremetal 1.82, berth 1.0", "baremetal 1.82, berth 1.1", "baremetal 1.51, berth 1.2"} {
		s.get("/v1/allocations/web/explanation", version).wants(http.StatusNotFound)
	}
	for _, version := range []string{explainedVersion, "baremetal 1.52, berth 1.2", "baremetal 1.82, berth latest"} {
		s.get("/v1/allocations/web/explanation", version).wants(http.StatusOK)
	}
	s.get("/v1/allocations/b/explanation", explainedVersion).refuses(http.StatusNotFound, "Allocation b could not be found.")
	s.get("/v1/allocations/web/explanation?limit=1", explainedVersion).refuses(http.StatusBadRequest, "Unexpected arguments: limit")
}

// TestExplain_NodeAllocationOfPersonas_CountsListableNodes explains allocations as each caller, before and after the nodes
// of others change.
func TestExplain_NodeAllocationOfPersonas_CountsListableNodes(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, node := range []store.Node{
		{Name: new("own"), Owner: new("mine"), ProvisionState: "active"}, {Name: new("leased"), Owner: new("other"), Lessee: new("mine"), ProvisionState: "available"},
		{Name: new("foreign"), Owner: new("other"), ProvisionState: "available"}, {Name: new("common"), ProvisionState: "available"},
	} {
		node.ResourceClass = new("gold")
		s.node(node, "CUSTOM_ON_"+strings.ToUpper(*node.Name))
	}
	for name, owner := range map[string]any{"a": "mine", "b": "other", "c": nil, "d": "elsewhere"} {
		s.createExtended(map[string]any{
			"resource_class": "gold", "name": name, "owner": owner, "traits": []string{"CUSTOM_ON_FOREIGN", "!CUSTOM_ON_COMMON"}, "candidate_nodes": []string{"common", "leased"},
		}).wants(http.StatusCreated)
	}
	personas := []persona{systemAdmin, systemMember, systemReader, systemService, projectAdmin, projectMember, projectReader, otherProject, domainAdmin, roleless}
	explained := map[string]string{}
	compare := func(changed bool) {
		t.Helper()
		for _, who := range personas {
			listed := s.as(who, http.MethodGet, "/v1/nodes", "")
			visible, _ := listed.body["nodes"].([]any)
			for _, name := range []string{"a", "b", "c", "d"} {
				got := s.asAt(explainedVersion, who, http.MethodGet, "/v1/allocations/"+name+"/explanation", "")
				got.wants(s.as(who, http.MethodGet, "/v1/allocations/"+name, "").status)
				if got.status != http.StatusOK {
					continue
				}
				got.shows(map[string]any{"sample": map[string]any{"exact": true, "nodes": len(visible)}})
				limited := strings.HasSuffix(got.body["summary"].(string), " Counted are only the nodes that you may list.")
				if limited != (who.system == "") {
					t.Errorf("%s: %s", got.what, got.raw)
				}
				text := got.raw[:strings.Index(got.raw, `,"made_at":`)]
				if key := who.token + name; !changed {
					explained[key] = text
				} else if (explained[key] == text) != limited {
					t.Errorf("%s:\n before %s\n after  %s", got.what, explained[key], text)
				}
			}
		}
	}
	compare(false)
	for _, name := range []string{"x", "y", "z"} {
		s.node(store.Node{Name: new("foreign-" + name), ResourceClass: new("gold"), ProvisionState: "available", Owner: new("other")}, "CUSTOM_ON_FOREIGN")
		s.node(store.Node{Name: new("class-" + name), ResourceClass: new("golf"), ProvisionState: "available"}, "CUSTOM_ON_"+strings.ToUpper(name))
	}
	s.becomes("common", "active", nil)
	compare(true)
	if len(explained) != 4*4+3*1+1 {
		t.Errorf("%d explanations", len(explained))
	}
}

// TestExplain_NodeAllocationWithoutRightToList_CountsNothing denies the list of nodes and allows the allocation.
func TestExplain_NodeAllocationWithoutRightToList_CountsNothing(t *testing.T) {
	t.Parallel()
	s := newServiceWithPolicy(t, `{"baremetal:node:list_all": "!", "baremetal:node:list": "!"}`)
	s.free("rack-1", "gold")
	s.allocate(map[string]any{"resource_class": "gold", "name": "web"}).wants(http.StatusCreated)
	s.explains("web", `{"kind":"node_allocation","reason":"class",
		"summary":"No node has the resource class gold. No single change of the request that was tried gives a node. Counted are only the nodes that you may list.",
		"sample":{"exact":true,"nodes":0},
		"funnel":[{"stage":"all","nodes":0},{"stage":"resource_class","value":"gold","nodes":0},{"stage":"available","nodes":0},{"stage":"no_instance","nodes":0},
		{"stage":"no_maintenance","nodes":0},{"stage":"powered","nodes":0},{"stage":"owner","nodes":0},{"stage":"candidate_nodes","nodes":0}],
		"states":{},"conflicts":[{"conflict":"class_not_offered","name":"gold","similar":[]}],"nearest":[],"relaxations":[],"relaxations_complete":true}`)
}

// TestExplain_NodeAllocationWithAllPlacesTaken_ShortForm takes the two places of the server.
func TestExplain_NodeAllocationWithAllPlacesTaken_ShortForm(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.free("rack-1", "gold")
	s.allocate(map[string]any{"resource_class": "gold", "name": "web", "traits": []string{"CUSTOM_A"}}).wants(http.StatusCreated)
	ctx, done := context.WithCancel(t.Context())
	defer done()
	taken := make(chan struct{})
	for range 2 {
		go func() {
			_, _ = s.explanations.Maker().Run(ctx, explainlog.Background, func(context.Context) error {
				taken <- struct{}{}
				<-ctx.Done()
				return nil
			})
		}()
		<-taken
	}
	got := s.get("/v1/allocations/web/explanation", explainedVersion).wants(http.StatusOK)
	if want := `{"kind":"node_allocation","reason":"unknown","summary":"The server computes other explanations now.","incomplete":true}`; strings.TrimSpace(got.raw) != want {
		t.Errorf("got %s", got.raw)
	}
	s.decide("web").shows(map[string]any{"state": "error"})
	got = s.get("/v1/allocations/web/explanation", explainedVersion).wants(http.StatusOK)
	if want := `{"kind":"node_allocation","reason":"traits","summary":"No available node of the class had all the traits when the allocation was decided.","incomplete":true}`; strings.TrimSpace(got.raw) != want {
		t.Errorf("got %s", got.raw)
	}
}
