package planfile_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/agent"
	"github.com/berthd/berth/agent/planfile"
	"github.com/berthd/berth/client"
)

var _ agent.Driver = (*planfile.Plan)(nil)

// host is a tree with the allocations of its consumers.
type host struct {
	t           testing.TB
	tree        *client.ProviderTree
	allocations client.Allocations
}

// newHost returns a host with the root compute-1.
func newHost(t testing.TB, inventories client.Inventories) *host {
	t.Helper()
	h := &host{t: t, tree: client.NewProviderTree(), allocations: client.Allocations{}}
	h.must(h.tree.NewRoot("compute-1", uuid.New(), new(int64(3))))
	h.has("compute-1", inventories)
	return h
}

func (h *host) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) child(name, parent string, inventories client.Inventories) {
	h.t.Helper()
	_, err := h.tree.NewChild(name, parent, uuid.Nil)
	h.must(err)
	h.has(name, inventories)
}

func (h *host) has(name string, inventories client.Inventories) {
	h.t.Helper()
	_, err := h.tree.UpdateInventory(name, inventories, nil)
	h.must(err)
}

// claim sets the allocation of a consumer on a provider.
func (h *host) claim(consumer, provider string, resources client.Resources) {
	h.t.Helper()
	node, err := h.tree.Provider(provider)
	h.must(err)
	id := uuid.MustParse(consumer)
	if h.allocations[id] == nil {
		h.allocations[id] = &client.Consumer{
			Allocations: map[uuid.UUID]client.Resources{}, Generation: new(int64(1)), ProjectID: "p", UserID: "u", Type: "INSTANCE",
		}
	}
	h.allocations[id].Allocations[node.UUID] = resources
}

// text returns the tree and the allocations, one fact per line.
func (h *host) text() string {
	var lines []string
	names := map[uuid.UUID]string{}
	for _, node := range h.tree.Nodes() {
		names[node.UUID] = node.Name
	}
	for _, node := range h.tree.Nodes() {
		lines = append(lines, fmt.Sprintf("%s below %q %v %v", node.Name, names[node.Parent], node.Traits, node.Aggregates))
		for _, class := range slices.Sorted(maps.Keys(node.Inventories)) {
			record := node.Inventories[class]
			line := fmt.Sprintf("%s has %d %s", node.Name, record.Total, class)
			if record.Reserved != nil {
				line += fmt.Sprintf(", %d reserved", *record.Reserved)
			}
			lines = append(lines, line)
		}
	}
	for _, consumer := range h.allocations.Consumers() {
		for _, provider := range slices.SortedFunc(maps.Keys(h.allocations[consumer].Allocations), func(x, y uuid.UUID) int { return strings.Compare(names[x], names[y]) }) {
			lines = append(lines, fmt.Sprintf("%.4s has %v of %s", consumer, h.allocations[consumer].Allocations[provider], names[provider]))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

func parse(t testing.TB, text string) *planfile.Plan {
	t.Helper()
	plan, err := planfile.Parse("plan.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// vgpuHost returns compute-1 with four VGPUs, of which three are used.
func vgpuHost(t testing.TB) *host {
	h := newHost(t, client.Inventories{"VCPU": {Total: 8}, "VGPU": {Total: 4, Reserved: new(int32(0))}})
	h.claim(instanceA, "compute-1", client.Resources{"VCPU": 2, "VGPU": 1})
	h.claim(instanceB, "compute-1", client.Resources{"VGPU": 2})
	h.must(h.tree.NewRoot("shared", uuid.New(), new(int64(9))))
	h.has("shared", client.Inventories{"DISK_GB": {Total: 100}})
	h.claim(instanceC, "shared", client.Resources{"DISK_GB": 5})
	h.claim(instanceA, "shared", client.Resources{"DISK_GB": 7})
	return h
}

func TestPlanfile_VGPUToChildren_MovesInventoryAndAllocations(t *testing.T) {
	t.Parallel()
	h, plan := vgpuHost(t), parse(t, vgpuPlan)
	err := plan.UpdateProviderTree(t.Context(), h.tree, "compute-1", nil)
	if want := "a reshape is needed: VGPU of compute-1 to compute-1_gpu0, compute-1_gpu1"; !errors.Is(err, client.ErrReshapeNeeded) || err.Error() != want {
		t.Fatalf("without allocations: %v", err)
	}
	h.must(plan.UpdateProviderTree(t.Context(), h.tree, "compute-1", h.allocations))
	want := `compute-1 below "" [] []
compute-1 has 8 VCPU
compute-1_gpu0 below "compute-1" [CUSTOM_A100] [99999999-0000-4000-8000-000000000009]
compute-1_gpu0 has 2 VGPU
compute-1_gpu1 below "compute-1" [] []
compute-1_gpu1 has 2 VGPU
shared below "" [] []
shared has 100 DISK_GB
aaaa has map[VCPU:2] of compute-1
aaaa has map[VGPU:1] of compute-1_gpu0
aaaa has map[DISK_GB:7] of shared
bbbb has map[VGPU:1] of compute-1_gpu0
bbbb has map[VGPU:1] of compute-1_gpu1
cccc has map[DISK_GB:5] of shared
`
	if got := h.text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	h.must(plan.UpdateProviderTree(t.Context(), h.tree, "compute-1", nil))
	if got := h.text(); got != want {
		t.Errorf("after a second update:\n%s", got)
	}
}

// TestPlanfile_DestinationBelowDestination_Created creates a device below the NUMA node to which CPUs move, with the
// names in the wrong order.
func TestPlanfile_DestinationBelowDestination_Created(t *testing.T) {
	t.Parallel()
	for name, providers := range map[string]string{
		"undeclared parent": "{a_gpu: {parent: numa}}",
		"declared parent":   "{a_gpu: {parent: numa}, numa: {traits: [HW_NUMA_ROOT]}}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, plan := vgpuHost(t), parse(t, "root: compute-1\nmoves:\n- {class: VGPU, to: {a_gpu: {total: 4}}, consumers: all}\n"+
				"- {class: VCPU, to: {numa: {total: 8}}, consumers: all}\nproviders: "+providers)
			if err := plan.UpdateProviderTree(t.Context(), h.tree, "compute-1", nil); !errors.Is(err, client.ErrReshapeNeeded) {
				t.Fatalf("without allocations: %v", err)
			}
			before := h.text()
			back, err := plan.Inverse("compute-1", h.tree, h.allocations)
			h.must(err)
			h.must(plan.UpdateProviderTree(t.Context(), h.tree, "compute-1", h.allocations))
			got := h.text()
			for _, line := range []string{`numa below "compute-1" `, `a_gpu below "numa" `, "numa has 8 VCPU", "aaaa has map[VCPU:2] of numa", "bbbb has map[VGPU:2] of a_gpu"} {
				if !strings.Contains(got, line) {
					t.Errorf("tree lacks %q:\n%s", line, got)
				}
			}
			h.must(back.UpdateProviderTree(t.Context(), h.tree, "compute-1", h.allocations))
			if undone := h.text(); undone != before {
				t.Errorf("after undo\n%s\nwant\n%s", undone, before)
			}
		})
	}
}

// TestPlanfile_ChainedMoves_Rejected checks a move whose source is the destination of another one.
func TestPlanfile_ChainedMoves_Rejected(t *testing.T) {
	t.Parallel()
	h := vgpuHost(t)
	h.child("g0", "compute-1", client.Inventories{"VGPU": {Total: 8}})
	g0, err := h.tree.Provider("g0")
	h.must(err)
	plan := parse(t, "root: compute-1\nmoves:\n- {class: VGPU, to: {g0: {total: 8}}, consumers: all}\n"+
		"- {class: VGPU, from: "+g0.UUID.String()+", to: {g1: {total: 8}}, consumers: all}")
	err = plan.UpdateProviderTree(t.Context(), h.tree, "compute-1", h.allocations)
	if want := "VGPU moves to g0, which is the source of another move; write one move to the final destination"; !errors.Is(err, client.ErrReshapeFailed) || !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want %s", err, want)
	}
}

func TestPlanfile_RenameClassInPlace_KeepsAllocations(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ move, want string }{
		"all": {"{class: VCPU, as: PCPU, consumers: all}",
			"compute-1 has 8 PCPU, 1 reserved\naaaa has map[DISK_GB:1 PCPU:2] of compute-1\nbbbb has map[PCPU:4] of compute-1\n"},
		"some": {"{class: VCPU, as: PCPU, keep: {total: 4}, to: {compute-1: {total: 4}}, consumers: [" + instanceB + "]}",
			"compute-1 has 4 PCPU\ncompute-1 has 4 VCPU, 1 reserved\naaaa has map[DISK_GB:1 VCPU:2] of compute-1\nbbbb has map[PCPU:4] of compute-1\n"},
		"part of one": {"{class: VCPU, as: PCPU, keep: {total: 6}, to: {compute-1: {total: 2}}, consumers: {" + instanceB + ": {compute-1: 1}}}",
			"compute-1 has 2 PCPU\ncompute-1 has 6 VCPU, 1 reserved\naaaa has map[DISK_GB:1 VCPU:2] of compute-1\nbbbb has map[PCPU:1 VCPU:3] of compute-1\n"},
	} {
		h := newHost(t, client.Inventories{"DISK_GB": {Total: 9}, "VCPU": {Total: 8, Reserved: new(int32(1))}})
		h.claim(instanceA, "compute-1", client.Resources{"VCPU": 2, "DISK_GB": 1})
		h.claim(instanceB, "compute-1", client.Resources{"VCPU": 4})
		before := h.text()
		plan := parse(t, "root: compute-1\nmoves: ["+strings.Replace(test.move, "keep: {", "keep: {reserved: 1, ", 1)+"]")
		inverse, err := plan.Inverse("compute-1", h.tree, h.allocations)
		h.must(err)
		h.must(plan.UpdateProviderTree(t.Context(), h.tree, "compute-1", h.allocations))
		if got := h.text(); got != "compute-1 below \"\" [] []\ncompute-1 has 9 DISK_GB\n"+test.want {
			t.Errorf("%s: got\n%s", name, got)
		}
		h.must(plan.UpdateProviderTree(t.Context(), h.tree, "compute-1", nil))
		h.must(inverse.UpdateProviderTree(t.Context(), h.tree, "compute-1", h.allocations))
		if got := h.text(); got != before {
			t.Errorf("%s: after undo\n%s\nwant\n%s", name, got, before)
		}
	}
}

func TestPlanfile_InvalidMove_NamesConsumerAndCapacity(t *testing.T) {
	t.Parallel()
	const a, b = instanceA, instanceB
	to := func(consumers string) string {
		return "root: compute-1\nmoves: [{class: VGPU, to: {g0: {total: 2}, g1: {total: 1}}, consumers: " + consumers + "}]"
	}
	for name, test := range map[string]struct{ plan, want string }{
		"consumers that the table lacks": {to("{}"),
			"consumer " + a + " has 1 VGPU of compute-1, but the plan has no destination for them\n" +
				"consumer " + b + " has 2 VGPU of compute-1, but the plan has no destination for them"},
		"sums that differ": {to("{" + a + ": {g0: 2}, " + b + ": {g0: 1}}"),
			"consumer " + a + " has 1 VGPU of compute-1, but the plan moves 2 of them\n" +
				"consumer " + b + " has 2 VGPU of compute-1, but the plan moves 1 of them"},
		"over capacity": {to("{" + a + ": {g0: 1}, " + b + ": {g0: 2}}"),
			"g0 has a capacity of 2 VGPU, but 3 would be used: " + a + " 1, " + b + " 2"},
		"over capacity with spread": {"root: compute-1\nmoves: [{class: VGPU, to: {g0: {total: 1}, g1: {total: 1}}, consumers: spread}]",
			"consumer " + a + " has 1 VGPU of compute-1, but after larger consumers there is free capacity for only 0 of them on g0, g1"},
		"over max_unit": {"root: compute-1\nmoves: [{class: VGPU, to: {g0: {total: 4, max_unit: 1}}, consumers: all}]",
			"consumer " + b + " would have 2 VGPU of g0, which allows amounts from 1 to 1 in steps of 1"},
		"over capacity at the source": {"root: compute-1\nmoves: [{class: VGPU, keep: {total: 1}, to: {g0: {total: 3}}, consumers: [" + a + "]}]",
			"compute-1 has a capacity of 1 VGPU, but 2 would be used: " + b + " 2"},
		"an unknown source": {"root: compute-1\nmoves: [{class: VGPU, from: x, to: {g0: {total: 4}}, consumers: all}]",
			"x, the source of VGPU, is not in the tree of compute-1"},
		"an unknown class": {"root: compute-1\nmoves: [{class: VGPUS, to: {g0: {total: 4}}, consumers: all}]",
			"neither compute-1 has VGPUS nor a destination VGPUS; check the host and the class of the move"},
		"a provider of another host": {"root: compute-1\nmoves: [{class: VGPU, to: {shared: {total: 4}}, consumers: all}]",
			"shared is not in the tree of compute-1"},
		"an unknown UUID": {"root: compute-1\nmoves: [{class: VGPU, to: {" + a + ": {total: 4}}, consumers: all}]",
			"provider " + a + " is not in the tree of compute-1; to create it, write a name instead of a UUID"},
		"an unknown parent":   {"root: compute-1\nproviders: {g0: {parent: x}}", "x, the parent of g0, is not in the tree of compute-1"},
		"another parent":      {"root: compute-1\nproviders: {old: {parent: shared}}", "shared is not in the tree of compute-1\nthe parent of old is not shared, as the plan declares; a plan cannot re-parent providers"},
		"inventory to remove": {"root: compute-1\nremove: [old]", "cannot remove old: it has inventory of FPGA, which no move of the plan removes\nolder is a descendant of a provider that the plan removes; add it to remove"},
		"parent to remove":    {"root: compute-1\nmoves: [{class: FPGA, from: old, to: {g0: {total: 1}}}]\nremove: [old]", "older is a descendant of a provider that the plan removes; add it to remove"},
		"another host":        {"root: compute-2\nremove: [old]", "the plan is for compute-2, not for compute-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := vgpuHost(t)
			h.child("old", "compute-1", client.Inventories{"FPGA": {Total: 1}})
			h.child("older", "old", nil)
			err := parse(t, test.plan).UpdateProviderTree(t.Context(), h.tree, "compute-1", h.allocations)
			if !errors.Is(err, client.ErrReshapeFailed) || err.Error() != client.ErrReshapeFailed.Error()+": "+test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestPlanfile_SpreadConsumers_LargestFirst(t *testing.T) {
	t.Parallel()
	h := newHost(t, client.Inventories{"VGPU": {Total: 9}})
	h.claim(instanceA, "compute-1", client.Resources{"VGPU": 2})
	h.claim(instanceB, "compute-1", client.Resources{"VGPU": 4})
	h.claim(instanceC, "compute-1", client.Resources{"VGPU": 3})
	plan := parse(t, "root: compute-1\nmoves: [{class: VGPU, to: {g0: {total: 4}, g1: {total: 3, max_unit: 3}, g2: {total: 1}, g3: {total: 1}}, consumers: spread}]")
	h.must(plan.UpdateProviderTree(t.Context(), h.tree, "compute-1", h.allocations))
	if got, want := h.text(), "aaaa has map[VGPU:1] of g2\naaaa has map[VGPU:1] of g3\nbbbb has map[VGPU:4] of g0\ncccc has map[VGPU:3] of g1\n"; !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s", got)
	}
}

func TestPlanfile_UndoRemovedProviders_RestoresThem(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	h.child("numa0", "compute-1", client.Inventories{"VCPU": {Total: 4}})
	h.child("numa1", "compute-1", client.Inventories{"VCPU": {Total: 4}, "MEMORY_MB": {Total: 5}})
	h.child("cache", "numa1", nil)
	h.must(h.tree.AddTraits("numa1", "CUSTOM_B", "CUSTOM_A"))
	h.must(h.tree.AddTraits("compute-1", "CUSTOM_OLD"))
	h.claim(instanceA, "numa0", client.Resources{"VCPU": 1})
	h.claim(instanceB, "numa1", client.Resources{"VCPU": 2, "MEMORY_MB": 5})
	h.allocations[uuid.MustParse(instanceA)].Allocations[mustProvider(h, "numa1").UUID] = client.Resources{"VCPU": 2}
	before, id := h.text(), mustProvider(h, "numa1").UUID
	plan := parse(t, `
root: compute-1
moves:
  - {class: VCPU, from: numa0, to: {compute-1: {total: 8}}, consumers: all}
  - {class: VCPU, from: numa1, to: {compute-1: {total: 8}}, consumers: all}
  - {class: MEMORY_MB, from: numa1, to: {compute-1: {total: 5}}, consumers: all}
providers:
  compute-1: {traits: [CUSTOM_FLAT], without_traits: [CUSTOM_OLD]}
remove: [numa0, numa1, cache]`)
	inverse, err := plan.Inverse("compute-1", h.tree, h.allocations)
	h.must(err)
	if h.text() != before {
		t.Error("Inverse changed the tree or the allocations")
	}
	h.must(plan.UpdateProviderTree(t.Context(), h.tree, "compute-1", h.allocations))
	want := `compute-1 below "" [CUSTOM_FLAT] []
compute-1 has 5 MEMORY_MB
compute-1 has 8 VCPU
aaaa has map[VCPU:3] of compute-1
bbbb has map[MEMORY_MB:5 VCPU:2] of compute-1
`
	if h.text() != want {
		t.Errorf("after the plan\n%s\nwant\n%s", h.text(), want)
	}
	h.must(plan.UpdateProviderTree(t.Context(), h.tree, "compute-1", nil))
	var file strings.Builder
	h.must(inverse.Encode(&file, ""))
	h.must(parse(t, file.String()).UpdateProviderTree(t.Context(), h.tree, "compute-1", h.allocations))
	if h.text() != before || mustProvider(h, "numa1").UUID != id {
		t.Errorf("after the undo plan\n%s\ngot\n%s\nwant\n%s", &file, h.text(), before)
	}
}

func mustProvider(h *host, ref string) client.Node {
	h.t.Helper()
	node, err := h.tree.Provider(ref)
	h.must(err)
	return node
}

func TestPlanfile_NothingToDo_NoUndoPlan(t *testing.T) {
	t.Parallel()
	h, plan := vgpuHost(t), parse(t, vgpuPlan)
	h.must(plan.UpdateProviderTree(t.Context(), h.tree, "compute-1", h.allocations))
	if inverse, err := plan.Inverse("compute-1", h.tree, h.allocations); err != nil || len(inverse.Hosts) != 0 {
		t.Errorf("undo plan = %+v, %v, want none", inverse, err)
	}
}
