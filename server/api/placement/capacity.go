package placement

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
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
	"github.com/berthd/berth/server/wire/uuidlike"
)

// CapacityList is the response of a request for capacities.
type CapacityList struct {
	AsOf     Moment          `json:"as_of" doc:"Time of the snapshot, at most 15 seconds before the request." example:"2026-11-22T15:00:00.000000Z"`
	Capacity []ClassCapacity `json:"capacity" doc:"The sums, in the order of groups, then of classes."`
	Links    []Link          `json:"capacity_links,omitempty" nullable:"false" doc:"The link to the next page of trees; missing on the last page."`
}

// ClassCapacity is the sums of a class over some providers. Amounts are numbers that can exceed 64 bits.
type ClassCapacity struct {
	Aggregate *uuid.UUID                 `json:"aggregate,omitempty" format:"uuid" nullable:"false" doc:"The aggregate, with group_by=aggregate."`
	Tree      *NamedProvider             `json:"tree,omitempty" nullable:"false" doc:"The root of the tree, with group_by=tree."`
	Class     string                     `json:"resource_class" doc:"The resource class." example:"VCPU"`
	Providers int64                      `json:"resource_providers" doc:"Number of providers with inventory of the class."`
	Total     int64                      `json:"total" doc:"Sum of the totals."`
	Reserved  int64                      `json:"reserved" doc:"Sum of the reserved amounts."`
	Capacity  float64                    `json:"capacity" doc:"Sum of the capacities, each (total − reserved) × allocation_ratio without its fraction."`
	Used      float64                    `json:"used" doc:"Sum of the allocations."`
	Free      float64                    `json:"free" doc:"Sum of capacity − used of the providers where that is positive."`
	Over      float64                    `json:"over_capacity" doc:"Sum of used − capacity of the other providers."`
	Largest   int64                      `json:"largest" doc:"Largest amount of one allocation that fits: the largest free capacity, or max_unit if that is less."`
	LargestAt stateOrNull[NamedProvider] `json:"largest_at" doc:"The oldest provider with the largest amount; null if that is 0."`
	Full      int64                      `json:"full" doc:"Number of providers with less free capacity than min_unit."`
	Sizes     []CapacitySize             `json:"sizes" doc:"Providers by their free capacity, in ascending order."`
	Unit      *int64                     `json:"unit,omitempty" nullable:"false" doc:"The amount in the parameter unit."`
	Units     *float64                   `json:"units,omitempty" nullable:"false" doc:"Number of allocations of that amount that fit, one class alone."`
	Stranded  *float64                   `json:"stranded,omitempty" nullable:"false" doc:"free − units × unit."`
	Fragments *float64                   `json:"fragmentation,omitempty" nullable:"false" doc:"stranded ÷ free with four decimals; 0 if nothing is free."`
}

// NamedProvider is the UUID and the name of a provider.
type NamedProvider struct {
	UUID uuid.UUID `json:"uuid" format:"uuid" doc:"UUID of the provider."`
	Name string    `json:"name" doc:"Name of the provider."`
}

// CapacitySize is the providers with a free capacity of at least a power of two, and less than the next.
type CapacitySize struct {
	AtLeast   float64 `json:"at_least" doc:"The power of two." example:"16"`
	Providers int64   `json:"resource_providers" doc:"Number of the providers."`
	Free      float64 `json:"free" doc:"Sum of their free capacities."`
}

// capacityResponse is the part of a response that requests share.
type capacityResponse struct {
	// encoded is the JSON without capacity_links and the last brace.
	encoded []byte
	asOf    time.Time
	// lastRoot is the last root of a page with a next one.
	lastRoot *int64
}

func (o *operations) capacityOperations() []*route.Operation {
	return []*route.Operation{{
		ID: "capacity-show", Method: http.MethodGet, Path: "/capacity", Tag: tagCapacity,
		Rule: policy.CapacityShow, Authorize: rulesOfQuery{rule: policy.CapacityShow, once: capacityParams.Once()}.authorize,
		ReadsQuery: true, Summary: "Show sums of inventories", Checks: reads,
		Description: "Returns sums of inventories and usages by resource class: of all providers, of those that filters select, " +
			"of each of some aggregates, or of each tree in pages. Requests with equal parameters share a response, which can be 15 seconds old.",
		Fails: capacityFailures,
		Variants: []route.Variant{route.From(berth14, o.capacityShow, route.QueryOf(capacityParams),
			route.Returns[CapacityList](), route.Example(showing(exampleCapacity)))},
	}}
}

func (o *operations) capacityShow(ctx context.Context, _ *none) (*streamedResponse, error) {
	values, err := query(ctx, capacitySchema)
	if err != nil {
		return nil, err
	}
	filter, page, err := capacityFilter(values)
	if err != nil {
		return nil, err
	}
	key, err := json.Marshal(filter)
	if err != nil {
		return nil, err
	}
	found, err := o.capacities.get(ctx, string(key), func(ctx context.Context) (capacityResponse, error) {
		sums, err := o.store.CapacityShow(ctx, filter)
		if err != nil {
			return capacityResponse{}, capacityFaults.Translate(err)
		}
		return encodedCapacity(sums)
	})
	if err != nil {
		return nil, err
	}
	end := []byte("}\n")
	if found.lastRoot != nil {
		links, err := json.Marshal(capacityTrees.next(ctx, values, &page, strconv.FormatInt(*found.lastRoot, 10)))
		if err != nil {
			return nil, err
		}
		end = append(append([]byte(`,"capacity_links":`), links...), end...)
	}
	result := &streamedResponse{Body: func(to huma.Context) {
		to.SetHeader("Content-Type", "application/json")
		w := to.BodyWriter()
		if _, err := w.Write(found.encoded); err == nil {
			_, _ = w.Write(end) // the writer reports its errors itself
		}
	}}
	result.LastModified, result.CacheControl = cacheHeaders(ctx, &found.asOf)
	return result, nil
}

var capacityFaults = route.RuleFaults{
	store.TraitNotFound: func(values store.Values) *fault.Error { return invalidRequired.Of(values.Traits) },
	store.ClassNotFound: func(values store.Values) *fault.Error { return invalidResources.Of(values.Class) },
}

// encodedCapacity encodes sums.
func encodedCapacity(sums store.CapacitySums) (capacityResponse, error) {
	capacityList := CapacityList{AsOf: Moment{sums.AsOf}, Capacity: make([]ClassCapacity, 0, len(sums.Classes))}
	for i := range sums.Classes {
		capacityList.Capacity = append(capacityList.Capacity, classCapacity(&sums.Classes[i]))
	}
	encoded, err := json.Marshal(capacityList)
	if err != nil {
		return capacityResponse{}, err
	}
	return capacityResponse{encoded: encoded[:len(encoded)-1], asOf: sums.AsOf, lastRoot: sums.LastRoot}, nil
}

func classCapacity(row *store.ClassCapacity) ClassCapacity {
	capacity := ClassCapacity{
		Aggregate: row.Aggregate, Tree: namedProvider(row.Tree), Class: row.Class, Providers: row.Providers, Total: row.Total,
		Reserved: row.Reserved, Capacity: row.Capacity, Used: row.Used, Free: row.Free, Over: row.OverCapacity, Largest: row.Largest,
		LargestAt: stateOrNull[NamedProvider]{namedProvider(row.LargestAt)}, Full: row.Full, Sizes: make([]CapacitySize, 0, len(row.Sizes)),
	}
	for _, size := range row.Sizes {
		capacity.Sizes = append(capacity.Sizes, CapacitySize{math.Ldexp(1, size.Digits-1), size.Providers, size.Free})
	}
	if row.Unit != nil {
		capacity.Unit, capacity.Units = row.Unit, &row.Units
		// Above 2^53 the difference of rounded numbers can be negative.
		stranded, fragments := max(row.Free-row.Units*float64(*row.Unit), 0), 0.0
		if row.Free > 0 {
			fragments = math.Round(stranded/row.Free*1e4) / 1e4
		}
		capacity.Stranded, capacity.Fragments = &stranded, &fragments
	}
	return capacity
}

func namedProvider(of *store.ProviderName) *NamedProvider {
	if of == nil {
		return nil
	}
	return &NamedProvider{of.UUID, of.Name}
}

// exampleCapacity is a response with a unit.
var exampleCapacity = func() CapacityList {
	unit, units, stranded, fragments := int64(8), 11.0, 10.0, 0.102
	return CapacityList{AsOf: Moment{exampleAskedAt}, Capacity: []ClassCapacity{{
		Class: "VCPU", Providers: 4, Total: 64, Capacity: 128, Used: 30, Free: 98, Largest: 30,
		LargestAt: stateOrNull[NamedProvider]{&NamedProvider{uuid.MustParse(exampleHost), hostRow.Name}}, Sizes: []CapacitySize{{16, 4, 98}},
		Unit: &unit, Units: &units, Stranded: &stranded, Fragments: &fragments,
	}}}
}()

// Parameters of capacities, and the values of group_by.
const (
	groupByParam   = "group_by"
	aggregateParam = "aggregate"
	unitParam      = "unit"

	byAggregate = "aggregate"
	byTree      = "tree"

	// maxAggregates is the maximum number of aggregates with sums of their own.
	maxAggregates = 200
)

var (
	// capacityTrees are the pages of group_by=tree.
	capacityTrees = &pagedList{Name: "capacity", Path: "/capacity", Format: "t1", Default: 100}

	capacityParams = slices.Concat(route.Params{
		{Name: classParam, Doc: "Only this resource class, or those of `in:CLASS,CLASS`.", Example: "in:VCPU,MEMORY_MB"},
		{Name: requiredParam, Repeats: berth14, Example: exampleTrait,
			Doc: "The provider or the root of its tree has all these traits. `!TRAIT` is a forbidden trait. `in:TRAIT,TRAIT` requires any of the traits. All of repeated values apply."},
		{Name: memberOfParam, Repeats: berth14, Example: exampleGroup,
			Doc: "The provider or the root of its tree is a member of this aggregate, or of any in `in:UUID,UUID`. `!UUID` and `!in:UUID,UUID` exclude. All of repeated values apply."},
		{Name: inTreeParam, Check: querystring.Param{UUID: true}, Doc: "The provider is in the same tree as this one.", Example: exampleHost},
		{Name: groupByParam, Check: querystring.Param{Enum: []string{byAggregate, byTree}}, Example: byAggregate,
			Doc: "Sums for each of the aggregates in `aggregate`, or for each tree, in pages of `limit` trees."},
		{Name: aggregateParam, Example: exampleGroup,
			Doc: "The aggregates of `group_by=aggregate`: one, or up to 200 in `in:UUID,UUID`. A provider counts for an aggregate of itself or of the root of its tree."},
		{Name: unitParam, Doc: "Amounts of classes, whose allocations to count.", Example: "VCPU:8,MEMORY_MB:16384"},
	}, capacityTrees.params())
	capacitySchema = capacityParams.Schema(berth14)
)

var (
	parameterNeeds = route.Fails(fault.Invalid, "parameter-needs-another", "A parameter is useless without another one.",
		"'%s' needs '%s'.", limitParam, groupByParam+"="+byTree).WithCode(fault.CodeWriteBadValue)
	invalidUnit = route.Fails(fault.Invalid, "invalid-unit", "`unit` is malformed or names a class twice.",
		"'unit' has %s; each element is a resource class and an amount from 1 to 2147483647, such as VCPU:8, and no class is repeated.", "'VCPU'").
		WithCode(fault.CodeWriteBadValue)

	capacityFailures = []route.Failure{
		invalidQuery, queryRepeated, invalidMemberOf, invalidRequired, invalidResources, tooManyValues, parameterNeeds, invalidUnit, invalidMarker,
	}
)

// capacityFilter parses the parameters. Their order here is the order of errors.
func capacityFilter(values querystring.Values) (filter store.CapacityFilter, page page, err error) {
	if err := checkOnce(values, capacityParams.Once()...); err != nil {
		return filter, page, err
	}
	if filter.Classes, err = listOf(values, classParam, maxValues); err != nil {
		return filter, page, err
	}
	if filter.MemberOf, filter.NotMemberOf, err = parseMemberOf("member_of", values.All("member_of"), microversion.Max); err != nil {
		return filter, page, err
	}
	if filter.Required, filter.Forbidden, err = parseRequired(values.All("required"), microversion.Max); err != nil {
		return filter, page, err
	}
	if text, ok := values.First("in_tree"); ok {
		id, _ := uuidlike.Parse(text) // the schema has validated it
		filter.InTree = &id
	}
	if filter.Units, err = capacityUnits(values); err != nil {
		return filter, page, err
	}
	page, err = capacityGroups(values, &filter)
	return canonicalFilter(filter), page, err
}

// capacityGroups parses the parameters of groups.
func capacityGroups(values querystring.Values, filter *store.CapacityFilter) (page page, err error) {
	group, _ := values.First(groupByParam)
	for _, row := range []struct{ param, group string }{{limitParam, byTree}, {markerParam, byTree}, {aggregateParam, byAggregate}} {
		if values.Has(row.param) && group != row.group {
			return page, parameterNeeds.Of(row.param, groupByParam+"="+row.group)
		}
	}
	switch group {
	case byAggregate:
		if !values.Has(aggregateParam) {
			return page, parameterNeeds.Of(groupByParam+"="+byAggregate, aggregateParam)
		}
		list, err := uuidsOf(values, aggregateParam, maxAggregates)
		for _, id := range list {
			if !slices.Contains(filter.Aggregates, id) {
				filter.Aggregates = append(filter.Aggregates, id)
			}
		}
		return page, err
	case byTree:
		if page, err = capacityTrees.parse(values); err != nil {
			return page, err
		}
		filter.Trees = page.Limit
		if page.After != nil {
			if filter.AfterRoot, err = strconv.ParseInt(*page.After, 10, 64); err != nil {
				return page, invalidMarker.Of()
			}
		}
	}
	return page, nil
}

// capacityUnits parses the amounts to count.
func capacityUnits(values querystring.Values) (units []store.Amount, err error) {
	text, ok := values.First(unitParam)
	if !ok {
		return nil, nil
	}
	elements := strings.Split(text, ",")
	if len(elements) > maxValues {
		return nil, tooManyValues.Of(unitParam, len(elements), maxValues)
	}
	for _, element := range elements {
		class, number, _ := strings.Cut(element, ":")
		amount, err := strconv.ParseInt(number, 10, 64)
		isRepeated := slices.ContainsFunc(units, func(unit store.Amount) bool { return unit.Class == class })
		if err != nil || amount < 1 || amount > math.MaxInt32 || class == "" || isRepeated {
			return nil, invalidUnit.Of("'" + element + "'")
		}
		units = append(units, store.Amount{Class: class, Amount: amount})
	}
	return units, nil
}

// canonicalFilter returns a filter with the same result in an order that does not depend on the request. Only groups keep their
// order, which is that of the result.
func canonicalFilter(filter store.CapacityFilter) store.CapacityFilter {
	filter.Classes = canonical(filter.Classes, strings.Compare)
	filter.Forbidden = canonical(filter.Forbidden, strings.Compare)
	filter.Required = canonicalSets(filter.Required, strings.Compare)
	filter.MemberOf = canonicalSets(filter.MemberOf, compareUUIDs)
	filter.NotMemberOf = canonical(filter.NotMemberOf, compareUUIDs)
	filter.Units = canonical(filter.Units, func(a, b store.Amount) int { return strings.Compare(a.Class, b.Class) })
	return filter
}

// canonical returns the elements in order, each once.
func canonical[T comparable](list []T, compare func(a, b T) int) []T {
	return slices.Compact(slices.SortedFunc(slices.Values(list), compare))
}

func canonicalSets[T comparable](sets [][]T, compare func(a, b T) int) [][]T {
	result := make([][]T, 0, len(sets))
	for _, set := range sets {
		result = append(result, canonical(set, compare))
	}
	slices.SortFunc(result, func(a, b []T) int { return slices.CompareFunc(a, b, compare) })
	return result
}
