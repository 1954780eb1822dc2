package placement

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/jsonbody"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/policy"
	"github.com/berthd/berth/server/querystring"
	"github.com/berthd/berth/server/route"
	"github.com/berthd/berth/server/store"
)

// amounts are amounts by resource class.
type amounts = jsonbody.Ordered[int64]

// ProviderUsages are what consumers have of a provider.
type ProviderUsages struct {
	Generation int64   `json:"resource_provider_generation" doc:"The provider's generation." example:"5"`
	Usages     amounts `json:"usages" doc:"By resource class, with 0 for what is not used."`
}

// UsagesV9 are what a project's consumers have, up to 1.37.
type UsagesV9 struct {
	Usages amounts `json:"usages" doc:"By resource class."`
}

// UsagesV38 are the same by consumer type.
type UsagesV38 struct {
	Usages jsonbody.Ordered[amounts] `json:"usages" doc:"By consumer type: amounts by resource class, and the member consumer_count."`
}

// usageParams are the parameters of GET /usages at a version.
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
		"project_id": {"The project whose consumers to sum.", exampleProject},
		"user_id":    {"Only consumers of this user.", exampleUser},
		"consumer_type": {"Only consumers of this type; `unknown`: without a type; `all`: one group of all types. " +
			"Left out: a group for each type.", instanceType},
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
		Rule: policy.ProviderUsages, Summary: "List how much of a provider is used", Checks: reads,
		Fails: []route.Failure{noProviderTwice}, Variants: []route.Variant{route.From(v(0), o.providerUsageList,
			route.Example(showing(ProviderUsages{Generation: 4, Usages: exampleAmounts()})))},
	}, {
		ID: "usage-list", Method: http.MethodGet, Path: "/usages", Tag: tagUsages,
		Rule: policy.Usages, Target: usageTarget, Summary: "List how much a project uses", Checks: readsSince,
		Fails: []route.Failure{badQuery},
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

// usageTarget is the project that the query names: readers may see their own.
// The policy is asked before the query is checked.
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
		return nil, words{store.ProviderUnknown: saying(fault.NotFound, "", "No resource provider with uuid %s found: %s",
			in.UUID, noProvider(in.UUID).Detail)}.say(err)
	}
	made := ProviderUsages{Generation: found.Generation}
	for _, record := range found.Records {
		made.Usages = append(made.Usages, jsonbody.Entry[int64]{Key: record.Class, Value: record.Used})
	}
	return answer(ctx, made, now()), nil
}

var usageSchemaV9, usageSchemaV38 = querystring.MustSchema(usageParams(v(9))...), querystring.MustSchema(usageParams(v(38))...)

// usageFilter reads the query; consumer_type is left to the caller.
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
	var made UsagesV9
	for _, usage := range found {
		made.Usages = append(made.Usages, jsonbody.Entry[int64]{Key: usage.Class, Value: usage.Used})
	}
	return answer(ctx, made, now()), nil
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
	var made UsagesV38
	for i, usage := range found {
		if i == 0 || found[i-1].ConsumerType != usage.ConsumerType {
			made.Usages = append(made.Usages, jsonbody.Entry[amounts]{
				Key:   usage.ConsumerType,
				Value: amounts{{Key: "consumer_count", Value: usage.ConsumerCount}},
			})
		}
		group := &made.Usages[len(made.Usages)-1].Value
		*group = append(*group, jsonbody.Entry[int64]{Key: usage.Class, Value: usage.Used})
	}
	return answer(ctx, made, now()), nil
}
