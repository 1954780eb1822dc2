package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

// maxPropertyReads is the maximum number of reads of each of a provider's three properties until all have one
// generation.
const maxPropertyReads = 3

// listedAggregates is the maximum number of UUIDs in one query string. A hundred make 4 kB; most servers accept 8 kB.
const listedAggregates = 100

// refreshStale reads the properties of a provider if they are not loaded or older than WithRefresh.
func (c *Client) refreshStale(ctx context.Context, id uuid.UUID) error {
	if !c.stale(id) {
		return nil
	}
	read, err := c.ProviderProperties(ctx, id, false)
	if err != nil {
		return err
	}
	if err := c.cache.know(id, read.Node, *read.Generation); err != nil {
		return err
	}
	c.cache.loaded[id] = c.now()
	return nil
}

// ProviderProperties returns the inventories, traits and aggregates of a provider, and its usages if wanted, from a service
// that may not have TreeShow. It sends a request for each, and more if another client writes meanwhile, until all are of one
// generation. After three of each it returns the oldest generation, so that the server rejects a write over unread changes.
// The error of a provider that does not exist is an ErrNotFound.
func (c *Client) ProviderProperties(ctx context.Context, id uuid.UUID, usages bool) (read ShownProvider, err error) {
	reads := []func() (int64, error){
		func() (generation int64, err error) {
			read.Inventories, generation, err = c.InventoryList(ctx, id)
			return generation, err
		},
		func() (generation int64, err error) {
			read.Aggregates, generation, err = c.ProviderAggregateList(ctx, id)
			return generation, err
		},
		func() (generation int64, err error) {
			read.Traits, generation, err = c.ProviderTraitList(ctx, id)
			return generation, err
		},
	}
	if usages {
		reads = append(reads, func() (generation int64, err error) {
			read.Usages, generation, err = c.ProviderUsageList(ctx, id)
			return generation, err
		})
	}
	seen := make([]int64, len(reads))
	for turn := range maxPropertyReads * len(reads) {
		i := turn % len(reads)
		if turn >= len(reads) && seen[i] == slices.Max(seen) {
			continue
		}
		if seen[i], err = reads[i](); errors.Is(err, ErrNotFound) {
			return read, fmt.Errorf("provider %s: %w: %w", id, errVanished, err)
		} else if err != nil {
			return read, err
		}
	}
	// All are equal, or the server rejects writes with the smallest.
	read.UUID, read.Generation = id, new(slices.Min(seen))
	return read, nil
}

// know stores all properties of a provider in the cache.
func (c *cache) know(id uuid.UUID, read Node, generation int64) error {
	_, ofInventory := c.trees.UpdateInventory(id.String(), read.Inventories, &generation)
	_, ofAggregates := c.trees.UpdateAggregates(id.String(), read.Aggregates, nil)
	_, ofTraits := c.trees.UpdateTraits(id.String(), read.Traits, nil)
	return errors.Join(ofInventory, ofAggregates, ofTraits)
}

// loadSharing reads the sharing providers that serve the members of a tree. It does not follow the other aggregates of
// these providers.
func (c *Client) loadSharing(ctx context.Context, members []uuid.UUID) error {
	var aggregates, found []uuid.UUID
	for _, member := range members {
		if node, known := c.cache.node(member); known {
			aggregates = append(aggregates, node.Aggregates...)
		}
	}
	for chunk := range slices.Chunk(sortedIDs(aggregates), listedAggregates) {
		texts := make([]string, len(chunk))
		for i, aggregate := range chunk {
			texts[i] = aggregate.String()
		}
		listed, err := c.ProviderList(ctx, ProviderFilter{
			MemberOf: []string{"in:" + strings.Join(texts, ",")}, Required: []string{sharingTrait},
		})
		if err != nil {
			return err
		}
		for _, provider := range listed {
			found = append(found, provider.UUID)
			if err := c.addSharingProvider(ctx, provider); err != nil {
				return err
			}
		}
	}
	c.cache.dropUnreachable(found, members)
	return nil
}

// addSharingProvider adds a sharing provider to the cache, as a root unless its own tree was requested too.
func (c *Client) addSharingProvider(ctx context.Context, provider api.Provider) error {
	if err := c.adoptAsRoot(provider); err != nil {
		return err
	}
	err := c.refreshStale(ctx, provider.UUID)
	if errors.Is(err, errVanished) {
		c.cache.drop(provider.UUID)
		return nil
	}
	return err
}

// adoptAsRoot adds a sharing provider to the cache, as a root unless its own tree was requested too.
func (c *Client) adoptAsRoot(provider api.Provider) error {
	_, known := c.cache.node(provider.UUID)
	if _, shares := c.cache.sharing[provider.UUID]; known && !shares {
		return nil
	}
	parent := parentOf(provider)
	provider.ParentProviderUUID = nil
	if err := c.adopt([]api.Provider{provider}); err != nil {
		return err
	}
	c.cache.sharing[provider.UUID] = parent
	return nil
}
