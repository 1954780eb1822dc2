package client

import (
	"context"
	"fmt"
)

// GetAllocationsForProviderTree returns the complete records of all consumers with allocations on the provider of this
// name or its descendants in the cached tree: load it first. Edit the map and pass it to UpdateFromProviderTree.
//
// The records include allocations on other providers, such as sharing providers; keep them. The map omits consumers
// with allocations on sharing providers only, and consumers that are deleted while the records are read. An unknown
// name is an ErrNotFound.
//
// It sends one request for each provider and for each consumer, and waits for loads and updates of trees.
func (c *Client) GetAllocationsForProviderTree(ctx context.Context, nodeName string) (Allocations, error) {
	c.cache.busy.Lock()
	defer c.cache.busy.Unlock()
	c.cache.open()
	providers, err := c.cache.trees.UUIDs(nodeName)
	if err != nil {
		return nil, fmt.Errorf("allocations of the tree: %w; load it first", err)
	}
	found := Allocations{}
	for _, provider := range providers {
		used, _, err := c.ProviderAllocationList(ctx, provider)
		if err != nil {
			return nil, fmt.Errorf("allocations of the tree of %s: %w", nodeName, err)
		}
		for consumer := range used {
			found[consumer] = nil
		}
	}
	for _, consumer := range found.Consumers() {
		record, err := c.AllocationList(ctx, consumer)
		if err != nil {
			return nil, fmt.Errorf("allocations of the tree of %s: %w", nodeName, err)
		}
		if found[consumer] = record; len(record.Allocations) == 0 {
			delete(found, consumer)
		}
	}
	c.cache.consumers = found.Clone()
	return found, nil
}
