package placement

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/querystring"
	"github.com/berthd/berth/server/wire/uuidlike"
)

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
