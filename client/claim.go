package client

import (
	"context"
	"errors"
	"fmt"
	"maps"

	api "github.com/berthd/berth/gen/client"
	"github.com/google/uuid"
)

// ClaimRequest is what a consumer is to get, and whose it is.
type ClaimRequest struct {
	// Allocations are by provider.
	Allocations map[uuid.UUID]Resources
	// Mappings say which provider serves which group of the query; nil if no
	// candidate was asked for.
	Mappings map[string][]uuid.UUID
	// What is empty stays as it is; a new consumer needs all three.
	ProjectID, UserID, Type string
	// Generation is the one that the caller has read; nil: the one that is read
	// now.
	Generation *int64
}

// ClaimOf is the request for a candidate.
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

// record is the request on top of what the consumer is by now.
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

// Claim gives a consumer what is asked for. One that has something already is on
// its way from there to here: it keeps that, and gets those providers of the
// request that it is not on yet, so that what both share is not counted twice.
//
// False without an error means that it does not fit; find another candidate. A
// race for a provider is run again, one for the consumer is an
// ErrConsumerGeneration: somebody else decides about it, too.
func (c *Client) Claim(ctx context.Context, consumer uuid.UUID, wanted ClaimRequest) (bool, error) {
	return c.claim(ctx, consumer, wanted, func(record, current *Consumer) {
		merged := maps.Clone(wanted.Allocations)
		maps.Copy(merged, current.Allocations)
		record.Allocations = merged
	})
}

// Put is Claim without regard to what the consumer has: that is replaced.
func (c *Client) Put(ctx context.Context, consumer uuid.UUID, wanted ClaimRequest) (bool, error) {
	return c.claim(ctx, consumer, wanted, func(*Consumer, *Consumer) {})
}

func (c *Client) claim(ctx context.Context, consumer uuid.UUID, wanted ClaimRequest, merge func(record, current *Consumer)) (bool, error) {
	if len(withoutEmpty(wanted.Allocations)) == 0 {
		return false, fmt.Errorf("consumer %s: the claim is for nothing; use Release to give back what it has", consumer)
	}
	return fits(c.contend(ctx, providerRace, func() error {
		current, err := c.AllocationList(ctx, consumer)
		if err != nil {
			return err
		}
		record := wanted.record(current)
		merge(record, current)
		return c.write(ctx, writing{changes: map[uuid.UUID]change{consumer: {current, record}}, mappings: wanted.Mappings})
	}))
}

// Move gives all that one consumer has to another one, such as to the record of a
// migration and back, in one transaction. What the other had is replaced; its type,
// project and user stay if it exists, else it gets the first one's. If the first
// has nothing and the other has something, it was done before: true.
//
// False without an error means that it does not fit where it is.
func (c *Client) Move(ctx context.Context, from, to uuid.UUID) (bool, error) {
	if from == to {
		return false, fmt.Errorf("consumer %s cannot be moved to itself", from)
	}
	return fits(c.contend(ctx, providerRace, func() error {
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
		return c.write(ctx, writing{changes: map[uuid.UUID]change{from: {source, emptied}, to: {target, filled}}})
	}))
}

// fits turns "no room" into an answer.
func fits(err error) (bool, error) {
	if errors.Is(err, ErrNoRoom) {
		return false, nil
	}
	return err == nil, err
}

// anyRace is a write that came too late, and surely was not done; providerRace is
// one about providers only.
func anyRace(err error) bool {
	return errors.Is(err, ErrConcurrentUpdate) && !errors.Is(err, ErrOutcomeUnknown)
}

func providerRace(err error) bool {
	return anyRace(err) && !errors.Is(err, ErrConsumerGeneration)
}

// contend reads, decides and writes again for as long as others are faster.
func (c *Client) contend(ctx context.Context, raced func(error) bool, try func() error) error {
	for failed := 1; ; failed++ {
		err := try()
		if err == nil || !raced(err) || failed >= c.retries.Attempts {
			return err
		}
		c.log.InfoContext(ctx, "somebody else was faster, trying again", "attempt", failed, "error", err.Error())
		if stopped := c.claimPause(ctx, failed); stopped != nil {
			return fmt.Errorf("%w; before that: %w", stopped, err)
		}
	}
}
