package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// newTree returns a tree with an empty root provider.
func newTree(t testing.TB) *client.ProviderTree {
	t.Helper()
	tree := client.NewProviderTree()
	if err := tree.NewRoot("cn", uuid.New(), nil); err != nil {
		t.Fatal(err)
	}
	return tree
}

// driverOf returns a driver for constant hardware.
func driverOf(t testing.TB, machine *Machine, yaml string, options Options) *Driver {
	t.Helper()
	config, err := ParseConfig([]byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	options.Config = config
	options.Machine = func(context.Context) (*Machine, error) { return machine, nil }
	return New(options)
}

// apply updates the tree without allocations to move.
func apply(t testing.TB, driver *Driver, tree *client.ProviderTree) {
	t.Helper()
	if err := driver.UpdateProviderTree(t.Context(), tree, "cn", nil); err != nil {
		t.Fatal(err)
	}
}

// drawn returns a tree as text without UUIDs of providers and generations.
func drawn(tree *client.ProviderTree) string {
	var text strings.Builder
	depth := map[uuid.UUID]int{}
	for _, node := range tree.Nodes() {
		if node.Parent != uuid.Nil {
			depth[node.UUID] = depth[node.Parent] + 1
		}
		indent := strings.Repeat("    ", depth[node.UUID])
		fmt.Fprintf(&text, "%s%s\n", indent, node.Name)
		for _, class := range sorted(node.Inventories) {
			fmt.Fprintf(&text, "%s  %s %s\n", indent, class, recordText(node.Inventories[class]))
		}
		for _, trait := range node.Traits {
			fmt.Fprintf(&text, "%s  + %s\n", indent, trait)
		}
		for _, aggregate := range node.Aggregates {
			fmt.Fprintf(&text, "%s  @ %s\n", indent, aggregate)
		}
	}
	return text.String()
}

// recordText returns an inventory as text without default values.
func recordText(record client.InventoryRecord) string {
	text := fmt.Sprint(record.Total)
	if record.Reserved != nil && *record.Reserved != 0 {
		text += fmt.Sprintf(" reserved %d", *record.Reserved)
	}
	if record.MaxUnit != nil && *record.MaxUnit != record.Total {
		text += fmt.Sprintf(" max_unit %d", *record.MaxUnit)
	}
	if record.StepSize != nil && *record.StepSize != 1 {
		text += fmt.Sprintf(" step_size %d min_unit %d", *record.StepSize, *record.MinUnit)
	}
	if record.AllocationRatio != nil && *record.AllocationRatio != 1 {
		text += fmt.Sprintf(" allocation_ratio %g", *record.AllocationRatio)
	}
	return text
}

const (
	numa      = "layout: numa\n"
	dedicated = "cpus: {dedicated: \"2-3,6-7,10-11,14-15\", shared: \"1,5,9,13\"}\n"
)

func TestAgent_RecordedHardware_YieldsExpectedTree(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct{ machine, yaml string }{
		"virtual-flat":     {"virtual", ""},
		"virtual-numa":     {"virtual", numa},
		"container-flat":   {"container", ""},
		"two-sockets-flat": {"two-sockets", dedicated + "reserved: {VCPU: 2, MEMORY_MB: {0: 1024, 1: 2048}}\nratios: {VCPU: 16}\n"},
		"two-sockets-numa": {"two-sockets", numa + dedicated + "reserved: {VCPU: 2, MEMORY_MB: {0: 1024, 1: 2048}, DISK_GB: 10}\ndisk: {total_gb: 500}\n"},
		"network-flat":     {"network", "devices: [{product: \"37c8\", resource_class: CUSTOM_QAT, traits: [CUSTOM_QAT_GEN1]}]\n"},
		"network-numa":     {"network", numa + "devices: [{product: \"37C8\"}]\n"},
		"graphics-numa":    {"graphics", numa + "devices: [{address: \"0000:ca:*\", mediated_type: nvidia-230}]\n"},
		"graphics-flat":    {"graphics", ""},
		"huge-pages-flat":  {"huge-pages", ""},
		"huge-pages-numa":  {"huge-pages", numa + "reserved: {MEMORY_MB: 60000, CUSTOM_MEMORY_HUGEPAGES_1GB: 1024}\n"},
		"extras-numa": {"virtual", numa + `
providers:
  "{node}": {traits: [CUSTOM_RACK_B], aggregates: [6a9f2f53-5dbb-4b53-a1f4-1d3a8ad3a8a5], inventories: {CUSTOM_LICENSE: {total: 20, max_unit: 2}}}
  cn_NUMA0: {traits: [CUSTOM_FAST]}
`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree, driver := newTree(t), driverOf(t, survey(t, one.machine), one.yaml, Options{})
			apply(t, driver, tree)
			first := drawn(tree)
			golden(t, "tree-"+name, first)
			apply(t, driver, tree)
			if again := drawn(tree); again != first {
				t.Errorf("tree after a second update:\n%s", again)
			}
		})
	}
}

func TestAgent_GeneratedTree_UsesStandardOrCustomNames(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, name := range append(standard(t, "traits.json"), standard(t, "resource_classes.json")...) {
		known[name] = true
	}
	for machine := range machines {
		for _, yaml := range []string{"", numa, "devices: [{class: \"0b\"}]\n"} {
			if machine == "container" && yaml == numa {
				continue
			}
			tree := newTree(t)
			apply(t, driverOf(t, survey(t, machine), yaml, Options{}), tree)
			for _, node := range tree.Nodes() {
				for _, name := range append(sorted(node.Inventories), node.Traits...) {
					if !known[name] && !strings.HasPrefix(name, customPrefix) {
						t.Errorf("%s has %s, want a standard or custom name", node.Name, name)
					}
				}
			}
		}
	}
}

func TestAgent_ForeignTraitsAndInventories_Preserved(t *testing.T) {
	t.Parallel()
	tree := newTree(t)
	machine := survey(t, "network")
	apply(t, driverOf(t, machine, numa, Options{}), tree)
	aggregate := uuid.New()
	do(t, tree.AddTraits("cn", "CUSTOM_MINE", "COMPUTE_NODE", "HW_NUMA_ROOT"),
		tree.AddAggregates("cn_NUMA0", aggregate), tree.AddTraits("cn_NUMA0", "CUSTOM_MINE"))
	add(t, tree, "cn", "CUSTOM_MINE", 3)
	add(t, tree, "cn_NUMA0", "CUSTOM_MINE", 4)
	for parent, name := range map[string]string{"cn": "cn_bandwidth", "cn_NUMA1": "cn_NUMA1_cache"} {
		if _, err := tree.NewChild(name, parent, uuid.Nil); err != nil {
			t.Fatal(err)
		}
		add(t, tree, name, "CUSTOM_THEIRS", 5)
	}
	apply(t, driverOf(t, machine, numa, Options{}), tree)
	golden(t, "tree-foreign", strings.ReplaceAll(drawn(tree), aggregate.String(), "an aggregate"))
	// Back in the layout flat, a provider with inventory of another client stays.
	if err := driverOf(t, machine, "", Options{}).UpdateProviderTree(t.Context(), tree, "cn", client.Allocations{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "tree-foreign-flat", strings.ReplaceAll(drawn(tree), aggregate.String(), "an aggregate"))
}

// do fails the test on the first error.
func do(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// add adds an inventory to a provider.
func add(t testing.TB, tree *client.ProviderTree, name, class string, total int32) {
	t.Helper()
	node, err := tree.Provider(name)
	do(t, err)
	node.Inventories[class] = client.InventoryRecord{Total: total}
	_, err = tree.UpdateInventory(name, node.Inventories, nil)
	do(t, err)
}

func TestAgent_RatioSetByOperator_PreservedUnlessConfigured(t *testing.T) {
	t.Parallel()
	tree, machine := newTree(t), survey(t, "two-sockets")
	apply(t, driverOf(t, machine, "", Options{}), tree)
	node, err := tree.Provider("cn")
	do(t, err)
	record := node.Inventories[classVCPU]
	record.AllocationRatio = new(16.0)
	node.Inventories[classVCPU] = record
	_, err = tree.UpdateInventory("cn", node.Inventories, nil)
	do(t, err)
	ratio := func(name string) float64 {
		node, err := tree.Provider(name)
		do(t, err)
		return *node.Inventories[classVCPU].AllocationRatio
	}
	apply(t, driverOf(t, machine, "", Options{}), tree)
	if ratio("cn") != 16 {
		t.Errorf("ratio = %g, want 16", ratio("cn"))
	}
	do(t, driverOf(t, machine, numa, Options{}).UpdateProviderTree(t.Context(), tree, "cn", client.Allocations{}))
	if ratio("cn_NUMA1") != 16 {
		t.Errorf("ratio after the move = %g, want 16", ratio("cn_NUMA1"))
	}
	apply(t, driverOf(t, machine, numa+"ratios: {VCPU: 2}\n", Options{}), tree)
	if ratio("cn_NUMA1") != 2 {
		t.Errorf("ratio = %g, want the configured 2", ratio("cn_NUMA1"))
	}
}

func TestAgent_DeviceRemovedOrMoved_ProviderDeletedOrReparented(t *testing.T) {
	t.Parallel()
	tree, machine := newTree(t), survey(t, "graphics")
	apply(t, driverOf(t, machine, numa, Options{}), tree)
	before, err := tree.Provider("cn_0000:17:00.0")
	do(t, err)
	for i := range machine.Devices {
		switch machine.Devices[i].Address {
		case "0000:65:00.0":
			machine.Devices[i].MediatedTypes[0].Available, machine.Devices[i].MediatedTypes[0].Existing = 0, 0
		case "0000:17:00.0":
			machine.Devices[i].Node = 1
		}
	}
	apply(t, driverOf(t, machine, numa, Options{}), tree)
	after, err := tree.Provider("cn_0000:17:00.0")
	do(t, err)
	parent, err := tree.Provider("cn_NUMA1")
	do(t, err)
	if after.UUID != before.UUID || after.Parent != parent.UUID || tree.Exists("cn_0000:65:00.0") {
		t.Errorf("\n%s", drawn(tree))
	}
}

// TestAgent_DeviceRuleChanged_OldClassRemoved checks that the driver owns the class of a removed rule.
func TestAgent_DeviceRuleChanged_OldClassRemoved(t *testing.T) {
	t.Parallel()
	const card = "cn_0000:3c:00.0"
	tree, machine := newTree(t), survey(t, "network")
	has := func(rule string) []string {
		t.Helper()
		extra := "providers: {\"" + card + "\": {inventories: {CUSTOM_LICENSE: {total: 1}}}}\n"
		apply(t, driverOf(t, machine, "devices: [{address: \"0000:3c:00.0\", "+rule+"}]\n"+extra, Options{}), tree)
		node, err := tree.Provider(card)
		if err != nil {
			return nil
		}
		return sorted(node.Inventories)
	}
	for _, one := range []struct {
		rule string
		want []string
	}{
		{"resource_class: CUSTOM_QAT", []string{"CUSTOM_LICENSE", "CUSTOM_QAT"}},
		{"resource_class: CUSTOM_CRYPTO", []string{"CUSTOM_CRYPTO", "CUSTOM_LICENSE"}},
		{"vendor: \"8086\"", []string{"CUSTOM_LICENSE", "CUSTOM_PCI_8086_37C8"}},
		{"ignore: true", nil},
	} {
		if got := has(one.rule); !slices.Equal(got, one.want) {
			t.Errorf("%s: classes = %q, want %q", one.rule, got, one.want)
		}
	}
}

func TestAgent_UndiscoveredParts_TreeUnchanged(t *testing.T) {
	t.Parallel()
	tree, machine := newTree(t), survey(t, "network")
	apply(t, driverOf(t, machine, "", Options{}), tree)
	before := drawn(tree)
	blind := &Machine{}
	for _, part := range []Part{PartCPUs, PartTopology, PartMemory, PartNodes, PartHugePages, PartFilesystem, PartDisks, PartDevices, PartNICs} {
		blind.miss(part, "test")
	}
	apply(t, driverOf(t, blind, "", Options{}), tree)
	if after := drawn(tree); after != before {
		t.Errorf("the tree changed to\n%s", after)
	}
	err := driverOf(t, blind, numa, Options{}).UpdateProviderTree(t.Context(), tree, "cn", nil)
	if err == nil || !strings.Contains(err.Error(), "use layout flat") {
		t.Error(err)
	}
}

func TestAgent_SharedDisk_NotReportedOnHost(t *testing.T) {
	t.Parallel()
	tree := newTree(t)
	do(t, tree.NewRoot("nfs", uuid.New(), nil), tree.AddTraits("nfs", "MISC_SHARES_VIA_AGGREGATE"))
	add(t, tree, "nfs", classDisk, 5000)
	apply(t, driverOf(t, survey(t, "virtual"), "", Options{}), tree)
	node, err := tree.Provider("cn")
	do(t, err)
	if _, has := node.Inventories[classDisk]; has {
		t.Errorf("\n%s", drawn(tree))
	}
}

func TestAgent_SettingsExceedHardware_Rejected(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct{ machine, yaml, wanted string }{
		"missing CPU":              {"virtual", "cpus: {dedicated: 1-4}\n", "cpus.dedicated: CPUs 2-4 do not exist or are offline; online CPUs: 0-1"},
		"reserved over total":      {"virtual", "reserved: {MEMORY_MB: 99999}\n", "reserved.MEMORY_MB: 99999 exceeds the total of 24000"},
		"reserved over node total": {"two-sockets", numa + "reserved: {VCPU: {0: 9}}\n", "NUMA node 0 has less than 9"},
		"missing NUMA node":        {"two-sockets", numa + "reserved: {VCPU: {7: 1}}\n", "NUMA node 7 has less than 1"},
		"reserved over disk size":  {"virtual", "reserved: {DISK_GB: 1001}\n", "reserved.DISK_GB: 1001 exceeds the total of 1000"},
		"NUMA in a container":      {"container", numa, "cannot read /sys/devices/system/node: no such file or directory); use layout flat"},
		"physical and virtual":     {"network", "devices: [{address: \"0000:af:*\"}]\n", "rules report both 0000:af:00.0 and its virtual function 0000:af:02.0"},
		"unknown mediated type":    {"graphics", "devices: [{vendor: \"10de\", mediated_type: nvidia-9}]\n", "has no mediated device type nvidia-9"},
		"mediated network card":    {"network", "devices: [{product: \"37c8\", mediated_type: x}]\n", "mediated_type applies to GPUs only"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := newTree(t)
			err := driverOf(t, survey(t, one.machine), one.yaml, Options{}).UpdateProviderTree(t.Context(), tree, "cn", nil)
			if err == nil || !strings.Contains(err.Error(), one.wanted) {
				t.Errorf("error = %v, want %s", err, one.wanted)
			}
			if text := drawn(tree); text != "cn\n" {
				t.Errorf("the tree changed to\n%s", text)
			}
		})
	}
}

func TestAgent_UnlistedCPUs_NotReported(t *testing.T) {
	t.Parallel()
	tree := newTree(t)
	apply(t, driverOf(t, survey(t, "two-sockets"), "cpus: {dedicated: 4-7, shared: none}\n", Options{}), tree)
	node, err := tree.Provider("cn")
	do(t, err)
	if _, has := node.Inventories[classVCPU]; has || node.Inventories[classPCPU].Total != 4 {
		t.Errorf("\n%s", drawn(tree))
	}
}

func TestAgent_UnknownLayout_ReturnsError(t *testing.T) {
	t.Parallel()
	err := driverOf(t, survey(t, "virtual"), "", Options{Layout: "round"}).UpdateProviderTree(t.Context(), newTree(t), "cn", nil)
	if err == nil || !strings.Contains(err.Error(), `"round" is neither flat nor numa`) {
		t.Error(err)
	}
}

func TestAgent_LayoutOption_OverridesConfig(t *testing.T) {
	t.Parallel()
	tree := newTree(t)
	apply(t, driverOf(t, survey(t, "virtual"), numa, Options{Layout: Flat}), tree)
	if tree.Exists("cn_NUMA0") {
		t.Errorf("\n%s", drawn(tree))
	}
}

func TestAgent_SuspiciousSettings_LoggedOnce(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	driver := driverOf(t, survey(t, "graphics"), "providers: {cn_NUMA0: {traits: [CUSTOM_X]}}\n", Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	tree := newTree(t)
	for range 3 {
		apply(t, driver, tree)
	}
	for _, wanted := range []string{"device=0000:ca:00.0 types=2", "cpus=2-3,10-11", "provider=cn_NUMA0"} {
		if strings.Count(log.String(), wanted) != 1 {
			t.Errorf("want %s once in the log:\n%s", wanted, log.String())
		}
	}
}

func TestAgent_ProviderUnderTwoNames_SettingsMerged(t *testing.T) {
	t.Parallel()
	tree := newTree(t)
	apply(t, driverOf(t, survey(t, "virtual"), "providers: {\"{node}\": {traits: [CUSTOM_A]}, cn: {traits: [CUSTOM_B]}}\n", Options{}), tree)
	if both, err := tree.HasTraits("cn", "CUSTOM_A", "CUSTOM_B"); err != nil || !both {
		t.Errorf("%v\n%s", err, drawn(tree))
	}
}

func TestAgent_ProviderNameInUse_ReturnsError(t *testing.T) {
	t.Parallel()
	tree := newTree(t)
	do(t, tree.NewRoot("cn_NUMA0", uuid.New(), nil))
	err := driverOf(t, survey(t, "virtual"), numa, Options{}).UpdateProviderTree(t.Context(), tree, "cn", nil)
	if err == nil || !strings.Contains(err.Error(), `is not in the tree of "cn"`) {
		t.Error(err)
	}
	if err := driverOf(t, survey(t, "virtual"), "", Options{}).UpdateProviderTree(t.Context(), tree, "missing", nil); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
}
