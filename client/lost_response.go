package client

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/google/uuid"
)

// change is the record of a consumer before and after a write.
type change struct{ from, to *Consumer }

// allocationWrite is one request that replaces allocations of consumers.
type allocationWrite struct {
	changes  map[uuid.UUID]change
	mappings map[string][]uuid.UUID
	// relative is set for a write that adds to or subtracts from allocations. Then a consumer with the written
	// allocations does not prove that this write was executed: another client may have added the same. Otherwise the
	// result is the same.
	relative bool
}

// records returns the records to write.
func (w allocationWrite) records() Allocations {
	all := make(Allocations, len(w.changes))
	for consumer, change := range w.changes {
		all[consumer] = change.to
	}
	return all
}

// write replaces allocations of consumers. If the response is lost, it reads the consumers, and retries the write if
// the server did not execute it. The generations ensure that it is executed once.
func (c *Client) write(ctx context.Context, wanted allocationWrite) error {
	records := wanted.records()
	for failed, lost := 1, false; ; failed++ {
		err := c.replace(ctx, records, wanted.mappings)
		switch {
		case errors.Is(err, ErrOutcomeUnknown):
			lost = true
		case lost && errors.Is(err, ErrConsumerGeneration):
			// The conflicting write may be the previous attempt.
		default:
			return err
		}
		found, readErr := c.outcome(ctx, wanted.changes)
		switch {
		case readErr != nil:
			return errors.Join(err, readErr)
		case found == applied && wanted.relative:
			return fmt.Errorf("%w; the consumer has the allocations of this write, from this client or from another one: %v", ErrOutcomeUnknown, err)
		case found == applied:
			return nil
		case found == changed:
			return fmt.Errorf("%w, %w: %w; the attempt: %v", ErrConsumerGeneration, ErrOutcomeUnknown, ErrConcurrentUpdate, err)
		case failed >= c.retries.Attempts:
			return err
		}
		if stopped := c.pause(ctx, failed); stopped != nil {
			return fmt.Errorf("%w; before that: %w", stopped, err)
		}
	}
}

func (c *Client) replace(ctx context.Context, records Allocations, mappings map[string][]uuid.UUID) error {
	if len(records) > 1 {
		return c.AllocationReplaceMany(ctx, records)
	}
	for consumer, record := range records {
		return c.AllocationReplace(ctx, consumer, record, mappings)
	}
	return nil
}

// outcome is the result of a write whose response was lost.
type outcome int

const (
	notApplied outcome = iota
	applied
	changed // by another client
)

// outcome compares the consumers with their records before and after the write. A write is one transaction, so the
// result is the same for all of them.
func (c *Client) outcome(ctx context.Context, wanted map[uuid.UUID]change) (outcome, error) {
	seen := map[outcome]int{}
	for consumer, change := range wanted {
		if change.idle() {
			continue
		}
		found, err := c.AllocationList(ctx, consumer)
		if err != nil {
			return notApplied, err
		}
		seen[change.outcome(found)]++
	}
	switch {
	case seen[changed] > 0 || seen[applied] > 0 && seen[notApplied] > 0:
		return changed, nil
	case seen[notApplied] > 0:
		return notApplied, nil
	}
	return applied, nil
}

// idle reports whether the consumer has no allocations before and after the write.
func (c change) idle() bool {
	return c.to.Generation == nil && len(withoutEmpty(c.to.Allocations)) == 0
}

func (c change) outcome(found *Consumer) outcome {
	next := int64(1)
	if c.to.Generation != nil {
		next = *c.to.Generation + 1
	}
	emptied := len(withoutEmpty(c.to.Allocations)) == 0
	switch {
	// A consumer that was deleted and created again can have the same generation, so the allocations are compared too.
	case sameGeneration(found.Generation, c.to.Generation) && sameAllocations(found.Allocations, c.from.Allocations):
		return notApplied
	case emptied && found.Generation == nil,
		!emptied && sameGeneration(found.Generation, &next) && sameAllocations(found.Allocations, c.to.Allocations):
		return applied
	}
	return changed
}

func sameGeneration(a, b *int64) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

func sameAllocations(a, b map[uuid.UUID]Resources) bool {
	return maps.EqualFunc(withoutEmpty(a), withoutEmpty(b), func(x, y Resources) bool { return maps.Equal(x, y) })
}
