package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
)

// AddResources adds amounts, by provider, to the allocations of a consumer. A rejected claim is an ErrCapacityExceeded,
// a consumer without allocations an ErrNotFound. It retries all generation conflicts with the current allocations. If a
// response is lost and the consumer has been written since, the error is an ErrOutcomeUnknown.
func (c *Client) AddResources(ctx context.Context, consumer uuid.UUID, more map[uuid.UUID]Resources) error {
	return c.edit(ctx, consumer, true, func(record *Consumer) error {
		for provider, amounts := range more {
			had := record.Allocations[provider].clone()
			for class, amount := range amounts {
				had[class] += amount
			}
			record.Allocations[provider] = had
		}
		return nil
	})
}

// RemoveResources subtracts amounts, by provider, from the allocations of a consumer. It deletes allocations that
// become empty, and a consumer without any. Amounts above those allocated are an error, and nothing is written.
// Conflicts and lost responses are as in AddResources.
func (c *Client) RemoveResources(ctx context.Context, consumer uuid.UUID, less map[uuid.UUID]Resources) error {
	return c.edit(ctx, consumer, true, func(record *Consumer) error {
		for provider, amounts := range less {
			had := record.Allocations[provider].clone()
			for class, amount := range amounts {
				if had[class] < amount {
					return fmt.Errorf("consumer %s has %d %s of provider %s; cannot remove %d",
						consumer, had[class], class, provider, amount)
				}
				if had[class] -= amount; had[class] == 0 {
					delete(had, class)
				}
			}
			record.Allocations[provider] = had
		}
		return nil
	})
}

// RemoveTree deletes the allocations of a consumer on all providers of the tree that contains one. Allocations on
// sharing providers and other trees stay. It is no error if there are none in the tree. ErrNotFound: the provider or
// the consumer does not exist.
func (c *Client) RemoveTree(ctx context.Context, consumer, provider uuid.UUID) error {
	return c.edit(ctx, consumer, false, func(record *Consumer) error {
		tree, err := c.ProviderList(ctx, ProviderFilter{InTree: provider.String()})
		if err != nil {
			return err
		}
		if len(tree) == 0 {
			return fmt.Errorf("provider %s: %w", provider, ErrNotFound)
		}
		before := len(record.Allocations)
		for _, member := range tree {
			delete(record.Allocations, member.UUID)
		}
		if len(record.Allocations) == before {
			return errNothingToDo
		}
		return nil
	})
}

// errNothingToDo ends an edit without a change.
var errNothingToDo = errors.New("nothing to do")

// edit reads the allocations of a consumer, changes and writes them. relative is the field of allocationWrite.
func (c *Client) edit(ctx context.Context, consumer uuid.UUID, relative bool, alter func(*Consumer) error) error {
	err := c.retryOnConflict(ctx, isConflict, func() error {
		record, err := c.AllocationList(ctx, consumer)
		if err != nil {
			return err
		}
		if record.Generation == nil {
			return fmt.Errorf("consumer %s has no allocations: %w", consumer, ErrNotFound)
		}
		before := record.Clone()
		if err := alter(record); err != nil {
			return err
		}
		return c.write(ctx, allocationWrite{changes: map[uuid.UUID]change{consumer: {before, record}}, relative: relative})
	})
	if errors.Is(err, errNothingToDo) {
		return nil
	}
	return err
}

// Release deletes all allocations of a consumer, and reports whether it had any. Without force it sends the consumer
// generation, so that a concurrent change by another client is an ErrConsumerGeneration. With force it deletes them
// whatever the generation.
func (c *Client) Release(ctx context.Context, consumer uuid.UUID, force bool) (bool, error) {
	if force {
		err := c.AllocationDelete(ctx, consumer)
		if errors.Is(err, ErrNotFound) {
			return false, nil
		}
		return err == nil, err
	}
	had := false
	err := c.retryOnConflict(ctx, isProviderConflict, func() error {
		record, err := c.AllocationList(ctx, consumer)
		if had = err == nil && record.Generation != nil; !had {
			return err
		}
		emptied := record.Clone()
		emptied.Allocations = nil
		return c.write(ctx, allocationWrite{changes: map[uuid.UUID]change{consumer: {record, emptied}}})
	})
	return had && err == nil, err
}
