package placement

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/querystring"
	"github.com/berthd/berth/server/wire/request"
)

// Parts of providers, trees and consumers that requests can include.
const (
	partInventories = "inventories"
	partUsages      = "usages"
	partTraits      = "traits"
	partAggregates  = "aggregates"
	partSharing     = "sharing"
	partConsumers   = "consumers"
	partAllocations = "allocations"
)

// partRules are the rules of the requests that show the same parts of a provider, in the order in which they are checked.
var partRules = []struct{ part, rule string }{
	{partInventories, policy.InventoriesList},
	{partUsages, policy.ProviderUsages},
	{partTraits, policy.ProviderTraitsList},
	{partAggregates, policy.ProviderAggregatesList},
	{partConsumers, policy.AllocationsList},
	{partAllocations, policy.AllocationsList},
}

// rulesOfParts returns the rules of parts.
func rulesOfParts(parts []string) []string {
	var rules []string
	for _, row := range partRules {
		if slices.Contains(parts, row.part) && !slices.Contains(rules, row.rule) {
			rules = append(rules, row.rule)
		}
	}
	return rules
}

// includedTexts returns the names in the parameter include, known or not; missing: those of the default.
func includedTexts(values querystring.Values, unless ...string) []string {
	text, ok := values.First(includeParam)
	if !ok {
		return unless
	}
	return strings.Split(text, ",")
}

// rulesOfQuery is the Authorize of an operation that checks its own rule, and then those of the parts that the query
// string names, so that no part becomes visible on a new path to a caller who may not see it on the old one.
type rulesOfQuery struct {
	rule string
	// once are the parameters that may not be repeated: the policy and the statement must use the same value. The
	// error precedes those of the policy.
	once []string
	// project is the parameter with the project of the target; empty: the project of the caller.
	project string
	// further returns the rules of the parts that the query string names.
	further func(querystring.Values) []string
}

func (q rulesOfQuery) authorize(r *http.Request) (context.Context, error) {
	ctx := r.Context()
	values, err := querystring.Parse(request.From(ctx).RawQuery)
	isExtended := err == nil && microversion.From(ctx) >= berth14
	if isExtended {
		if err := checkOnce(values, q.once...); err != nil {
			return nil, err
		}
	}
	if err := q.mayOwn(ctx, values); err != nil {
		return nil, err
	}
	if !isExtended || q.further == nil {
		return ctx, nil
	}
	for _, rule := range q.further(values) {
		if err := route.MayCaller(ctx, rule); err != nil {
			return nil, err
		}
	}
	return ctx, nil
}

// mayOwn checks the rule of the operation.
func (q rulesOfQuery) mayOwn(ctx context.Context, values querystring.Values) error {
	if q.project == "" {
		return route.MayCaller(ctx, q.rule)
	}
	project, _ := values.First(q.project)
	return route.May(ctx, q.rule, policy.Target{ProjectID: project})
}
