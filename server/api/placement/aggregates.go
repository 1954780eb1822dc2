package placement

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/jsonbody"
	"github.com/berthd/berth/server/wire/querystring"
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

// AggregateList is a page of aggregates.
type AggregateList struct {
	Aggregates []selected[ListedAggregate] `json:"aggregates" doc:"The aggregates of the page."`
	Links      []Link                      `json:"aggregates_links,omitempty" nullable:"false" doc:"The link to the next page; missing on the last page."`
}

// ListedAggregate is an aggregate with the numbers of its members.
type ListedAggregate struct {
	UUID      uuid.UUID `json:"uuid" format:"uuid" doc:"UUID of the aggregate." example:"a9900000-0000-4000-8000-000000000001"`
	Providers int64     `json:"resource_provider_count" doc:"Number of providers in it." example:"3"`
	Sharing   int64     `json:"sharing_provider_count" doc:"Number of sharing providers among these." example:"1"`
	CreatedAt Moment    `json:"created_at" format:"date-time" doc:"When a provider was first in it." example:"2026-11-22T14:10:59.111111Z"`
}

const (
	aggregateUUIDParam    = "uuid"
	resourceProviderParam = "resource_provider"
)

var (
	aggregatePaging = &pagedList{
		Name: "aggregates", Path: "/aggregates", Format: "a1", Default: defaultPage,
		Sorts: []string{byCreation, byCreationDesc}, HasFields: true,
	}
	aggregateParams = append(route.Params{
		{Name: aggregateUUIDParam, Doc: "Only this aggregate, or those in `in:UUID,UUID`: at most 500.", Example: exampleGroup},
		{Name: resourceProviderParam, Doc: "Only aggregates that this provider is in.",
			Schema: &huma.Schema{Type: huma.TypeString, Format: "uuid"}, Example: exampleHost},
	}, aggregatePaging.params()...)
	aggregateRules  = rulesOfQuery{rule: policy.AggregatesList, once: aggregateParams.Once()}
	aggregateSchema = aggregateParams.Schema(berth14)
)

func (o *operations) aggregateOperations() []*route.Operation {
	return []*route.Operation{{
		ID: "aggregate-list", Method: "GET", Path: "/aggregates", Tag: tagAggregates,
		Rule: policy.AggregatesList, Authorize: aggregateRules.authorize, ReadsQuery: true,
		Summary: "List aggregates", Checks: reads,
		Description: "Returns pages of aggregates with the numbers of their providers. An aggregate stays in the list after its last " +
			"provider has left it. `GET /resource_providers?member_of=` lists the members of an aggregate.",
		Fails: slices.Concat(aggregatePaging.failures(), []route.Failure{tooManyValues}),
		Variants: []route.Variant{route.From(berth14, o.aggregateList, route.QueryOf(aggregateParams),
			route.Example(showing(exampleAggregateList())))},
	}}
}

func exampleAggregateList() AggregateList {
	return AggregateList{Aggregates: []selected[ListedAggregate]{of(&selection{}, ListedAggregate{
		UUID: uuid.MustParse(exampleGroup), Providers: 3, Sharing: 1, CreatedAt: Moment{time.Date(2026, 11, 22, 14, 10, 59, 111_111_000, time.UTC)},
	})}}
}

func (o *operations) aggregateList(ctx context.Context, _ *none) (*cached[AggregateList], error) {
	values, err := query(ctx, aggregateSchema)
	if err != nil {
		return nil, err
	}
	asked, err := aggregatePaging.parse(values)
	if err != nil {
		return nil, err
	}
	fields, err := selectFields[ListedAggregate](values, aggregatePaging)
	if err != nil {
		return nil, err
	}
	filter, err := aggregateFilter(values, &asked)
	if err != nil {
		return nil, err
	}
	filter.Max = asked.Limit + 1 // one more shows whether there is a next page
	found, err := o.store.AggregateList(ctx, filter)
	if err != nil {
		return nil, err
	}
	listed := found[:min(asked.Limit, len(found))]
	list := AggregateList{Aggregates: make([]selected[ListedAggregate], 0, len(listed))}
	for _, aggregate := range listed {
		list.Aggregates = append(list.Aggregates, of(&fields, ListedAggregate{
			UUID: aggregate.UUID, Providers: aggregate.Providers, Sharing: aggregate.Sharing, CreatedAt: Moment{aggregate.CreatedAt},
		}))
	}
	if len(found) > len(listed) {
		list.Links = aggregatePaging.next(ctx, values, &asked, strconv.FormatInt(int64(listed[len(listed)-1].ID), 10))
	}
	return answer(ctx, list, now()), nil
}

// aggregateFilter parses the filters and the position.
func aggregateFilter(values querystring.Values, asked *page) (*store.AggregateFilter, error) {
	filter := &store.AggregateFilter{Descending: asked.Sort == byCreationDesc}
	var err error
	if filter.UUIDs, err = uuidsOf(values, aggregateUUIDParam, maxValues); err != nil {
		return nil, err
	}
	provider, err := uuidOf(values, resourceProviderParam)
	if err != nil {
		return nil, err
	}
	filter.Provider = provider
	if asked.After != nil {
		id, err := strconv.ParseInt(*asked.After, 10, 32)
		if err != nil {
			return nil, invalidMarker.Of()
		}
		after := int32(id)
		filter.After = &after
	}
	return filter, nil
}
