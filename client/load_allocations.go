package client

import (
	"context"
	"fmt"

	"github.com/google/uuid"
)

// GetAllocationsForProviderTree returns the complete records of all consumers with allocations on the provider of this
// name or its descendants in the cached tree: load it first. Edit the map and pass it to UpdateFromProviderTree.
//
// The records include allocations on other providers, such as sharing providers; keep them. An unknown name is an
// ErrNotFound.
//
// With berth 1.4 it sends one request, and the map also has the consumers that use only sharing providers that the tree
// reaches. Without it, or for a tree with more than 10,000 consumers, it sends one request for each provider and for each
// consumer; then the map omits these consumers, and those that are deleted while the records are read. It waits for loads
// and updates of trees.
func (c *Client) GetAllocationsForProviderTree(ctx context.Context, nodeName string) (Allocations, error) {
	c.cache.busy.Lock()
	defer c.cache.busy.Unlock()
	c.cache.open()
	providers, err := c.cache.trees.UUIDs(nodeName)
	if err != nil {
		return nil, fmt.Errorf("allocations of the tree: %w; load it first", err)
	}
	found, complete, err := c.consumersShown(ctx, providers)
	if err == nil && !complete {
		found, err = c.consumersSingly(ctx, providers)
	}
	if err != nil {
		return nil, fmt.Errorf("allocations of the tree of %s: %w", nodeName, err)
	}
	c.cache.consumers = found.Clone()
	return found, nil
}

// consumersSingly returns the records of the consumers of providers with a request for each provider and each consumer.
func (c *Client) consumersSingly(ctx context.Context, providers []uuid.UUID) (Allocations, error) {
	found := Allocations{}
	for _, provider := range providers {
		used, _, err := c.ProviderAllocationList(ctx, provider)
		if err != nil {
			return nil, err
		}
		for consumer := range used {
			found[consumer] = nil
		}
	}
	for _, consumer := range found.Consumers() {
		record, err := c.AllocationList(ctx, consumer)
		if err != nil {
			return nil, err
		}
		if found[consumer] = record; len(record.Allocations) == 0 {
			delete(found, consumer)
		}
	}
	return found, nil
}
