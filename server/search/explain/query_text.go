package explain

import (
	"cmp"
	"fmt"
	"slices"
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

// maxSimilar is how many similar names are shown.
const maxSimilar = 3

// similarToAny returns the known names that are most similar to any of some names.
func similarToAny(names, known []string) []string {
	type scored struct {
		name     string
		distance int
	}
	var found []scored
	for _, other := range known {
		best := scored{other, -1}
		for _, name := range names {
			if distance, isSimilar := compare(name, other); isSimilar && (best.distance < 0 || distance < best.distance) {
				best.distance = distance
			}
		}
		if best.distance >= 0 && !slices.Contains(names, other) {
			found = append(found, best)
		}
	}
	slices.SortFunc(found, func(a, b scored) int { return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name)) })
	shown := []string{}
	for _, scored := range found[:min(len(found), maxSimilar)] {
		shown = append(shown, scored.name)
	}
	return shown
}

// compare returns the edit distance of two names, and whether they differ by few edits, by the order of words, or by CUSTOM_.
// The distance of other names may be missing: names of different lengths need no comparison of their characters.
func compare(name, other string) (distance int, isSimilar bool) {
	maxDistance, longer := max(2, len(name)/5), max(len(name), len(other))-min(len(name), len(other))
	hasSame := longer == 0 && sortedWords(name) == sortedWords(other) || strings.TrimPrefix(name, "CUSTOM_") == strings.TrimPrefix(other, "CUSTOM_")
	if !hasSame && longer > maxDistance {
		return 0, false
	}
	distance = editDistance(name, other)
	return distance, hasSame || distance <= maxDistance
}

func sortedWords(name string) string {
	return strings.Join(slices.Sorted(strings.SplitSeq(name, "_")), "_")
}

// editDistance returns how many insertions, deletions, replacements and swaps of neighbors make one text of another.
func editDistance(a, b string) int {
	before, last := []int(nil), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replaced := last[j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			row[j] = min(replaced, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
