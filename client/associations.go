package client

import (
	"context"
	"net/http"

	api "github.com/berthd/berth/gen/client"
	"github.com/google/uuid"
)

// ProviderTraitList reads a provider's traits and its generation.
func (c *Client) ProviderTraitList(ctx context.Context, id uuid.UUID) ([]string, int64, error) {
	var answer api.ProviderTraits
	err := c.send(ctx, &answer, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.ProviderTraitList(ctx, id.String(), &api.ProviderTraitListParams{OpenStackAPIVersion: newest})
	})
	return answer.Traits, answer.ResourceProviderGeneration, err
}

// ProviderTraitReplace makes these all the traits of a provider, and tells them
// with the generation after that. All must exist: see TraitEnsure.
func (c *Client) ProviderTraitReplace(ctx context.Context, id uuid.UUID, generation int64, wanted []string) ([]string, int64, error) {
	if wanted == nil {
		wanted = []string{} // nil would be null
	}
	body := api.ProviderTraitsReplace{Traits: wanted, ResourceProviderGeneration: generation}
	var answer api.ProviderTraits
	err := c.send(ctx, &answer, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.ProviderTraitReplace(ctx, id.String(), &api.ProviderTraitReplaceParams{OpenStackAPIVersion: newest}, body)
	})
	return answer.Traits, answer.ResourceProviderGeneration, err
}

// ProviderTraitClear takes all traits away, without a look at the generation, and
// does not tell the new one.
func (c *Client) ProviderTraitClear(ctx context.Context, id uuid.UUID) error {
	return c.send(ctx, nil, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.ProviderTraitClear(ctx, id.String(), &api.ProviderTraitClearParams{OpenStackAPIVersion: newest})
	})
}

// ProviderAggregateList reads the aggregates that a provider is in and its
// generation.
func (c *Client) ProviderAggregateList(ctx context.Context, id uuid.UUID) ([]uuid.UUID, int64, error) {
	var answer api.Aggregates
	err := c.send(ctx, &answer, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.ProviderAggregateList(ctx, id.String(), &api.ProviderAggregateListParams{OpenStackAPIVersion: newest})
	})
	return answer.Aggregates, answer.ResourceProviderGeneration, err
}

// ProviderAggregateReplace makes these all the aggregates of a provider, and tells
// them with the generation after that. They need not exist.
func (c *Client) ProviderAggregateReplace(ctx context.Context, id uuid.UUID, generation int64, wanted []uuid.UUID) ([]uuid.UUID, int64, error) {
	if wanted == nil {
		wanted = []uuid.UUID{} // nil would be null
	}
	body := api.AggregatesReplace{Aggregates: wanted, ResourceProviderGeneration: generation}
	var answer api.Aggregates
	err := c.send(ctx, &answer, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.ProviderAggregateReplace(ctx, id.String(), &api.ProviderAggregateReplaceParams{OpenStackAPIVersion: newest}, body)
	})
	return answer.Aggregates, answer.ResourceProviderGeneration, err
}
