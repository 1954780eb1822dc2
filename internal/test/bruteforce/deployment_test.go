package bruteforce_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berthd/berth/internal/test/bruteforce"
)

// The names in random deployments and queries.
var (
	allTraits     = []string{"HW_CPU_X86_AVX2", "HW_NUMA_ROOT", "CUSTOM_FAST", "CUSTOM_RAID", "STORAGE_DISK_SSD"}
	allAggregates = []string{"A", "B", "C", "D"}
)

// odds are the percentages with which a provider of a kind has each class.
type odds []struct {
	class   string
	percent int
}

var (
	hostOdds = odds{
		{"VCPU", 80}, {"MEMORY_MB", 55}, {"DISK_GB", 40}, {"SRIOV_NET_VF", 12}, {"VGPU", 12}, {"CUSTOM_GOLD", 15},
	}
	partOdds = odds{
		{"VCPU", 40}, {"MEMORY_MB", 25}, {"DISK_GB", 15}, {"SRIOV_NET_VF", 55}, {"VGPU", 35}, {"CUSTOM_GOLD", 20},
	}
	// likeOdds are the odds of providers that resemble each other.
	likeOdds = odds{
		{"VCPU", 85}, {"MEMORY_MB", 75}, {"DISK_GB", 10}, {"SRIOV_NET_VF", 85}, {"VGPU", 10}, {"CUSTOM_GOLD", 10},
	}
	poolOdds = odds{
		{"VCPU", 12}, {"MEMORY_MB", 12}, {"DISK_GB", 80}, {"SRIOV_NET_VF", 25}, {"VGPU", 15}, {"CUSTOM_GOLD", 45},
	}
)

// maxProviders limits the size of a deployment, and so the time of the brute force.
const maxProviders = 9

// world is a deployment whose text is the notation of the contract.
type world struct{ *bruteforce.Deployment }

func (w world) GoString() string { return "\n" + w.String() }

// worlds draws deployments: one to four trees of up to three levels. Two of three deployments can have sharing
// providers.
var worlds = rapid.Custom(func(t *rapid.T) world {
	d := generator{t}
	canShare := !d.chance(33)
	drawn := world{&bruteforce.Deployment{Aggregates: map[string]string{}}}
	for _, name := range allAggregates {
		drawn.Aggregates[bruteforce.ID(name)] = name
	}
	trees := pick(d, 2, 3, 1, 4, 3)
	for tree := range trees {
		left := maxProviders - len(drawn.Providers) - (trees - 1 - tree)
		drawn.drawTree(d, fmt.Sprintf("t%d", tree), canShare, &left)
	}
	numberByUUID(drawn.Deployment)
	return drawn
})

// drawTree draws a root and its descendants, up to the maximum number of providers.
func (w world) drawTree(d generator, name string, canShare bool, left *int) {
	isPool := d.chance(30)
	parts := pick(d, partOdds, likeOdds)
	root := w.draw(d, name, "", canShare && (isPool || d.chance(5)), map[bool]odds{false: hostOdds, true: poolOdds}[isPool])
	*left--
	for child := range pick(d, 0, 1, 2, 0, 1, 2, 3) {
		if *left <= 0 {
			return
		}
		*left--
		middle := w.draw(d, fmt.Sprintf("%s%c", name, 'a'+child), root.Name, canShare && d.chance(12), parts)
		for grandchild := range pick(d, 0, 0, 1, 0, 2) {
			if *left <= 0 {
				return
			}
			*left--
			w.draw(d, fmt.Sprintf("%s%d", middle.Name, grandchild), middle.Name, canShare && d.chance(10), parts)
		}
	}
}

// draw draws one provider.
func (w world) draw(d generator, name, parent string, shares bool, odds odds) *bruteforce.Provider {
	provider := &bruteforce.Provider{
		UUID: bruteforce.ID(name), Name: name, Parent: parent,
		Inventories: map[string]bruteforce.Inventory{}, Used: map[string]int64{},
		Traits: some(d, 28, allTraits...),
	}
	for _, each := range odds {
		if !d.chance(each.percent) {
			continue
		}
		inventory := drawInventory(d)
		provider.Inventories[each.class] = inventory
		if d.chance(20) {
			provider.Used[each.class] = max(1, pick(d, 1, 2, inventory.Total/2, inventory.Total-1, inventory.Total, inventory.Total+3))
		}
	}
	membership := 14
	if shares {
		provider.Traits = append(provider.Traits, bruteforce.Sharing)
	}
	if shares || parent == "" {
		membership = 34
	}
	for _, name := range some(d, membership, allAggregates...) {
		provider.Aggregates = append(provider.Aggregates, bruteforce.ID(name))
	}
	w.Providers = append(w.Providers, provider)
	return provider
}

// drawInventory draws an inventory with default values, or with one unusual value.
func drawInventory(d generator) bruteforce.Inventory {
	drawn := bruteforce.NewInventory(pick[int64](d, 4, 8, 2, 16, 1, 100))
	if !d.chance(30) {
		return drawn
	}
	for range 1 + d.below(2) {
		switch d.below(5) {
		case 0:
			drawn.Reserved = pick(d, 1, drawn.Total/2, drawn.Total-1, drawn.Total, drawn.Total+1)
		case 1:
			drawn.Ratio = pick(d, 1.5, 0.29, 16, 0.5, 3.3, 1e30)
		case 2:
			drawn.MinUnit = pick[int64](d, 2, 3)
		case 3:
			drawn.MaxUnit = pick[int64](d, 2, 1, 3, 4)
		case 4:
			drawn.StepSize = pick[int64](d, 2, 3)
		}
	}
	return drawn
}

func TestCandidates_BruteforceNotation_RoundTrips(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		drawn := worlds.Draw(t, "deployment")
		read, err := bruteforce.ParseDeployment(drawn.String())
		if err != nil {
			t.Fatal(err)
		}
		if read.String() != drawn.String() {
			t.Fatalf("read as\n%s", read)
		}
	})
}

// names returns the names of all providers that match a condition.
func (w world) names(holds func(*bruteforce.Provider) bool) []string {
	var found []string
	for _, provider := range w.Providers {
		if holds(provider) {
			found = append(found, provider.Name)
		}
	}
	return found
}

// aggregatesOf returns the short names of the aggregates of a provider.
func (w world) aggregatesOf(provider *bruteforce.Provider) []string {
	var found []string
	for _, uuid := range provider.Aggregates {
		found = append(found, w.Aggregates[uuid])
	}
	return found
}

// without returns a list without some elements.
func without(list, excluded []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(element string) bool { return slices.Contains(excluded, element) })
}

// braced returns a name in the form that Expand replaces.
func braced(names []string) string { return "{" + strings.Join(names, "},{") + "}" }
