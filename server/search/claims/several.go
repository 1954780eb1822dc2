package claims

import (
	"context"
	"errors"

	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/candidates"
)

// SeveralRequest is a claim for several consumers, which must not exist. All are placed, or none.
type SeveralRequest struct {
	// Consumers are in the order of the result; their Allocations are ignored.
	Consumers []store.Claim
	Relation  candidates.Relation
	// Queries are alternatives in the order of preference. Each consumer gets all that the query asks for.
	Queries []candidates.Query
	// Key is the idempotency key; nil: the request has none.
	Key *store.IdempotencyKey
	// Refuse runs in the snapshot of the search without a placement, before ErrNothingFits and ErrUndecided.
	Refuse func(ctx context.Context, in *postgres.Snapshot, found *candidates.PlacementSearch) error
}

// SeveralResult is what was claimed for several consumers.
type SeveralResult struct {
	store.Claimed
	// Query is the index of the query that Members answers: the candidates in the order of the consumers.
	Query   int
	Members []candidates.ClaimCandidate
	// Searches is the number of searches.
	Searches int
}

// CreateSeveral claims a placement of several consumers. After a write that comes too late it searches another one, at most
// maxSearches times. Its errors are those of Create.
func (c *Claims) CreateSeveral(ctx context.Context, request *SeveralRequest) (result SeveralResult, err error) {
	err = c.withKey(ctx, request.Key, func() error {
		result, err = c.createSeveral(ctx, request)
		return err
	})
	if errors.Is(err, errReplayed) {
		return replayedSeveral(request)
	}
	c.metrics.observe(&Result{Claimed: result.Claimed, Searches: result.Searches}, err)
	return result, err
}

func (c *Claims) createSeveral(ctx context.Context, request *SeveralRequest) (result SeveralResult, err error) {
	options := candidates.PlacementOptions{Members: len(request.Consumers), Relation: request.Relation, Refuse: request.Refuse}
	options.Look = func(ctx context.Context, in *postgres.Snapshot) error {
		if err := c.lookUpKey(ctx, in, request.Key); err != nil {
			return err
		}
		_, err := c.compareGenerations(ctx, in, request.Consumers)
		return err
	}
	var effort store.ClaimEffort
	for result.Searches < maxSearches {
		result.Searches++
		options.MayUseReplica = result.Searches == 1
		found, err := c.search.FindPlacement(ctx, request.Queries, options)
		if err != nil {
			return result, err
		}
		switch {
		case len(found.Members) > 0:
		case found.IsExact:
			return result, ErrNothingFits
		default:
			return result, ErrUndecided
		}
		placement, err := toStore(request.Key, kept{Query: found.Query, Searches: result.Searches, Effort: effort}, found.Members)
		if err != nil {
			return result, err
		}
		claimed, err := c.store.Keyed(request.Key).ClaimCreateMany(ctx, request.Consumers, placement)
		refused := store.AsRuleViolation(err)
		if err != nil && (refused == nil || refused.Rule != store.ClaimNoneLeft) {
			return result, err
		}
		if err == nil {
			result.Claimed, result.Query, result.Members = claimed, found.Query, found.Members
			result.Effort = effort
			return result, nil
		}
		effort.Add(refused.Values.ClaimEffort)
		result.Effort = effort
	}
	return result, ErrContended
}
