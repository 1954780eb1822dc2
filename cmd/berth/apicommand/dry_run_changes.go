package apicommand

import (
	"context"
	"maps"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/draw"
)

// changesOf returns the changes of a dry run for drawing. The service returns only what differs, so it reads the names
// and parents of the providers, and the types of the consumers.
func changesOf(ctx context.Context, service *client.Client, changed *api.StateChange) (*draw.Changes, error) {
	trees, err := treesOf(ctx, service, changed)
	if err != nil {
		return nil, err
	}
	types, err := typesOf(ctx, service, changed)
	if err != nil {
		return nil, err
	}
	known := make(map[uuid.UUID]client.Node, len(trees))
	for id, provider := range trees {
		known[id] = nodeOf(provider)
	}
	return draw.CompareDryRun(changed, known, types), nil
}

func nodeOf(provider api.Provider) client.Node {
	node := client.Node{UUID: provider.UUID, Name: provider.Name, Generation: new(provider.Generation)}
	if parent := provider.ParentProviderUUID; parent != nil {
		node.Parent = *parent
	}
	return node
}

// treesOf returns the providers of the trees of changed providers, as they are now. New providers are not among them.
func treesOf(ctx context.Context, service *client.Client, changed *api.StateChange) (map[uuid.UUID]api.Provider, error) {
	needed := map[uuid.UUID]bool{}
	for id, change := range changed.ResourceProviders {
		switch {
		case change.Before != nil:
			needed[id] = true
		case change.After.ParentProviderUUID != nil:
			needed[*change.After.ParentProviderUUID] = true
		}
		if change.After != nil && change.After.ParentProviderUUID != nil {
			needed[*change.After.ParentProviderUUID] = true
		}
	}
	maps.DeleteFunc(needed, func(id uuid.UUID, _ bool) bool {
		change, named := changed.ResourceProviders[id]
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

// typesOf returns the types of the changed consumers whose type does not change.
func typesOf(ctx context.Context, service *client.Client, changed *api.StateChange) (map[uuid.UUID]string, error) {
	types := map[uuid.UUID]string{}
	for id, change := range changed.Consumers {
		if draw.ChangedType(change) != "" {
			continue
		}
		current, err := service.AllocationList(ctx, id)
		if err != nil {
			return nil, err
		}
		types[id] = current.Type
	}
	return types, nil
}
