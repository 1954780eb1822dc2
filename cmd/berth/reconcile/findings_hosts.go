package reconcile

import (
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
)

// findEmptyHosts adds the trees without consumers that look like a host and whose host the source does not have.
func (c *comparison) findEmptyHosts() {
	used := map[uuid.UUID]bool{}
	for _, consumer := range c.state.consumers {
		for _, on := range consumer.Allocations {
			used[on.Root] = true
		}
	}
	old := map[uuid.UUID]bool{}
	if !c.before.IsZero() {
		old = c.state.oldProviders(c.before)
	}
	for root, tree := range c.state.trees() {
		if used[root] || c.hosts[root] || c.state.byUUID[root] == nil || !looksLikeHost(tree) || !c.before.IsZero() && !old[root] {
			continue
		}
		provider := c.state.byUUID[root]
		c.findings = append(c.findings, Finding{
			Kind: EmptyHost, Root: root, Host: provider.Name, Generation: provider.Generation, Resources: totalsOf(tree),
			Reason: "no consumers, and the source has no such host", Repair: "delete the tree",
		})
	}
}

// looksLikeHost reports whether a tree has CPUs or memory, and no provider that shares with other trees. Storage pools,
// network segments and bare metal nodes are no hosts of instances.
func looksLikeHost(tree []*api.ProviderWithParts) bool {
	hasCPU := false
	for _, provider := range tree {
		if slices.Contains(provider.Traits, "MISC_SHARES_VIA_AGGREGATE") {
			return false
		}
		for _, class := range hostClasses {
			_, has := provider.Inventories[class]
			hasCPU = hasCPU || has
		}
	}
	return hasCPU
}

// totalsOf returns the totals of the inventories of a tree by class.
func totalsOf(tree []*api.ProviderWithParts) client.ClassAmounts {
	totals := map[string]int64{}
	for _, provider := range tree {
		for class, inventory := range provider.Inventories {
			totals[class] += int64(inventory.Total)
		}
	}
	return amountsOf(totals)
}

// seenTwice returns the findings of the second reading that the first one had, too, with the same generations.
func seenTwice(first, second []Finding) []Finding {
	seen := map[identity]bool{}
	for i := range first {
		seen[first[i].identity()] = true
	}
	return slices.DeleteFunc(second, func(f Finding) bool { return !seen[f.identity()] })
}
