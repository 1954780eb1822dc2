package baremetal_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/client/baremetal"
)

func TestClient_NodeAllocationExplain_ReturnsExplanation(t *testing.T) {
	t.Parallel()
	c, _ := newService(t)
	wants[baremetal.Node](t)(c.NodeCreate(t.Context(), baremetal.NewNode{Name: "rack-1", Driver: "fake-hardware", ResourceClass: "gold"}))
	made := wants[baremetal.Allocation](t)(c.NodeAllocationCreate(t.Context(), baremetal.NewAllocation{Name: "web", ResourceClass: "gold"}))
	found := wants[baremetal.Explanation](t)(c.NodeAllocationExplain(t.Context(), "web"))
	if found.MadeAt == nil || found.TookMS == nil {
		t.Errorf("no time: %+v", found)
	}
	found.MadeAt, found.TookMS = nil, nil
	node := found.Nearest[0].Node.UUID.String()
	text, err := json.Marshal(found)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.NewReplacer("\n", "", "\t", "").Replace(`{"kind":"node_allocation","reason":"busy",
		"summary":"No node of class gold is free: 1 enroll. Nearest: rack-1 lacks the state available (it is enroll) and a known power state. No single change of the request that was tried gives a node.",
		"sample":{"exact":true,"nodes":1},
		"funnel":[{"stage":"all","nodes":1},{"stage":"resource_class","value":"gold","nodes":1},{"stage":"available","nodes":0},{"stage":"no_instance","nodes":0},
		{"stage":"no_maintenance","nodes":0},{"stage":"powered","nodes":0},{"stage":"owner","nodes":0},{"stage":"candidate_nodes","nodes":0}],
		"states":{"enroll":1},"conflicts":[],
		"nearest":[{"node":{"uuid":"` + node + `","name":"rack-1"},"distance":2,"missing":[{"step":"available","value":"enroll"},{"step":"powered"}]}],
		"relaxations":[],"relaxations_complete":true}`); string(text) != want {
		t.Errorf("got %s\nwant %s", text, want)
	}
	var refused *client.Error
	if _, err := c.NodeAllocationExplain(t.Context(), "nowhere"); !errors.As(err, &refused) || !errors.Is(err, client.ErrNotFound) {
		t.Errorf("an unknown allocation after %s: %v", made.UUID, err)
	}
}
