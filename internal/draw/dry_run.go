package draw

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// CompareDryRun returns the changes of a dry run. The service returns only what differs: known has the providers as they
// are, for names and parents, and types the types of consumers whose type does not change. A provider that known lacks
// has its UUID as its name.
func CompareDryRun(changed *client.StateChanges, known map[uuid.UUID]client.Node, types map[uuid.UUID]string) *Changes {
	before, after := Forest{Allocations: client.Allocations{}}, Forest{Allocations: client.Allocations{}}
	for id, node := range known {
		if _, differs := changed.Providers[id]; !differs {
			before.Nodes = append(before.Nodes, node)
		}
	}
	after.Nodes = slices.Clone(before.Nodes)
	for id, change := range changed.Providers {
		current := known[id]
		current.UUID, current.Name = id, cmp.Or(current.Name, id.String())
		if change.Before != nil {
			before.Nodes = append(before.Nodes, withPart(current, change.Before))
			inheritPlace(&current, change)
		}
		if change.After != nil {
			after.Nodes = append(after.Nodes, withPart(current, change.After))
		}
	}
	for id, change := range changed.Consumers {
		kind := cmp.Or(change.Type(), types[id])
		if change.Before != nil {
			before.Allocations[id] = recordOf(change.Before, kind)
		}
		if change.After != nil {
			after.Allocations[id] = recordOf(change.After, kind)
		}
	}
	changes := Compare(before, after)
	changes.Consumers, changes.Names = ownersOf(changed), namesOf(changed)
	return changes
}

// inheritPlace sets the parent that a provider has after the change.
func inheritPlace(node *client.Node, change client.ProviderChange) {
	if change.After != nil && change.Before.Parent != nil && change.After.Parent == nil {
		node.Parent = uuid.Nil // it becomes a root
	}
}

// withPart returns a node with the members that differ.
func withPart(node client.Node, part *client.ProviderPart) client.Node {
	if part.Name != nil {
		node.Name = *part.Name
	}
	if part.Parent != nil {
		node.Parent = *part.Parent
	}
	if part.Generation != nil {
		node.Generation = part.Generation
	}
	node.Inventories = client.Inventories{}
	for class, record := range part.Inventories {
		node.Inventories[class] = client.InventoryRecord{
			Total: record.Total, Reserved: &record.Reserved, MinUnit: &record.MinUnit, MaxUnit: &record.MaxUnit,
			StepSize: &record.StepSize, AllocationRatio: &record.AllocationRatio,
		}
	}
	node.Traits, node.Aggregates = part.Traits, part.Aggregates
	return node
}

func recordOf(part *client.ConsumerPart, kind string) *client.Consumer {
	record := &client.Consumer{Allocations: map[uuid.UUID]client.Resources{}, Type: kind}
	for provider, allocations := range part.Allocations {
		record.Allocations[provider] = allocations.Resources
	}
	return record
}

// ownersOf returns the consumers whose project, user or type changes.
func ownersOf(changed *client.StateChanges) []ConsumerChange {
	var changes []ConsumerChange
	for _, id := range slices.SortedFunc(maps.Keys(changed.Consumers), func(a, b uuid.UUID) int { return strings.Compare(a.String(), b.String()) }) {
		before, after := changed.Consumers[id].Before, changed.Consumers[id].After
		if before == nil || after == nil {
			continue
		}
		var fields []OwnerChange
		for _, field := range []struct {
			name     string
			from, to *string
		}{{"project", before.ProjectID, after.ProjectID}, {"user", before.UserID, after.UserID}, {"type", before.Type, after.Type}} {
			if field.from != nil && field.to != nil {
				fields = append(fields, OwnerChange{Field: field.name, From: *field.from, To: *field.to})
			}
		}
		if len(fields) > 0 {
			changes = append(changes, ConsumerChange{Consumer: id, Fields: fields})
		}
	}
	return changes
}

// namesOf returns the added and removed resource classes and traits.
func namesOf(changed *client.StateChanges) []NameChange {
	var changes []NameChange
	for kind, names := range map[string]map[string]client.NameChange{"resource class": changed.Classes, "trait": changed.Traits} {
		for name, change := range names {
			made := NameChange{Change: Added, Kind: kind, Name: name}
			if change.After == nil {
				made.Change = Removed
			}
			changes = append(changes, made)
		}
	}
	slices.SortFunc(changes, func(a, b NameChange) int { return strings.Compare(a.Kind+" "+a.Name, b.Kind+" "+b.Name) })
	return changes
}
