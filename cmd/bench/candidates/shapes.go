package candidates

import (
	"crypto/md5"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// shape is what the trees of a cloud look like. All of a cloud have the same.
type shape struct {
	name string
	// members are the providers of a tree: the root first, parents before children.
	members []member
	// aggregates are how many trees, one after the other, are together in one, by
	// their roots; everywhere means all.
	aggregates []int
	// storage gives every first aggregate a provider that shares its disk with it.
	storage bool
	// trees is the number of trees, instead of --sizes.
	trees int
}

// member is a provider of a tree. Its parent is an index of the list of members.
type member struct {
	parent int
	has    []amount
	traits []string
}

type amount struct {
	class string
	total int32
}

// everywhere is the size of an aggregate of all trees.
const everywhere = 1 << 30

// Traits of the queries.
const (
	traitOfAll    = "HW_CPU_X86_AVX2"  // every root has it
	traitOfNUMA   = "CUSTOM_NUMA_ROOT" // every NUMA node has it
	needle        = "CUSTOM_NEEDLE"    // one root has it
	needleBelow   = "CUSTOM_NEEDLE_BELOW"
	usedNeedle    = "CUSTOM_USED_NEEDLE" // the root that is used up first has it
	lowerHalf     = "CUSTOM_LOWER_HALF"  // every other root has it
	upperHalf     = "CUSTOM_UPPER_HALF"  // the others have it
	firstNUMA     = "CUSTOM_NUMA_FIRST"  // the first NUMA node of every tree has it
	secondNUMA    = "CUSTOM_NUMA_SECOND"
	sharing       = "MISC_SHARES_VIA_AGGREGATE"
	hostsPerShare = 100
)

// cpuTraits are what a compute node of the usual kind reports.
var cpuTraits = strings.Fields(`HW_CPU_X86_AVX2 HW_CPU_X86_AVX HW_CPU_X86_SSE HW_CPU_X86_SSE2 HW_CPU_X86_SSE41 HW_CPU_X86_SSE42
	HW_CPU_X86_SSSE3 HW_CPU_X86_MMX HW_CPU_X86_FMA3 HW_CPU_X86_F16C HW_CPU_X86_BMI HW_CPU_X86_BMI2 HW_CPU_X86_AESNI HW_CPU_X86_CLMUL
	HW_CPU_X86_VMX HW_CPU_HYPERTHREADING COMPUTE_NODE COMPUTE_TRUSTED_CERTS COMPUTE_VOLUME_MULTI_ATTACH COMPUTE_NET_ATTACH_INTERFACE`)

func shapes() []shape {
	return []shape{
		{
			name:       "flat",
			members:    []member{{has: []amount{{"VCPU", 64}, {"MEMORY_MB", 262144}, {"DISK_GB", 4000}}, traits: cpuTraits}},
			aggregates: []int{everywhere, 1000, 100},
		},
		{name: "nested", members: nestedTree()},
		{name: "nested-large", members: nestedTree(), trees: 20000},
		{name: "pci", members: hostWithDevices(8)},
		{name: "nic", members: nicTree()},
		{
			name:       "shared",
			members:    []member{{has: []amount{{"VCPU", 64}, {"MEMORY_MB", 262144}}, traits: []string{traitOfAll}}},
			aggregates: []int{hostsPerShare},
			storage:    true,
		},
		{name: "wide", members: hostWithDevices(16), trees: 10},
	}
}

// nestedTree is a compute node with two NUMA nodes, below which are three FPGAs
// and a GPU. A trait of one half of all NUMA nodes is on the first, one of the other
// half on the second.
func nestedTree() []member {
	numa := func(half string) member {
		return member{has: []amount{{"VCPU", 32}, {"MEMORY_MB", 131072}}, traits: []string{traitOfNUMA, half}}
	}
	fpga := []amount{{"FPGA", 8}}
	return []member{
		{has: []amount{{"DISK_GB", 4000}}, traits: []string{traitOfAll}},
		numa(firstNUMA), numa(secondNUMA),
		{parent: 1, has: fpga}, {parent: 1, has: fpga}, {parent: 2, has: fpga},
		{parent: 2, has: []amount{{"PGPU", 1}}},
	}
}

// hostWithDevices has devices that all look alike.
func hostWithDevices(count int) []member {
	tree := []member{{has: []amount{{"VCPU", 64}, {"MEMORY_MB", 262144}}, traits: []string{traitOfAll}}}
	for range count {
		tree = append(tree, member{has: []amount{{"CUSTOM_GPU", 1}}})
	}
	return tree
}

// nicTree is a compute node with two network cards, each with a function on either
// of two networks. The cards themselves have no inventory.
func nicTree() []member {
	tree := []member{
		{has: []amount{{"VCPU", 64}, {"MEMORY_MB", 262144}}, traits: []string{traitOfAll}},
		{traits: []string{"CUSTOM_NIC"}}, {traits: []string{"CUSTOM_NIC"}},
	}
	for card := 1; card <= 2; card++ {
		for network := 1; network <= 2; network++ {
			tree = append(tree, member{
				parent: card, has: []amount{{"SRIOV_NET_VF", 8}}, traits: []string{fmt.Sprintf("CUSTOM_PHYSNET%d", network)},
			})
		}
	}
	return tree
}

// inAll is the aggregate that all trees of a cloud are in, if its shape has one.
func inAll() string {
	return uuid.UUID(md5.Sum(fmt.Appendf(nil, "aggregate %d/0", everywhere))).String()
}
