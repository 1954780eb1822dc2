package draw

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

func drawnDifference(t testing.TB, before, after Forest, style Style) string {
	t.Helper()
	var out strings.Builder
	if err := Compare(before, after).Text(&out, style); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func consumer(allocations map[uuid.UUID]client.Resources) *client.Consumer {
	return &client.Consumer{Allocations: allocations, Type: "INSTANCE"}
}

// reshape returns a root with all virtual GPUs, and the same root after they moved to child providers for its two cards.
func reshape() (before, after Forest) {
	root := node(1, "compute-17", 0, client.Inventories{
		"VCPU": overcommitted(32, 2, 4), "MEMORY_MB": overcommitted(262144, 8192, 1), "VGPU": record(8),
	}, "COMPUTE_NODE", "HW_GPU_API_VULKAN")
	before.Nodes = []client.Node{root}
	before.Allocations = client.Allocations{
		id(101): consumer(map[uuid.UUID]client.Resources{id(1): {"VCPU": 4, "MEMORY_MB": 4096, "VGPU": 1}}),
		id(102): consumer(map[uuid.UUID]client.Resources{id(1): {"VCPU": 2, "VGPU": 3}, id(50): {"DISK_GB": 20}}),
		id(103): consumer(map[uuid.UUID]client.Resources{id(1): {"VCPU": 8}}),
	}
	root.Inventories = client.Inventories{"VCPU": {Total: 32}, "MEMORY_MB": overcommitted(262144, 16384, 1)}
	root.Traits = []string{"COMPUTE_NODE"}
	first := node(4, "compute-17_pci_0000:41:00.0", 1, client.Inventories{"VGPU": record(4)}, "HW_GPU_API_VULKAN")
	second := node(5, "compute-17_pci_0000:42:00.0", 1, client.Inventories{"VGPU": record(4)}, "HW_GPU_API_VULKAN")
	first.Generation, second.Generation = nil, nil
	after.Nodes = []client.Node{second, root, first}
	after.Allocations = client.Allocations{
		id(101): consumer(map[uuid.UUID]client.Resources{id(1): {"VCPU": 4, "MEMORY_MB": 4096}, id(4): {"VGPU": 1}}),
		id(102): consumer(map[uuid.UUID]client.Resources{id(1): {"VCPU": 2}, id(4): {"VGPU": 1}, id(5): {"VGPU": 2}, id(50): {"DISK_GB": 20}}),
		id(103): consumer(map[uuid.UUID]client.Resources{id(1): {"VCPU": 8}}),
	}
	return before, after
}

// everything returns two forests that differ by each kind of change.
func everything() (before, after Forest) {
	before, after = numaHost(), numaHost()
	edit := func(name string) *client.Node {
		for i := range after.Nodes {
			if after.Nodes[i].Name == name {
				return &after.Nodes[i]
			}
		}
		panic(name)
	}
	gone := node(7, "compute-17_old\x1b[2J", 2, client.Inventories{"FPGA": overcommitted(2, 1, 1)}, "CUSTOM_OLD")
	before.Nodes = append(before.Nodes, gone, node(8, "compute-17_old_port", 7, nil), node(20, "untouched", 0, nil), node(21, "rack-2", 0, nil))
	after.Nodes = append(after.Nodes, node(20, "untouched", 0, nil), node(21, "rack-2", 1, nil))
	*edit("compute-17_numa1").Generation = 9
	edit("compute-17_numa1").Inventories["PCPU"] = record(12)
	edit("compute-17_numa1").Inventories["VCPU"] = overcommitted(40, 0, 2.5)
	edit("compute-17").Aggregates = []uuid.UUID{uuid.MustParse("7a9e4c12-0000-4000-8000-00000000a002"), uuid.MustParse("90000000-0000-4000-8000-00000000a003")}
	card := edit("compute-17_eth10")
	card.Name, card.Parent = "compute-17_ens10", id(2)
	before.Allocations = client.Allocations{
		id(201): consumer(map[uuid.UUID]client.Resources{id(2): {"VCPU": 8}}),
		id(202): {Allocations: map[uuid.UUID]client.Resources{id(7): {"FPGA": 1}}},
	}
	after.Allocations = client.Allocations{
		id(201): consumer(map[uuid.UUID]client.Resources{id(2): {"PCPU": 8}, id(3): {"MEMORY_MB": 512}}),
	}
	return before, after
}

func TestCLI_DiffText_MatchesGolden(t *testing.T) {
	t.Parallel()
	for name, forests := range map[string]func() (Forest, Forest){"reshape": reshape, "everything": everything} {
		before, after := forests()
		checkGolden(t, name+".txt", drawnDifference(t, before, after, Style{}))
		checkGolden(t, name+"_color.txt", drawnDifference(t, before, after, Style{Color: true, UUIDs: true, Width: 100}))
		checkGolden(t, name+"_ascii.txt", drawnDifference(t, before, after, Style{ASCII: true, Width: 60}))
		checkGolden(t, name+"_back.txt", drawnDifference(t, after, before, Style{}))
		var document strings.Builder
		if err := Compare(before, after).JSON(&document); err != nil {
			t.Fatal(err)
		}
		checkGolden(t, name+".json", document.String())
	}
}

func TestCLI_DiffEqualTrees_PrintsOneLine(t *testing.T) {
	t.Parallel()
	before, after := numaHost(), numaHost()
	*after.Nodes[0].Generation += 5
	after.Nodes[0].Inventories["VGPU"] = client.InventoryRecord{Total: 16}
	before.Allocations, _ = reshapeAllocations()
	after.Allocations, _ = reshapeAllocations()
	if got := drawnDifference(t, before, after, Style{}); got != "No differences.\n" {
		t.Errorf("a generation and omitted fields count as changes:\n%s", got)
	}
	changes := Compare(before, after)
	var document strings.Builder
	if err := changes.JSON(&document); err != nil || !changes.Empty() {
		t.Fatal(changes, err)
	}
	if got := strings.Join(strings.Fields(document.String()), ""); got != `{"providers":[],"moves":[]}` {
		t.Errorf("JSON = %s, want empty lists", got)
	}
}

func reshapeAllocations() (before, after client.Allocations) {
	was, is := reshape()
	return was.Allocations, is.Allocations
}

func TestCLI_DiffDefaultedField_EqualsDefault(t *testing.T) {
	t.Parallel()
	before := client.InventoryRecord{Total: 4}
	for want, after := range map[string]client.InventoryRecord{
		`[]`: {Total: 4, Reserved: new(int32(0)), AllocationRatio: new(1.0), MinUnit: new(int32(1)), MaxUnit: new(int32(2147483647)), StepSize: new(int32(1))},
		`[{"field":"reserved","from":null,"to":1}]`:           {Total: 4, Reserved: new(int32(1))},
		`[{"field":"total","from":4,"to":5}]`:                 {Total: 5},
		`[{"field":"allocation_ratio","from":null,"to":1.5}]`: {Total: 4, AllocationRatio: new(1.5)},
	} {
		got, err := json.Marshal(fieldChanges(&before, &after))
		if err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}

func TestCLI_DiffMoves_PairEqualAmounts(t *testing.T) {
	t.Parallel()
	a, b, c := id(1), id(2), id(3)
	for name, test := range map[string]struct {
		was, is map[uuid.UUID]client.Resources
		want    []Move
	}{
		"to one other": {
			map[uuid.UUID]client.Resources{a: {"VGPU": 2}}, map[uuid.UUID]client.Resources{b: {"VGPU": 2}},
			[]Move{{Class: "VGPU", Amount: 2, From: &a, To: &b}},
		},
		"to two others": {
			map[uuid.UUID]client.Resources{a: {"VGPU": 3}}, map[uuid.UUID]client.Resources{b: {"VGPU": 2}, c: {"VGPU": 1}},
			[]Move{{Class: "VGPU", Amount: 2, From: &a, To: &b}, {Class: "VGPU", Amount: 1, From: &a, To: &c}},
		},
		"part of it, and less": {
			map[uuid.UUID]client.Resources{a: {"VGPU": 3}, b: {"VCPU": 1}}, map[uuid.UUID]client.Resources{a: {"VGPU": 1}, b: {"VGPU": 1, "VCPU": 1}},
			[]Move{{Class: "VGPU", Amount: 1, From: &a, To: &b}, {Class: "VGPU", Amount: 1, From: &a}},
		},
		"into another class": {
			map[uuid.UUID]client.Resources{a: {"VCPU": 4, "DISK_GB": 1}}, map[uuid.UUID]client.Resources{a: {"PCPU": 4, "DISK_GB": 1}},
			[]Move{{Class: "VCPU", Amount: 4, From: &a, To: &a, Becomes: "PCPU"}},
		},
		"another class and amount is no move": {
			map[uuid.UUID]client.Resources{a: {"VCPU": 4}}, map[uuid.UUID]client.Resources{a: {"PCPU": 2}},
			[]Move{{Class: "PCPU", Amount: 2, To: &a}, {Class: "VCPU", Amount: 4, From: &a}},
		},
		"two classes into one are not guessed": {
			map[uuid.UUID]client.Resources{a: {"X": 4, "Y": 4}}, map[uuid.UUID]client.Resources{a: {"Z": 4}},
			[]Move{{Class: "X", Amount: 4, From: &a}, {Class: "Y", Amount: 4, From: &a}, {Class: "Z", Amount: 4, To: &a}},
		},
		"nothing": {map[uuid.UUID]client.Resources{a: {"VCPU": 4}}, map[uuid.UUID]client.Resources{a: {"VCPU": 4}, b: {}}, []Move{}},
	} {
		got := moves(client.Allocations{id(9): {Allocations: test.was}}, client.Allocations{id(9): {Allocations: test.is, Type: "T"}})
		for i := range test.want {
			test.want[i].Consumer, test.want[i].Type = id(9), "T"
		}
		gotText, _ := json.Marshal(got)
		wantText, _ := json.Marshal(test.want)
		if string(gotText) != string(wantText) {
			t.Errorf("%s: got\n%s, want\n%s", name, gotText, wantText)
		}
	}
}

func TestCLI_DifferenceOfConsumersAndNames_MatchesGolden(t *testing.T) {
	t.Parallel()
	changes := Compare(Forest{}, Forest{})
	changes.Consumers = []ConsumerChange{{id(301), []OwnerChange{{"project", "demo", "prod\x1b[2J"}, {"user", "alice", "bob"}}}, {id(302), []OwnerChange{{"type", "INSTANCE", "VOLUME"}}}}
	changes.Names = []NameChange{
		{Added, "trait", "CUSTOM_NEW"}, {Removed, "resource class", "CUSTOM_OLD"}, {Added, "resource class", "CUSTOM_A"}, {Added, "resource class", "CUSTOM_B"},
	}
	var out strings.Builder
	if err := changes.Text(&out, Style{}); err != nil {
		t.Fatal(err)
	}
	checkGolden(t, "difference_names.txt", out.String())
	before, after := reshape()
	both := Compare(before, after)
	both.Consumers, both.Names = changes.Consumers, changes.Names
	out.Reset()
	if err := both.Text(&out, Style{Color: true}); err != nil {
		t.Fatal(err)
	}
	checkGolden(t, "difference_names_reshape.txt", out.String())
}
