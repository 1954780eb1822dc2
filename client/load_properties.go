package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/oapi-codegen/nullable"

	api "github.com/berthd/berth/gen/client"
)

// rounds bounds how often each of a provider's three properties is read in the
// hope of reading all of them at one generation.
const rounds = 3

// listedAggregates bounds the uuids in one query string. A hundred make 4 kB; most
// servers take 8.
const listedAggregates = 100

// refreshStale reads a provider's properties if that has not been done lately.
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

// readProperties reads inventory, aggregates and traits of a provider in three
// requests, or in more if somebody writes in between.
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
	for turn := range rounds * len(reads) {
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
	// All the same by now, or the server moves on and refuses writes with the least.
	return c.cache.know(id, read, slices.Min(seen))
}

// know takes over all properties of a provider.
func (c *cache) know(id uuid.UUID, read Node, generation int64) error {
	_, ofInventory := c.trees.UpdateInventory(id.String(), read.Inventories, &generation)
	_, ofAggregates := c.trees.UpdateAggregates(id.String(), read.Aggregates, nil)
	_, ofTraits := c.trees.UpdateTraits(id.String(), read.Traits, nil)
	return errors.Join(ofInventory, ofAggregates, ofTraits)
}

// loadSharing finds those who share something with the members of a tree. Members
// of their own aggregates do not matter here and are not followed.
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
			if err := c.takeShared(ctx, provider); err != nil {
				return err
			}
		}
	}
	c.cache.dropUnreachable(found, members)
	return nil
}

// takeShared takes over a provider that shares, as a root unless its own tree was
// asked for too.
func (c *Client) takeShared(ctx context.Context, provider api.Provider) error {
	_, known := c.cache.node(provider.UUID)
	if _, shares := c.cache.sharing[provider.UUID]; !known || shares {
		parent := parentOf(provider)
		provider.ParentProviderUUID = nullable.NewNullNullable[uuid.UUID]()
		if err := c.adopt([]api.Provider{provider}); err != nil {
			return err
		}
		c.cache.sharing[provider.UUID] = parent
	}
	err := c.refreshStale(ctx, provider.UUID)
	if errors.Is(err, errVanished) {
		c.cache.drop(provider.UUID)
		return nil
	}
	return err
}
