package placement

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

// inverseReshape is the body of PATCH /reshaper that reverses a reshape. A null inventory, amount or set of allocations
// is removed.
type inverseReshape struct {
	Inventories map[string]inverseInventories `json:"inventories,omitempty"`
	Allocations map[string]inverseClaim       `json:"allocations,omitempty"`
}

// inverseInventories are the inventories of a provider to change back.
type inverseInventories struct {
	Generation  int64                 `json:"resource_provider_generation"`
	Inventories map[string]*Inventory `json:"inventories"`
}

// inverseClaim are the members of a consumer to change back.
type inverseClaim struct {
	// Generation is null for a consumer that the reshape deletes.
	Generation  *int64                         `json:"consumer_generation"`
	ProjectID   *string                        `json:"project_id,omitempty"`
	UserID      *string                        `json:"user_id,omitempty"`
	Type        *string                        `json:"consumer_type,omitempty"`
	Allocations map[string]*inverseAllocations `json:"allocations,omitempty"`
}

// inverseAllocations are amounts by resource class.
type inverseAllocations struct {
	Resources map[string]*int64 `json:"resources"`
}

// reshapeInverse returns the body of PATCH /reshaper that leads from the state after a reshape back to the one before, with
// the generations of the state after. Without one it returns nil and the reason.
//
// It returns no body if that request would fail: PATCH /reshaper checks the capacity of what it changes.
func reshapeInverse(before, after store.State) (body any, reason string) {
	if reason := irreversibleReason(before, after); reason != "" {
		return nil, reason
	}
	result, isEmpty := inverseReshape{Inventories: map[string]inverseInventories{}, Allocations: map[string]inverseClaim{}}, true
	for id, was := range before.Providers {
		is := after.Providers[id]
		if !providerPart(was, is).isEmpty() || !providerPart(is, was).isEmpty() {
			records := inverseRecords(was.Inventories, is.Inventories)
			result.Inventories[id.String()] = inverseInventories{Generation: is.Generation, Inventories: records}
			isEmpty = isEmpty && len(records) == 0
		}
	}
	for id := range either(before.Consumers, after.Consumers) {
		was, existed := before.Consumers[id]
		is, exists := after.Consumers[id]
		if existed && exists && consumerPart(was, is).isEmpty() && consumerPart(is, was).isEmpty() {
			continue
		}
		result.Allocations[id.String()] = inverseClaimOf(was, is, existed, exists)
		isEmpty = false
	}
	if isEmpty {
		return nil, ""
	}
	return result, ""
}

// inverseClaimOf returns the members of a consumer to change back. Removing all allocations deletes it.
func inverseClaimOf(was, is store.ConsumerState, existed, exists bool) inverseClaim {
	claim := inverseClaim{Allocations: inverseAmounts(was.Allocations, is.Allocations)}
	part := consumerPart(was, is)
	switch {
	case !exists:
		part = wholeConsumer(was)
		fallthrough
	case existed:
		claim.ProjectID, claim.UserID, claim.Type = part.ProjectID, part.UserID, part.Type
	}
	if exists {
		claim.Generation = &is.Generation
	}
	return claim
}

// inverseRecords returns the inventories that differ as they were, and nil for those that did not exist.
func inverseRecords(was, is map[string]store.InventoryState) map[string]*Inventory {
	found := map[string]*Inventory{}
	for class, record := range differences(was, is) {
		shown := inventoryOf(record)
		found[class] = &shown
	}
	for class := range is {
		if _, existed := was[class]; !existed {
			found[class] = nil
		}
	}
	return found
}

// inverseAmounts returns the amounts that differ as they were: nil for a class that the consumer did not have on a
// provider, or for all of them on a provider where it had none. It returns nil if none differs.
func inverseAmounts(was, is map[uuid.UUID]map[string]int64) map[string]*inverseAllocations {
	var found map[string]*inverseAllocations
	for provider := range either(was, is) {
		amounts := map[string]*int64{}
		for class, amount := range differences(was[provider], is[provider]) {
			amounts[class] = &amount
		}
		for class := range is[provider] {
			if _, had := was[provider][class]; !had {
				amounts[class] = nil
			}
		}
		if len(amounts) == 0 {
			continue
		}
		if found == nil {
			found = map[string]*inverseAllocations{}
		}
		found[provider.String()] = &inverseAllocations{Resources: amounts}
		if was[provider] == nil {
			found[provider.String()] = nil
		}
	}
	return found
}

// irreversibleReason returns why a reshape cannot be reversed, in the order of the names of providers and consumers; empty if
// it can. PATCH /reshaper checks the inventories and amounts that it changes, and can remove no consumer type.
func irreversibleReason(before, after store.State) string {
	for _, id := range slices.SortedFunc(maps.Keys(before.Consumers), compareUUIDs) {
		now, exists := after.Consumers[id]
		if before.Consumers[id].Type == nil && (!exists || now.Type != nil) {
			return fmt.Sprintf("Consumer %s had no type before, and no request can remove its type.", id)
		}
	}
	byName := func(a, b uuid.UUID) int { return strings.Compare(before.Providers[a].Name, before.Providers[b].Name) }
	for _, id := range slices.SortedFunc(maps.Keys(before.Providers), byName) {
		for _, class := range slices.Sorted(maps.Keys(before.Providers[id].Inventories)) {
			if reason := recordReason(before, after, id, class); reason != "" {
				return reason
			}
		}
	}
	return ""
}

// recordReason returns why one inventory, or the amounts that consumers had of it, cannot come back; empty if they can.
func recordReason(before, after store.State, provider uuid.UUID, class string) string {
	was := before.Providers[provider]
	record, used := was.Inventories[class], was.Usages[class]
	if record != after.Providers[provider].Inventories[class] && record.Reserved > record.Total {
		return fmt.Sprintf("%s had more reserved than its total before: %d %s of %d.", was.Name, record.Reserved, class, record.Total)
	}
	capacity := math.Trunc(float64(record.Total-record.Reserved) * record.AllocationRatio)
	for _, id := range slices.SortedFunc(maps.Keys(before.Consumers), compareUUIDs) {
		amount := before.Consumers[id].Allocations[provider][class]
		now := after.Consumers[id].Allocations[provider][class]
		switch {
		case amount == now || amount == 0:
		case amount > now && float64(used) > capacity:
			return fmt.Sprintf("%s was over its capacity before: %d %s used of %.0f. What is taken away from it now does not fit again.",
				was.Name, used, class, max(capacity, 0))
		case amount < int64(record.MinUnit) || amount > int64(record.MaxUnit) || amount%int64(record.StepSize) != 0:
			return fmt.Sprintf("Consumer %s had %d %s on %s before, which its inventory did not allow.", id, amount, class, was.Name)
		}
	}
	return ""
}

func compareUUIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }

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
