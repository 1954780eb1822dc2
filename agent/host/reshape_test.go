package host

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/agent/consumers"
	"github.com/berthd/berth/client"
)

// bundle is a tree with consumers.
type bundle struct {
	t           testing.TB
	machine     *Machine
	tree        *client.ProviderTree
	allocations client.Allocations
	// shares is the source of consumers.
	shares knownShares
	log    bytes.Buffer
}

// setup returns the tree that the driver creates for recorded hardware.
func setup(t testing.TB, machine, yaml string) *bundle {
	t.Helper()
	b := &bundle{t: t, machine: survey(t, machine), tree: newTree(t), allocations: client.Allocations{}, shares: knownShares{}}
	apply(t, driverOf(t, b.machine, yaml, Options{}), b.tree)
	return b
}

// id returns the UUID of a provider.
func (b *bundle) id(name string) uuid.UUID {
	b.t.Helper()
	node, err := b.tree.Provider(name)
	do(b.t, err)
	return node.UUID
}

// consumer adds a consumer with allocations such as "cn VCPU 2".
func (b *bundle) consumer(where ...string) uuid.UUID {
	b.t.Helper()
	id := uuid.New()
	b.allocations[id] = &client.Consumer{Allocations: b.parse(where), Generation: new(int64(7)), ProjectID: "p", UserID: "u", Type: "INSTANCE"}
	return id
}

func (b *bundle) parse(where []string) map[uuid.UUID]client.Resources {
	b.t.Helper()
	all := map[uuid.UUID]client.Resources{}
	for _, one := range where {
		name, class, amount := split(b.t, one)
		id := b.id(name)
		if all[id] == nil {
			all[id] = client.Resources{}
		}
		all[id][class] = amount
	}
	return all
}

func split(t testing.TB, text string) (name, class string, amount int64) {
	t.Helper()
	if _, err := fmt.Sscan(text, &name, &class, &amount); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return name, class, amount
}

// uses adds shares of a consumer such as "numa:0 VCPU 2" to the source.
func (b *bundle) uses(consumer uuid.UUID, where ...string) {
	b.t.Helper()
	for _, one := range where {
		device, class, amount := split(b.t, one)
		b.shares[consumer] = append(b.shares[consumer], consumers.Share{Device: device, Resources: client.Resources{class: amount}})
	}
}

// reshape updates the tree with other settings.
func (b *bundle) reshape(yaml string, allocations client.Allocations) error {
	b.t.Helper()
	options := Options{Consumers: b.shares, Log: slog.New(slog.NewTextHandler(&b.log, nil))}
	return driverOf(b.t, b.machine, yaml, options).UpdateProviderTree(b.t.Context(), b.tree, "cn", allocations)
}

// has checks the allocations and the record of a consumer.
func (b *bundle) has(consumer uuid.UUID, where ...string) {
	b.t.Helper()
	record := b.allocations[consumer]
	if wanted := b.parse(where); !reflect.DeepEqual(record.Allocations, wanted) {
		b.t.Errorf("allocations = %v, want %v", record.Allocations, wanted)
	}
	if *record.Generation != 7 || record.ProjectID != "p" || record.UserID != "u" || record.Type != "INSTANCE" {
		b.t.Errorf("record = %+v, want generation 7, project p, user u and type INSTANCE", record)
	}
}

// settled checks that another update changes nothing, and that the tree equals a new one.
func (b *bundle) settled(yaml string) {
	b.t.Helper()
	before := drawn(b.tree)
	if err := b.reshape(yaml, nil); err != nil {
		b.t.Errorf("second update: %v", err)
	}
	if after := drawn(b.tree); after != before {
		b.t.Errorf("the second update changed\n%s\nto\n%s", before, after)
	}
	fresh := newTree(b.t)
	apply(b.t, driverOf(b.t, b.machine, yaml, Options{}), fresh)
	if wanted := drawn(fresh); before != wanted {
		b.t.Errorf("tree =\n%s\nwant that of a new tree\n%s", before, wanted)
	}
}

func TestAgent_ReshapeNeeded_TreeUnchanged(t *testing.T) {
	t.Parallel()
	b := setup(t, "two-sockets", "")
	before := drawn(b.tree)
	err := b.reshape(numa, nil)
	if !errors.Is(err, client.ErrReshapeNeeded) || !strings.Contains(err.Error(), "VCPU of cn must move to cn_NUMA0, cn_NUMA1") {
		t.Error(err)
	}
	if after := drawn(b.tree); after != before {
		t.Errorf("the tree changed to\n%s", after)
	}
	do(t, b.reshape(numa, b.allocations)) // without consumers it needs no source
	b.settled(numa)
}

func TestAgent_FlatToNUMA_MovesConsumersToTheirNodes(t *testing.T) {
	t.Parallel()
	b := setup(t, "two-sockets", "")
	do(t, b.tree.NewRoot("nfs", uuid.New(), nil), b.tree.NewRoot("other", uuid.New(), nil))
	one := b.consumer("cn VCPU 4", "cn MEMORY_MB 2048", "cn DISK_GB 20")
	two := b.consumer("cn VCPU 6", "cn MEMORY_MB 4096", "nfs DISK_GB 5", "other VCPU 6", "other MEMORY_MB 4096")
	elsewhere := b.consumer("nfs DISK_GB 9", "other VCPU 1")
	b.uses(one, "numa:1 VCPU 4", "numa:1 MEMORY_MB 2048")
	b.uses(two, "numa:0 VCPU 2", "cn_NUMA1 VCPU 4", "numa:0 MEMORY_MB 4096", "numa:0 DISK_GB 99")
	do(t, b.reshape(numa, b.allocations))
	b.has(one, "cn_NUMA1 VCPU 4", "cn_NUMA1 MEMORY_MB 2048", "cn DISK_GB 20")
	b.has(two, "cn_NUMA0 VCPU 2", "cn_NUMA1 VCPU 4", "cn_NUMA0 MEMORY_MB 4096", "nfs DISK_GB 5", "other VCPU 6", "other MEMORY_MB 4096")
	b.has(elsewhere, "nfs DISK_GB 9", "other VCPU 1")
	do(t, b.tree.Remove("nfs"), b.tree.Remove("other"))
	b.settled(numa)
}

func TestAgent_NUMAToFlat_SumsAllocations(t *testing.T) {
	t.Parallel()
	b := setup(t, "huge-pages", numa)
	one := b.consumer("cn_NUMA0 VCPU 2", "cn_NUMA1 VCPU 3", "cn_NUMA1 MEMORY_MB 512", "cn DISK_GB 1", "cn_NUMA0 CUSTOM_MEMORY_HUGEPAGES_2MB 64", "cn_NUMA1 CUSTOM_MEMORY_HUGEPAGES_1GB 1024")
	two := b.consumer("cn_NUMA0 MEMORY_MB 100")
	if err := b.reshape("", nil); !errors.Is(err, client.ErrReshapeNeeded) {
		t.Error(err)
	}
	do(t, b.reshape("", b.allocations))
	b.has(one, "cn VCPU 5", "cn MEMORY_MB 512", "cn DISK_GB 1", "cn CUSTOM_MEMORY_HUGEPAGES_2MB 64", "cn CUSTOM_MEMORY_HUGEPAGES_1GB 1024")
	b.has(two, "cn MEMORY_MB 100")
	b.settled("")
}

func TestAgent_SingleNUMANode_NoConsumerSourceNeeded(t *testing.T) {
	t.Parallel()
	b := setup(t, "virtual", "")
	one := b.consumer("cn VCPU 2", "cn MEMORY_MB 512", "cn DISK_GB 1")
	do(t, b.reshape(numa, b.allocations))
	b.has(one, "cn_NUMA0 VCPU 2", "cn_NUMA0 MEMORY_MB 512", "cn DISK_GB 1")
	b.settled(numa)
}

func TestAgent_UnknownConsumers_NamedAndNothingMoved(t *testing.T) {
	t.Parallel()
	b := setup(t, "two-sockets", "")
	known, first, second := b.consumer("cn VCPU 1"), b.consumer("cn VCPU 4", "cn DISK_GB 3"), b.consumer("cn MEMORY_MB 7")
	b.uses(known, "numa:0 VCPU 1")
	before := b.allocations.Clone()
	err := b.reshape(numa, b.allocations)
	for _, wanted := range []string{first.String() + " (VCPU 4)", second.String() + " (MEMORY_MB 7)", "--consumers fit"} {
		if !errors.Is(err, client.ErrReshapeFailed) || !strings.Contains(err.Error(), wanted) {
			t.Errorf("error = %v, want %s in it", err, wanted)
		}
	}
	if errors.Is(err, client.ErrReshapeNeeded) || strings.Contains(err.Error(), known.String()) || !reflect.DeepEqual(before, b.allocations) {
		t.Error(err, b.allocations)
	}
}

func TestAgent_UnknownConsumersWithFit_PlacedByFreeCapacity(t *testing.T) {
	t.Parallel()
	b := setup(t, "two-sockets", "ratios: {VCPU: 1}\n")
	known, unknown := b.consumer("cn VCPU 6"), b.consumer("cn VCPU 7")
	b.uses(known, "numa:1 VCPU 6")
	options := Options{Consumers: b.shares, Fit: true}
	yaml := numa + "ratios: {VCPU: 1}\n"
	do(t, driverOf(t, b.machine, yaml, options).UpdateProviderTree(t.Context(), b.tree, "cn", b.allocations))
	b.has(known, "cn_NUMA1 VCPU 6")
	b.has(unknown, "cn_NUMA0 VCPU 7")
	b.settled(yaml)
}

func TestAgent_ShareSumDiffersFromAllocation_UsedAndLogged(t *testing.T) {
	t.Parallel()
	b := setup(t, "two-sockets", "")
	one := b.consumer("cn VCPU 4", "cn MEMORY_MB 100")
	b.uses(one, "numa:0 VCPU 2", "numa:1 VCPU 1", "numa:0 MEMORY_MB 200", "numa:1 MEMORY_MB 0")
	do(t, b.reshape(numa, b.allocations))
	b.has(one, "cn_NUMA0 VCPU 2", "cn_NUMA1 VCPU 1", "cn_NUMA0 MEMORY_MB 200")
	for _, wanted := range []string{"class=VCPU allocated=4 used=3", "class=MEMORY_MB allocated=100 used=200", one.String()} {
		if !strings.Contains(b.log.String(), wanted) {
			t.Errorf("the log lacks %s: %s", wanted, b.log.String())
		}
	}
}

func TestAgent_InvalidConsumerShares_Rejected(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		shares []string
		wanted string
	}{
		"missing NUMA node":     {[]string{"numa:7 VCPU 4"}, `its source returns VCPU on "numa:7", but the provider of this device has no such class; providers with it: cn_NUMA0, cn_NUMA1`},
		"foreign provider":      {[]string{"nfs VCPU 4"}, `on "nfs"`},
		"negative amount":       {[]string{"numa:0 VCPU 5", "numa:1 VCPU -1"}, "-1 of VCPU on numa:1, which is not a valid amount"},
		"class without a share": {[]string{"numa:0 MEMORY_MB 100"}, "no device for its 4 of VCPU"},
		"share of 0":            {[]string{"numa:0 VCPU 0"}, "no device for its 4 of VCPU"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, "two-sockets", "")
			consumer := b.consumer("cn VCPU 4")
			b.uses(consumer, one.shares...)
			before := b.allocations.Clone()
			err := b.reshape(numa, b.allocations)
			if !errors.Is(err, client.ErrReshapeFailed) || !strings.Contains(err.Error(), one.wanted) || !strings.Contains(err.Error(), consumer.String()) {
				t.Errorf("error = %v, want %s", err, one.wanted)
			}
			if !reflect.DeepEqual(before, b.allocations) {
				t.Error("the allocations changed")
			}
		})
	}
}

func TestAgent_ReshapeViolatesUnits_RejectedBeforeRequest(t *testing.T) {
	t.Parallel()
	t.Run("over max_unit", func(t *testing.T) {
		t.Parallel()
		b := setup(t, "two-sockets", "")
		consumer := b.consumer("cn VCPU 12")
		b.uses(consumer, "numa:0 VCPU 12")
		err := b.reshape(numa, b.allocations)
		if wanted := consumer.String() + " would have 12 of VCPU on cn_NUMA0, which violates its max_unit 8"; !errors.Is(err, client.ErrReshapeFailed) || !strings.Contains(err.Error(), wanted) {
			t.Error(err)
		}
	})
	t.Run("between steps", func(t *testing.T) {
		t.Parallel()
		b := setup(t, "huge-pages", "")
		consumer := b.consumer("cn CUSTOM_MEMORY_HUGEPAGES_2MB 64")
		b.uses(consumer, "numa:0 CUSTOM_MEMORY_HUGEPAGES_2MB 33", "numa:1 CUSTOM_MEMORY_HUGEPAGES_2MB 31")
		err := b.reshape(numa, b.allocations)
		if !errors.Is(err, client.ErrReshapeFailed) || !strings.Contains(err.Error(), "step_size 2") {
			t.Error(err)
		}
	})
	t.Run("over capacity", func(t *testing.T) {
		t.Parallel()
		b := setup(t, "two-sockets", "ratios: {VCPU: 1}\n")
		for range 3 {
			b.uses(b.consumer("cn VCPU 4"), "numa:0 VCPU 4")
		}
		before := b.allocations.Clone()
		err := b.reshape(numa+"ratios: {VCPU: 1}\n", b.allocations)
		if !errors.Is(err, client.ErrReshapeFailed) || !strings.Contains(err.Error(), "cn_NUMA0 would have 12 of VCPU allocated, over its capacity of 8") {
			t.Error(err)
		}
		if !reflect.DeepEqual(before, b.allocations) {
			t.Error("the allocations changed")
		}
	})
}

func TestAgent_PartlyCreatedTree_ReshapeCompletes(t *testing.T) {
	t.Parallel()
	b := setup(t, "two-sockets", "")
	// An agent was killed after it created the providers and before it moved the allocations.
	for _, name := range []string{"cn_NUMA0", "cn_NUMA1"} {
		_, err := b.tree.NewChild(name, "cn", uuid.Nil)
		do(t, err)
	}
	add(t, b.tree, "cn_NUMA1", classMemory, 65536)
	one := b.consumer("cn VCPU 4", "cn MEMORY_MB 100", "cn_NUMA1 MEMORY_MB 50")
	b.uses(one, "numa:1 VCPU 4", "numa:1 MEMORY_MB 100")
	if err := b.reshape(numa, nil); !errors.Is(err, client.ErrReshapeNeeded) {
		t.Error(err)
	}
	do(t, b.reshape(numa, b.allocations))
	b.has(one, "cn_NUMA1 VCPU 4", "cn_NUMA1 MEMORY_MB 150")
	b.settled(numa)
}

func TestAgent_NUMANodeRemoved_ConsumersMovedToRemainingNode(t *testing.T) {
	t.Parallel()
	b := setup(t, "two-sockets", numa)
	one := b.consumer("cn_NUMA1 VCPU 1", "cn_NUMA0 VCPU 1")
	b.machine = survey(t, "virtual")
	do(t, b.reshape(numa, b.allocations))
	b.has(one, "cn_NUMA0 VCPU 2")
	if b.tree.Exists("cn_NUMA1") {
		t.Error("cn_NUMA1 exists, want it removed")
	}
}

func TestAgent_AllCPUsBecomeDedicated_AllocationsMoveToPCPU(t *testing.T) {
	t.Parallel()
	const all = "cpus: {dedicated: 0-15}\n"
	b := setup(t, "two-sockets", "")
	one := b.consumer("cn VCPU 4", "cn MEMORY_MB 100")
	if err := b.reshape(all, nil); !errors.Is(err, client.ErrReshapeNeeded) || !strings.Contains(err.Error(), "VCPU of cn must move to cn as PCPU") {
		t.Error(err)
	}
	do(t, b.reshape(all, b.allocations))
	b.has(one, "cn PCPU 4", "cn MEMORY_MB 100")
	b.settled(all)
	do(t, b.reshape("", b.allocations)) // and back
	b.has(one, "cn VCPU 4", "cn MEMORY_MB 100")
	b.settled("")
}

func TestAgent_CPUsBecomeDedicated_PinnedConsumersMoveToPCPU(t *testing.T) {
	t.Parallel()
	b := setup(t, "two-sockets", "")
	pinned, floating := b.consumer("cn VCPU 4"), b.consumer("cn VCPU 2")
	b.uses(pinned, "numa:0 PCPU 4")
	b.uses(floating, "numa:0 VCPU 2")
	if err := b.reshape(dedicated, nil); !errors.Is(err, client.ErrReshapeNeeded) {
		t.Error(err)
	}
	do(t, b.reshape(dedicated, b.allocations))
	b.has(pinned, "cn PCPU 4")
	b.has(floating, "cn VCPU 2")
	b.settled(dedicated)
}

func TestAgent_DedicatedCPUsWithNUMALayout_ReshapedTogether(t *testing.T) {
	t.Parallel()
	b := setup(t, "two-sockets", "")
	pinned, floating := b.consumer("cn VCPU 6", "cn DISK_GB 1"), b.consumer("cn VCPU 2")
	b.uses(pinned, "numa:0 PCPU 4", "numa:1 PCPU 2")
	b.uses(floating, "numa:1 VCPU 2")
	do(t, b.reshape(numa+dedicated, b.allocations))
	b.has(pinned, "cn_NUMA0 PCPU 4", "cn_NUMA1 PCPU 2", "cn DISK_GB 1")
	b.has(floating, "cn_NUMA1 VCPU 2")
	b.settled(numa + dedicated)
	do(t, b.reshape(dedicated, b.allocations))
	b.has(pinned, "cn PCPU 6", "cn DISK_GB 1")
	b.has(floating, "cn VCPU 2")
	b.settled(dedicated)
}

func TestAgent_MoreDedicatedCPUs_NoReshape(t *testing.T) {
	t.Parallel()
	b := setup(t, "two-sockets", "cpus: {dedicated: 0-3}\n")
	do(t, b.reshape("cpus: {dedicated: 0-7}\n", nil))
	b.settled("cpus: {dedicated: 0-7}\n")
}

func TestAgent_DeviceInventoryOnRoot_MovesToDeviceProviders(t *testing.T) {
	t.Parallel()
	b := setup(t, "graphics", "default_devices: false\n")
	add(t, b.tree, "cn", classVGPU, 24)
	one := b.consumer("cn VGPU 3", "cn VCPU 1")
	b.uses(one, "gpu:0000:65:00.0 VGPU 1", "pci:0000:ca:00.0 VGPU 2")
	const divided = "devices: [{address: \"0000:ca:*\", mediated_type: nvidia-230}]\n"
	if err := b.reshape(divided, nil); !errors.Is(err, client.ErrReshapeNeeded) {
		t.Error(err)
	}
	do(t, b.reshape(divided, b.allocations))
	b.has(one, "cn_0000:65:00.0 VGPU 1", "cn_0000:ca:00.0 VGPU 2", "cn VCPU 1")
	b.settled(divided)
}

func TestAgent_ConsumerSourceFails_ReshapeFails(t *testing.T) {
	t.Parallel()
	b := setup(t, "two-sockets", "")
	b.consumer("cn VCPU 1")
	options := Options{Consumers: consumers.NewFile(t.TempDir() + "/none.json")}
	err := driverOf(t, b.machine, numa, options).UpdateProviderTree(t.Context(), b.tree, "cn", b.allocations)
	if !errors.Is(err, client.ErrReshapeFailed) || !strings.Contains(err.Error(), "none.json") {
		t.Error(err)
	}
}

func TestAgent_SpreadReserved_KeepsSumWithinTotals(t *testing.T) {
	t.Parallel()
	for _, totals := range [][]int64{{8, 8}, {1, 9, 30}, {30, 9, 1}, {5}, {0, 7}} {
		var parts []part
		sum := int64(0)
		for i, total := range totals {
			parts = append(parts, part{node: i, totals: map[string]int64{classVCPU: total}})
			sum += total
		}
		for amount := range sum + 1 {
			given, err := spread(Reserved{Amount: amount}, classVCPU, parts)
			do(t, err)
			left := amount
			for i, one := range given {
				left -= one
				if one < 0 || one > totals[i] {
					t.Errorf("spread(%d) among %v = %v", amount, totals, given)
				}
			}
			if left != 0 {
				t.Errorf("spread(%d) among %v = %v", amount, totals, given)
			}
		}
		if _, err := spread(Reserved{Amount: sum + 1}, classVCPU, parts); err == nil {
			t.Errorf("spread(%d) among %v returns no error", sum+1, totals)
		}
	}
	if given, err := spread(Reserved{Nodes: map[int]int64{1: 3}}, classVCPU, []part{{node: 0}, {node: 1, totals: map[string]int64{classVCPU: 4}}}); err != nil || !slices.Equal(given, []int64{0, 3}) {
		t.Error(given, err)
	}
}
