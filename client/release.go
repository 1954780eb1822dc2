package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
)

// AddResources gives a consumer that has something more of it, by provider. What
// does not fit is an ErrNoRoom, a consumer without allocations an ErrNotFound. A
// race of any kind is run again, from what there is then. If an answer was lost
// and the consumer was written since, it is an ErrOutcomeUnknown.
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

// RemoveResources takes something away from a consumer, by provider. Providers of
// which nothing is left are dropped; a consumer of which nothing is left goes away.
// To take more than there is is an error, and nothing is written. Lost answers are
// as in AddResources.
func (c *Client) RemoveResources(ctx context.Context, consumer uuid.UUID, less map[uuid.UUID]Resources) error {
	return c.edit(ctx, consumer, true, func(record *Consumer) error {
		for provider, amounts := range less {
			had := record.Allocations[provider].clone()
			for class, amount := range amounts {
				if had[class] < amount {
					return fmt.Errorf("consumer %s has %d %s of provider %s, %d cannot be taken away",
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

// RemoveTree takes away all that a consumer has of the providers in the tree
// around one; what it has of sharing providers and of other trees stays. It is no
// error if that is nothing; ErrNotFound: there is no such provider or consumer.
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

// errNothingToDo ends an edit that changes nothing.
var errNothingToDo = errors.New("nothing to do")

// edit reads what a consumer has, changes and writes it. relative is that of a
// writing.
func (c *Client) edit(ctx context.Context, consumer uuid.UUID, relative bool, alter func(*Consumer) error) error {
	err := c.contend(ctx, anyRace, func() error {
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
		return c.write(ctx, writing{changes: map[uuid.UUID]change{consumer: {before, record}}, relative: relative})
	})
	if errors.Is(err, errNothingToDo) {
		return nil
	}
	return err
}

// Release takes everything from a consumer, and says whether it had anything. The
// gentle way looks at its generation, so that a change by somebody else at the same
// time is an ErrConsumerGeneration; with force the last word is this one.
func (c *Client) Release(ctx context.Context, consumer uuid.UUID, force bool) (bool, error) {
	if force {
		err := c.AllocationDelete(ctx, consumer)
		if errors.Is(err, ErrNotFound) {
			return false, nil
		}
		return err == nil, err
	}
	had := false
	err := c.contend(ctx, providerRace, func() error {
		record, err := c.AllocationList(ctx, consumer)
		if had = err == nil && record.Generation != nil; !had {
			return err
		}
		emptied := record.Clone()
		emptied.Allocations = nil
		return c.write(ctx, writing{changes: map[uuid.UUID]change{consumer: {record, emptied}}})
	})
	return had && err == nil, err
}
