package client

import (
	"slices"

	"github.com/google/uuid"
)

// sharingTrait is the trait of sharing providers.
const sharingTrait = "MISC_SHARES_VIA_AGGREGATE"

// HasInventory reports whether the provider has an inventory.
func (t *ProviderTree) HasInventory(ref string) (bool, error) {
	node, err := t.Provider(ref)
	return len(node.Inventories) > 0, err
}

// InventoryChanged reports whether these inventories, which are all that the provider should have, differ from those it
// has. A nil field of a record equals every value, because it stands for the value that the server chose. So setting a
// field to nil to get the default of the server is no change.
func (t *ProviderTree) InventoryChanged(ref string, inventories Inventories) (bool, error) {
	node, err := t.Provider(ref)
	return err == nil && inventories.differFrom(node.Inventories), err
}

// UpdateInventory replaces all inventories of a provider if they differ in the sense of InventoryChanged, and reports
// whether they did. It sets a generation that is not nil in any case.
func (t *ProviderTree) UpdateInventory(ref string, inventories Inventories, generation *int64) (changed bool, err error) {
	err = t.edit(ref, generation, func(node *Node) {
		if changed = inventories.differFrom(node.Inventories); changed {
			node.Inventories = inventories.clone()
		}
	})
	return changed, err
}

// TraitsChanged reports whether these traits, which are all that the provider should have, differ from those it has.
func (t *ProviderTree) TraitsChanged(ref string, traits []string) (bool, error) {
	node, err := t.Provider(ref)
	return err == nil && !slices.Equal(sortedNames(traits), node.Traits), err
}

// UpdateTraits replaces all traits, also those that other clients set; AddTraits and RemoveTraits keep these. It
// reports whether the traits changed. It sets a generation that is not nil in any case.
func (t *ProviderTree) UpdateTraits(ref string, traits []string, generation *int64) (changed bool, err error) {
	err = t.edit(ref, generation, func(node *Node) {
		wanted := sortedNames(traits)
		changed = !slices.Equal(wanted, node.Traits)
		node.Traits = wanted
	})
	return changed, err
}

// AddTraits adds traits to a provider.
func (t *ProviderTree) AddTraits(ref string, traits ...string) error {
	return t.edit(ref, nil, func(node *Node) {
		node.Traits = sortedNames(append(node.Traits, traits...))
	})
}

// RemoveTraits removes traits from a provider. It ignores traits that the provider does not have.
func (t *ProviderTree) RemoveTraits(ref string, traits ...string) error {
	return t.edit(ref, nil, func(node *Node) {
		node.Traits = slices.DeleteFunc(node.Traits, func(trait string) bool { return slices.Contains(traits, trait) })
	})
}

// HasTraits reports whether the provider has all of the traits.
func (t *ProviderTree) HasTraits(ref string, traits ...string) (bool, error) {
	node, err := t.Provider(ref)
	return err == nil && containsAll(node.Traits, traits), err
}

// AggregatesChanged reports whether these aggregates, which are all that the provider should be in, differ from those
// it is in.
func (t *ProviderTree) AggregatesChanged(ref string, aggregates []uuid.UUID) (bool, error) {
	node, err := t.Provider(ref)
	return err == nil && !slices.Equal(sortedIDs(aggregates), node.Aggregates), err
}

// UpdateAggregates replaces all aggregates, also those that other clients set; AddAggregates and RemoveAggregates keep
// these. It reports whether the aggregates changed. It sets a generation that is not nil in any case.
func (t *ProviderTree) UpdateAggregates(ref string, aggregates []uuid.UUID, generation *int64) (changed bool, err error) {
	err = t.edit(ref, generation, func(node *Node) {
		wanted := sortedIDs(aggregates)
		changed = !slices.Equal(wanted, node.Aggregates)
		node.Aggregates = wanted
	})
	return changed, err
}

// AddAggregates adds a provider to aggregates.
func (t *ProviderTree) AddAggregates(ref string, aggregates ...uuid.UUID) error {
	return t.edit(ref, nil, func(node *Node) {
		node.Aggregates = sortedIDs(append(node.Aggregates, aggregates...))
	})
}

// RemoveAggregates removes a provider from aggregates. It ignores aggregates that the provider is not in.
func (t *ProviderTree) RemoveAggregates(ref string, aggregates ...uuid.UUID) error {
	return t.edit(ref, nil, func(node *Node) {
		node.Aggregates = slices.DeleteFunc(node.Aggregates,
			func(aggregate uuid.UUID) bool { return slices.Contains(aggregates, aggregate) })
	})
}

// InAggregates reports whether the provider is in all of the aggregates.
func (t *ProviderTree) InAggregates(ref string, aggregates ...uuid.UUID) (bool, error) {
	node, err := t.Provider(ref)
	return err == nil && containsAll(node.Aggregates, aggregates), err
}

// HasSharingProvider reports whether a sharing provider of the forest has an inventory of the class.
func (t *ProviderTree) HasSharingProvider(class string) bool {
	return slices.ContainsFunc(t.Nodes(), func(node Node) bool {
		_, has := node.Inventories[class]
		return has && slices.Contains(node.Traits, sharingTrait)
	})
}

// edit changes a provider in place, and sets the generation unless it is nil.
func (t *ProviderTree) edit(ref string, generation *int64, change func(*Node)) error {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	found, err := t.find(ref)
	if err != nil {
		return err
	}
	change(&found.node)
	if generation != nil {
		found.node.Generation = new(*generation)
	}
	return nil
}

// differFrom reports whether the wanted inventories i differ from those present.
func (i Inventories) differFrom(present Inventories) bool {
	if len(i) != len(present) {
		return true
	}
	for class, wanted := range i {
		record, has := present[class]
		if !has || recordDiffers(wanted, record) {
			return true
		}
	}
	return false
}

func recordDiffers(wanted, present InventoryRecord) bool {
	return wanted.Total != present.Total ||
		fieldDiffers(wanted.Reserved, present.Reserved) ||
		fieldDiffers(wanted.MinUnit, present.MinUnit) ||
		fieldDiffers(wanted.MaxUnit, present.MaxUnit) ||
		fieldDiffers(wanted.StepSize, present.StepSize) ||
		fieldDiffers(wanted.AllocationRatio, present.AllocationRatio)
}

func fieldDiffers[T comparable](wanted, present *T) bool {
	return wanted != nil && (present == nil || *wanted != *present)
}

func containsAll[T comparable](all, wanted []T) bool {
	return !slices.ContainsFunc(wanted, func(item T) bool { return !slices.Contains(all, item) })
}

func sortedNames(names []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

func sortedIDs(ids []uuid.UUID) []uuid.UUID {
	return slices.Compact(slices.SortedFunc(slices.Values(ids), compareIDs))
}

func compareIDs(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }

// missing returns the wanted names that are not present, sorted.
func missing(wanted, present []string) []string {
	return slices.DeleteFunc(sortedNames(wanted), func(name string) bool { return slices.Contains(present, name) })
}
