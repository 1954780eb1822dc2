package draw

import (
	"cmp"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// Kinds of change of a provider or an inventory.
const (
	Added   = "added"
	Removed = "removed"
	Changed = "changed"
)

// Changes is the difference between two forests.
type Changes struct {
	// Providers lists the changed providers, parents before children.
	Providers []ProviderChange `json:"providers"`
	// Moves lists the changes of allocations, by consumer.
	Moves []Move `json:"moves"`
	// Consumers lists the consumers whose project, user, type or lease changes. Compare does not set it.
	Consumers []ConsumerChange `json:"consumers,omitempty"`
	// Names lists the added and removed resource classes and traits. Compare does not set it.
	Names []NameChange `json:"names,omitempty"`

	// all is the union of both forests. Providers have their position in the later forest; removed ones keep their
	// position in the earlier forest.
	all Forest
	// old maps UUIDs to the providers of the earlier forest.
	old map[uuid.UUID]client.Node
}

// ProviderChange is a provider that is added, removed or changed. Compare ignores the generation: it shows that a write
// happened, not what the write changed.
type ProviderChange struct {
	Change string     `json:"change"`
	UUID   uuid.UUID  `json:"uuid"`
	Name   string     `json:"name"`
	Parent *uuid.UUID `json:"parent_provider_uuid"`
	// Was is nil unless the name or the parent changes.
	Was         *Place               `json:"previous,omitempty"`
	Inventories []InventoryChange    `json:"inventories"`
	Traits      SetChange[string]    `json:"traits"`
	Aggregates  SetChange[uuid.UUID] `json:"aggregates"`
}

// Place is the previous name and parent of a provider.
type Place struct {
	Name   string     `json:"name"`
	Parent *uuid.UUID `json:"parent_provider_uuid"`
}

// InventoryChange is an inventory that is added, removed or changed, with its changed fields.
type InventoryChange struct {
	Class  string        `json:"resource_class"`
	Change string        `json:"change"`
	Fields []FieldChange `json:"fields"`
}

// FieldChange is the change of one field; Field is its name in the API. From is nil in an added inventory and for an
// omitted field, which has its default. To is nil in a removed inventory.
type FieldChange struct {
	Field string   `json:"field"`
	From  *float64 `json:"from"`
	To    *float64 `json:"to"`
}

// SetChange is the difference between two sets. Its lists are sorted, and empty instead of nil.
type SetChange[T any] struct {
	Added   []T `json:"added"`
	Removed []T `json:"removed"`
}

func (s SetChange[T]) empty() bool { return len(s.Added) == 0 && len(s.Removed) == 0 }

// Compare returns the changes between two forests. A field of an inventory that the later forest omits counts as
// unchanged.
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

// Empty reports whether there are no changes.
func (c *Changes) Empty() bool {
	return len(c.Providers)+len(c.Moves)+len(c.Consumers)+len(c.Names) == 0
}

// byID returns the nodes by UUID.
func byID(nodes []client.Node) map[uuid.UUID]client.Node {
	all := make(map[uuid.UUID]client.Node, len(nodes))
	for _, node := range nodes {
		all[node.UUID] = node
	}
	return all
}

// compareProvider returns the change of a provider. existed and exists report whether the earlier and the later forest
// have it.
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

// parentOf returns the UUID of the parent; nil for a root.
func parentOf(node client.Node) *uuid.UUID {
	if node.Parent == uuid.Nil {
		return nil
	}
	return &node.Parent
}

// compareSets returns the difference between two sorted lists.
func compareSets[T comparable](was, is []T, compare func(x, y T) int) SetChange[T] {
	change := SetChange[T]{Added: []T{}, Removed: []T{}}
	for _, member := range was {
		if _, kept := slices.BinarySearchFunc(is, member, compare); !kept {
			change.Removed = append(change.Removed, member)
		}
	}
	for _, member := range is {
		if _, existed := slices.BinarySearchFunc(was, member, compare); !existed {
			change.Added = append(change.Added, member)
		}
	}
	return change
}

// compareInventories returns the changed inventories, sorted by class.
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

// field is a field of an inventory: its name, its value or nil if it is omitted, and its default.
type field struct {
	name     string
	value    *float64
	fallback float64
}

// fields returns the fields of an inventory in a fixed order.
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

// fieldChanges returns the changed fields of an inventory. For an added or removed inventory, whose was or is is nil, it
// returns all fields that are set.
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
