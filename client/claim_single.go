package client

import (
	"context"
	"errors"
	"maps"

	"github.com/google/uuid"
)

// claimInOne executes a claim in one request if the service has berth 1.3 and the request suffices for it: a new consumer
// needs no read, and a consumer that is replaced at a known generation neither. Otherwise it calls claim, which reads the
// consumer first.
func (c *Client) claimInOne(ctx context.Context, consumer uuid.UUID, wanted ClaimRequest, replaces bool, claim func() error) error {
	if len(withoutEmpty(wanted.Allocations)) == 0 || !wanted.isComplete() || wanted.Generation != nil && !replaces || !c.has(ctx, berth13) {
		return claim()
	}
	_, err := c.ClaimCreate(ctx, wanted.search(consumer))
	switch {
	case errors.Is(err, ErrOutcomeUnknown):
		return c.claimOutcome(ctx, consumer, wanted, err)
	case errors.Is(err, ErrConsumerGeneration) && wanted.Generation == nil, errors.Is(err, ErrContended):
		return claim() // it exists
	case errors.Is(err, ErrForbidden), errors.Is(err, ErrExtensions):
		return claim() // policy permits writes of allocations only, or the service is being upgraded
	}
	return err
}

// isComplete reports whether the request has all that the record of a new consumer needs.
func (r ClaimRequest) isComplete() bool {
	return r.ProjectID != "" && r.UserID != "" && r.Type != "" && r.Type != NoType
}

// search returns the request as that of one candidate.
func (r ClaimRequest) search(consumer uuid.UUID) ClaimSearch {
	wanted := ClaimSearch{
		Consumers:  []ClaimConsumer{{UUID: consumer, ProjectID: r.ProjectID, UserID: r.UserID, Type: r.Type, Generation: r.Generation}},
		Candidates: []ClaimCandidate{{Allocations: maps.Clone(r.Allocations), Mappings: r.Mappings}},
	}
	if r.Generation != nil {
		wanted.Existing = ExistingReplace
	}
	return wanted
}

// claimOutcome returns nil if the consumer has the allocations of a claim whose responses were lost.
func (c *Client) claimOutcome(ctx context.Context, consumer uuid.UUID, wanted ClaimRequest, lost error) error {
	found, err := c.AllocationList(ctx, consumer)
	if err != nil {
		return errors.Join(lost, err)
	}
	next := int64(1)
	if wanted.Generation != nil {
		next = *wanted.Generation + 1
	}
	if sameGeneration(found.Generation, &next) && sameAllocations(found.Allocations, wanted.Allocations) {
		return nil
	}
	return lost
}
