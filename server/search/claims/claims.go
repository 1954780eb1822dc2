// Package claims finds a place for consumers and claims it: the loop of POST /claims over the search for candidates and the
// write that decides between them.
//
// It is not for the search, which is in package candidates, nor for the decision, which the SQL function claim_create makes
// under locks. It holds no connection between the two.
package claims

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/candidates"
)

// The bounds of a claim. Each round searches twice as many candidates as the one before.
const (
	maxSearches = 16
	firstLimit  = 8
	maxLimit    = 512
)

// These are the errors of claims that change nothing.
var (
	// ErrNothingFits: nothing fitted at one moment during the request.
	ErrNothingFits = errors.New("nothing fits")
	// ErrContended: other writes took or changed all candidates of each search.
	ErrContended = errors.New("others took all candidates of 16 searches")
	// ErrUndecided: no placement of several consumers was found, and the search ended before it had tried every choice.
	ErrUndecided = errors.New("the search ended before it had tried every choice")
)

// errChanged reports that the allocations of the consumer changed between two statements of a round.
var errChanged = errors.New("the consumer's allocations have changed")

// Claims claims what it finds. It is safe for concurrent use.
type Claims struct {
	store   *store.Store
	search  *candidates.Search
	metrics metrics
}

// New returns the claims in the database of a store.
func New(data *store.Store, search *candidates.Search) *Claims {
	return &Claims{store: data, search: search, metrics: newMetrics()}
}

// Request is a claim for one consumer.
type Request struct {
	// Consumer is who claims. A consumer with a generation exists, and gives back its allocations, or hands them over to Heir.
	Consumer store.Claim
	Heir     *store.Claim
	// Queries are alternatives in the order of preference.
	Queries []candidates.Query
	// Key is the idempotency key; nil: the request has none.
	Key *store.IdempotencyKey
	// Refuse runs in the snapshot of the search that found nothing.
	Refuse func(ctx context.Context, in *postgres.Snapshot, found *candidates.ClaimSearch) error
}

// Result is what was claimed.
type Result struct {
	store.Claimed
	// Query is the index of the query that Chosen answers.
	Query  int
	Chosen candidates.ClaimCandidate
	// Searches is the number of searches.
	Searches int
}

// Create claims the first candidate that fits. An error of a single query is a *candidates.QueryError, and one of the
// consumer a *store.RuleViolation.
func (c *Claims) Create(ctx context.Context, request *Request) (result Result, err error) {
	err = c.withKey(ctx, request.Key, func() error {
		result, err = c.create(ctx, request)
		return err
	})
	if errors.Is(err, errReplayed) {
		return replayed(request)
	}
	c.metrics.observe(&result, err)
	return result, err
}

func (c *Claims) create(ctx context.Context, request *Request) (result Result, err error) {
	var effort store.ClaimEffort
	for limit := firstLimit; result.Searches < maxSearches; limit = min(2*limit, maxLimit) {
		result.Searches++
		found, err := c.find(ctx, request, limit, result.Searches == 1)
		if errors.Is(err, errChanged) {
			continue
		}
		if err != nil {
			return result, err
		}
		if len(found.Candidates) == 0 {
			return result, ErrNothingFits
		}
		claimed, err := c.write(ctx, request, &result, found)
		if refused := store.AsRuleViolation(err); refused != nil && refused.Rule == store.ClaimNoneLeft {
			effort.Add(refused.Values.ClaimEffort)
			result.Effort = effort
			continue
		}
		if err != nil {
			return result, err
		}
		if request.Key != nil && request.Key.Replayed {
			return result, errReplayed
		}
		effort.Add(claimed.Effort)
		result.Claimed, result.Query, result.Chosen = claimed, found.Query, found.Candidates[claimed.Candidate]
		result.Effort = effort
		return result, nil
	}
	return result, ErrContended
}

// write claims one of the candidates of a search. made has the effort of the rounds before.
func (c *Claims) write(ctx context.Context, request *Request, result *Result, found *candidates.ClaimSearch) (store.Claimed, error) {
	offered, err := toStore(request.Key, kept{Query: found.Query, Searches: result.Searches, Effort: result.Effort}, found.Candidates)
	if err != nil {
		return store.Claimed{}, err
	}
	return c.store.Keyed(request.Key).ClaimCreate(ctx, request.Consumer, request.Heir, offered)
}

// find searches candidates of the first query that has any.
func (c *Claims) find(ctx context.Context, request *Request, limit int, isFirst bool) (*candidates.ClaimSearch, error) {
	options := candidates.ClaimOptions{Limit: limit, MayUseReplica: isFirst, Refuse: request.Refuse}
	var given []store.ClaimUse
	if request.Consumer.Generation != nil && request.Heir == nil {
		had, err := c.store.ClaimConsumerList(ctx, []uuid.UUID{request.Consumer.Consumer})
		if err != nil {
			return nil, err
		}
		given = had[request.Consumer.Consumer].Uses
		for _, use := range given {
			options.Freed = append(options.Freed, candidates.FreedAmount{ProviderID: use.Provider, ClassID: use.Class, Amount: use.Amount})
		}
	}
	options.Look = func(ctx context.Context, in *postgres.Snapshot) error { return c.look(ctx, in, request, given) }
	return c.search.FindForClaim(ctx, request.Queries, options)
}

// look compares the consumers in the snapshot of a search: a generation that differs takes precedence over a search without
// candidates. given is what the search counts as free.
func (c *Claims) look(ctx context.Context, in *postgres.Snapshot, request *Request, given []store.ClaimUse) error {
	if err := c.lookUpKey(ctx, in, request.Key); err != nil {
		return err
	}
	all := []store.Claim{request.Consumer}
	if request.Heir != nil {
		all = append(all, *request.Heir)
	}
	states, err := c.compareGenerations(ctx, in, all)
	if err != nil {
		return err
	}
	if given != nil && !slices.Equal(given, states[request.Consumer.Consumer].Uses) {
		return errChanged
	}
	return nil
}

// compareGenerations compares the generations of consumers in a snapshot. It returns the consumers that exist.
func (c *Claims) compareGenerations(
	ctx context.Context, in *postgres.Snapshot, all []store.Claim,
) (map[uuid.UUID]store.ClaimConsumer, error) {
	var ids []uuid.UUID
	for i := range all {
		ids = append(ids, all[i].Consumer)
	}
	states, err := c.store.ClaimConsumerListIn(ctx, in, ids)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if err := all[i].CompareGeneration(states); err != nil {
			return nil, err
		}
	}
	return states, nil
}

// toStore returns the candidates without what only the response needs; of and the rest is their context if the request has
// an idempotency key.
func toStore(key *store.IdempotencyKey, of kept, found []candidates.ClaimCandidate) ([]store.ClaimCandidate, error) {
	claimCandidates := make([]store.ClaimCandidate, len(found))
	for i := range found {
		if key != nil {
			of.Root, of.Mappings = found[i].Root, found[i].Mappings
			encoded, err := json.Marshal(of)
			if err != nil {
				return nil, err
			}
			claimCandidates[i].Context = encoded
		}
		for _, use := range found[i].Uses {
			claimCandidates[i].Uses = append(claimCandidates[i].Uses, store.ClaimUse{Provider: use.ProviderID, Class: use.ClassID, Amount: use.Amount})
		}
		for _, guard := range found[i].Guards {
			claimCandidates[i].Guards = append(claimCandidates[i].Guards, store.ClaimGuard{Provider: guard.ProviderID, Revision: guard.Revision})
		}
		for _, link := range found[i].Links {
			claimCandidates[i].Links = append(claimCandidates[i].Links, store.ClaimLink{Anchor: link.RootID, Provider: link.ProviderID})
		}
	}
	return claimCandidates, nil
}

// CreateNamed claims the first of several candidates that fits, without a search. If none does, the error is a
// *store.RuleViolation of the rule ClaimNoneLeft or ClaimContended.
func (c *Claims) CreateNamed(
	ctx context.Context, key *store.IdempotencyKey, consumer store.Claim, heir *store.Claim, listed [][]store.Allocation,
) (store.Claimed, error) {
	claimed, err := c.store.Keyed(key).ClaimCreateNamed(ctx, consumer, heir, listed)
	if key != nil && key.Replayed {
		return claimed, err
	}
	result := Result{Claimed: claimed}
	if refused := store.AsRuleViolation(err); refused != nil {
		result.Effort = refused.Values.ClaimEffort
	}
	c.metrics.observe(&result, err)
	return claimed, err
}
