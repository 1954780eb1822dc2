package placement

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/querystring"
)

// Parameters of GET /consumers in addition to those of paging.
const (
	uuidParam          = "uuid"
	projectParam       = "project_id"
	userParam          = "user_id"
	consumerTypeParam  = "consumer_type"
	providerParam      = "resource_provider"
	classParam         = "resource_class"
	traitParam         = "trait"
	createdBeforeParam = "created_before"
	createdAfterParam  = "created_after"
	updatedBeforeParam = "updated_before"
	updatedAfterParam  = "updated_after"
	leasedParam        = "leased"
	expiresBeforeParam = "expires_before"
	untilBeforeParam   = "until_before"
)

// The parameters of GET /consumers, and from berth 1.6 on with those for leases. None repeats.
var (
	consumerParams       = append(consumerFilters(), consumerList.params()...)
	consumerSchema       = consumerParams.Schema(berth14)
	leasedConsumerParams = slices.Concat(consumerFilters(), route.Params{
		{Name: leasedParam, Check: querystring.Param{Enum: []string{"true", "false"}}, Doc: "The consumer has a lease, or has none.",
			Schema: &huma.Schema{Type: huma.TypeBoolean}, Example: true},
		{Name: expiresBeforeParam, Doc: "The consumer has a lease that expires before this time.", Schema: timeSchema, Example: exampleTime},
		{Name: untilBeforeParam, Doc: "The consumer has a lease whose `until` is before this time.", Schema: timeSchema, Example: exampleTime},
	}, leasedConsumerList.params())
	leasedConsumerSchema = leasedConsumerParams.Schema(berth16)
)

var sortOfUnleased = route.Fails(fault.Invalid, "sort-of-unleased", "`sort=expires_at` is sent with `leased=false`.",
	"Consumers without a lease have no 'expires_at': 'sort': 'expires_at' cannot be sent with 'leased': 'false'.").
	WithCode(fault.CodeWriteBadValue).From(berth16)

// consumerFilters returns the filters of GET /consumers without those for leases.
func consumerFilters() route.Params {
	return route.Params{
		{Name: uuidParam, Doc: "The consumer has this UUID, or one of up to 500 in `in:UUID,UUID`.", Example: exampleInstance},
		{Name: projectParam, Check: querystring.Param{MinLength: 1, MaxLength: 255}, Doc: "The consumer is of this project. It is also the target of the policy rule.", Example: exampleProject},
		{Name: userParam, Check: querystring.Param{MinLength: 1, MaxLength: 255}, Doc: "The consumer is of this user.", Example: exampleUser},
		{Name: consumerTypeParam, Check: querystring.Param{Pattern: `^[A-Z0-9_]+$|^unknown$`, MinLength: 1, MaxLength: 255}, Doc: "The consumer has this type; `unknown`: none.", Example: instanceType},
		{Name: providerParam, Doc: "An allocation is on this provider, or on one of up to 500 in `in:UUID,UUID`.", Example: exampleHost},
		{Name: inTreeParam, Check: querystring.Param{UUID: true}, Doc: "An allocation is on a provider of the tree of this provider.", Example: exampleHost},
		{Name: classParam, Doc: "An allocation is of this resource class, or of one of up to 500 in `in:CLASS,CLASS`.", Example: "VCPU"},
		{Name: traitParam, Check: querystring.Param{MinLength: 1, MaxLength: 255}, Doc: "An allocation is on a provider with this trait.", Example: exampleTrait},
		{Name: createdBeforeParam, Doc: "The first claim of the consumer is before this time (RFC 3339).", Schema: timeSchema, Example: exampleTime},
		{Name: createdAfterParam, Doc: "The first claim is at or after this time.", Schema: timeSchema, Example: exampleTime},
		{Name: updatedBeforeParam, Doc: "The last claim of the consumer is before this time.", Schema: timeSchema, Example: exampleTime},
		{Name: updatedAfterParam, Doc: "The last claim is at or after this time.", Schema: timeSchema, Example: exampleTime},
		{Name: includeParam, Doc: "`allocations`: adds all allocations of each consumer.", Example: partAllocations},
	}
}

const exampleTime = "2026-11-20T00:00:00Z"

var timeSchema = &huma.Schema{Type: huma.TypeString, Format: "date-time"}

// consumerListRules returns the rules of what a query shows beside sums: the allocations of consumers, and by filters
// where they are.
func consumerListRules(values querystring.Values) []string {
	parts := includedTexts(values)
	for _, name := range []string{providerParam, inTreeParam, traitParam} {
		if values.Has(name) {
			return []string{policy.AllocationsList}
		}
	}
	return rulesOfParts(parts)
}

// consumerQuery is a parsed query string of GET /consumers.
type consumerQuery struct {
	filter store.ConsumerFilter
	page   store.ConsumerPage
	paging page
	fields selection
	// list describes the paging of the version of the request.
	list *pagedList
}

// parseConsumerList parses the parameters, which the schema has validated. Their order here is the order of errors.
func parseConsumerList(ctx context.Context, values querystring.Values) (asked consumerQuery, err error) {
	asked.list = consumerList
	if microversion.From(ctx).HasLeases() {
		asked.list = leasedConsumerList
	}
	if err = checkOnce(values, leasedConsumerParams.Once()...); err != nil {
		return asked, err
	}
	if asked.filter, err = consumerFilter(values); err != nil {
		return asked, err
	}
	parts, err := included(values, []string{partAllocations})
	if err != nil {
		return asked, err
	}
	asked.page.WithAllocations = slices.Contains(parts, partAllocations)
	var absent []string
	if !asked.page.WithAllocations {
		absent = []string{partAllocations}
	}
	if !microversion.From(ctx).HasLeases() {
		absent = append(absent, leaseMember)
	}
	absent = append(absent, atParam)
	if asked.fields, err = selectFields[Consumer](values, asked.list, absent...); err != nil {
		return asked, err
	}
	if asked.paging, err = asked.list.parse(values); err != nil {
		return asked, err
	}
	if asked.page.ByExpiry = asked.paging.Sort == byExpiry; asked.page.ByExpiry {
		if asked.filter.Leased != nil && !*asked.filter.Leased {
			return asked, sortOfUnleased.Of()
		}
		asked.filter.Leased = new(true)
	}
	asked.page.Limit, asked.page.Descending = asked.paging.Limit, asked.paging.Sort == byCreationDesc
	if asked.paging.Search != "" {
		asked.filter.Search = rangeOfPrefix(asked.paging.Search)
	}
	if asked.paging.After != nil {
		var ok bool
		if asked.page.From, ok = asked.place(*asked.paging.After); !ok {
			return asked, invalidMarker.Of()
		}
	}
	return asked, nil
}

// consumerFilter parses the filters.
func consumerFilter(values querystring.Values) (filter store.ConsumerFilter, err error) {
	if filter.UUIDs, err = uuidsOf(values, uuidParam, maxValues); err != nil {
		return filter, err
	}
	if filter.Providers, err = uuidsOf(values, providerParam, maxValues); err != nil {
		return filter, err
	}
	trees, err := uuidsOf(values, inTreeParam, 1)
	if err != nil {
		return filter, err
	}
	if trees != nil {
		filter.InTree = &trees[0]
	}
	if filter.Classes, err = listOf(values, classParam, maxValues); err != nil {
		return filter, err
	}
	for name, value := range map[string]**string{
		projectParam: &filter.ProjectID, userParam: &filter.UserID, consumerTypeParam: &filter.Type, traitParam: &filter.Trait,
	} {
		if text, ok := values.First(name); ok {
			*value = &text
		}
	}
	if text, ok := values.First(leasedParam); ok {
		filter.Leased = new(text == "true")
	}
	for _, row := range []struct {
		name  string
		value **time.Time
	}{
		{createdBeforeParam, &filter.CreatedBefore}, {createdAfterParam, &filter.CreatedAfter},
		{updatedBeforeParam, &filter.UpdatedBefore}, {updatedAfterParam, &filter.UpdatedAfter},
		{expiresBeforeParam, &filter.ExpiresBefore}, {untilBeforeParam, &filter.UntilBefore},
	} {
		if *row.value, err = timeOf(values, row.name); err != nil {
			return filter, err
		}
	}
	return filter, nil
}

// uuidForm is the standard form of a UUID; x is a digit.
const uuidForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"

// rangeOfPrefix returns the UUIDs whose standard form begins with a text, in any case. The range is empty if there are
// none.
func rangeOfPrefix(text string) *store.UUIDRange {
	nothing := &store.UUIDRange{Low: uuid.Max, High: uuid.Nil}
	if len(text) > len(uuidForm) {
		return nothing
	}
	for i := range len(text) {
		isDigit := strings.IndexByte("0123456789abcdefABCDEF", text[i]) >= 0
		if (uuidForm[i] == '-') != (text[i] == '-') || uuidForm[i] == 'x' && !isDigit {
			return nothing
		}
	}
	rest := uuidForm[len(text):]
	low, lowErr := uuid.Parse(text + strings.ReplaceAll(rest, "x", "0"))
	high, highErr := uuid.Parse(text + strings.ReplaceAll(rest, "x", "f"))
	if lowErr != nil || highErr != nil {
		return nothing
	}
	return &store.UUIDRange{Low: low, High: high}
}
