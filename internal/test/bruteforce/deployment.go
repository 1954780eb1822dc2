// Package bruteforce is a second opinion on GET /allocation_candidates: the rules
// of docs/contract/allocation-candidates.md, followed to the letter over a handful
// of providers in memory. Tests ask it and the server the same and compare.
//
// It tries everything and leaves nothing out, so that a rule can be found in one
// place and read beside the contract's sentence. It imports nothing of ours: a
// mistake must be made twice to go unnoticed. Where the contract marks a behaviour
// as a bug, what is meant holds here.
//
// It is not for production, which has more providers than can be tried one by one,
// and not for malformed queries: it knows which combinations of parameters are
// refused, but not the grammar's fine print, and it takes every name of a class or
// trait to exist.
package bruteforce

import (
	"slices"
)

// Sharing is the trait of a provider that serves trees of other providers.
const Sharing = "MISC_SHARES_VIA_AGGREGATE"

// Deployment is all there is to choose from.
type Deployment struct {
	Providers []*Provider
	// Aggregates are short names of aggregates by uuid, for people to read.
	Aggregates map[string]string
}

// Provider is a resource provider. Its name is unique.
type Provider struct {
	UUID, Name string
	// Parent is the parent's name; empty for a root.
	Parent string
	// Inventories and Used are by resource class.
	Inventories map[string]Inventory
	Used        map[string]int64
	Traits      []string
	// Aggregates are uuids.
	Aggregates []string
}

// Inventory is what a provider has of one class.
type Inventory struct {
	Total, Reserved            int64
	MinUnit, MaxUnit, StepSize int64
	Ratio                      float64
}

// capacity is not rounded: that the sum of integers stays below it is the same as
// that it stays below the truncated one.
func (i Inventory) capacity() float64 { return float64(i.Total-i.Reserved) * i.Ratio }

// HasRoomFor tells whether a provider could serve so much of a class in one group
// (docs/contract/allocation-candidates.md#capacity).
func (p *Provider) HasRoomFor(class string, amount int64) bool {
	inventory, exists := p.Inventories[class]
	return exists &&
		float64(p.Used[class]+amount) <= inventory.capacity() &&
		inventory.MinUnit <= amount && amount <= inventory.MaxUnit &&
		amount%inventory.StepSize == 0
}

// hasRoomForSum tells whether several groups together may take so much: each has
// been checked alone, and neither min_unit nor step_size is asked again.
func (p *Provider) hasRoomForSum(class string, sum int64) bool {
	inventory, exists := p.Inventories[class]
	return exists && float64(p.Used[class]+sum) <= inventory.capacity() && sum <= inventory.MaxUnit
}

func (p *Provider) hasTrait(name string) bool { return slices.Contains(p.Traits, name) }

// isInAnyOf tells whether a provider itself is in one of some aggregates.
func (p *Provider) isInAnyOf(aggregates []string) bool {
	return slices.ContainsFunc(aggregates, func(uuid string) bool { return slices.Contains(p.Aggregates, uuid) })
}

// Find returns the provider with a uuid, or nil.
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

// Root is the topmost ancestor of a provider: itself, if it has no parent.
func (d *Deployment) Root(provider *Provider) *Provider {
	for provider.Parent != "" {
		provider = d.Named(provider.Parent)
	}
	return provider
}

// Roots are the providers without a parent.
func (d *Deployment) Roots() []*Provider {
	return slices.DeleteFunc(slices.Clone(d.Providers), func(p *Provider) bool { return p.Parent != "" })
}

// isAtOrAbove tells whether a provider is another one or an ancestor of it.
func (d *Deployment) isAtOrAbove(above, provider *Provider) bool {
	for provider != above {
		if provider.Parent == "" {
			return false
		}
		provider = d.Named(provider.Parent)
	}
	return true
}

// hasTrees tells whether any provider has a parent.
func (d *Deployment) hasTrees() bool { return len(d.Roots()) < len(d.Providers) }

// Anchors are the roots for which a provider may serve
// (docs/contract/allocation-candidates.md#anchors-and-sharing-providers): its own, and
// for a sharing provider the root of everyone who is in an aggregate with it.
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
