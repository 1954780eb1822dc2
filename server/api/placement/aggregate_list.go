package placement

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/querystring"
)

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
