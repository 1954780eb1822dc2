package placement

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/jsonbody"
	"github.com/berthd/berth/server/wire/microversion"
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

// usageParams returns the parameters of GET /usages at a version.
func usageParams(at microversion.Version) []querystring.Param {
	params := []querystring.Param{
		{Name: "project_id", Required: true, MinLength: 1, MaxLength: 255},
		{Name: "user_id", MinLength: 1, MaxLength: 255},
	}
	if at >= v(38) {
		params = append(params, querystring.Param{
			Name: "consumer_type", Pattern: `^[A-Z0-9_]+$|^all|^unknown$`, MinLength: 1, MaxLength: 255,
		})
	}
	return params
}

func usageDocs(at microversion.Version) []*huma.Param {
	docs := map[string]struct{ text, example string }{
		"project_id": {"The project whose allocations are summed.", exampleProject},
		"user_id":    {"Sum only consumers of this user.", exampleUser},
		"consumer_type": {"Sum only consumers of this type; `unknown`: consumers without a type; `all`: one sum for all types. " +
			"Default: one sum for each type.", instanceType},
	}
	var params []*huma.Param
	for _, param := range usageParams(at) {
		params = append(params, &huma.Param{
			Name: param.Name, In: "query", Required: param.Required,
			Description: docs[param.Name].text, Example: docs[param.Name].example,
			Schema: &huma.Schema{
				Type: huma.TypeString, MinLength: &param.MinLength, MaxLength: &param.MaxLength, Pattern: param.Pattern,
			},
		})
	}
	return params
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
			route.From(v(9), o.usageListV9, route.Query(usageDocs), route.Example(showing(UsagesV9{Usages: exampleAmounts()}))),
			route.From(v(38), o.usageListV38, route.Query(usageDocs), route.Example(showing(UsagesV38{
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

var usageSchemaV9, usageSchemaV38 = querystring.MustSchema(usageParams(v(9))...), querystring.MustSchema(usageParams(v(38))...)

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
