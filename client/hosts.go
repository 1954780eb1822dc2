package client

import (
	"context"
	"errors"
	"fmt"
	"slices"

	api "github.com/berthd/berth/gen/client"
	"github.com/google/uuid"
)

// DeleteHost deletes all providers of the tree that contains one, children before parents. With withConsumers it first
// deletes all allocations of their consumers, also those on other providers, whatever the generation. Providers whose
// deletion the service rejects stay, with their ancestors, and the error names them. A provider that does not exist is
// no error.
func (c *Client) DeleteHost(ctx context.Context, provider uuid.UUID, withConsumers bool) error {
	tree, err := c.ProviderList(ctx, ProviderFilter{InTree: provider.String()})
	if err != nil {
		return err
	}
	if withConsumers {
		if err := c.releaseAll(ctx, tree); err != nil {
			return err
		}
	}
	var refused []error
	for _, member := range bottomUp(tree) {
		err := c.ProviderDelete(ctx, member.UUID)
		if errors.Is(err, ErrUnavailable) || ctx.Err() != nil {
			return errors.Join(append(refused, err)...)
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			refused = append(refused, fmt.Errorf("provider %s stays: %w", member.Name, err))
		}
	}
	return errors.Join(refused...)
}

// releaseAll deletes all allocations of the consumers of these providers.
func (c *Client) releaseAll(ctx context.Context, providers []api.Provider) error {
	for _, provider := range providers {
		used, _, err := c.ProviderAllocationList(ctx, provider.UUID)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		for consumer := range used {
			if _, err := c.Release(ctx, consumer, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// bottomUp sorts the providers of a tree so that children come before their
// parents. Those of one depth keep their order.
func bottomUp(tree []api.Provider) []api.Provider {
	parents := map[uuid.UUID]uuid.UUID{}
	for _, member := range tree {
		if parent := member.ParentProviderUUID; parent != nil {
			parents[member.UUID] = *parent
		}
	}
	depth := func(id uuid.UUID) (steps int) {
		for range tree { // no path is longer than the tree
			parent, below := parents[id]
			if !below {
				break
			}
			id, steps = parent, steps+1
		}
		return steps
	}
	sorted := slices.Clone(tree)
	slices.SortStableFunc(sorted, func(a, b api.Provider) int { return depth(b.UUID) - depth(a.UUID) })
	return sorted
}

// AddHostAggregate adds the provider of this name to an aggregate, and reports whether that is a change. It retries
// generation conflicts. ErrNotFound: no provider has the name.
func (c *Client) AddHostAggregate(ctx context.Context, name string, aggregate uuid.UUID) (bool, error) {
	return c.editAggregates(ctx, name, func(in []uuid.UUID) []uuid.UUID {
		if slices.Contains(in, aggregate) {
			return in
		}
		return append(slices.Clone(in), aggregate)
	})
}

// RemoveHostAggregate removes the provider of this name from an aggregate, and reports whether it was in it. It retries
// generation conflicts. ErrNotFound: no provider has the name.
func (c *Client) RemoveHostAggregate(ctx context.Context, name string, aggregate uuid.UUID) (bool, error) {
	return c.editAggregates(ctx, name, func(in []uuid.UUID) []uuid.UUID {
		return slices.DeleteFunc(slices.Clone(in), func(id uuid.UUID) bool { return id == aggregate })
	})
}

func (c *Client) editAggregates(ctx context.Context, name string, change func([]uuid.UUID) []uuid.UUID) (edited bool, err error) {
	err = c.retryOnConflict(ctx, isConflict, func() error {
		found, err := c.ProviderList(ctx, ProviderFilter{Name: name})
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return fmt.Errorf("no provider has the name %q: %w", name, ErrNotFound)
		}
		in, generation, err := c.ProviderAggregateList(ctx, found[0].UUID)
		if err != nil {
			return err
		}
		wanted := change(in)
		if edited = len(wanted) != len(in); !edited {
			return nil
		}
		_, _, err = c.ProviderAggregateReplace(ctx, found[0].UUID, generation, wanted)
		return err
	})
	return edited && err == nil, err
}
