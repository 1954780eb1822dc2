package client

import (
	"context"
	"net/http"

	api "github.com/berthd/berth/gen/client"
	"github.com/google/uuid"
)

// RecordOf returns an inventory of the service as a record with every field set.
func RecordOf(told api.Inventory) InventoryRecord {
	return InventoryRecord{
		Total: told.Total, Reserved: &told.Reserved, MinUnit: &told.MinUnit, MaxUnit: &told.MaxUnit,
		StepSize: &told.StepSize, AllocationRatio: &told.AllocationRatio,
	}
}

func allFull(told api.Inventories) (Inventories, int64) {
	records := make(Inventories, len(told.Inventories))
	for class, record := range told.Inventories {
		records[class] = RecordOf(record)
	}
	return records, told.ResourceProviderGeneration
}

// one returns a record and the provider generation beside it, which the response omits while it is 0.
func one(told api.InventoryWithGeneration) (InventoryRecord, int64) {
	var generation int64
	if told.ResourceProviderGeneration != nil {
		generation = *told.ResourceProviderGeneration
	}
	return RecordOf(api.Inventory{
		Total: told.Total, Reserved: told.Reserved, MinUnit: told.MinUnit, MaxUnit: told.MaxUnit,
		StepSize: told.StepSize, AllocationRatio: told.AllocationRatio,
	}), generation
}

// InventoryList returns all inventories of a provider, with every field, and its generation.
func (c *Client) InventoryList(ctx context.Context, id uuid.UUID) (Inventories, int64, error) {
	var answer api.Inventories
	err := c.send(ctx, &answer, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.InventoryList(ctx, id.String(), &api.InventoryListParams{OpenStackAPIVersion: newest})
	})
	if err != nil {
		return nil, 0, err
	}
	records, generation := allFull(answer)
	return records, generation, nil
}

// InventoryReplace replaces all inventories of a provider, and returns them with the new generation. A deleted class
// with allocations is an ErrInventoryInUse, a stale generation an ErrConcurrentUpdate.
func (c *Client) InventoryReplace(ctx context.Context, id uuid.UUID, generation int64, wanted Inventories) (Inventories, int64, error) {
	body := api.InventoriesReplace{Inventories: wanted, ResourceProviderGeneration: generation}
	if wanted == nil {
		body.Inventories = map[string]InventoryRecord{} // nil would be null
	}
	var answer api.Inventories
	err := c.send(ctx, &answer, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.InventoryReplace(ctx, id.String(), &api.InventoryReplaceParams{OpenStackAPIVersion: newest}, body)
	})
	if err != nil {
		return nil, 0, err
	}
	records, next := allFull(answer)
	return records, next, nil
}

// InventoryShow returns the inventory of one class and the provider generation.
func (c *Client) InventoryShow(ctx context.Context, id uuid.UUID, class string) (InventoryRecord, int64, error) {
	var answer api.InventoryWithGeneration
	err := c.send(ctx, &answer, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.InventoryShow(ctx, id.String(), class, &api.InventoryShowParams{OpenStackAPIVersion: newest})
	})
	if err != nil {
		return InventoryRecord{}, 0, err
	}
	record, generation := one(answer)
	return record, generation, nil
}

// InventoryUpdate replaces an existing inventory of one class. Nil fields get their defaults, not their old values.
func (c *Client) InventoryUpdate(ctx context.Context, id uuid.UUID, generation int64, class string, wanted InventoryRecord) (InventoryRecord, int64, error) {
	body := api.InventoryUpdate{
		ResourceProviderGeneration: generation, Total: wanted.Total, Reserved: wanted.Reserved,
		MinUnit: wanted.MinUnit, MaxUnit: wanted.MaxUnit, StepSize: wanted.StepSize, AllocationRatio: wanted.AllocationRatio,
	}
	var answer api.InventoryWithGeneration
	err := c.send(ctx, &answer, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.InventoryUpdate(ctx, id.String(), class, &api.InventoryUpdateParams{OpenStackAPIVersion: newest}, body)
	})
	if err != nil {
		return InventoryRecord{}, 0, err
	}
	record, next := one(answer)
	return record, next, nil
}

// InventoryCreate adds the inventory of a class, whatever the generation. If the provider has one, the error is an
// ErrConcurrentUpdate.
func (c *Client) InventoryCreate(ctx context.Context, id uuid.UUID, class string, wanted InventoryRecord) (InventoryRecord, int64, error) {
	body := api.InventoryCreate{
		ResourceClass: class, Total: wanted.Total, Reserved: wanted.Reserved,
		MinUnit: wanted.MinUnit, MaxUnit: wanted.MaxUnit, StepSize: wanted.StepSize, AllocationRatio: wanted.AllocationRatio,
	}
	var answer api.InventoryWithGeneration
	err := c.send(ctx, &answer, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.InventoryCreate(ctx, id.String(), &api.InventoryCreateParams{OpenStackAPIVersion: newest}, body)
	})
	if err != nil {
		return InventoryRecord{}, 0, err
	}
	record, generation := one(answer)
	return record, generation, nil
}

// InventoryDelete deletes the inventory of one class, whatever the generation. ErrInventoryInUse: it has allocations.
func (c *Client) InventoryDelete(ctx context.Context, id uuid.UUID, class string) error {
	return c.send(ctx, nil, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.InventoryDelete(ctx, id.String(), class, &api.InventoryDeleteParams{OpenStackAPIVersion: newest})
	})
}

// InventoryClear deletes all inventories of a provider, whatever the generation. ErrInventoryInUse: one has
// allocations.
func (c *Client) InventoryClear(ctx context.Context, id uuid.UUID) error {
	return c.send(ctx, nil, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.InventoryClear(ctx, id.String(), &api.InventoryClearParams{OpenStackAPIVersion: newest})
	})
}
