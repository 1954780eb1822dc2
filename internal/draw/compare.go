package draw

import (
	"cmp"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// What can become of a provider, or of an inventory record.
const (
	Added   = "added"
	Removed = "removed"
	Changed = "changed"
)

// Changes are what differs between two forests.
type Changes struct {
	// Providers are those that differ, parents before children.
	Providers []ProviderChange `json:"providers"`
	// Moves are what became of allocations, by consumer.
	Moves []Move `json:"moves"`

	// all holds both forests in one: every provider at its place of afterwards, and
	// removed ones at their old.
	all Forest
	// old holds the providers of before.
	old map[uuid.UUID]client.Node
}

// ProviderChange tells one provider that came, went, or is not as it was. The
// generation is not compared: it tells that there was a write, not what it wrote.
type ProviderChange struct {
	Change string     `json:"change"`
	UUID   uuid.UUID  `json:"uuid"`
	Name   string     `json:"name"`
	Parent *uuid.UUID `json:"parent_provider_uuid"`
	// Was is nil unless the name or the parent is another one.
	Was         *Place               `json:"previous,omitempty"`
	Inventories []InventoryChange    `json:"inventories"`
	Traits      SetChange[string]    `json:"traits"`
	Aggregates  SetChange[uuid.UUID] `json:"aggregates"`
}

// Place is where a provider was before, and under which name.
type Place struct {
	Name   string     `json:"name"`
	Parent *uuid.UUID `json:"parent_provider_uuid"`
}

// InventoryChange tells what became of one record, field by field.
type InventoryChange struct {
	Class  string        `json:"resource_class"`
	Change string        `json:"change"`
	Fields []FieldChange `json:"fields"`
}

// FieldChange has the name of the field in the API. From is nil in an added
// record, and where the choice was left to the service; To is nil in a removed one.
type FieldChange struct {
	Field string   `json:"field"`
	From  *float64 `json:"from"`
	To    *float64 `json:"to"`
}

// SetChange is sorted; its lists are empty, not nil.
type SetChange[T any] struct {
	Added   []T `json:"added"`
	Removed []T `json:"removed"`
}

func (s SetChange[T]) empty() bool { return len(s.Added) == 0 && len(s.Removed) == 0 }

// Compare finds what differs. A field of an inventory record that the later forest
// leaves to the service counts as unchanged.
func Compare(before, after Forest) *Changes {
	old, now := byID(before.Nodes), byID(after.Nodes)
	changes := &Changes{
		Providers: []ProviderChange{}, Moves: moves(before.Allocations, after.Allocations), old: old,
	}
	for id, node := range old {
		if _, stays := now[id]; !stays {
			changes.all.Nodes = append(changes.all.Nodes, node)
		}
	}
	for _, node := range now {
		changes.all.Nodes = append(changes.all.Nodes, node)
	}
	for _, tree := range changes.all.trees() {
		tree.walk(0, func(b *treeNode, _ int) {
			was, existed := old[b.UUID]
			is, exists := now[b.UUID]
			if change, differs := compareProvider(was, is, existed, exists); differs {
				changes.Providers = append(changes.Providers, change)
			}
		})
	}
	return changes
}

// Empty tells that nothing differs.
func (c *Changes) Empty() bool { return len(c.Providers) == 0 && len(c.Moves) == 0 }

func byID(nodes []client.Node) map[uuid.UUID]client.Node {
	all := make(map[uuid.UUID]client.Node, len(nodes))
	for _, node := range nodes {
		all[node.UUID] = node
	}
	return all
}

func compareProvider(was, is client.Node, existed, exists bool) (change ProviderChange, differs bool) {
	shown := is
	change.Change = Changed
	switch {
	case !existed:
		change.Change = Added
	case !exists:
		change.Change, shown = Removed, was
	case was.Name != is.Name || was.Parent != is.Parent:
		change.Was = &Place{Name: was.Name, Parent: parentOf(was)}
	}
	change.UUID, change.Name, change.Parent = shown.UUID, shown.Name, parentOf(shown)
	change.Inventories = compareInventories(was.Inventories, is.Inventories)
	change.Traits = compareSets(sorted(was.Traits), sorted(is.Traits), cmp.Compare)
	change.Aggregates = compareSets(sortedIDs(was.Aggregates), sortedIDs(is.Aggregates), compareIDs)
	differs = change.Change != Changed || change.Was != nil || len(change.Inventories) > 0 ||
		!change.Traits.empty() || !change.Aggregates.empty()
	return change, differs
}

func compareIDs(x, y uuid.UUID) int { return slices.Compare(x[:], y[:]) }

func parentOf(node client.Node) *uuid.UUID {
	if node.Parent == uuid.Nil {
		return nil
	}
	return &node.Parent
}

// compareSets takes sorted lists.
func compareSets[T comparable](was, is []T, compare func(x, y T) int) SetChange[T] {
	change := SetChange[T]{Added: []T{}, Removed: []T{}}
	for _, one := range was {
		if _, stays := slices.BinarySearchFunc(is, one, compare); !stays {
			change.Removed = append(change.Removed, one)
		}
	}
	for _, one := range is {
		if _, known := slices.BinarySearchFunc(was, one, compare); !known {
			change.Added = append(change.Added, one)
		}
	}
	return change
}

func compareInventories(was, is client.Inventories) []InventoryChange {
	changes := []InventoryChange{}
	both := maps.Clone(was)
	if both == nil {
		both = client.Inventories{}
	}
	maps.Copy(both, is)
	for _, class := range classes(both) {
		before, had := was[class]
		after, has := is[class]
		change := InventoryChange{Class: class, Change: Changed}
		switch {
		case !had:
			change.Change, change.Fields = Added, fieldChanges(nil, &after)
		case !has:
			change.Change, change.Fields = Removed, fieldChanges(&before, nil)
		default:
			if change.Fields = fieldChanges(&before, &after); len(change.Fields) == 0 {
				continue
			}
		}
		changes = append(changes, change)
	}
	return changes
}

// field is one of an inventory record's: its name, its value if it is given, and
// what the service takes else.
type field struct {
	name     string
	value    *float64
	fallback float64
}

func fields(record *client.InventoryRecord) []field {
	if record == nil {
		record = &client.InventoryRecord{}
	}
	return []field{
		{"total", number(&record.Total), 0},
		{"reserved", number(record.Reserved), defaultReserved},
		{"min_unit", number(record.MinUnit), defaultUnit},
		{"max_unit", number(record.MaxUnit), defaultMaxUnit},
		{"step_size", number(record.StepSize), defaultUnit},
		{"allocation_ratio", record.AllocationRatio, defaultRatio},
	}
}

func number(value *int32) *float64 {
	if value == nil {
		return nil
	}
	return new(float64(*value))
}

// fieldChanges lists all that is given of an added or removed record, and of one
// that stays what is not as it was.
func fieldChanges(was, is *client.InventoryRecord) []FieldChange {
	changes := []FieldChange{}
	later := fields(is)
	for i, before := range fields(was) {
		after := later[i]
		switch {
		case was == nil:
			before.value = nil
		case is == nil:
			after.value = nil
		case after.value == nil, *after.value == valueOr(before.value, before.fallback):
			continue
		}
		if before.value != nil || after.value != nil {
			changes = append(changes, FieldChange{before.name, before.value, after.value})
		}
	}
	return changes
}
