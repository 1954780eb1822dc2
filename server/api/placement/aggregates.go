package placement

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/jsonbody"
	"github.com/berthd/berth/server/wire/uuidlike"
)

// aggregateSet is a list of distinct UUIDs in a request.
type aggregateSet []string

// Schema implements huma.SchemaProvider.
func (aggregateSet) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeArray, UniqueItems: true,
		Items: &huma.Schema{Type: huma.TypeString, Format: "uuid"},
	}
}

// ids returns the UUIDs in the order of the request. UUIDs that differ only in notation are one.
func (s aggregateSet) ids() []uuid.UUID {
	ids := make([]uuid.UUID, 0, len(s))
	for _, text := range s {
		if id, ok := uuidlike.Parse(text); ok && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// AggregatesV1 is the response with a provider's aggregates, up to 1.18.
type AggregatesV1 struct {
	Aggregates uuids `json:"aggregates" doc:"UUIDs of the provider's aggregates."`
}

// AggregatesV19 is the response with a provider's aggregates and generation.
type AggregatesV19 struct {
	AggregatesV1
	Generation int64 `json:"resource_provider_generation" doc:"The provider's generation." example:"5"`
}

// AggregatesReplaceV19 is the request that replaces a provider's aggregates.
type AggregatesReplaceV19 struct {
	Aggregates aggregateSet `json:"aggregates" doc:"All aggregates of the provider. New UUIDs create aggregates."`
	Generation jsonbody.Int `json:"resource_provider_generation" doc:"The provider generation that the client read." example:"4"`
}

func (o *operations) providerAggregateOperations() []*route.Operation {
	const path = "/resource_providers/{uuid}/aggregates"
	example := []string{exampleGroup}
	shownV1 := AggregatesV1{Aggregates: uuids{uuid.MustParse(exampleGroup)}}
	shownV19 := AggregatesV19{AggregatesV1: shownV1, Generation: 5}
	replaceV1 := route.Body[providerPath]{LookFirst: o.exists, Example: example}
	replaceV19 := route.Body[providerPath]{LookFirst: o.exists, Example: map[string]any{
		"aggregates": example, "resource_provider_generation": 4,
	}}
	return []*route.Operation{{
		ID: "provider-aggregate-list", Method: http.MethodGet, Path: path, Tag: tagAggregates,
		Rule: policy.ProviderAggregatesList, Summary: "List a provider's aggregates",
		Checks: []route.Check{route.Accept, route.Version}, Fails: []route.Failure{providerNotFound},
		Variants: []route.Variant{
			route.From(v(1), o.providerAggregateListV1, route.Example(showing(shownV1))),
			route.From(v(19), o.providerAggregateListV19, route.Example(showing(shownV19))),
		},
	}, {
		ID: "provider-aggregate-replace", Method: http.MethodPut, Path: path, Tag: tagAggregates,
		Rule: policy.ProviderAggregatesUpdate, Summary: "Replace a provider's aggregates",
		Description: "Before 1.19 the provider's generation is neither compared nor incremented.",
		Checks:      []route.Check{route.JSON, route.Version},
		Fails:       []route.Failure{providerNotFound, staleSet.From(v(19))},
		Variants: []route.Variant{
			route.Write(v(1), replaceV1, o.providerAggregateReplaceV1, route.Example(showing(shownV1))),
			route.Write(v(19), replaceV19, o.providerAggregateReplaceV19, route.Example(showing(shownV19))),
		},
	}, o.providerAggregatePatchOperation(path, route.Example(showing(shownV19)))}
}

func (o *operations) providerAggregateListV1(ctx context.Context, in *providerPath) (*cached[AggregatesV1], error) {
	_, aggregates, err := o.store.ProviderAggregateList(ctx, in.id())
	if err != nil {
		return nil, aggregateFaults(in).Translate(err)
	}
	return answer(ctx, AggregatesV1{Aggregates: aggregates}, now()), nil
}

func (o *operations) providerAggregateListV19(ctx context.Context, in *providerPath) (*cached[AggregatesV19], error) {
	generation, aggregates, err := o.store.ProviderAggregateList(ctx, in.id())
	if err != nil {
		return nil, aggregateFaults(in).Translate(err)
	}
	return answer(ctx, AggregatesV19{AggregatesV1: AggregatesV1{Aggregates: aggregates}, Generation: generation}, now()), nil
}

func (o *operations) providerAggregateReplaceV1(
	ctx context.Context, in *providerPath, body *aggregateSet,
) (*cached[AggregatesV1], error) {
	aggregates := body.ids()
	generation, err := o.store.ProviderAggregateReplace(ctx, in.id(), nil, aggregates)
	recordProvider(ctx, in.id(), nil, &generation, err)
	if err != nil {
		return nil, aggregateFaults(in).Translate(err)
	}
	return answer(ctx, AggregatesV1{Aggregates: aggregates}, now()), nil
}

func (o *operations) providerAggregateReplaceV19(
	ctx context.Context, in *providerPath, body *AggregatesReplaceV19,
) (*cached[AggregatesV19], error) {
	aggregates, given := body.Aggregates.ids(), int64(body.Generation)
	generation, err := o.store.ProviderAggregateReplace(ctx, in.id(), &given, aggregates)
	recordProvider(ctx, in.id(), &given, &generation, err)
	if err != nil {
		return nil, aggregateFaults(in).Translate(err)
	}
	return answer(ctx, AggregatesV19{AggregatesV1: AggregatesV1{Aggregates: aggregates}, Generation: generation}, now()), nil
}

func aggregateFaults(in *providerPath) route.RuleFaults {
	return route.RuleFaults{
		store.ProviderNotFound:           providerNotFound.Fixed(in.UUID),
		store.ProviderGenerationConflict: staleSet.Fixed(),
	}
}
