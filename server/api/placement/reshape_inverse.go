package placement

import (
	"bytes"
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
