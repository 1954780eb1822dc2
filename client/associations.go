package client

import (
	"context"
	"net/http"

	api "github.com/berthd/berth/gen/client"
	"github.com/google/uuid"
)

// ProviderTraitList returns the traits of a provider and its generation.
func (c *Client) ProviderTraitList(ctx context.Context, id uuid.UUID) ([]string, int64, error) {
	var answer api.ProviderTraits
	err := c.send(ctx, &answer, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.ProviderTraitList(ctx, id.String(), &api.ProviderTraitListParams{OpenStackAPIVersion: newest})
	})
	return answer.Traits, answer.ResourceProviderGeneration, err
}

// ProviderTraitReplace replaces all traits of a provider, and returns them with the new generation. All must exist: see
// TraitEnsure.
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

// ProviderTraitClear removes all traits of a provider, whatever the generation, and does not return the new one.
func (c *Client) ProviderTraitClear(ctx context.Context, id uuid.UUID) error {
	return c.send(ctx, nil, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.ProviderTraitClear(ctx, id.String(), &api.ProviderTraitClearParams{OpenStackAPIVersion: newest})
	})
}

// ProviderAggregateList returns the aggregates of a provider and its generation.
func (c *Client) ProviderAggregateList(ctx context.Context, id uuid.UUID) ([]uuid.UUID, int64, error) {
	var answer api.Aggregates
	err := c.send(ctx, &answer, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.ProviderAggregateList(ctx, id.String(), &api.ProviderAggregateListParams{OpenStackAPIVersion: newest})
	})
	return answer.Aggregates, answer.ResourceProviderGeneration, err
}

// ProviderAggregateReplace replaces all aggregates of a provider, and returns them with the new generation. They need
// not exist.
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
