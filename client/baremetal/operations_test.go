package baremetal_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/client/baremetal"
)

// wants ends a test whose steps stand on each other.
func wants[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestClient_BaremetalMethods_MatchOpenAPIOperations goes through the life of a machine
// with each method once, on the real server.
func TestClient_BaremetalMethods_MatchOpenAPIOperations(t *testing.T) {
	t.Parallel()
	c, notes := newService(t)
	ctx := t.Context()
	node, allocation := wants[baremetal.Node](t), wants[baremetal.Allocation](t)

	if drivers := wants[[]baremetal.Driver](t)(c.DriverList(ctx)); len(drivers) != 1 || drivers[0].Name != "fake-hardware" {
		t.Errorf("the drivers are %v", drivers)
	}
	wants[baremetal.Driver](t)(c.DriverShow(ctx, "fake-hardware"))
	if settings := wants[map[string]string](t)(c.DriverProperties(ctx, "fake-hardware")); len(settings) != 0 {
		t.Errorf("the settings are %v", settings)
	}
	if conductors := wants[[]baremetal.Conductor](t)(c.ConductorList(ctx)); len(conductors) != 1 || !conductors[0].Alive || len(conductors[0].Drivers) != 1 {
		t.Errorf("the conductors are %v", conductors)
	}
	wants[baremetal.Conductor](t)(c.ConductorShow(ctx, "conductor-1"))

	made := node(c.NodeCreate(ctx, baremetal.NewNode{Name: "rack-1", Driver: "fake-hardware", ResourceClass: "gold", Extra: map[string]any{"a-b": "d"}}))
	must(t, c.NodeProvision(ctx, "rack-1", "manage"))
	node(c.WaitForNode(ctx, "rack-1", "manageable", nil))
	must(t, c.NodeProvision(ctx, "rack-1", "provide"))
	looks := 0
	if ready := node(c.WaitForNode(ctx, made.UUID.String(), "available", func(baremetal.Node) { looks++ })); ready.ProvisionState != "available" || looks == 0 {
		t.Errorf("the node is %s after %d looks", ready.ProvisionState, looks)
	}
	must(t, c.NodePower(ctx, "rack-1", "power on"))
	node(c.WaitForPower(ctx, "rack-1", nil))
	if states := wants[baremetal.NodeStates](t)(c.NodeStates(ctx, "rack-1")); states.PowerState == nil || *states.PowerState != "power on" {
		t.Errorf("the states are %+v", states)
	}
	changed := node(c.NodeUpdate(ctx, "rack-1", baremetal.Unset("extra", "a-b"), baremetal.Set("lab", "owner"), baremetal.Set(4, "properties", "cpus")))
	if len(changed.Extra) != 0 || *changed.Owner != "lab" || changed.Properties["cpus"] != 4.0 {
		t.Errorf("the changed node is %+v", changed)
	}
	// The API takes no other characters in paths; a slash must not be taken for a step.
	var refused *client.Error
	if _, err := c.NodeUpdate(ctx, "rack-1", baremetal.Set("d", "extra", "a/b")); !errors.As(err, &refused) || refused.Status != 400 {
		t.Errorf("a slash in a name: %v", err)
	}
	yes := true
	if listed := wants[[]baremetal.Node](t)(c.NodeList(ctx, baremetal.NodeFilter{Owner: "lab", ProvisionState: "available", ResourceClass: "gold",
		Driver: "fake-hardware", Maintenance: new(false), Associated: new(false), Retired: new(false), Most: 5})); len(listed) != 1 {
		t.Errorf("%d nodes are listed", len(listed))
	}
	wants[[]baremetal.Node](t)(c.NodeList(ctx, baremetal.NodeFilter{Lessee: "x", ConductorGroup: "y", Conductor: "z", Fault: "clean failure",
		InstanceUUID: uuid.NewString(), DescriptionContains: "w", Associated: &yes}))
	wants[map[string]baremetal.Validation](t)(c.NodeValidate(ctx, "rack-1"))
	must(t, c.NodeMaintenanceSet(ctx, "rack-1", ""))
	must(t, c.NodeMaintenanceUnset(ctx, "rack-1"))

	must(t, c.NodeTraitReplace(ctx, "rack-1", []string{"CUSTOM_B"}))
	must(t, c.NodeTraitAdd(ctx, "rack-1", "CUSTOM_A"))
	if traits := wants[[]string](t)(c.NodeTraitList(ctx, "rack-1")); !slices.Equal(traits, []string{"CUSTOM_A", "CUSTOM_B"}) {
		t.Errorf("the traits are %q", traits)
	}
	must(t, c.NodeTraitDelete(ctx, "rack-1", "CUSTOM_B"))
	must(t, c.NodeTraitReplace(ctx, "rack-1", nil))
	must(t, c.NodeTraitClear(ctx, "rack-1"))

	port := wants[baremetal.Port](t)(c.PortCreate(ctx, baremetal.NewPort{NodeUUID: made.UUID, Address: "52:54:00:12:34:56"}))
	if ports := wants[[]baremetal.Port](t)(c.PortList(ctx, baremetal.PortFilter{Node: "rack-1", Address: port.Address})); len(ports) != 1 || ports[0].NodeUUID != made.UUID {
		t.Errorf("the ports are %v", ports)
	}
	wants[baremetal.Port](t)(c.PortUpdate(ctx, port.UUID, baremetal.Set("v", "extra", "k")))
	if shown := wants[baremetal.Port](t)(c.PortShow(ctx, port.UUID)); shown.Extra["k"] != "v" {
		t.Errorf("the port is %v", shown)
	}
	must(t, c.PortDelete(ctx, port.UUID))

	requested := allocation(c.NodeAllocationCreate(ctx, baremetal.NewAllocation{Name: "web", ResourceClass: "gold", CandidateNodes: []string{"rack-1"}}))
	if given := allocation(c.WaitForAllocation(ctx, "web", nil)); given.UUID != requested.UUID || given.NodeUUID == nil || *given.NodeUUID != made.UUID {
		t.Errorf("the allocation is %+v", given)
	}
	allocation(c.NodeAllocationUpdate(ctx, "web", baremetal.Set("www", "name")))
	allocation(c.NodeAllocationShow(ctx, "www"))
	if listed := wants[[]baremetal.Allocation](t)(c.NodeAllocationList(ctx, baremetal.AllocationFilter{State: baremetal.Active, Node: "rack-1",
		ResourceClass: "gold", Most: 3})); len(listed) != 1 {
		t.Errorf("%d allocations are listed", len(listed))
	}
	wants[[]baremetal.Allocation](t)(c.NodeAllocationList(ctx, baremetal.AllocationFilter{Owner: "lab"}))
	allocation(c.AllocationOfNodeShow(ctx, "rack-1"))
	must(t, c.AllocationOfNodeDelete(ctx, "rack-1"))

	lost := allocation(c.NodeAllocationCreate(ctx, baremetal.NewAllocation{ResourceClass: "lead"}))
	var ended *baremetal.StateError
	if _, err := c.WaitForAllocation(ctx, lost.UUID.String(), nil); !errors.As(err, &ended) || ended.State != baremetal.Failed || ended.Reason == "" {
		t.Errorf("a wait for what there is not ended with %v", err)
	}
	must(t, c.NodeAllocationDelete(ctx, lost.UUID.String()))
	must(t, c.NodeDelete(ctx, "rack-1"))
	if _, err := c.NodeShow(ctx, "rack-1"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("a node that is gone: %v", err)
	}
	// The first is for browsing; of the others there is a form that tells more.
	notes.checkAsked(t, "discovery", "node-list", "node-port-list", "node-validate-any", "port-list")
}
