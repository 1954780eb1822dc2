package placement

import (
	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/jsonbody"
)

// AllocationsOnNamedProvider is what a consumer has on one provider.
type AllocationsOnNamedProvider struct {
	Name       string    `json:"name" doc:"Name of the provider." example:"compute-1-numa-0"`
	Root       uuid.UUID `json:"root_provider_uuid" format:"uuid" doc:"Root of the provider's tree." example:"c0ffee00-5ca1-4b1e-8000-000000000001"`
	Generation int64     `json:"generation" doc:"The provider's generation." example:"5"`
	CreatedAt  Moment    `json:"created_at" format:"date-time" doc:"When the consumer got what it has there: the oldest of its classes." example:"2026-11-22T14:11:00.123456Z"`
	Resources  amounts   `json:"resources" doc:"Amounts by resource class."`
}

// NodeAllocationName names an allocation of the Bare Metal API.
type NodeAllocationName struct {
	UUID uuid.UUID `json:"uuid" format:"uuid" doc:"UUID of the node allocation." example:"c0ffee00-5ca1-4b1e-8000-000000000011"`
	Name *string   `json:"name" doc:"Its name; null if it has none." example:"web"`
}

// allocationsByProvider returns the allocations of a consumer by provider, in the order in which it got them.
func allocationsByProvider(consumer *store.ConsumerRecord) jsonbody.Ordered[AllocationsOnNamedProvider] {
	ordered := jsonbody.Ordered[AllocationsOnNamedProvider]{}
	at := map[uuid.UUID]int{}
	for i := range consumer.Allocations {
		allocation := &consumer.Allocations[i]
		position, seen := at[allocation.Provider]
		if !seen {
			position = len(ordered)
			at[allocation.Provider] = position
			ordered = append(ordered, jsonbody.Entry[AllocationsOnNamedProvider]{Key: allocation.Provider.String(), Value: AllocationsOnNamedProvider{
				Name: allocation.ProviderName, Root: allocation.Root, Generation: allocation.ProviderGeneration, CreatedAt: Moment{allocation.CreatedAt},
			}})
		}
		value := &ordered[position].Value
		if allocation.CreatedAt.Before(value.CreatedAt.Time) {
			value.CreatedAt = Moment{allocation.CreatedAt}
		}
		value.Resources = append(value.Resources, jsonbody.Entry[int64]{Key: allocation.Class, Value: allocation.Used})
	}
	return ordered
}

// nodeAllocationOf names the node allocation whose allocations these are; nil: there is none.
func nodeAllocationOf(consumer *store.ConsumerRecord) *NodeAllocationName {
	if consumer.NodeAllocation == nil {
		return nil
	}
	return &NodeAllocationName{UUID: consumer.UUID, Name: consumer.NodeAllocation.Name}
}
