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
	if err := c.readProperties(ctx, id); err != nil {
		return err
	}
	c.cache.loaded[id] = c.now()
	return nil
}

// readProperties reads inventories, aggregates and traits of a provider in three requests, or more if another client
// writes meanwhile.
func (c *Client) readProperties(ctx context.Context, id uuid.UUID) error {
	var read Node
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
	seen := make([]int64, len(reads))
	for turn := range maxPropertyReads * len(reads) {
		i := turn % len(reads)
		if turn >= len(reads) && seen[i] == slices.Max(seen) {
			continue
		}
		var err error
		if seen[i], err = reads[i](); errors.Is(err, ErrNotFound) {
			return fmt.Errorf("provider %s: %w: %w", id, errVanished, err)
		} else if err != nil {
			return err
		}
	}
	// All are equal, or the server rejects writes with the smallest.
	return c.cache.know(id, read, slices.Min(seen))
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
