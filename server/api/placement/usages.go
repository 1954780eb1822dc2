package placement

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/jsonbody"
	"github.com/berthd/berth/server/wire/querystring"
)

// amounts maps resource classes to amounts.
type amounts = jsonbody.Ordered[int64]

// ProviderUsages is the response with the used amounts of a provider.
type ProviderUsages struct {
	Generation int64   `json:"resource_provider_generation" doc:"The provider's generation." example:"5"`
	Usages     amounts `json:"usages" doc:"Used amounts by resource class; 0 for inventories without allocations."`
}

// UsagesV9 is the response with the used amounts of a project, up to 1.37.
type UsagesV9 struct {
	Usages amounts `json:"usages" doc:"Used amounts by resource class."`
}

// UsagesV38 has them by consumer type.
type UsagesV38 struct {
	Usages jsonbody.Ordered[amounts] `json:"usages" doc:"Used amounts by resource class and the member consumer_count, for each consumer type."`
}

// usageParams are the parameters of GET /usages.
var usageParams = route.Params{
	{Name: projectParam, Check: querystring.Param{Required: true, MinLength: 1, MaxLength: 255},
		Doc: "The project whose allocations are summed.", Schema: ownerSchema(""), Example: exampleProject},
	{Name: userParam, Check: querystring.Param{MinLength: 1, MaxLength: 255},
		Doc: "Sum only consumers of this user.", Schema: ownerSchema(""), Example: exampleUser},
	{Name: consumerTypeParam, Since: v(38), Check: querystring.Param{Pattern: usageTypePattern, MinLength: 1, MaxLength: 255},
		Doc:    "Sum only consumers of this type; `unknown`: consumers without a type; `all`: one sum for all types. Default: one sum for each type.",
		Schema: ownerSchema(usageTypePattern), Example: instanceType},
}

const usageTypePattern = `^[A-Z0-9_]+$|^all|^unknown$`

// ownerSchema returns the schema of a name of 1 to 255 characters.
func ownerSchema(pattern string) *huma.Schema {
	least, most := 1, 255
	return &huma.Schema{Type: huma.TypeString, MinLength: &least, MaxLength: &most, Pattern: pattern}
}

func (o *operations) usageOperations() []*route.Operation {
	return []*route.Operation{{
		ID: "provider-usage-list", Method: http.MethodGet, Path: "/resource_providers/{uuid}/usages", Tag: tagUsages,
		Rule: policy.ProviderUsages, Summary: "List the usages of a provider", Checks: reads,
		Fails: []route.Failure{providerNotFoundRepeated}, Variants: []route.Variant{route.From(v(0), o.providerUsageList,
			route.Example(showing(ProviderUsages{Generation: 4, Usages: exampleAmounts()})))},
	}, {
		ID: "usage-list", Method: http.MethodGet, Path: "/usages", Tag: tagUsages,
		Rule: policy.Usages, Target: usageTarget, ReadsQuery: true, Summary: "List the usages of a project", Checks: readsSince,
		Fails: []route.Failure{invalidQuery},
		Variants: []route.Variant{
			route.From(v(9), o.usageListV9, route.QueryOf(usageParams), route.Example(showing(UsagesV9{Usages: exampleAmounts()}))),
			route.From(v(38), o.usageListV38, route.QueryOf(usageParams), route.Example(showing(UsagesV38{
				Usages: jsonbody.Ordered[amounts]{{
					Key: instanceType, Value: append(amounts{{Key: "consumer_count", Value: 1}}, exampleAmounts()...),
				}},
			}))),
		},
	}}
}

// usageTarget returns the project in the query, because readers may see their own project. The policy is checked before
// the query is validated.
func usageTarget(r *http.Request) policy.Target {
	values, err := querystring.Parse(r.URL.RawQuery)
	if err != nil {
		return policy.Target{}
	}
	project, _ := values.Last("project_id")
	return policy.Target{ProjectID: project}
}

func (o *operations) providerUsageList(ctx context.Context, in *providerPath) (*cached[ProviderUsages], error) {
	found, err := o.store.InventoryList(ctx, in.id())
	if err != nil {
		return nil, route.RuleFaults{store.ProviderNotFound: providerNotFoundRepeated.Fixed(in.UUID)}.Translate(err)
	}
	usages := ProviderUsages{Generation: found.Generation}
	for _, record := range found.Records {
		usages.Usages = append(usages.Usages, jsonbody.Entry[int64]{Key: record.Class, Value: record.Used})
	}
	return answer(ctx, usages, now()), nil
}

var usageSchemaV9, usageSchemaV38 = usageParams.Schema(v(9)), usageParams.Schema(v(38))

// usageFilter parses the query except for consumer_type, which the caller parses.
func usageFilter(ctx context.Context, schema *querystring.Schema) (filter store.UsageFilter, consumerType string, err error) {
	values, err := query(ctx, schema)
	if err != nil {
		return filter, "", err
	}
	filter.ProjectID, _ = values.Last("project_id")
	if user, ok := values.Last("user_id"); ok {
		filter.UserID = &user
	}
	consumerType, _ = values.Last("consumer_type")
	return filter, consumerType, nil
}

func (o *operations) usageListV9(ctx context.Context, _ *none) (*cached[UsagesV9], error) {
	filter, _, err := usageFilter(ctx, usageSchemaV9)
	if err != nil {
		return nil, err
	}
	found, err := o.store.UsageList(ctx, filter)
	if err != nil {
		return nil, err
	}
	var usages UsagesV9
	for _, usage := range found {
		usages.Usages = append(usages.Usages, jsonbody.Entry[int64]{Key: usage.Class, Value: usage.Used})
	}
	return answer(ctx, usages, now()), nil
}

func (o *operations) usageListV38(ctx context.Context, _ *none) (*cached[UsagesV38], error) {
	filter, consumerType, err := usageFilter(ctx, usageSchemaV38)
	if err != nil {
		return nil, err
	}
	filter.ByType = consumerType != "all"
	if consumerType != "" && consumerType != "all" {
		filter.ConsumerType = &consumerType
	}
	found, err := o.store.UsageList(ctx, filter)
	if err != nil {
		return nil, err
	}
	var usages UsagesV38
	for i, usage := range found {
		if i == 0 || found[i-1].ConsumerType != usage.ConsumerType {
			usages.Usages = append(usages.Usages, jsonbody.Entry[amounts]{
				Key:   usage.ConsumerType,
				Value: amounts{{Key: "consumer_count", Value: usage.ConsumerCount}},
			})
		}
		group := &usages.Usages[len(usages.Usages)-1].Value
		*group = append(*group, jsonbody.Entry[int64]{Key: usage.Class, Value: usage.Used})
	}
	return answer(ctx, usages, now()), nil
}
