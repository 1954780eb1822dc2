package claims

import (
	"context"
	"errors"

	"github.com/berthd/berth/server/candidates"
	"github.com/berthd/berth/server/postgres"
	"github.com/berthd/berth/server/store"
)

// SeveralRequest is a claim for several consumers, which must not exist. All are placed, or none.
type SeveralRequest struct {
	// Consumers are in the order of the result; their Allocations are ignored.
	Consumers []store.Claim
	Relation  candidates.Relation
	// Questions are alternatives in the order of preference. Each consumer gets all that the question asks for.
	Questions []candidates.Query
	// Key is the idempotency key; nil: the request has none.
	Key *store.IdempotencyKey
	// Refuse runs in the snapshot of the search without a placement, before ErrNothingFits and ErrUndecided.
	Refuse func(ctx context.Context, in *postgres.Snapshot, found *candidates.PlacementSearch) error
}

// SeveralResult is what was claimed for several consumers.
type SeveralResult struct {
	store.Claimed
	// Question is the index of the question that Members answers: the candidates in the order of the consumers.
	Question int
	Members  []candidates.ClaimCandidate
	// Searches is the number of searches.
	Searches int
}

// CreateSeveral claims a placement of several consumers. After a write that comes too late it searches another one, at most
// maxSearches times. Its errors are those of Create.
func (c *Claims) CreateSeveral(ctx context.Context, asked *SeveralRequest) (made SeveralResult, err error) {
	err = c.withKey(ctx, asked.Key, func() error {
		made, err = c.createSeveral(ctx, asked)
		return err
	})
	if errors.Is(err, errReplayed) {
		return replayedSeveral(asked)
	}
	c.metrics.observe(&Result{Claimed: made.Claimed, Searches: made.Searches}, err)
	return made, err
}

func (c *Claims) createSeveral(ctx context.Context, asked *SeveralRequest) (made SeveralResult, err error) {
	options := candidates.PlacementOptions{Members: len(asked.Consumers), Relation: asked.Relation, Refuse: asked.Refuse}
	options.Look = func(ctx context.Context, in *postgres.Snapshot) error {
		if err := c.lookUpKey(ctx, in, asked.Key); err != nil {
			return err
		}
		_, err := c.compareGenerations(ctx, in, asked.Consumers)
		return err
	}
	var effort store.ClaimEffort
	for made.Searches < maxSearches {
		made.Searches++
		options.MayUseReplica = made.Searches == 1
		found, err := c.search.FindPlacement(ctx, asked.Questions, options)
		if err != nil {
			return made, err
		}
		switch {
		case len(found.Members) > 0:
		case found.IsExact:
			return made, ErrNothingFits
		default:
			return made, ErrUndecided
		}
		placement, err := toStore(asked.Key, kept{Question: found.Question, Searches: made.Searches, Effort: effort}, found.Members)
		if err != nil {
			return made, err
		}
		claimed, err := c.store.Keyed(asked.Key).ClaimCreateMany(ctx, asked.Consumers, placement)
		refused := store.AsRuleViolation(err)
		if err != nil && (refused == nil || refused.Rule != store.ClaimNoneLeft) {
			return made, err
		}
		if err == nil {
			made.Claimed, made.Question, made.Members = claimed, found.Question, found.Members
			made.Effort = effort
			return made, nil
		}
		effort.Add(refused.Values.ClaimEffort)
		made.Effort = effort
	}
	return made, ErrContended
}
