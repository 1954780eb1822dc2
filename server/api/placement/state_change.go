package placement

import (
	"cmp"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

// stateChange returns the difference of two states: what exists in both without a difference is missing in it.
func stateChange(before, after store.State) StateChange {
	change := StateChange{
		Providers: map[string]ProviderChange{}, Consumers: map[string]ConsumerChange{},
		Classes: nameChanges(before.Classes, after.Classes), Traits: nameChanges(before.Traits, after.Traits),
	}
	for id := range either(before.Providers, after.Providers) {
		was, existed := before.Providers[id]
		is, exists := after.Providers[id]
		switch {
		case !existed:
			change.Providers[id.String()] = ProviderChange{After: stateOrNull[ProviderPart]{wholeProvider(is)}}
		case !exists:
			change.Providers[id.String()] = ProviderChange{Before: stateOrNull[ProviderPart]{wholeProvider(was)}}
		default:
			if old, changed := providerPart(was, is), providerPart(is, was); !old.isEmpty() || !changed.isEmpty() {
				change.Providers[id.String()] = ProviderChange{Before: stateOrNull[ProviderPart]{old}, After: stateOrNull[ProviderPart]{changed}}
			}
		}
	}
	for id := range either(before.Consumers, after.Consumers) {
		was, existed := before.Consumers[id]
		is, exists := after.Consumers[id]
		switch {
		case !existed:
			change.Consumers[id.String()] = ConsumerChange{After: stateOrNull[ConsumerPart]{wholeConsumer(is)}}
		case !exists:
			change.Consumers[id.String()] = ConsumerChange{Before: stateOrNull[ConsumerPart]{wholeConsumer(was)}}
		default:
			if old, changed := consumerPart(was, is), consumerPart(is, was); !old.isEmpty() || !changed.isEmpty() {
				change.Consumers[id.String()] = ConsumerChange{Before: stateOrNull[ConsumerPart]{old}, After: stateOrNull[ConsumerPart]{changed}}
			}
		}
	}
	return change
}

// isEmpty reports whether nothing changes.
func (c *StateChange) isEmpty() bool {
	return len(c.Providers)+len(c.Consumers)+len(c.Classes)+len(c.Traits) == 0
}

// either returns the keys of two maps.
func either[V any](item, other map[uuid.UUID]V) map[uuid.UUID]struct{} {
	keys := map[uuid.UUID]struct{}{}
	for key := range item {
		keys[key] = struct{}{}
	}
	for key := range other {
		keys[key] = struct{}{}
	}
	return keys
}

// nameChanges returns the created and deleted names.
func nameChanges(before, after []string) map[string]NameChange {
	changes := map[string]NameChange{}
	for _, name := range without(before, after) {
		changes[name] = NameChange{Before: stateOrNull[NamePart]{&NamePart{}}}
	}
	for _, name := range without(after, before) {
		changes[name] = NameChange{After: stateOrNull[NamePart]{&NamePart{}}}
	}
	return changes
}

// without returns the elements of one list that another does not have; nil for none.
func without[T cmp.Ordered](list, other []T) []T {
	known := make(map[T]struct{}, len(other))
	for _, element := range other {
		known[element] = struct{}{}
	}
	var left []T
	for _, element := range list {
		if _, found := known[element]; !found {
			left = append(left, element)
		}
	}
	return left
}

// wholeProvider returns all members of a provider.
func wholeProvider(of store.ProviderState) *ProviderPart {
	part := &ProviderPart{
		Name: &of.Name, Parent: &uuidOrNull{of.Parent}, Generation: &of.Generation, Inventories: map[string]Inventory{},
		Usages: map[string]int64{}, Traits: append(namesChanged{}, of.Traits...), Aggregates: append(uuids{}, of.Aggregates...),
	}
	maps.Copy(part.Usages, of.Usages)
	for class, record := range of.Inventories {
		part.Inventories[class] = inventoryOf(record)
	}
	return part
}

// providerPart returns the members of a provider that differ from another state of it.
func providerPart(of, other store.ProviderState) *ProviderPart {
	part := &ProviderPart{Generation: differing(of.Generation, other.Generation), Name: differing(of.Name, other.Name)}
	if !isSame(of.Parent, other.Parent) {
		part.Parent = &uuidOrNull{of.Parent}
	}
	for class, record := range differences(of.Inventories, other.Inventories) {
		if part.Inventories == nil {
			part.Inventories = map[string]Inventory{}
		}
		part.Inventories[class] = inventoryOf(record)
	}
	part.Usages = differences(of.Usages, other.Usages)
	part.Traits = without(of.Traits, other.Traits)
	for _, aggregate := range of.Aggregates {
		if !slices.Contains(other.Aggregates, aggregate) {
			part.Aggregates = append(part.Aggregates, aggregate)
		}
	}
	return part
}

func (p *ProviderPart) isEmpty() bool {
	return p.Name == nil && p.Parent == nil && p.Generation == nil && p.Inventories == nil && p.Usages == nil &&
		p.Traits == nil && p.Aggregates == nil
}

// wholeConsumer returns all members of a consumer.
func wholeConsumer(of store.ConsumerState) *ConsumerPart {
	part := &ConsumerPart{
		Generation: &of.Generation, ProjectID: &of.ProjectID, UserID: &of.UserID, Type: new(string),
		Allocations: map[string]AllocationsPart{},
	}
	*part.Type = typeName(of.Type)
	for provider, amounts := range of.Allocations {
		part.Allocations[provider.String()] = AllocationsPart{Resources: amounts}
	}
	return part
}

// consumerPart returns the members of a consumer that differ from another state of it.
func consumerPart(of, other store.ConsumerState) *ConsumerPart {
	part := &ConsumerPart{
		Generation: differing(of.Generation, other.Generation), ProjectID: differing(of.ProjectID, other.ProjectID),
		UserID: differing(of.UserID, other.UserID), Type: differing(typeName(of.Type), typeName(other.Type)),
	}
	for provider, amounts := range of.Allocations {
		if changed := differences(amounts, other.Allocations[provider]); changed != nil {
			if part.Allocations == nil {
				part.Allocations = map[string]AllocationsPart{}
			}
			part.Allocations[provider.String()] = AllocationsPart{Resources: changed}
		}
	}
	return part
}

func (p *ConsumerPart) isEmpty() bool {
	return p.Generation == nil && p.ProjectID == nil && p.UserID == nil && p.Type == nil && p.Allocations == nil
}

// typeName returns the consumer type as responses have it.
func typeName(of *string) string {
	if of == nil {
		return "unknown"
	}
	return *of
}

// differing returns a value if it differs from another, else nil.
func differing[T comparable](value, other T) *T {
	if value == other {
		return nil
	}
	return &value
}

func isSame(id, other *uuid.UUID) bool {
	return id == other || id != nil && other != nil && *id == *other
}

// differences returns the members of a map that another does not have, or has with another value; nil for none.
func differences[V comparable](members, other map[string]V) map[string]V {
	var found map[string]V
	for key, value := range members {
		if known, ok := other[key]; ok && known == value {
			continue
		}
		if found == nil {
			found = map[string]V{}
		}
		found[key] = value
	}
	return found
}

// inventoryOf returns an inventory as responses have it.
func inventoryOf(record store.InventoryState) Inventory {
	return Inventory{
		Total: record.Total, Reserved: record.Reserved, MinUnit: record.MinUnit, MaxUnit: record.MaxUnit,
		StepSize: record.StepSize, AllocationRatio: ratio(record.AllocationRatio),
	}
}
