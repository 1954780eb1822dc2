// Package bruteforce is a second implementation of /allocation_candidates and of its explanations:
// it follows the rules of docs/contract/allocation-candidates.md, docs/contract/berth/search.md and
// docs/contract/berth/explain.md literally, with a few providers in memory. Tests compare its
// results with those of the server.
//
// It tries all combinations without optimization, so that each rule is in one place next to the
// reference to the contract. Of this module it imports only the types of an explanation, so that a
// mistake in one implementation is not shared. Where the contract marks a behavior as a bug, this package
// implements the intended behavior.
//
// It is not for production, which has too many providers for brute force. Below Berth it is not for
// malformed queries: it rejects invalid combinations of parameters, but does not check the whole
// grammar, and it assumes that every class and trait exists.
package bruteforce

import (
	"slices"
)

// Sharing is the trait of sharing providers.
const Sharing = "MISC_SHARES_VIA_AGGREGATE"

// Deployment is the set of all providers.
type Deployment struct {
	Providers []*Provider
	// Aggregates are short names of aggregates by UUID, for the notation.
	Aggregates map[string]string
}

// Provider is a resource provider. Its name is unique.
type Provider struct {
	UUID, Name string
	// Number is the position in the order of creation.
	Number int
	// Parent is the name of the parent; empty for a root.
	Parent string
	// Inventories and Used are by resource class.
	Inventories map[string]Inventory
	Used        map[string]int64
	Traits      []string
	// Aggregates are UUIDs.
	Aggregates []string
}

// Inventory is the inventory of one class.
type Inventory struct {
	Total, Reserved            int64
	MinUnit, MaxUnit, StepSize int64
	Ratio                      float64
}

// capacity is not rounded: a sum of integers is at most the capacity exactly if it is at most the
// truncated capacity.
func (i Inventory) capacity() float64 { return float64(i.Total-i.Reserved) * i.Ratio }

// HasRoomFor reports whether a provider can serve an amount of a class in one group
// (docs/contract/allocation-candidates.md#capacity).
func (p *Provider) HasRoomFor(class string, amount int64) bool {
	inventory, exists := p.Inventories[class]
	return exists &&
		float64(p.Used[class]+amount) <= inventory.capacity() &&
		inventory.MinUnit <= amount && amount <= inventory.MaxUnit &&
		amount%inventory.StepSize == 0
}

// hasRoomForSum reports whether the sum of several groups fits the capacity and max_unit. It does
// not check min_unit and step_size, which HasRoomFor has checked for each group.
func (p *Provider) hasRoomForSum(class string, sum int64) bool {
	inventory, exists := p.Inventories[class]
	return exists && float64(p.Used[class]+sum) <= inventory.capacity() && sum <= inventory.MaxUnit
}

func (p *Provider) hasTrait(name string) bool { return slices.Contains(p.Traits, name) }

// isInAnyOf reports whether a provider is a member of one of the aggregates.
func (p *Provider) isInAnyOf(aggregates []string) bool {
	return slices.ContainsFunc(aggregates, func(uuid string) bool { return slices.Contains(p.Aggregates, uuid) })
}

// Find returns the provider with a UUID, or nil.
func (d *Deployment) Find(uuid string) *Provider {
	for _, provider := range d.Providers {
		if provider.UUID == uuid {
			return provider
		}
	}
	return nil
}

// Named returns the provider with a name, or nil.
func (d *Deployment) Named(name string) *Provider {
	for _, provider := range d.Providers {
		if provider.Name == name {
			return provider
		}
	}
	return nil
}

// Root returns the root of a provider.
func (d *Deployment) Root(provider *Provider) *Provider {
	for provider.Parent != "" {
		provider = d.Named(provider.Parent)
	}
	return provider
}

// Roots returns the providers without a parent.
func (d *Deployment) Roots() []*Provider {
	return slices.DeleteFunc(slices.Clone(d.Providers), func(p *Provider) bool { return p.Parent != "" })
}

// isAtOrAbove reports whether a provider is the other one or its ancestor.
func (d *Deployment) isAtOrAbove(above, provider *Provider) bool {
	for provider != above {
		if provider.Parent == "" {
			return false
		}
		provider = d.Named(provider.Parent)
	}
	return true
}

// hasTrees reports whether any provider has a parent.
func (d *Deployment) hasTrees() bool { return len(d.Roots()) < len(d.Providers) }

// Anchors returns the roots for which a provider may serve
// (docs/contract/allocation-candidates.md#anchors-and-sharing-providers): its own root, and for a
// sharing provider the roots of all members of its aggregates.
func (d *Deployment) Anchors(provider *Provider) []*Provider {
	anchors := []*Provider{d.Root(provider)}
	if !provider.hasTrait(Sharing) {
		return anchors
	}
	for _, other := range d.Providers {
		root := d.Root(other)
		if other.isInAnyOf(provider.Aggregates) && !slices.Contains(anchors, root) {
			anchors = append(anchors, root)
		}
	}
	return anchors
}
