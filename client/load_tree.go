package client

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

// loadShown updates the cached tree of a provider, and its sharing providers, with one request.
func (c *Client) loadShown(ctx context.Context, id uuid.UUID, name string, parent uuid.UUID) error {
	tree, err := c.loadableTree(ctx, id)
	if errors.Is(err, ErrNotFound) {
		c.cache.drop(id)
		if _, _, err = c.create(ctx, name, id, parent); err == nil {
			tree, err = c.loadableTree(ctx, id)
		}
		if errors.Is(err, ErrNotFound) {
			err = fmt.Errorf("provider %s: %w: %w", id, errVanished, err)
		}
	}
	if err != nil {
		return err
	}
	listed := make([]api.Provider, len(tree.Providers))
	members := make([]uuid.UUID, len(tree.Providers))
	for i := range tree.Providers {
		listed[i], members[i] = tree.Providers[i].listed(), tree.Providers[i].UUID
	}
	if err := c.adopt(listed); err != nil {
		return err
	}
	for i := range tree.Providers {
		delete(c.cache.sharing, tree.Providers[i].UUID)
		if err := c.knowShown(&tree.Providers[i]); err != nil {
			return err
		}
	}
	c.noteDifference(ctx, id, name, parent)
	c.cache.listed[tree.Root] = c.now()
	return c.adoptSharing(tree, members)
}

// loadableTree shows a tree with all that the cache keeps.
func (c *Client) loadableTree(ctx context.Context, id uuid.UUID) (*ShownTree, error) {
	return c.TreeShow(ctx, id, TreeInventories, TreeTraits, TreeAggregates, TreeSharing)
}

// knowShown stores all properties of a shown provider in the cache.
func (c *Client) knowShown(shown *ShownProvider) error {
	err := c.cache.know(shown.UUID, shown.Node, *shown.Generation)
	if err == nil {
		c.cache.loaded[shown.UUID] = c.now()
	}
	return err
}

// adoptSharing adds the sharing providers that serve a tree to the cache.
func (c *Client) adoptSharing(tree *ShownTree, members []uuid.UUID) error {
	var found []uuid.UUID
	for i := range tree.Sharing {
		provider := &tree.Sharing[i]
		found = append(found, provider.UUID)
		if err := c.adoptAsRoot(provider.listed()); err != nil {
			return err
		}
		if err := c.knowShown(provider); err != nil {
			return err
		}
	}
	c.cache.dropUnreachable(found, members)
	return nil
}

// consumersShown returns the records of the consumers of providers of a cached tree with one request, with those that use
// only the sharing providers of the tree. ok is false if the service cannot return them all at once, or
// a policy that permits the requests for single providers denies it.
func (c *Client) consumersShown(ctx context.Context, providers []uuid.UUID) (found Allocations, ok bool, err error) {
	if !c.has(ctx, berth14) {
		return nil, false, nil
	}
	tree, err := c.TreeShow(ctx, providers[0], TreeSharing, TreeConsumers)
	if errors.Is(err, ErrTooManyConsumers) || errors.Is(err, ErrExtensions) || errors.Is(err, ErrForbidden) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	found = Allocations{}
	for id, consumer := range tree.Consumers {
		uses := slices.ContainsFunc(providers, func(provider uuid.UUID) bool { return len(consumer.Allocations[provider]) > 0 })
		if uses || consumer.SharingOnly {
			found[id] = &consumer.Consumer
		}
	}
	return found, true, nil
}
