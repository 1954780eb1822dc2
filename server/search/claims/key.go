package claims

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/candidates"
)

// errReplayed reports that an earlier request with the same idempotency key has succeeded.
var errReplayed = errors.New("the idempotency key has a response")

// kept is what the response to a repetition needs of a result, beside the allocations. It is stored with the key.
type kept struct {
	Query    int `json:"question"`
	Searches int `json:"searches"`
	// Effort is that of the rounds before the one that succeeded.
	Effort   store.ClaimEffort      `json:"effort"`
	Root     uuid.UUID              `json:"root"`
	Mappings map[string][]uuid.UUID `json:"mappings"`
}

// withKey runs a claim whose request may have an idempotency key: nil for none. Requests of this process with one key run
// one after the other. It returns errReplayed if the key has a response.
func (c *Claims) withKey(ctx context.Context, key *store.IdempotencyKey, run func() error) error {
	if key == nil {
		return run()
	}
	release, err := c.store.HoldIdempotencyKey(ctx, key)
	if err != nil {
		return err
	}
	defer release()
	err = run()
	isUnplaced := errors.Is(err, ErrNothingFits) || errors.Is(err, ErrUndecided)
	if isUnplaced {
		// A concurrent request of another process may have taken the last place under this key.
		found, awaitErr := c.store.IdempotencyAwait(ctx, key)
		if awaitErr != nil {
			return awaitErr
		}
		key.Replayed = found
	}
	if (err == nil || isUnplaced) && key.Replayed {
		return errReplayed
	}
	return err
}

// lookUpKey returns errReplayed if the key has a response, in the snapshot of a search.
func (c *Claims) lookUpKey(ctx context.Context, in *postgres.Snapshot, key *store.IdempotencyKey) error {
	if key == nil {
		return nil
	}
	found, err := c.store.IdempotencyShowIn(ctx, in, key)
	if err == nil && found {
		return errReplayed
	}
	return err
}

// replayed returns the stored result of the request's key.
func replayed(request *Request) (Result, error) {
	claimed, err := store.ReplayedClaim(request.Key, request.Consumer, request.Heir)
	if err != nil {
		return Result{}, err
	}
	var of kept
	if err := json.Unmarshal(claimed.Context, &of); err != nil {
		return Result{}, fmt.Errorf("context of a stored claim: %w", err)
	}
	of.Effort.Add(claimed.Effort)
	claimed.Effort = of.Effort
	return Result{Claimed: claimed, Query: of.Query, Searches: of.Searches, Chosen: of.candidate()}, nil
}

// replayedSeveral returns the stored result of the request's key.
func replayedSeveral(request *SeveralRequest) (SeveralResult, error) {
	claimed, err := store.ReplayedClaims(request.Key, request.Consumers)
	if err != nil {
		return SeveralResult{}, err
	}
	var members []kept
	if err := json.Unmarshal(claimed.Context, &members); err != nil {
		return SeveralResult{}, fmt.Errorf("context of stored claims: %w", err)
	}
	result := SeveralResult{Claimed: claimed, Query: members[0].Query, Searches: members[0].Searches}
	result.Effort = members[0].Effort
	for i := range members {
		result.Members = append(result.Members, members[i].candidate())
	}
	return result, nil
}

// candidate returns what the response shows of a candidate.
func (k *kept) candidate() candidates.ClaimCandidate {
	return candidates.ClaimCandidate{Root: k.Root, Mappings: k.Mappings}
}
