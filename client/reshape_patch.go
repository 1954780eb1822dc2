package client

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

// InventoryChange is a change of an inventory. A nil field keeps its value; a new inventory gets the default.
type InventoryChange struct {
	Total           *int32   `json:"total,omitempty"`
	Reserved        *int32   `json:"reserved,omitempty"`
	MinUnit         *int32   `json:"min_unit,omitempty"`
	MaxUnit         *int32   `json:"max_unit,omitempty"`
	StepSize        *int32   `json:"step_size,omitempty"`
	AllocationRatio *float64 `json:"allocation_ratio,omitempty"`
}

// InventoryChanges are changes of the inventories of a provider. Classes that they do not name stay.
type InventoryChanges struct {
	// Generation is the provider generation to compare; nil: none.
	Generation *int64 `json:"resource_provider_generation,omitempty"`
	// Inventories are changes by class; nil deletes the inventory.
	Inventories map[string]*InventoryChange `json:"inventories"`
}

// InventoryPatch changes some inventories of a provider, and returns all of them with the generation. A change that
// changes nothing keeps the generation. It needs berth 1.3.
func (c *Client) InventoryPatch(ctx context.Context, id uuid.UUID, changes InventoryChanges) (Inventories, int64, error) {
	var answer api.Inventories
	err := c.do(ctx, &answer, request{
		method: http.MethodPatch, path: "resource_providers/" + id.String() + "/inventories", body: changes,
		needs: berth13, asksFirst: true,
	})
	if err != nil {
		return nil, 0, err
	}
	records, generation := allFull(answer)
	return records, generation, nil
}

// ReshapeChanges are changes of inventories and allocations in one transaction.
type ReshapeChanges struct {
	// Inventories are by provider.
	Inventories map[uuid.UUID]InventoryChanges `json:"inventories,omitempty"`
	// Allocations are by consumer; nil deletes all of them.
	Allocations map[uuid.UUID]*AllocationChanges `json:"allocations,omitempty"`
}

// ReshapedGenerations are the generations after a reshape, of all providers and consumers whose generation changed. It
// is nil for a consumer that does not exist any more.
type ReshapedGenerations struct {
	Providers map[uuid.UUID]int64
	Consumers map[uuid.UUID]*int64
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *ReshapedGenerations) UnmarshalJSON(text []byte) error {
	var read struct {
		Inventories map[uuid.UUID]struct {
			Generation int64 `json:"resource_provider_generation"`
		} `json:"inventories"`
		Allocations map[uuid.UUID]*struct {
			Generation *int64 `json:"consumer_generation"`
		} `json:"allocations"`
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	*r = ReshapedGenerations{Providers: map[uuid.UUID]int64{}, Consumers: map[uuid.UUID]*int64{}}
	for provider, record := range read.Inventories {
		r.Providers[provider] = record.Generation
	}
	for consumer, record := range read.Allocations {
		r.Consumers[consumer] = nil
		if record != nil {
			r.Consumers[consumer] = record.Generation
		}
	}
	return nil
}

// ReshapePatch changes some inventories and allocations in one transaction, and returns the new generations. The errors
// are those of Reshape. It needs berth 1.3.
func (c *Client) ReshapePatch(ctx context.Context, changes ReshapeChanges) (ReshapedGenerations, error) {
	var done ReshapedGenerations
	return done, c.doKeyed(ctx, &done, "", request{method: http.MethodPatch, path: "reshaper", body: changes})
}
