package client

import (
	"slices"

	"github.com/google/uuid"
)

// sharingTrait marks providers whose inventory can be used by all trees that have
// an aggregate in common with them.
const sharingTrait = "MISC_SHARES_VIA_AGGREGATE"

// HasInventory says whether the provider has any.
func (t *ProviderTree) HasInventory(ref string) (bool, error) {
	node, err := t.Provider(ref)
	return len(node.Inventories) > 0, err
}

// InventoryChanged says whether the inventories given, which are all that the
// provider should have, differ from what it has. A nil field of a record is equal
// to anything, because it leaves the choice to the server, which has chosen. So
// setting a field to nil to fall back to the server's default is no change.
func (t *ProviderTree) InventoryChanged(ref string, inventories Inventories) (bool, error) {
	node, err := t.Provider(ref)
	return err == nil && inventories.differFrom(node.Inventories), err
}

// UpdateInventory replaces all that a provider has, if it differs in the sense of
// InventoryChanged, and says whether it did. A generation that is not nil is taken
// over in any case.
func (t *ProviderTree) UpdateInventory(ref string, inventories Inventories, generation *int64) (changed bool, err error) {
	err = t.edit(ref, generation, func(node *Node) {
		if changed = inventories.differFrom(node.Inventories); changed {
			node.Inventories = inventories.clone()
		}
	})
	return changed, err
}

// TraitsChanged says whether the traits given, which are all that the provider
// should have, differ from those it has.
func (t *ProviderTree) TraitsChanged(ref string, traits []string) (bool, error) {
	node, err := t.Provider(ref)
	return err == nil && !slices.Equal(sortedNames(traits), node.Traits), err
}

// UpdateTraits replaces all traits, also those that somebody else gave the
// provider; AddTraits and RemoveTraits are politer. It says whether that is a
// change. A generation that is not nil is taken over in any case.
func (t *ProviderTree) UpdateTraits(ref string, traits []string, generation *int64) (changed bool, err error) {
	err = t.edit(ref, generation, func(node *Node) {
		wanted := sortedNames(traits)
		changed = !slices.Equal(wanted, node.Traits)
		node.Traits = wanted
	})
	return changed, err
}

// AddTraits gives a provider traits on top of those it has.
func (t *ProviderTree) AddTraits(ref string, traits ...string) error {
	return t.edit(ref, nil, func(node *Node) {
		node.Traits = sortedNames(append(node.Traits, traits...))
	})
}

// RemoveTraits takes traits away; those that the provider does not have do not
// matter.
func (t *ProviderTree) RemoveTraits(ref string, traits ...string) error {
	return t.edit(ref, nil, func(node *Node) {
		node.Traits = slices.DeleteFunc(node.Traits, func(trait string) bool { return slices.Contains(traits, trait) })
	})
}

// HasTraits says whether the provider has all of the traits.
func (t *ProviderTree) HasTraits(ref string, traits ...string) (bool, error) {
	node, err := t.Provider(ref)
	return err == nil && containsAll(node.Traits, traits), err
}

// AggregatesChanged says whether the aggregates given, which are all that the
// provider should be in, differ from those it is in.
func (t *ProviderTree) AggregatesChanged(ref string, aggregates []uuid.UUID) (bool, error) {
	node, err := t.Provider(ref)
	return err == nil && !slices.Equal(sortedIDs(aggregates), node.Aggregates), err
}

// UpdateAggregates replaces all aggregates, also those into which somebody else put
// the provider; AddAggregates and RemoveAggregates are politer. It says whether that
// is a change. A generation that is not nil is taken over in any case.
func (t *ProviderTree) UpdateAggregates(ref string, aggregates []uuid.UUID, generation *int64) (changed bool, err error) {
	err = t.edit(ref, generation, func(node *Node) {
		wanted := sortedIDs(aggregates)
		changed = !slices.Equal(wanted, node.Aggregates)
		node.Aggregates = wanted
	})
	return changed, err
}

// AddAggregates puts a provider into aggregates on top of those it is in.
func (t *ProviderTree) AddAggregates(ref string, aggregates ...uuid.UUID) error {
	return t.edit(ref, nil, func(node *Node) {
		node.Aggregates = sortedIDs(append(node.Aggregates, aggregates...))
	})
}

// RemoveAggregates takes a provider out of aggregates; those that it is not in do
// not matter.
func (t *ProviderTree) RemoveAggregates(ref string, aggregates ...uuid.UUID) error {
	return t.edit(ref, nil, func(node *Node) {
		node.Aggregates = slices.DeleteFunc(node.Aggregates,
			func(aggregate uuid.UUID) bool { return slices.Contains(aggregates, aggregate) })
	})
}

// InAggregates says whether the provider is in all of the aggregates.
func (t *ProviderTree) InAggregates(ref string, aggregates ...uuid.UUID) (bool, error) {
	node, err := t.Provider(ref)
	return err == nil && containsAll(node.Aggregates, aggregates), err
}

// HasSharingProvider says whether some provider of the forest has inventory of the
// class and shares it with the members of its aggregates.
func (t *ProviderTree) HasSharingProvider(class string) bool {
	return slices.ContainsFunc(t.Nodes(), func(node Node) bool {
		_, has := node.Inventories[class]
		return has && slices.Contains(node.Traits, sharingTrait)
	})
}

// edit changes a provider in place and takes over the generation unless it is nil.
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

// differFrom compares what is wanted with what is there.
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
	return !slices.ContainsFunc(wanted, func(one T) bool { return !slices.Contains(all, one) })
}

func sortedNames(names []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

func sortedIDs(ids []uuid.UUID) []uuid.UUID {
	return slices.Compact(slices.SortedFunc(slices.Values(ids), compareIDs))
}

func compareIDs(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }

// missing are those of the wanted names that are not present, sorted.
func missing(wanted, present []string) []string {
	return slices.DeleteFunc(sortedNames(wanted), func(name string) bool { return slices.Contains(present, name) })
}
