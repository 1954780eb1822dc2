package client

import (
	"context"
	"errors"
	"fmt"
	"maps"

	api "github.com/berthd/berth/gen/client"
	"github.com/google/uuid"
)

// ClaimRequest is the allocations that a claim sets, and the project, user and type of the consumer.
type ClaimRequest struct {
	// Allocations are the amounts by provider.
	Allocations map[uuid.UUID]Resources
	// Mappings are the providers by request group of the query; nil without a query.
	Mappings map[string][]uuid.UUID
	// Empty fields keep their value; a new consumer needs all three.
	ProjectID, UserID, Type string
	// Generation is the consumer generation that the caller has read; nil: the claim reads it.
	Generation *int64
}

// ClaimOf returns the request that claims a candidate. It returns an error if the UUID of a provider is invalid.
func ClaimOf(candidate api.Candidate, project, user, consumerType string) (ClaimRequest, error) {
	request := ClaimRequest{
		Allocations: make(map[uuid.UUID]Resources, len(candidate.Allocations)),
		Mappings:    make(map[string][]uuid.UUID, len(candidate.Mappings)),
		ProjectID:   project, UserID: user, Type: consumerType,
	}
	for text, use := range candidate.Allocations {
		provider, err := uuid.Parse(text)
		if err != nil {
			return ClaimRequest{}, fmt.Errorf("the candidate's provider %q is not a uuid", text)
		}
		request.Allocations[provider] = use.Resources
	}
	for group, providers := range candidate.Mappings {
		request.Mappings[group] = providers
	}
	return request, nil
}

// record returns the record to send: the request, with missing fields from the current record.
func (r ClaimRequest) record(current *Consumer) *Consumer {
	record := &Consumer{
		Allocations: maps.Clone(r.Allocations), Generation: current.Generation,
		ProjectID: current.ProjectID, UserID: current.UserID, Type: current.Type,
	}
	if r.Generation != nil {
		record.Generation = r.Generation
	}
	for field, wanted := range map[*string]string{&record.ProjectID: r.ProjectID, &record.UserID: r.UserID, &record.Type: r.Type} {
		if wanted != "" {
			*field = wanted
		}
	}
	return record
}

// Claim sets the allocations of a consumer after the capacity check. A consumer with allocations is migrating: it keeps
// them, and gets those of the request on other providers, so that shared providers are not counted twice.
//
// It returns false without an error if a capacity or unit constraint rejects the claim; use another candidate. It
// retries generation conflicts of providers. A conflict of the consumer is an ErrConsumerGeneration, because another
// client manages it too.
//
// With berth 1.3 the claim of a new consumer is one request, unless fields of the request are empty.
func (c *Client) Claim(ctx context.Context, consumer uuid.UUID, wanted ClaimRequest) (bool, error) {
	return fits(c.claimInOne(ctx, consumer, wanted, false, func() error {
		return c.claim(ctx, consumer, wanted, wanted.merge)
	}))
}

// ClaimExplained is Claim, and returns the explanation of a rejected claim. The explanation is nil if policy does not
// permit it, or if the consumer has no type. It needs berth 1.2: a service that ignores the selection executes the claim
// without an explanation.
func (c *Client) ClaimExplained(ctx context.Context, consumer uuid.UUID, wanted ClaimRequest) (bool, *Explanation, error) {
	err := c.claim(context.WithValue(ctx, explainedClaimKey{}, true), consumer, wanted, wanted.merge)
	var rejected *Error
	if errors.Is(err, ErrCapacityExceeded) && errors.As(err, &rejected) {
		return false, rejected.Explanation, nil
	}
	return err == nil, nil, err
}

// explainedClaimKey is in the contexts of ClaimExplained. Its requests select the extensions only with the microversion
// that the extensions need.
type explainedClaimKey struct{}

// merge adds the allocations that a consumer has to those of the request.
func (r ClaimRequest) merge(record, current *Consumer) {
	record.Allocations = maps.Clone(r.Allocations)
	maps.Copy(record.Allocations, current.Allocations)
}

// ClaimReplacing is Claim, but replaces the allocations that the consumer has.
func (c *Client) ClaimReplacing(ctx context.Context, consumer uuid.UUID, wanted ClaimRequest) (bool, error) {
	return fits(c.claimInOne(ctx, consumer, wanted, true, func() error {
		return c.claim(ctx, consumer, wanted, func(*Consumer, *Consumer) {})
	}))
}

func (c *Client) claim(ctx context.Context, consumer uuid.UUID, wanted ClaimRequest, merge func(record, current *Consumer)) error {
	if len(withoutEmpty(wanted.Allocations)) == 0 {
		return fmt.Errorf("consumer %s: the claim has no resources; use Release to delete its allocations", consumer)
	}
	return c.retryOnConflict(ctx, isProviderConflict, func() error {
		current, err := c.AllocationList(ctx, consumer)
		if err != nil {
			return err
		}
		record := wanted.record(current)
		merge(record, current)
		return c.write(ctx, allocationWrite{changes: map[uuid.UUID]change{consumer: {current, record}}, mappings: wanted.Mappings})
	})
}

// Move transfers all allocations of one consumer to another one in one transaction, such as to the consumer of a
// migration and back. It replaces the allocations of the target. A target that exists keeps its type, project and user;
// a new one gets those of the source. If only the target has allocations, the move is done already and Move returns
// true. If neither has, the error is an ErrNotFound.
//
// It returns false without an error if a capacity or unit constraint rejects the move.
func (c *Client) Move(ctx context.Context, from, to uuid.UUID) (bool, error) {
	if from == to {
		return false, fmt.Errorf("consumer %s cannot be moved to itself", from)
	}
	return fits(c.retryOnConflict(ctx, isProviderConflict, func() error {
		source, err := c.AllocationList(ctx, from)
		if err != nil {
			return err
		}
		target, err := c.AllocationList(ctx, to)
		if err != nil {
			return err
		}
		if len(source.Allocations) == 0 {
			if len(target.Allocations) == 0 {
				return fmt.Errorf("neither consumer %s nor consumer %s has allocations: %w", from, to, ErrNotFound)
			}
			return nil
		}
		emptied, filled := source.Clone(), target.Clone()
		emptied.Allocations, filled.Allocations = nil, source.Allocations
		if target.Generation == nil {
			filled.ProjectID, filled.UserID, filled.Type = source.ProjectID, source.UserID, source.Type
		}
		return c.write(ctx, allocationWrite{changes: map[uuid.UUID]change{from: {source, emptied}, to: {target, filled}}})
	}))
}

// fits maps an ErrCapacityExceeded to false without an error.
func fits(err error) (bool, error) {
	if errors.Is(err, ErrCapacityExceeded) {
		return false, nil
	}
	return err == nil, err
}

// isConflict reports whether a write failed with a generation conflict and was certainly not executed.
// isProviderConflict does so for generations of providers only.
func isConflict(err error) bool {
	return errors.Is(err, ErrConcurrentUpdate) && !errors.Is(err, ErrOutcomeUnknown)
}

func isProviderConflict(err error) bool {
	return isConflict(err) && !errors.Is(err, ErrConsumerGeneration)
}

// retryOnConflict calls try until it succeeds, fails with an error for which raced is false, or has been tried
// Retries.Attempts times.
func (c *Client) retryOnConflict(ctx context.Context, raced func(error) bool, try func() error) error {
	for failed := 1; ; failed++ {
		err := try()
		if err == nil || !raced(err) || failed >= c.retries.Attempts {
			return err
		}
		c.log.InfoContext(ctx, "retrying after a generation conflict", "attempt", failed, "error", err.Error())
		if stopped := c.claimPause(ctx, failed); stopped != nil {
			return fmt.Errorf("%w; before that: %w", stopped, err)
		}
	}
}
