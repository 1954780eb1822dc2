package host

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/berthd/berth/client"
)

// TestAgent_RandomConsumersFlatNUMAFlat_KeepsAllocations draws consumers that use random parts of both NUMA nodes and
// have allocations in other trees.
func TestAgent_RandomConsumersFlatNUMAFlat_KeepsAllocations(t *testing.T) {
	t.Parallel()
	surveyed := map[string]*Machine{"two-sockets": survey(t, "two-sockets"), "huge-pages": survey(t, "huge-pages")}
	rapid.Check(t, func(r *rapid.T) {
		yaml := rapid.SampledFrom([]string{"", dedicated, "reserved: {VCPU: 3, MEMORY_MB: 1001}\nratios: {VCPU: 16}\n"}).Draw(r, "settings")
		b := &bundle{t: t, machine: surveyed[rapid.SampledFrom([]string{"two-sockets", "huge-pages"}).Draw(r, "machine")],
			tree: newTree(t), allocations: client.Allocations{}, shares: knownShares{}}
		do(t, b.tree.NewRoot("nfs", uuid.New(), nil), b.tree.NewRoot("other", uuid.New(), nil))
		apply(t, driverOf(t, b.machine, yaml, Options{}), b.tree)
		expected := b.drawConsumers(r)
		flat, text := b.allocations.Clone(), drawn(b.tree)

		for range 2 {
			do(t, b.reshape(numa+yaml, b.allocations))
			for consumer, where := range expected {
				if wanted := b.parse(where); !reflect.DeepEqual(b.allocations[consumer].Allocations, wanted) {
					r.Fatalf("allocations = %v, want %v", b.allocations[consumer].Allocations, wanted)
				}
			}
			if err := b.reshape(numa+yaml, nil); err != nil {
				r.Fatalf("second update: %v", err)
			}
			do(t, b.reshape(yaml, b.allocations))
			if !reflect.DeepEqual(b.allocations, flat) {
				r.Fatalf("allocations after flat = %v, want %v", b.allocations, flat)
			}
			if back := drawn(b.tree); back != text {
				r.Fatalf("tree after flat =\n%s\nwant\n%s", back, text)
			}
		}
	})
}

// drawConsumers draws consumers in the layout flat and their shares, and returns their allocations in the layout numa.
func (b *bundle) drawConsumers(r *rapid.T) map[uuid.UUID][]string {
	expected := map[uuid.UUID][]string{}
	root, err := b.tree.Provider("cn")
	do(b.t, err)
	for range rapid.IntRange(0, 4).Draw(r, "consumers") {
		sums := map[string]int64{}
		var shares, wanted []string
		for _, class := range sorted(root.Inventories) {
			step := int64(*root.Inventories[class].StepSize)
			for node := range 2 {
				if class == classDisk || class == hugePagesOf(1<<20) && node == 0 {
					continue
				}
				amount := step * rapid.Int64Range(0, 1).Draw(r, class)
				if amount > 0 {
					sums[class] += amount
					shares = append(shares, fmt.Sprintf("numa:%d %s %d", node, class, amount))
					wanted = append(wanted, fmt.Sprintf("cn_NUMA%d %s %d", node, class, amount))
				}
			}
		}
		where := rapid.SampledFrom([][]string{{"nfs DISK_GB 1"}, {"cn DISK_GB 3", "other VCPU 2"}}).Draw(r, "elsewhere")
		wanted = append(wanted, where...)
		for class, sum := range sums {
			where = append(where, fmt.Sprintf("cn %s %d", class, sum))
		}
		consumer := b.consumer(where...)
		b.uses(consumer, shares...)
		expected[consumer] = wanted
	}
	return expected
}

func hugePagesOf(sizeKB int64) string {
	class, _ := hugePagesClass(sizeKB)
	return class
}
