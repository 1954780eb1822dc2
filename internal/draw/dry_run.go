package draw

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
)

// CompareDryRun returns the changes of a dry run. The service returns only what differs: known has the providers as they
// are, for names and parents, and types the types of consumers whose type does not change. A provider that known lacks
// has its UUID as its name.
func CompareDryRun(changed *api.StateChange, known map[uuid.UUID]client.Node, types map[uuid.UUID]string) *Changes {
	before, after := Forest{Allocations: client.Allocations{}}, Forest{Allocations: client.Allocations{}}
	for id, node := range known {
		if _, differs := changed.ResourceProviders[id]; !differs {
			before.Nodes = append(before.Nodes, node)
		}
	}
	after.Nodes = slices.Clone(before.Nodes)
	for id, change := range changed.ResourceProviders {
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
		kind := cmp.Or(ChangedType(change), types[id])
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

// ChangedType returns the type of a consumer whose type changes, after the change; else an empty text.
func ChangedType(change api.ConsumerChange) string {
	kind := ""
	for _, part := range []*api.ConsumerPart{change.Before, change.After} {
		if part != nil && part.ConsumerType != nil {
			kind = *part.ConsumerType
		}
	}
	return kind
}

// inheritPlace sets the parent that a provider has after the change.
func inheritPlace(node *client.Node, change api.ProviderChange) {
	if change.After != nil && change.Before.ParentProviderUUID != nil && change.After.ParentProviderUUID == nil {
		node.Parent = uuid.Nil // it becomes a root
	}
}

// withPart returns a node with the members that differ.
func withPart(node client.Node, part *api.ProviderPart) client.Node {
	if part.Name != nil {
		node.Name = *part.Name
	}
	if part.ParentProviderUUID != nil {
		node.Parent = *part.ParentProviderUUID
	}
	if part.Generation != nil {
		node.Generation = part.Generation
	}
	node.Inventories = client.Inventories{}
	for class, record := range part.Inventories {
		node.Inventories[class] = client.RecordOf(record)
	}
	node.Traits, node.Aggregates = part.Traits, part.Aggregates
	return node
}

func recordOf(part *api.ConsumerPart, kind string) *client.Consumer {
	record := &client.Consumer{Allocations: map[uuid.UUID]client.Resources{}, Type: kind}
	for provider, allocations := range part.Allocations {
		record.Allocations[provider] = allocations.Resources
	}
	return record
}

// ownersOf returns the consumers whose project, user, type or lease changes, with the new ones that get a lease.
func ownersOf(changed *api.StateChange) []ConsumerChange {
	var changes []ConsumerChange
	for _, id := range slices.SortedFunc(maps.Keys(changed.Consumers), func(a, b uuid.UUID) int { return strings.Compare(a.String(), b.String()) }) {
		before, after := changed.Consumers[id].Before, changed.Consumers[id].After
		if after == nil {
			continue
		}
		var fields []OwnerChange
		if before == nil {
			before = &api.ConsumerPart{}
		}
		for _, field := range []struct {
			name     string
			from, to *string
		}{{"project", before.ProjectID, after.ProjectID}, {"user", before.UserID, after.UserID}, {"type", before.ConsumerType, after.ConsumerType}} {
			if field.from != nil && field.to != nil {
				fields = append(fields, OwnerChange{Field: field.name, From: *field.from, To: *field.to})
			}
		}
		if before.Lease != nil || after.Lease != nil {
			fields = append(fields, OwnerChange{Field: "lease", From: leaseOf(before.Lease), To: leaseOf(after.Lease)})
		}
		if len(fields) > 0 {
			changes = append(changes, ConsumerChange{Consumer: id, Fields: fields})
		}
	}
	return changes
}

// leaseOf returns the length and the end of a lease.
func leaseOf(lease *api.Lease) string {
	if lease == nil {
		return "none"
	}
	text := "until " + lease.ExpiresAt.UTC().Format(time.RFC3339)
	if lease.Seconds != nil {
		text = strconv.Itoa(int(*lease.Seconds)) + "s, " + text
	}
	return text
}

// namesOf returns the added and removed resource classes and traits.
func namesOf(changed *api.StateChange) []NameChange {
	var changes []NameChange
	for kind, names := range map[string]map[string]api.NameChange{"resource class": changed.ResourceClasses, "trait": changed.Traits} {
		for name, change := range names {
			nameChange := NameChange{Change: Added, Kind: kind, Name: name}
			if change.After == nil {
				nameChange.Change = Removed
			}
			changes = append(changes, nameChange)
		}
	}
	slices.SortFunc(changes, func(a, b NameChange) int { return strings.Compare(a.Kind+" "+a.Name, b.Kind+" "+b.Name) })
	return changes
}
