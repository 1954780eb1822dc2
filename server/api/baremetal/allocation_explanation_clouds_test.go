package baremetal_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

// cloudNode is a node of a random cloud, with what the stages of node allocations test.
type cloudNode struct {
	store.Node
	traits  []string
	claimed bool
}

// pick returns one of the values.
func pick[T any](random *rand.Rand, of ...T) T { return of[random.IntN(len(of))] }

// randomNode creates a node. In about half of the cases all but its class, owner and traits fits.
func (s *service) randomNode(random *rand.Rand, providers bool) cloudNode {
	s.t.Helper()
	made := cloudNode{Node: store.Node{
		UUID: uuid.New(), Driver: fakeDriver, ResourceClass: new(pick(random, "gold", "gold", "gold", "golf", "tin")), ProvisionState: "available",
		PowerState: new("power off"), Owner: pick(random, nil, new("mine"), new("other")), Lessee: pick(random, nil, nil, new("mine")),
	}}
	if random.IntN(2) == 0 {
		made.ProvisionState = pick(random, "available", "available", "active", "cleaning", "manageable")
		made.Maintenance = random.IntN(3) == 0
		if random.IntN(3) == 0 {
			made.InstanceUUID = new(uuid.New())
		}
		if random.IntN(3) == 0 {
			made.PowerState = nil
		}
	}
	if random.IntN(10) == 0 {
		made.ResourceClass = nil
	}
	for _, trait := range []string{"CUSTOM_A", "CUSTOM_B", "CUSTOM_C", "CUSTOM_D"} {
		if random.IntN(3) > 0 {
			made.traits = append(made.traits, trait)
		}
	}
	id := made.UUID.String()
	if _, err := s.store.NodeCreate(s.t.Context(), made.Node); err != nil {
		s.t.Fatal(err)
	}
	if err := s.store.NodeTraitReplace(s.t.Context(), id, made.traits); err != nil {
		s.t.Fatal(err)
	}
	free := made.ProvisionState == "available" && made.InstanceUUID == nil && !made.Maintenance && made.PowerState != nil
	made.claimed = providers && !free // its unit is reserved
	if providers && free && made.ResourceClass != nil && random.IntN(3) == 0 {
		s.claimedBy(uuid.NewString(), id, "CUSTOM_"+strings.ToUpper(*made.ResourceClass))
		made.claimed = true
	}
	return made
}

// hasTraits reports whether a node satisfies an element of traits.
func (n *cloudNode) hasTraits(element string) bool {
	name, forbidden := strings.CutPrefix(element, "!")
	has := slices.ContainsFunc(strings.Split(strings.TrimPrefix(name, "in:"), ","), func(trait string) bool { return slices.Contains(n.traits, trait) })
	return has != forbidden
}

// query is what a random node allocation requests.
type question struct {
	class, owner string
	candidates   []string
	traits       []string
}

func randomQuestion(random *rand.Rand, nodes []cloudNode) question {
	asked := question{class: pick(random, "gold", "gold", "gold", "tin", "lead"), owner: pick(random, "", "", "mine", "absent")}
	if random.IntN(3) == 0 {
		for range 1 + random.IntN(3) {
			asked.candidates = append(asked.candidates, pick(random, nodes...).UUID.String())
		}
	}
	for range random.IntN(4) {
		asked.traits = append(asked.traits, pick(random, "CUSTOM_A", "CUSTOM_B", "CUSTOM_X", "!CUSTOM_C", "in:CUSTOM_C,CUSTOM_D", "in:CUSTOM_X,CUSTOM_Y", "!CUSTOM_X"))
	}
	return asked
}

func (q question) body() map[string]any {
	body := map[string]any{"resource_class": q.class, "traits": q.traits, "candidate_nodes": q.candidates}
	if q.traits == nil {
		body["traits"] = []string{}
	}
	if q.owner != "" {
		body["owner"] = q.owner
	}
	return body
}

// stages are the stages of the funnel after all, with their values, and the conditions.
func (q question) stages(providers bool) (names []string, passes []func(*cloudNode) bool) {
	add := func(name string, passed func(*cloudNode) bool) {
		names, passes = append(names, name), append(passes, passed)
	}
	add("resource_class="+q.class, func(n *cloudNode) bool { return n.ResourceClass != nil && *n.ResourceClass == q.class })
	add("available=", func(n *cloudNode) bool { return n.ProvisionState == "available" })
	add("no_instance=", func(n *cloudNode) bool { return n.InstanceUUID == nil })
	add("no_maintenance=", func(n *cloudNode) bool { return !n.Maintenance })
	add("powered=", func(n *cloudNode) bool { return n.PowerState != nil })
	is := func(project *string) bool { return project != nil && *project == q.owner }
	add("owner=", func(n *cloudNode) bool { return q.owner == "" || is(n.Owner) || is(n.Lessee) })
	add("candidate_nodes=", func(n *cloudNode) bool {
		return len(q.candidates) == 0 || slices.Contains(q.candidates, n.UUID.String())
	})
	seen := map[string]bool{}
	for _, element := range q.traits {
		if !seen[element] {
			add("traits="+element, func(n *cloudNode) bool { return n.hasTraits(element) })
		}
		seen[element] = true
	}
	if providers {
		add("unclaimed=", func(n *cloudNode) bool { return !n.claimed })
	}
	return names, passes
}

// relaxed applies a relaxation to a query.
func (q question) relaxed(change map[string]any) question {
	name, value, _ := strings.Cut(change["value"].(string), "=")
	switch name {
	case "traits":
		q.traits = slices.DeleteFunc(slices.Clone(q.traits), func(element string) bool { return element == value })
	case "owner":
		q.owner = ""
	case "candidate_nodes":
		q.candidates = nil
	case "resource_class":
		q.class = value
	}
	return q
}

// fitting returns how many nodes pass all stages.
func (q question) fitting(nodes []cloudNode, providers bool) (fit float64) {
	_, passes := q.stages(providers)
	for i := range nodes {
		if !slices.ContainsFunc(passes, func(passed func(*cloudNode) bool) bool { return !passed(&nodes[i]) }) {
			fit++
		}
	}
	return fit
}

// funnel counts the stages in memory.
func (q question) funnel(nodes []cloudNode, providers bool) []string {
	names, passes := q.stages(providers)
	left := make([]*cloudNode, len(nodes))
	for i := range nodes {
		left[i] = &nodes[i]
	}
	counts := []string{fmt.Sprintf("all= %d", len(left))}
	for i, passed := range passes {
		left = slices.DeleteFunc(left, func(n *cloudNode) bool { return !passed(n) })
		counts = append(counts, fmt.Sprintf("%s %d", names[i], len(left)))
	}
	return counts
}

// shownFunnel returns the funnel of an explanation in the same form.
func shownFunnel(shown *response) (counts []string) {
	for _, one := range shown.body["funnel"].([]any) {
		stage := one.(map[string]any)
		value, _ := stage["value"].(string)
		counts = append(counts, fmt.Sprintf("%s=%s %.0f", stage["stage"], value, stage["nodes"]))
	}
	return counts
}

// tries reports whether the decision finds a node for a query, and gives the node back.
func (s *service) tries(asked question) bool {
	s.t.Helper()
	id := s.createExtended(asked.body()).wants(http.StatusCreated).body["uuid"].(string)
	active := s.decide(id).body["state"] == "active"
	s.send(http.MethodDelete, "/v1/allocations/"+id, "1.82", nil).wants(http.StatusNoContent)
	return active
}

// TestExplain_NodeAllocationInRandomClouds_AgreesWithDecision compares explanations with filters in memory and with what
// the conductor decides.
func TestExplain_NodeAllocationInRandomClouds_AgreesWithDecision(t *testing.T) {
	t.Parallel()
	for _, providers := range []bool{false, true} {
		for cloud := range 3 {
			t.Run(fmt.Sprintf("providers %t, cloud %d", providers, cloud), func(t *testing.T) {
				t.Parallel()
				random := rand.New(rand.NewPCG(uint64(cloud), 18))
				s := newService(t)
				if err := s.store.SetBaremetalBackend(t.Context(), providers); err != nil {
					t.Fatal(err)
				}
				var nodes []cloudNode
				for range 14 {
					nodes = append(nodes, s.randomNode(random, providers))
				}
				for range 25 {
					asked := randomQuestion(random, nodes)
					s.compares(asked, nodes, providers)
					if t.Failed() {
						t.Fatalf("the question was %+v", asked)
					}
				}
			})
		}
	}
}

// compares compares the explanation of a query with filters in memory and with decisions.
func (s *service) compares(asked question, nodes []cloudNode, providers bool) {
	s.t.Helper()
	id := s.createExtended(asked.body()).wants(http.StatusCreated).body["uuid"].(string)
	shown := s.get("/v1/allocations/"+id+"/explanation", explainedVersion).wants(http.StatusOK)
	failed, err := s.store.NodeAllocationProcess(s.t.Context(), uuid.MustParse(id), conductor)
	if err != nil {
		s.t.Fatal(err)
	}
	if reason := append(failed, "fits")[0]; reason != shown.body["reason"] {
		s.t.Errorf("the decision failed because of %v, and the explanation has %v", failed, shown.body["reason"])
	}
	s.send(http.MethodDelete, "/v1/allocations/"+id, "1.82", nil).wants(http.StatusNoContent)
	if got, want := shownFunnel(shown), asked.funnel(nodes, providers); !reflect.DeepEqual(got, want) {
		s.t.Errorf("funnel:\n got %v\nwant %v", got, want)
	}
	fit := asked.fitting(nodes, providers)
	if fits := shown.body["reason"] == "fits"; fits != (fit > 0) {
		s.t.Errorf("reason %v, but %v nodes fit", shown.body["reason"], fit)
	}
	_, passes := asked.stages(providers)
	for _, one := range shown.body["nearest"].([]any) {
		near := one.(map[string]any)
		at := slices.IndexFunc(nodes, func(n cloudNode) bool { return n.UUID.String() == near["node"].(map[string]any)["uuid"] })
		failed := 0.
		for _, passed := range passes {
			if !passed(&nodes[at]) {
				failed++
			}
		}
		if near["distance"] != failed || len(near["missing"].([]any)) != int(failed) {
			s.t.Errorf("distance %v of %v, want %v", near["distance"], nodes[at], failed)
		}
	}
	var listed []string
	for _, one := range shown.body["relaxations"].([]any) {
		change := one.(map[string]any)
		listed = append(listed, change["value"].(string))
		changed := asked.relaxed(change)
		if got := changed.fitting(nodes, providers); got != change["nodes"] || got <= fit || !s.tries(changed) {
			s.t.Errorf("%v gives %v nodes", change, got)
		}
	}
	for _, element := range asked.traits {
		changed := asked.relaxed(map[string]any{"value": "traits=" + element})
		if changed.fitting(nodes, providers) > fit && !slices.Contains(listed, "traits="+element) {
			s.t.Errorf("the relaxation of %s is missing", element)
		}
	}
}
