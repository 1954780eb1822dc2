package bruteforce

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// clone returns a copy of a request that can be changed without changing the original.
func (r *request) clone() *request {
	made := *r
	made.groups = nil
	for _, g := range r.groups {
		changed := *g
		changed.resources = maps.Clone(g.resources)
		changed.required, changed.memberOf = slices.Clone(g.required), slices.Clone(g.memberOf)
		made.groups = append(made.groups, &changed)
	}
	made.subtrees, made.isolated = slices.Clone(r.subtrees), slices.Clone(r.isolated)
	made.rootMemberOf, made.canSplit = slices.Clone(r.rootMemberOf), slices.Clone(r.canSplit)
	return &made
}

// tidy removes groups without resources that have no other constraint, and below Berth those that no same_subtree names,
// with the sets that name them.
func (r *request) tidy() {
	isGone := func(g *group) bool {
		isNamed := slices.ContainsFunc(r.subtrees, func(s subtree) bool { return slices.Contains(s.inside, g.suffix) })
		return g.resources == nil && (g.isUnconstrained() || !r.isExtended && !isNamed)
	}
	for {
		at := slices.IndexFunc(r.groups, isGone)
		if at < 0 {
			return
		}
		suffix := r.groups[at].suffix
		r.groups = slices.Delete(r.groups, at, at+1)
		for i := range r.isolated {
			r.isolated[i] = without(r.isolated[i], suffix)
		}
		for i := range r.subtrees {
			r.subtrees[i] = subtree{without(r.subtrees[i].inside, suffix), without(r.subtrees[i].outside, suffix)}
		}
		r.isolated = slices.DeleteFunc(r.isolated, func(set []string) bool { return len(sorted(set)) < 2 })
		r.subtrees = slices.DeleteFunc(r.subtrees, func(s subtree) bool { return s.inside == nil })
	}
}

// isUnconstrained reports whether a group asks for nothing.
func (g *group) isUnconstrained() bool {
	return g.resources == nil && len(g.required)+len(g.forbidden)+len(g.memberOf)+len(g.notMemberOf) == 0 && g.inTree == ""
}

// without returns the elements of a list that differ from one; nil for none.
func without(list []string, element string) []string {
	var kept []string
	for _, each := range list {
		if each != element {
			kept = append(kept, each)
		}
	}
	return kept
}

// needsExtensions reports whether 1.39 rejects a request, or understands it differently.
func (r *request) needsExtensions() bool {
	suffixed, isFree := 0, false
	for _, g := range r.groups {
		if g.suffix != "" {
			suffixed++
		}
		isNamed := slices.ContainsFunc(r.subtrees, func(s subtree) bool { return slices.Contains(s.inside, g.suffix) })
		isFree = isFree || g.resources == nil && !isNamed
	}
	hasOutside := slices.ContainsFunc(r.subtrees, func(s subtree) bool { return s.outside != nil })
	return isFree || hasOutside || suffixed > 1 && r.policy == "" || len(r.rootMemberOf)+len(r.rootNotMemberOf) > 0 ||
		len(r.isolated)+len(r.canSplit) > 0 || r.order.by != "" || r.limitPerTree > 0
}

// String returns the value of the parameter.
func (s subtree) String() string {
	text := strings.Join(s.inside, ",")
	for _, suffix := range s.outside {
		text += ",!" + suffix
	}
	return text
}

// queryText returns the query string of a request without its limit: the groups, then the other parameters in the order of
// docs/contract/berth/search.md#requests-with-a-body.
func (r *request) queryText() string {
	var params []string
	add := func(name string, values ...string) {
		for _, value := range values {
			if value != "" {
				params = append(params, name+"="+value)
			}
		}
	}
	for _, g := range r.groups {
		var amounts []string
		for _, class := range g.classes {
			amounts = append(amounts, fmt.Sprintf("%s:%d", class, g.resources[class]))
		}
		add("resources"+g.suffix, strings.Join(amounts, ","))
		add("required"+g.suffix, traitValues(g.required, g.forbidden)...)
		add("member_of"+g.suffix, aggregateValues(g.memberOf, g.notMemberOf)...)
		add("in_tree"+g.suffix, g.inTree)
	}
	var root [][]string
	for _, trait := range r.rootRequired {
		root = append(root, []string{trait})
	}
	add("root_required", traitValues(root, r.rootForbidden)...)
	add("root_member_of", aggregateValues(r.rootMemberOf, r.rootNotMemberOf)...)
	add("not_in_tree", strings.Join(r.notInTree, ","))
	for _, set := range r.isolated {
		add("isolate", strings.Join(set, ","))
	}
	for _, set := range r.subtrees {
		add("same_subtree", set.String())
	}
	add("can_split", strings.Join(r.canSplit, ","))
	if r.policy != "" { // the first of several values applies, of which only the last one must be valid
		add("group_policy", choose(r.policy == "isolate", "isolate", "none"))
	}
	add("order", strings.TrimSuffix(r.order.by+":"+r.order.class, ":"))
	if r.limitPerTree > 0 {
		add("limit_per_tree", fmt.Sprint(r.limitPerTree))
	}
	return strings.Join(params, "&")
}

// traitValues returns one value for all single traits, and one for each set.
func traitValues(required [][]string, forbidden []string) []string {
	var single, sets []string
	for _, anyOf := range required {
		if len(anyOf) == 1 {
			single = append(single, anyOf[0])
		} else {
			sets = append(sets, anyOfValue(anyOf))
		}
	}
	for _, trait := range forbidden {
		single = append(single, "!"+trait)
	}
	return append([]string{strings.Join(single, ",")}, sets...)
}

func aggregateValues(sets [][]string, forbidden []string) []string {
	var values []string
	for _, anyOf := range sets {
		values = append(values, anyOfValue(anyOf))
	}
	if forbidden != nil {
		values = append(values, "!"+anyOfValue(forbidden))
	}
	return values
}
