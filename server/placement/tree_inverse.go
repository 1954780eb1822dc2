package placement

import (
	"cmp"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/store"
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
	made := inverseTree{
		Providers: inverseProviders(before.Providers, after.Providers),
		Deleted:   map[string]inverseDeletion{}, Consumers: map[string]inverseTreeConsumer{},
	}
	for id, is := range after.Providers {
		if _, existed := before.Providers[id]; !existed {
			made.Deleted[id.String()] = inverseDeletion{is.Generation}
		}
	}
	for id := range either(before.Consumers, after.Consumers) {
		was, existed := before.Consumers[id]
		is, exists := after.Consumers[id]
		if existed != exists || !consumerPart(was, is).isEmpty() || !consumerPart(is, was).isEmpty() {
			made.Consumers[id.String()] = inverseTreeConsumerOf(was, is, existed, exists)
		}
	}
	if len(made.Providers)+len(made.Deleted)+len(made.Consumers) == 0 {
		return nil, ""
	}
	return made, ""
}

// inverseProviders returns the providers of which more than the usage changed, each after its parent. The allocations
// of the consumers restore the usages.
func inverseProviders(before, after map[uuid.UUID]store.ProviderState) []inverseProvider {
	found := []inverseProvider{}
	for id, was := range before {
		is, exists := after[id]
		made := inverseProvider{UUID: id, Name: was.Name, Parent: was.Parent}
		if exists {
			made.Generation = &is.Generation
		}
		part := wholeProvider(was)
		if !exists || !maps.Equal(was.Inventories, is.Inventories) {
			made.Inventories = part.Inventories
		}
		if !exists || !slices.Equal(was.Traits, is.Traits) {
			made.Traits = part.Traits
		}
		if !exists || !slices.Equal(was.Aggregates, is.Aggregates) {
			made.Aggregates = part.Aggregates
		}
		if made.Inventories != nil || made.Traits != nil || made.Aggregates != nil || was.Name != is.Name || !isSame(was.Parent, is.Parent) {
			found = append(found, made)
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
	made := inverseTreeConsumer{
		Allocations: map[string]AllocationsPart{}, ProjectID: of.ProjectID, UserID: of.UserID, Type: of.Type,
	}
	for provider, amounts := range was.Allocations {
		made.Allocations[provider.String()] = AllocationsPart{Resources: amounts}
	}
	if exists {
		made.Generation = &is.Generation
	}
	return made
}
