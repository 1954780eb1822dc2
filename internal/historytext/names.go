package historytext

import (
	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
)

// NewNames returns an empty set of names of the objects that events have.
func NewNames() Names {
	return Names{Providers: map[uuid.UUID]string{}, Nodes: map[uuid.UUID]string{}, NodeAllocations: map[uuid.UUID]string{}}
}

// AddRecorded adds the names of objects in events, those of the latest event of each.
func (n *Names) AddRecorded(events []client.HistoryEvent) {
	latest := map[uuid.UUID]int64{}
	add := func(names map[uuid.UUID]string, key, name string, index int64) {
		if id, err := uuid.Parse(key); err == nil && index >= latest[id] {
			names[id], latest[id] = name, index
		}
	}
	for i := range events {
		event := &events[i]
		for key, change := range event.Changes.ResourceProviders {
			for _, part := range []*api.HistoryProviderPart{change.Before, change.After} {
				if part != nil && part.Name != nil {
					add(n.Providers, key, *part.Name, event.Index)
				}
			}
		}
		for names, objects := range map[*map[uuid.UUID]string]map[string]api.HistoryObjectChange{
			&n.Nodes: event.Changes.Nodes, &n.NodeAllocations: event.Changes.NodeAllocations,
		} {
			for key, change := range objects {
				for _, part := range []map[string]any{change.Before, change.After} {
					if name, ok := part["name"].(string); ok {
						add(*names, key, name, event.Index)
					}
				}
			}
		}
	}
}

// ChangedIDs returns the providers, nodes and node allocations that events name.
func ChangedIDs(events []client.HistoryEvent) (providers, nodes, allocations map[uuid.UUID]bool) {
	providers, nodes, allocations = map[uuid.UUID]bool{}, map[uuid.UUID]bool{}, map[uuid.UUID]bool{}
	add := func(into map[uuid.UUID]bool, key string) {
		if id, err := uuid.Parse(key); err == nil {
			into[id] = true
		}
	}
	for i := range events {
		changes := &events[i].Changes
		for key, change := range changes.ResourceProviders {
			add(providers, key)
			for _, part := range []*api.HistoryProviderPart{change.Before, change.After} {
				if part == nil {
					continue
				}
				for _, id := range []*uuid.UUID{part.ParentProviderUUID, part.RootProviderUUID} {
					if id != nil {
						providers[*id] = true
					}
				}
			}
		}
		for key := range changes.Nodes {
			add(nodes, key)
		}
		for key, change := range changes.NodeAllocations {
			add(allocations, key)
			for _, part := range []map[string]any{change.Before, change.After} {
				if id, ok := part["node_uuid"].(string); ok {
					add(nodes, id)
				}
			}
		}
		for _, change := range changes.Consumers {
			for _, part := range []*api.ConsumerPart{change.Before, change.After} {
				if part != nil {
					for id := range part.Allocations {
						providers[id] = true
					}
				}
			}
		}
	}
	return providers, nodes, allocations
}
