package apicommand

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/draw"
)

// changesOf returns the changes of a dry run for drawing. The service returns only what differs, so it reads the names
// and parents of the providers, and the types of the consumers.
func changesOf(ctx context.Context, service *client.Client, changed *client.StateChanges) (*draw.Changes, error) {
	trees, err := treesOf(ctx, service, changed)
	if err != nil {
		return nil, err
	}
	before, after := draw.Forest{}, draw.Forest{}
	for id, provider := range trees {
		if _, differs := changed.Providers[id]; !differs {
			before.Nodes = append(before.Nodes, nodeOf(provider))
		}
	}
	after.Nodes = slices.Clone(before.Nodes)
	for id, change := range changed.Providers {
		current := nodeOf(trees[id])
		current.UUID = id
		if change.Before != nil {
			before.Nodes = append(before.Nodes, withPart(current, change.Before))
			inheritPlace(&current, change)
		}
		if change.After != nil {
			after.Nodes = append(after.Nodes, withPart(current, change.After))
		}
	}
	if before.Allocations, after.Allocations, err = recordsOf(ctx, service, changed); err != nil {
		return nil, err
	}
	changes := draw.Compare(before, after)
	changes.Consumers, changes.Names = ownersOf(changed), namesOf(changed)
	return changes, nil
}

// inheritPlace sets the parent that a provider has after the change.
func inheritPlace(node *client.Node, change client.ProviderChange) {
	if change.After != nil && change.Before.Parent != nil && change.After.Parent == nil {
		node.Parent = uuid.Nil // it becomes a root
	}
}

func nodeOf(provider api.Provider) client.Node {
	node := client.Node{UUID: provider.UUID, Name: provider.Name, Generation: new(provider.Generation)}
	if parent, err := provider.ParentProviderUUID.Get(); err == nil {
		node.Parent = parent
	}
	return node
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

// treesOf returns the providers of the trees of changed providers, as they are now. New providers are not among them.
func treesOf(ctx context.Context, service *client.Client, changed *client.StateChanges) (map[uuid.UUID]api.Provider, error) {
	needed := map[uuid.UUID]bool{}
	for id, change := range changed.Providers {
		switch {
		case change.Before != nil:
			needed[id] = true
		case change.After.Parent != nil:
			needed[*change.After.Parent] = true
		}
		if change.After != nil && change.After.Parent != nil {
			needed[*change.After.Parent] = true
		}
	}
	maps.DeleteFunc(needed, func(id uuid.UUID, _ bool) bool {
		change, named := changed.Providers[id]
		return named && change.Before == nil // it is new
	})
	found := map[uuid.UUID]api.Provider{}
	for trees := 0; len(needed) > 0; trees++ {
		filter := client.ProviderFilter{}
		ids := sortedIDs(needed)
		if trees < FewProviders {
			filter.InTree = ids[0].String()
		}
		providers, err := service.ProviderList(ctx, filter)
		if err != nil {
			return nil, err
		}
		for _, provider := range providers {
			found[provider.UUID] = provider
			delete(needed, provider.UUID)
		}
		if filter.InTree == "" {
			break
		}
		delete(needed, ids[0]) // it may have been deleted since
	}
	return found, nil
}

// recordsOf returns the allocations of changed consumers, before and after.
func recordsOf(ctx context.Context, service *client.Client, changed *client.StateChanges) (before, after client.Allocations, err error) {
	before, after = client.Allocations{}, client.Allocations{}
	for id, change := range changed.Consumers {
		kind := ""
		for _, part := range []*client.ConsumerPart{change.Before, change.After} {
			if part != nil && part.Type != nil {
				kind = *part.Type
			}
		}
		if kind == "" {
			current, err := service.AllocationList(ctx, id)
			if err != nil {
				return nil, nil, err
			}
			kind = current.Type
		}
		if change.Before != nil {
			before[id] = recordOf(change.Before, kind)
		}
		if change.After != nil {
			after[id] = recordOf(change.After, kind)
		}
	}
	return before, after, nil
}

func recordOf(part *client.ConsumerPart, kind string) *client.Consumer {
	record := &client.Consumer{Allocations: map[uuid.UUID]client.Resources{}, Type: kind}
	for provider, allocations := range part.Allocations {
		record.Allocations[provider] = allocations.Resources
	}
	return record
}

// ownersOf returns the consumers whose project, user or type changes.
func ownersOf(changed *client.StateChanges) []draw.ConsumerChange {
	var changes []draw.ConsumerChange
	for _, id := range sortedIDs(changed.Consumers) {
		before, after := changed.Consumers[id].Before, changed.Consumers[id].After
		if before == nil || after == nil {
			continue
		}
		var fields []draw.OwnerChange
		for _, field := range []struct {
			name     string
			from, to *string
		}{{"project", before.ProjectID, after.ProjectID}, {"user", before.UserID, after.UserID}, {"type", before.Type, after.Type}} {
			if field.from != nil && field.to != nil {
				fields = append(fields, draw.OwnerChange{Field: field.name, From: *field.from, To: *field.to})
			}
		}
		if len(fields) > 0 {
			changes = append(changes, draw.ConsumerChange{Consumer: id, Fields: fields})
		}
	}
	return changes
}

// namesOf returns the added and removed resource classes and traits.
func namesOf(changed *client.StateChanges) []draw.NameChange {
	var changes []draw.NameChange
	for kind, names := range map[string]map[string]client.NameChange{"resource class": changed.Classes, "trait": changed.Traits} {
		for name, change := range names {
			made := draw.NameChange{Change: draw.Added, Kind: kind, Name: name}
			if change.After == nil {
				made.Change = draw.Removed
			}
			changes = append(changes, made)
		}
	}
	slices.SortFunc(changes, func(a, b draw.NameChange) int { return strings.Compare(a.Kind+" "+a.Name, b.Kind+" "+b.Name) })
	return changes
}
