package explain

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/search/candidates"
)

// queryText returns the query string of a query without its limit: the groups, then the other parameters. No name in it
// needs an escape.
func queryText(query *candidates.Query, hasPolicy bool) string {
	var params []string
	add := func(name string, values ...string) {
		for _, value := range values {
			if value != "" {
				params = append(params, name+"="+value)
			}
		}
	}
	for i := range query.Groups {
		group := &query.Groups[i]
		var amounts []string
		for _, resource := range group.Resources {
			amounts = append(amounts, fmt.Sprintf("%s:%d", resource.Class, resource.Amount))
		}
		add("resources"+group.Suffix, strings.Join(amounts, ","))
		add("required"+group.Suffix, traitValues(group.Required, group.Forbidden)...)
		add("member_of"+group.Suffix, aggregateValues(group.MemberOf, group.NotMemberOf)...)
		if group.InTree != nil {
			add("in_tree"+group.Suffix, group.InTree.String())
		}
	}
	var root [][]string
	for _, trait := range query.RootRequired {
		root = append(root, []string{trait})
	}
	add("root_required", traitValues(root, query.RootForbidden)...)
	add("root_member_of", aggregateValues(query.RootMemberOf, query.RootNotMemberOf)...)
	add("not_in_tree", joined(query.NotInTree))
	for i := range query.Isolated {
		add("isolate", isolateText(query, i))
	}
	for i := range query.Subtrees {
		add("same_subtree", subtreeText(query, i))
	}
	add("can_split", strings.Join(query.CanSplit, ","))
	if hasPolicy {
		policy := map[bool]string{false: "none", true: "isolate"}
		add("group_policy", policy[query.Isolate])
	}
	add("order", orderText(query.Order))
	if query.LimitPerTree > 0 {
		add("limit_per_tree", fmt.Sprint(query.LimitPerTree))
	}
	return strings.Join(params, "&")
}

func isolateText(query *candidates.Query, place int) string {
	return strings.Join(suffixesOf(query, query.Isolated[place]), ",")
}

func subtreeText(query *candidates.Query, place int) string {
	text := strings.Join(suffixesOf(query, query.Subtrees[place].Inside), ",")
	for _, suffix := range suffixesOf(query, query.Subtrees[place].Outside) {
		text += ",!" + suffix
	}
	return text
}

func orderText(order candidates.Order) string {
	switch order.By {
	case candidates.OrderID:
		return "id"
	case candidates.OrderRandom:
		return "random"
	case candidates.OrderPack:
		return "pack:" + order.Class
	case candidates.OrderSpread:
		return "spread:" + order.Class
	default:
		return ""
	}
}

// traitValues returns one value for all single traits, and one for each set.
func traitValues(required [][]string, forbidden []string) []string {
	var single, sets []string
	for _, set := range required {
		if len(set) == 1 {
			single = append(single, set[0])
		} else {
			sets = append(sets, anyTrait(set))
		}
	}
	for _, trait := range forbidden {
		single = append(single, "!"+trait)
	}
	return append([]string{strings.Join(single, ",")}, sets...)
}

// aggregateValues returns one value for each set, and one for all forbidden aggregates.
func aggregateValues(sets [][]uuid.UUID, forbidden []uuid.UUID) []string {
	var values []string
	for _, set := range sets {
		values = append(values, anyOf(set))
	}
	if len(forbidden) > 0 {
		values = append(values, "!"+anyOf(forbidden))
	}
	return values
}

// anyTrait returns the value of a parameter for one of some traits.
func anyTrait(set []string) string {
	if len(set) == 1 {
		return set[0]
	}
	return "in:" + strings.Join(set, ",")
}
