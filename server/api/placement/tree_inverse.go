package placement

import (
	"cmp"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

// inverseTree is the body of PUT …/tree that reverses another one.
type inverseTree struct {
	Providers []inverseProvider              `json:"resource_providers"`
	Deleted   map[string]inverseDeletion     `json:"deleted_providers"`
	Consumers map[string]inverseTreeConsumer `json:"consumers"`
}

// inverseProvider is a provider as it was. Parts that did not change are nil.
type inverseProvider struct {
	UUID        uuid.UUID            `json:"uuid"`
	Name        string               `json:"name"`
	Parent      *uuid.UUID           `json:"parent_provider_uuid"`
	Generation  *int64               `json:"generation"`
	Inventories map[string]Inventory `json:"inventories,omitzero"`
	Traits      []string             `json:"traits,omitzero"`
	Aggregates  []uuid.UUID          `json:"aggregates,omitzero"`
}

// inverseDeletion is a provider that did not exist.
type inverseDeletion struct {
	Generation int64 `json:"generation"`
}

// inverseTreeConsumer is a consumer with all its allocations as they were.
type inverseTreeConsumer struct {
	Allocations map[string]AllocationsPart `json:"allocations"`
	ProjectID   string                     `json:"project_id"`
	UserID      string                     `json:"user_id"`
	Type        *string                    `json:"consumer_type"`
	Generation  *int64                     `json:"consumer_generation"`
}

// treeInverse returns the body of PUT …/tree that leads from the state after such a request back to the one before, with
// the generations of the state after. Without one it returns nil and the reason. It does not delete resource classes and
// traits that the request created.
func treeInverse(before, after store.State) (body any, reason string) {
	if reason := irreversibleReason(before, after); reason != "" {
		return nil, reason
	}
	tree := inverseTree{
		Providers: inverseProviders(before.Providers, after.Providers),
		Deleted:   map[string]inverseDeletion{}, Consumers: map[string]inverseTreeConsumer{},
	}
	for id, is := range after.Providers {
		if _, existed := before.Providers[id]; !existed {
			tree.Deleted[id.String()] = inverseDeletion{is.Generation}
		}
	}
	for id := range either(before.Consumers, after.Consumers) {
		was, existed := before.Consumers[id]
		is, exists := after.Consumers[id]
		if existed != exists || !consumerPart(was, is).isEmpty() || !consumerPart(is, was).isEmpty() {
			tree.Consumers[id.String()] = inverseTreeConsumerOf(was, is, existed, exists)
		}
	}
	if len(tree.Providers)+len(tree.Deleted)+len(tree.Consumers) == 0 {
		return nil, ""
	}
	return tree, ""
}

// inverseProviders returns the providers of which more than the usage changed, each after its parent. The allocations
// of the consumers restore the usages.
func inverseProviders(before, after map[uuid.UUID]store.ProviderState) []inverseProvider {
	found := []inverseProvider{}
	for id, was := range before {
		is, exists := after[id]
		provider := inverseProvider{UUID: id, Name: was.Name, Parent: was.Parent}
		if exists {
			provider.Generation = &is.Generation
		}
		part := wholeProvider(was)
		if !exists || !maps.Equal(was.Inventories, is.Inventories) {
			provider.Inventories = part.Inventories
		}
		if !exists || !slices.Equal(was.Traits, is.Traits) {
			provider.Traits = part.Traits
		}
		if !exists || !slices.Equal(was.Aggregates, is.Aggregates) {
			provider.Aggregates = part.Aggregates
		}
		if provider.Inventories != nil || provider.Traits != nil || provider.Aggregates != nil || was.Name != is.Name || !isSame(was.Parent, is.Parent) {
			found = append(found, provider)
		}
	}
	slices.SortFunc(found, func(a, b inverseProvider) int {
		return cmp.Or(cmp.Compare(depthOf(before, a.UUID), depthOf(before, b.UUID)), compareUUIDs(a.UUID, b.UUID))
	})
	return found
}

// depthOf returns the number of ancestors of a provider in a state.
func depthOf(providers map[uuid.UUID]store.ProviderState, id uuid.UUID) (depth int) {
	for provider := providers[id]; provider.Parent != nil; provider = providers[*provider.Parent] {
		depth++
	}
	return depth
}

// inverseTreeConsumerOf returns a consumer as it was; without allocations, if it did not exist.
func inverseTreeConsumerOf(was, is store.ConsumerState, existed, exists bool) inverseTreeConsumer {
	of := was
	if !existed {
		of = is
	}
	consumer := inverseTreeConsumer{
		Allocations: map[string]AllocationsPart{}, ProjectID: of.ProjectID, UserID: of.UserID, Type: of.Type,
	}
	for provider, amounts := range was.Allocations {
		consumer.Allocations[provider.String()] = AllocationsPart{Resources: amounts}
	}
	if exists {
		consumer.Generation = &is.Generation
	}
	return consumer
}
