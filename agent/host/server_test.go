package host

import (
	"reflect"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/agent"
	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/internal/test/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// serve starts a server with a new database.
func serve(t *testing.T) *client.Client {
	t.Helper()
	made, err := client.New(servertest.New(t, servertest.Options{}).Listen(t).URL)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestAgent_RecordedTrees_AcceptedByServer writes the trees of recorded hardware to a server.
func TestAgent_RecordedTrees_AcceptedByServer(t *testing.T) {
	t.Parallel()
	c := serve(t)
	for machine := range machines {
		for layout, yaml := range map[Layout]string{Flat: dedicated, NUMA: numa + "devices: [{class: \"0b\"}]\n"} {
			if machine == "container" && layout == NUMA || machine != "two-sockets" && layout == Flat {
				yaml = ""
			}
			node := agent.Node{Name: machine + "-" + string(layout), UUID: uuid.New()}
			tracker := agent.NewTracker(c, driverOf(t, survey(t, machine), yaml, Options{}), node, agent.Options{})
			for range 2 {
				if err := tracker.Update(t.Context(), false); err != nil {
					t.Errorf("%s: %v", node.Name, err)
				}
			}
		}
	}
}

// TestAgent_LocalHostFlatNUMAFlat_KeepsConsumer changes the layout from flat to numa and back with the hardware of the
// host that runs the test.
func TestAgent_LocalHostFlatNUMAFlat_KeepsConsumer(t *testing.T) {
	t.Parallel()
	machine, err := Discover(t.Context(), SurveyOptions{})
	do(t, err)
	if !machine.Sees(PartNodes) || !machine.Sees(PartCPUs) {
		t.Skipf("this machine does not show its NUMA nodes: %v", machine.Missing)
	}
	changeLayout(t, machine, client.Resources{classVCPU: 1, classMemory: 64, classDisk: 1})
}

func TestAgent_RecordedHostFlatNUMAFlat_KeepsConsumer(t *testing.T) {
	t.Parallel()
	changeLayout(t, survey(t, "huge-pages"), client.Resources{
		classVCPU: 12, classMemory: 60000, classDisk: 1, hugePagesOf(2048): 10000, hugePagesOf(1 << 20): 2048,
	})
}

// changeLayout runs the agent with the layouts flat, numa and flat, and checks a consumer.
func changeLayout(t *testing.T, machine *Machine, has client.Resources) {
	t.Helper()
	c, node := serve(t), agent.Node{Name: "this-machine", UUID: uuid.New()}
	pass := func(layout Layout) {
		t.Helper()
		driver := driverOf(t, machine, "ratios: {VCPU: 1}\n", Options{Fit: true, Layout: layout})
		if err := agent.NewTracker(c, driver, node, agent.Options{}).Update(t.Context(), true); err != nil {
			t.Fatal(err)
		}
	}
	tree := func() string {
		t.Helper()
		c.ClearCache()
		read, err := c.GetProviderTreeAndEnsureRoot(t.Context(), node.UUID, node.Name, uuid.Nil)
		do(t, err)
		return drawn(read)
	}
	pass(Flat)
	first, consumer := tree(), uuid.New()
	do(t, c.AllocationReplace(t.Context(), consumer, &client.Consumer{
		Allocations: map[uuid.UUID]client.Resources{node.UUID: has}, ProjectID: "p", UserID: "u", Type: "INSTANCE",
	}, nil))
	before, err := c.AllocationList(t.Context(), consumer)
	do(t, err)

	pass(NUMA)
	moved, err := c.AllocationList(t.Context(), consumer)
	do(t, err)
	t.Logf("\n%s%v", tree(), moved.Allocations)
	if len(moved.Allocations) < 2 || !reflect.DeepEqual(moved.Allocations[node.UUID], client.Resources{classDisk: 1}) {
		t.Errorf("allocations = %v, want DISK_GB on the root and the rest on NUMA nodes", moved.Allocations)
	}
	sum := client.Resources{}
	for _, resources := range moved.Allocations {
		for class, amount := range resources {
			sum[class] += amount
		}
	}
	if !reflect.DeepEqual(sum, has) {
		t.Errorf("sum of allocations = %v, want %v", sum, has)
	}

	pass(Flat)
	after, err := c.AllocationList(t.Context(), consumer)
	do(t, err)
	if last := tree(); last != first || !reflect.DeepEqual(after.Allocations, before.Allocations) || after.Type != before.Type {
		t.Errorf("after flat: tree =\n%s\nallocations = %v, want those of the beginning", last, after.Allocations)
	}
}
