package client

import (
	"context"
	"fmt"
)

// GetAllocationsForProviderTree reads the complete records of all consumers that
// have something of the provider of this name or of those below it, as the tree was
// loaded last: load it first. Edit the map and give it to UpdateFromProviderTree.
//
// The records also tell what a consumer has elsewhere, above all of sharing
// providers, and must go on telling that. A consumer that has things of sharing
// providers only is not found. One that vanishes while the records are read is left
// out. An unknown name is an ErrNotFound.
//
// It takes a request for each provider and for each consumer.
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
