// Package demo loads a believable cloud into a server and removes it: hosts, NUMA nodes, GPUs, network cards, shared
// storage, consumers and bare metal nodes, some of it full.
//
// It is not for benchmarks (cmd/bench), nor for tests of the server, which make exactly what they need.
package demo

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// Trait marks all providers of the cloud. Remove deletes those alone.
const Trait = "CUSTOM_BERTH_DEMO"

// namespace derives the UUIDs, which are equal in all clouds.
var namespace = uuid.MustParse("5eed0000-de30-4c10-8d00-000000000001")

// id returns the UUID of a named object.
func id(kind, name string) uuid.UUID { return uuid.NewSHA1(namespace, []byte(kind+"/"+name)) }

// Projects, users and types of the consumers. Users belong to the project of the same position.
var (
	projects = []string{"atlas", "borealis", "cartography", "drift"}
	users    = []string{"ada", "boris", "carmen", "dana"}
)

// tree is a provider tree with its consumers, as one request creates it.
type tree struct {
	root uuid.UUID
	client.WantedTree
}

// provider adds a provider with its traits and inventories; "" as parent makes the root.
func (t *tree) provider(name, parent string, inventories client.Inventories, traits ...string) *client.WantedProvider {
	result := client.WantedProvider{UUID: id("provider", name), Name: name, Inventories: inventories, Traits: append([]string{Trait}, traits...)}
	if parent == "" {
		t.root = result.UUID
	} else {
		above := id("provider", parent)
		result.Parent = &above
	}
	t.Providers = append(t.Providers, result)
	return &t.Providers[len(t.Providers)-1]
}

// consumer adds a consumer with allocations by the name of the provider.
func (t *tree) consumer(name string, owner int, allocations map[string]client.Resources) {
	if t.Consumers == nil {
		t.Consumers = client.Allocations{}
	}
	byID := map[uuid.UUID]client.Resources{}
	for provider, amounts := range allocations {
		byID[id("provider", provider)] = amounts
	}
	owner %= len(projects)
	t.Consumers[id("consumer", name)] = &client.Consumer{Allocations: byID, ProjectID: projects[owner], UserID: users[owner], Type: "INSTANCE"}
}

// amount returns an inventory with a reserved amount and an allocation ratio.
func amount(total, reserved int32, ratio float64) client.InventoryRecord {
	return client.InventoryRecord{Total: total, Reserved: &reserved, AllocationRatio: &ratio}
}

// racks are the aggregates; the hosts of the last one are full.
const racks = 4

func rack(number int) []uuid.UUID {
	return []uuid.UUID{id("aggregate", fmt.Sprintf("rack-%d", number%racks+1))}
}

// AggregateNames returns the names of the racks, which the API does not store.
func AggregateNames() map[uuid.UUID]string {
	named := map[uuid.UUID]string{}
	for number := range racks {
		named[rack(number)[0]] = fmt.Sprintf("rack %d", number+1)
	}
	return named
}

// trees returns the cloud for a number of hosts: pools of shared storage first, which hosts use, then the hosts.
func trees(hosts int) []tree {
	random := rand.New(rand.NewPCG(1, 2)) // a fixed seed: all clouds are equal
	var all []tree
	// The consumers of a host use less than 5,000 GB.
	disk := max(400_000, int32(hosts/racks+1)*5_000)
	for number := range racks {
		var t tree
		pool := t.provider(fmt.Sprintf("pool-%d", number+1), "", client.Inventories{"DISK_GB": amount(disk, 4_000, 1)}, "MISC_SHARES_VIA_AGGREGATE")
		pool.Aggregates = rack(number)
		all = append(all, t)
	}
	for number := range hosts {
		switch number % 6 {
		case 4:
			all = append(all, gpuHost(number, random))
		case 5:
			all = append(all, numaHost(number, random))
		default:
			all = append(all, computeHost(number, random))
		}
	}
	return all
}

// sizes are flavors of consumers: processors, memory in MiB, disk in GiB.
var sizes = [][3]int64{{1, 2048, 20}, {2, 4096, 40}, {4, 8192, 80}, {8, 32768, 160}, {16, 65536, 320}}

// computeHost has one provider. The hosts of the last rack are full, and one host is over its capacity.
func computeHost(number int, random *rand.Rand) tree {
	var t tree
	name := fmt.Sprintf("cmp-%03d", number+1)
	root := t.provider(name, "", client.Inventories{"VCPU": amount(64, 0, 4), "MEMORY_MB": amount(262_144, 8_192, 1.5)}, "COMPUTE_NODE", "HW_CPU_X86_AVX2")
	root.Aggregates = rack(number)
	free, memory := int64(256), int64(380_928)
	full := number%racks == racks-1
	for member := 0; ; member++ {
		size := sizes[random.IntN(len(sizes))]
		if full {
			size = [3]int64{32, 47_616, 100}
		}
		if size[0] > free || size[1] > memory || !full && random.IntN(12) == 0 {
			return t
		}
		free, memory = free-size[0], memory-size[1]
		t.consumer(fmt.Sprintf("%s/%d", name, member), random.IntN(8), map[string]client.Resources{
			name: {"VCPU": size[0], "MEMORY_MB": size[1]}, fmt.Sprintf("pool-%d", number%racks+1): {"DISK_GB": size[2]},
		})
	}
}

// numaHost has two NUMA nodes, each with a network card.
func numaHost(number int, random *rand.Rand) tree {
	var t tree
	name := fmt.Sprintf("numa-%02d", number/6+1)
	t.provider(name, "", client.Inventories{}, "COMPUTE_NODE").Aggregates = rack(number)
	for node := range 2 {
		cell := fmt.Sprintf("%s_numa%d", name, node)
		t.provider(cell, name, client.Inventories{"PCPU": amount(32, 2, 1), "MEMORY_MB": amount(131_072, 2_048, 1)}, "HW_NUMA_ROOT")
		card := fmt.Sprintf("%s_nic%d", name, node)
		t.provider(card, cell, client.Inventories{"SRIOV_NET_VF": amount(16, 0, 1)}, "HW_NIC_SRIOV", fmt.Sprintf("CUSTOM_PHYSNET_%d", node))
		for member := range random.IntN(4) {
			t.consumer(fmt.Sprintf("%s/%d", cell, member), random.IntN(8), map[string]client.Resources{
				cell: {"PCPU": 8, "MEMORY_MB": 32_768}, card: {"SRIOV_NET_VF": 2},
			})
		}
	}
	return t
}

// gpuHost has two NUMA nodes with two GPUs each.
func gpuHost(number int, random *rand.Rand) tree {
	var t tree
	name := fmt.Sprintf("gpu-%02d", number/6+1)
	t.provider(name, "", client.Inventories{}, "COMPUTE_NODE").Aggregates = rack(number)
	model := []string{"CUSTOM_GPU_L40S", "CUSTOM_GPU_H100"}[number/6%2]
	for node := range 2 {
		cell := fmt.Sprintf("%s_numa%d", name, node)
		t.provider(cell, name, client.Inventories{"VCPU": amount(60, 0, 2), "MEMORY_MB": amount(253_952, 4_096, 1)}, "HW_NUMA_ROOT")
		for card := range 2 {
			gpu := fmt.Sprintf("%s_gpu%d", name, 2*node+card)
			t.provider(gpu, cell, client.Inventories{"VGPU": amount(4, 0, 1)}, model)
			for member := range []int{4, 4, 3, 1, 0}[random.IntN(5)] {
				t.consumer(fmt.Sprintf("%s/%d", gpu, member), random.IntN(8), map[string]client.Resources{
					cell: {"VCPU": 8, "MEMORY_MB": 24_576}, gpu: {"VGPU": 1},
				})
			}
		}
	}
	return t
}

// customTraits returns the custom traits of trees, sorted.
func customTraits(of []tree) []string {
	var custom []string
	for _, tree := range of {
		for _, provider := range tree.Providers {
			for _, trait := range provider.Traits {
				if strings.HasPrefix(trait, "CUSTOM_") {
					custom = append(custom, trait)
				}
			}
		}
	}
	slices.Sort(custom)
	return slices.Compact(custom)
}
