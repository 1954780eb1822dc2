package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/google/uuid"
)

// AllocationDeleteAt is AllocationDelete for one consumer generation: the error for another one is an
// ErrConsumerGeneration. It needs berth 1.3.
func (c *Client) AllocationDeleteAt(ctx context.Context, consumer uuid.UUID, generation int64) error {
	return c.deleteAt(ctx, "allocations/"+consumer.String(), "consumer_generation", generation)
}

// ProviderDeleteAt is ProviderDelete for one provider generation: the error for another one is an ErrConcurrentUpdate. It
// needs berth 1.3.
func (c *Client) ProviderDeleteAt(ctx context.Context, id uuid.UUID, generation int64) error {
	return c.deleteAt(ctx, "resource_providers/"+id.String(), providerGeneration, generation)
}

// InventoryDeleteAt is InventoryDelete for one provider generation. It needs berth 1.3.
func (c *Client) InventoryDeleteAt(ctx context.Context, id uuid.UUID, class string, generation int64) error {
	return c.deleteAt(ctx, "resource_providers/"+id.String()+"/inventories/"+url.PathEscape(class), providerGeneration, generation)
}

// InventoryClearAt is InventoryClear for one provider generation. It needs berth 1.3.
func (c *Client) InventoryClearAt(ctx context.Context, id uuid.UUID, generation int64) error {
	return c.deleteAt(ctx, "resource_providers/"+id.String()+"/inventories", providerGeneration, generation)
}

// ProviderTraitClearAt is ProviderTraitClear for one provider generation. It needs berth 1.3.
func (c *Client) ProviderTraitClearAt(ctx context.Context, id uuid.UUID, generation int64) error {
	return c.deleteAt(ctx, "resource_providers/"+id.String()+"/traits", providerGeneration, generation)
}

const providerGeneration = "resource_provider_generation"

func (c *Client) deleteAt(ctx context.Context, path, parameter string, generation int64) error {
	return c.do(ctx, nil, request{
		method: http.MethodDelete, path: path, query: []param{{parameter, strconv.FormatInt(generation, 10)}},
		needs: berth13, asksFirst: true,
	})
}
