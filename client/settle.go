package client

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/google/uuid"
)

// change is what a consumer is to become, and what it was when that was decided.
type change struct{ from, to *Consumer }

// writing is one request that replaces what consumers have.
type writing struct {
	changes  map[uuid.UUID]change
	mappings map[string][]uuid.UUID
	// relative: it adds to what was there. Then a consumer that has what was to be
	// written does not show that this was written: somebody else may have added as
	// much. Otherwise it makes no difference who did it.
	relative bool
}

// records are what the consumers are to become.
func (w writing) records() Allocations {
	all := make(Allocations, len(w.changes))
	for consumer, one := range w.changes {
		all[consumer] = one.to
	}
	return all
}

// write replaces what consumers have. Where the answer was lost it reads whether
// it was done, and tries again if not: the generations see to it that it is done
// once.
func (c *Client) write(ctx context.Context, wanted writing) error {
	records := wanted.records()
	for failed, lost := 1, false; ; failed++ {
		err := c.replace(ctx, records, wanted.mappings)
		switch {
		case errors.Is(err, ErrOutcomeUnknown):
			lost = true
		case lost && errors.Is(err, ErrConsumerGeneration):
			// The writer who was faster may have been the attempt before this.
		default:
			return err
		}
		found, readErr := c.outcome(ctx, wanted.changes)
		switch {
		case readErr != nil:
			return errors.Join(err, readErr)
		case found == done && wanted.relative:
			return fmt.Errorf("%w; by now the consumer has what was to be written, from this writer or from another one: %v", ErrOutcomeUnknown, err)
		case found == done:
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

// outcome is what became of a write whose answer was lost.
type outcome int

const (
	undone outcome = iota
	done
	changed // by somebody else
)

// outcome compares consumers with what they were and what they were to become. A
// write is all or nothing, so it is done or undone for all of them alike.
func (c *Client) outcome(ctx context.Context, wanted map[uuid.UUID]change) (outcome, error) {
	seen := map[outcome]int{}
	for consumer, one := range wanted {
		if one.idle() {
			continue
		}
		found, err := c.AllocationList(ctx, consumer)
		if err != nil {
			return undone, err
		}
		seen[one.outcome(found)]++
	}
	switch {
	case seen[changed] > 0 || seen[done] > 0 && seen[undone] > 0:
		return changed, nil
	case seen[undone] > 0:
		return undone, nil
	}
	return done, nil
}

// idle is a consumer that is not there and is to have nothing.
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
	// A consumer that went away and came again has the same generations as before,
	// so they do not say alone that nothing happened.
	case sameGeneration(found.Generation, c.to.Generation) && sameAllocations(found.Allocations, c.from.Allocations):
		return undone
	case emptied && found.Generation == nil,
		!emptied && sameGeneration(found.Generation, &next) && sameAllocations(found.Allocations, c.to.Allocations):
		return done
	}
	return changed
}

func sameGeneration(a, b *int64) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

func sameAllocations(a, b map[uuid.UUID]Resources) bool {
	return maps.EqualFunc(withoutEmpty(a), withoutEmpty(b), func(x, y Resources) bool { return maps.Equal(x, y) })
}
