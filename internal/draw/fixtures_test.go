package draw

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

var update = flag.Bool("update", false, "write the golden files")

// checkGolden compares output with a golden file.
func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; run go test with -update to write it", err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run go test with -update and review the diff. Got\n%s", file, got)
	}
}

// id returns a UUID that ends with a decimal number.
func id(n int) uuid.UUID {
	return uuid.MustParse(fmt.Sprintf("c0ffee00-5ca1-4b1e-8000-%012d", n))
}

func record(total int32) client.InventoryRecord {
	return client.InventoryRecord{Total: total, Reserved: new(int32(0)), MinUnit: new(int32(1)), MaxUnit: new(total), StepSize: new(int32(1)), AllocationRatio: new(1.0)}
}

func overcommitted(total, reserved int32, ratio float64) client.InventoryRecord {
	r := record(total)
	r.Reserved, r.AllocationRatio = &reserved, &ratio
	return r
}

func node(n int, name string, parent int, inventories client.Inventories, traits ...string) client.Node {
	made := client.Node{UUID: id(n), Name: name, Generation: new(int64(n % 40)), Inventories: inventories, Traits: traits}
	if parent != 0 {
		made.Parent = id(parent)
	}
	return made
}

var processorTraits = []string{
	"COMPUTE_NODE", "COMPUTE_TRUSTED_CERTS", "COMPUTE_VOLUME_MULTI_ATTACH", "HW_ARCH_X86_64", "HW_CPU_HYPERTHREADING",
	"HW_CPU_X86_AESNI", "HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", "HW_CPU_X86_AVX512BW", "HW_CPU_X86_AVX512CD",
	"HW_CPU_X86_AVX512DQ", "HW_CPU_X86_AVX512F", "HW_CPU_X86_BMI", "HW_CPU_X86_BMI2", "HW_CPU_X86_CLMUL",
	"HW_CPU_X86_FMA3", "HW_CPU_X86_SSE42", "HW_CPU_X86_VMX",
}

// numaHost returns a host with two NUMA nodes: one has a GPU with two functions, the other a network card.
func numaHost() Forest {
	aggregates := []uuid.UUID{uuid.MustParse("5b1e0001-0000-4000-8000-00000000a001"), uuid.MustParse("7a9e4c12-0000-4000-8000-00000000a002")}
	root := node(1, "compute-17", 0, client.Inventories{"DISK_GB": overcommitted(1800, 50, 1)}, processorTraits...)
	root.Aggregates = aggregates
	return Forest{
		Nodes: []client.Node{
			node(4, "compute-17_pci_0000:41:00.0", 2, client.Inventories{"VGPU": record(16)}, "HW_GPU_API_VULKAN", "CUSTOM_NVIDIA_A40_2Q"),
			node(5, "compute-17_pci_0000:42:00.0", 2, client.Inventories{"VGPU": record(16)}, "HW_GPU_API_VULKAN", "CUSTOM_NVIDIA_A40_2Q"),
			node(6, "compute-17_eth10", 3, client.Inventories{
				"NET_BW_EGR_KILOBIT_PER_SEC": record(25_000_000), "NET_BW_IGR_KILOBIT_PER_SEC": record(25_000_000), "SRIOV_NET_VF": record(64),
			}, "CUSTOM_PHYSNET_TENANT"),
			root,
			node(2, "compute-17_numa0", 1, client.Inventories{
				"VCPU": overcommitted(32, 2, 4), "PCPU": record(16), "MEMORY_MB": overcommitted(262144, 8192, 1),
			}, "HW_NUMA_ROOT"),
			node(3, "compute-17_numa1", 1, client.Inventories{
				"VCPU": overcommitted(32, 0, 4), "PCPU": record(16), "MEMORY_MB": overcommitted(262144, 0, 1),
			}, "HW_NUMA_ROOT"),
		},
		Usages: map[uuid.UUID]client.Resources{
			id(1): {"DISK_GB": 640},
			id(2): {"VCPU": 88, "PCPU": 16, "MEMORY_MB": 180224},
			id(3): {"VCPU": 4, "PCPU": 0, "MEMORY_MB": 8192},
			id(4): {"VGPU": 3},
			id(5): {"VGPU": 0},
			id(6): {"SRIOV_NET_VF": 64, "NET_BW_EGR_KILOBIT_PER_SEC": 10_000_000, "NET_BW_IGR_KILOBIT_PER_SEC": 20_000_000},
		},
	}
}

// oddForest returns a forest with control characters, markup, a missing parent, a parent cycle and usage over capacity.
func oddForest() Forest {
	wild := node(12, "wild\x1b[31m\n\u202ename", 11, client.Inventories{"CUSTOM_\x1b]0;x\a": record(4)}, "CUSTOM_\u200bHIDDEN", `<b>&"quoted"\`)
	fresh := node(13, "計算ノード-日本", 11, client.Inventories{"VCPU": {Total: 8}})
	fresh.Generation = nil
	full := overcommitted(10, 0, 1)
	full.MinUnit, full.MaxUnit, full.StepSize = new(int32(2)), new(int32(4)), new(int32(2))
	return Forest{
		Nodes: []client.Node{
			node(11, "storage", 0, client.Inventories{"DISK_GB": full, "CUSTOM_EMPTY": overcommitted(5, 5, 1)}, "MISC_SHARES_VIA_AGGREGATE"),
			wild, fresh,
			node(14, "lost", 99, nil),
			node(15, "cycle a", 16, nil), node(16, "cycle b", 15, nil),
			node(17, "é̂̃̄̅ marks", 11, client.Inventories{"CUSTOM_A_CLASS_WITH_A_NAME_THAT_IS_LONGER_THAN_THE_COLUMN_FOR_CLASSES": record(1)}),
		},
		Usages: map[uuid.UUID]client.Resources{
			id(11): {"DISK_GB": 12, "CUSTOM_GONE": 3}, id(13): {}, id(17): {},
		},
	}
}
