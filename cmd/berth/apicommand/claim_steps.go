package apicommand

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
	api "github.com/berthd/berth/gen/client"
)

// sharingTrait is the trait of sharing providers.
const sharingTrait = "MISC_SHARES_VIA_AGGREGATE"

// claimInSteps queries candidates and claims the first one; after a conflict, the next. It is for a service without
// berth 1.3.
func (c *claimCall) claimInSteps(ctx context.Context, consumer client.ClaimConsumer) (client.ClaimedPlaces, error) {
	asked := *c.flags.CandidateRequest
	excluded, err := rootsOf(ctx, c.service, c.queries[0].NotInTree)
	if err != nil {
		return client.ClaimedPlaces{}, err
	}
	asked.Asked.NotInTree = nil // which needs berth 1.3
	if len(excluded) > 0 {
		asked.Asked.Limit = 0 // it must not hide the candidates of other trees
	}
	found, err := asked.list(ctx, c.service)
	if err != nil {
		return client.ClaimedPlaces{}, err
	}
	candidates := slices.DeleteFunc(found.AllocationRequests, func(candidate api.Candidate) bool {
		return isExcluded(candidate, found.ProviderSummaries, excluded)
	})
	if limit := c.flags.Asked.Limit; limit > 0 && len(candidates) > limit {
		candidates = candidates[:limit]
	}
	var why *client.Explanation
	for _, candidate := range candidates {
		request, err := client.ClaimOf(candidate, consumer.ProjectID, consumer.UserID, consumer.Type)
		if err != nil {
			return client.ClaimedPlaces{}, err
		}
		request.Generation = consumer.Generation
		claimed := false
		if claimed, why, err = c.claimCandidate(ctx, consumer.UUID, request, found.hasExplanations); err != nil {
			return client.ClaimedPlaces{}, err
		}
		if claimed {
			return c.placeInSteps(ctx, consumer.UUID, request, found.ProviderSummaries)
		}
	}
	if tried := len(candidates); tried > 0 {
		printNothingFits(c.f, why)
		return client.ClaimedPlaces{}, fmt.Errorf("no candidate claimed: concurrent claims used the free capacity of all %d candidates; retry", tried)
	}
	printNothingFits(c.f, found.explanation)
	return client.ClaimedPlaces{}, &frame.CodedError{Code: frame.ExitFailed}
}

// claimCandidate claims one candidate. It returns false if it does not fit.
func (c *claimCall) claimCandidate(ctx context.Context, id uuid.UUID, request client.ClaimRequest, explained bool) (bool, *client.Explanation, error) {
	switch {
	case c.flags.replace:
		claimed, err := c.service.ClaimReplacing(ctx, id, request)
		return claimed, nil, err
	case explained:
		return c.service.ClaimExplained(ctx, id, request)
	}
	claimed, err := c.service.Claim(ctx, id, request)
	return claimed, nil, err
}

// placeInSteps reads what the consumer has after the claim.
func (c *claimCall) placeInSteps(ctx context.Context, id uuid.UUID, request client.ClaimRequest, summaries map[string]api.ProviderSummary) (client.ClaimedPlaces, error) {
	consumer, err := c.service.AllocationList(ctx, id)
	if err != nil {
		return client.ClaimedPlaces{}, err
	}
	place := client.ClaimedPlace{
		Consumer: id, Generation: valueOr(consumer.Generation, 0), ProjectID: consumer.ProjectID, UserID: consumer.UserID,
		Type: consumer.Type, Allocations: consumer.Allocations, Mappings: request.Mappings,
	}
	for _, provider := range sortedIDs(request.Allocations) {
		summary := summaries[provider.String()]
		if place.Root == nil || !slices.Contains(summary.Traits, sharingTrait) {
			place.Root = new(summary.RootProviderUUID)
		}
	}
	return client.ClaimedPlaces{Claims: []client.ClaimedPlace{place}, Query: new(0)}, nil
}

// rootsOf returns the roots of the trees of providers.
func rootsOf(ctx context.Context, service *client.Client, providers []string) (map[uuid.UUID]bool, error) {
	roots := map[uuid.UUID]bool{}
	for _, text := range providers {
		id, err := uuid.Parse(text)
		if err != nil {
			return nil, err
		}
		found, err := service.ProviderShow(ctx, id)
		switch {
		case errors.Is(err, client.ErrNotFound): // it excludes nothing
		case err != nil:
			return nil, err
		default:
			roots[found.RootProviderUUID] = true
		}
	}
	return roots, nil
}

// isExcluded reports whether a candidate belongs to one of the trees. A sharing provider of such a tree also serves the
// candidates of others.
func isExcluded(candidate api.Candidate, summaries map[string]api.ProviderSummary, roots map[uuid.UUID]bool) bool {
	others := false
	for provider := range candidate.Allocations {
		summary := summaries[provider]
		if !roots[summary.RootProviderUUID] {
			others = true
		} else if !slices.Contains(summary.Traits, sharingTrait) {
			return true
		}
	}
	return len(roots) > 0 && !others
}
