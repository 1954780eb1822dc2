package bruteforce

import (
	"iter"
	"maps"
	"slices"
	"strings"
)

// Ask returns the complete answer to a query at a minor version from 10 to 39, or at Berth.
func (d *Deployment) Ask(rawQuery string, minor int) *Response {
	answer := &Response{deployment: d, minor: minor}
	if minor == Berth {
		asked, refusal := parseExtended(rawQuery)
		if refusal != nil {
			answer.Refused, answer.Code = refusal.Detail, refusal.codeOrDefault()
			return answer
		}
		answer.request = asked
	} else {
		asked, err := parse(rawQuery, minor)
		if err != nil {
			answer.Refused = err.Error()
			return answer
		}
		answer.request = asked
	}
	answer.search()
	answer.shapeForVersion()
	return answer
}

// search finds all candidates of all anchors.
func (a *Response) search() {
	s := &search{Deployment: a.deployment, request: a.request}
	a.Limit, a.LimitPerTree = a.request.limit, a.request.limitPerTree
	for _, g := range a.request.groups {
		if s.isCondition(g) {
			a.conditions = append(a.conditions, g.suffix)
		}
	}
	known := map[string]bool{}
	for _, anchor := range s.Roots() {
		if !s.mayAnchor(anchor) {
			continue
		}
		found := tree{anchor: anchor, texts: map[string]string{}}
		for _, candidate := range s.candidatesAt(anchor, &found) {
			if key := a.key(candidate); found.texts[key] == "" {
				found.texts[key] = candidate.String()
				found.candidates = append(found.candidates, candidate)
				if !known[key] { // found with another anchor before
					known[key] = true
					a.Candidates = append(a.Candidates, candidate)
				}
			}
		}
		if len(found.candidates) > 0 {
			a.trees = append(a.trees, found)
		}
	}
	s.sortTrees(a.trees)
}

// candidatesAt returns the candidates of an anchor. It splits classes only if there are none otherwise
// (docs/contract/berth/search.md#one-class-from-several-providers).
func (s *search) candidatesAt(anchor *Provider, of *tree) []Candidate {
	var found []Candidate
	for combination := range product(s.allSolutions(anchor)) {
		if s.isAcceptable(combination) {
			found = append(found, s.merge(combination))
		}
	}
	if found == nil && len(s.request.canSplit) > 0 {
		of.isSplit = true
		return s.splitCandidates(anchor)
	}
	return found
}

// mayAnchor reports whether a root satisfies root_required and root_member_of, and is not excluded by not_in_tree.
func (s *search) mayAnchor(root *Provider) bool {
	for _, anyOf := range s.request.rootMemberOf {
		if !root.isInAnyOf(anyOf) {
			return false
		}
	}
	return !s.isExcluded(root) && !root.isInAnyOf(s.request.rootNotMemberOf) && isSubset(s.request.rootRequired, root.Traits) &&
		!slices.ContainsFunc(s.request.rootForbidden, root.hasTrait)
}

// isExcluded reports whether not_in_tree excludes a root.
func (s *search) isExcluded(root *Provider) bool {
	return slices.ContainsFunc(s.request.notInTree, func(uuid string) bool { return s.isInTreeOf(root, uuid) })
}

func (s *search) allSolutions(anchor *Provider) [][]solution {
	var each [][]solution
	for _, g := range s.request.groups {
		found := s.solutions(g, anchor)
		if len(found) > 0 && s.isCondition(g) {
			found = []solution{leastOf(found)}
		}
		each = append(each, found)
	}
	return each
}

// isCondition reports whether some provider must satisfy a group, which is not a choice
// (docs/contract/berth/search.md#groups-that-are-conditions).
func (s *search) isCondition(g *group) bool {
	if !s.request.isExtended || g.resources != nil || s.request.policy == "isolate" {
		return false
	}
	named := slices.Concat(s.request.isolated...)
	for _, each := range s.request.subtrees {
		named = slices.Concat(named, each.inside, each.outside)
	}
	return !slices.Contains(named, g.suffix)
}

// leastOf returns the solution whose provider has the least UUID.
func leastOf(found []solution) solution {
	return slices.MinFunc(found, func(a, b solution) int { return strings.Compare(a.providers[0].UUID, b.providers[0].UUID) })
}

// product yields all combinations of one element of each list; none if a list is empty.
func product[T any](lists [][]T) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		var extend func(chosen []T, rest [][]T) bool
		extend = func(chosen []T, rest [][]T) bool {
			if len(rest) == 0 {
				return yield(slices.Clone(chosen))
			}
			for _, element := range rest[0] {
				if !extend(append(chosen, element), rest[1:]) {
					return false
				}
			}
			return true
		}
		extend(nil, lists)
	}
}

// isAcceptable checks the constraints between groups
// (docs/contract/allocation-candidates.md#combining-groups).
func (s *search) isAcceptable(combination []solution) bool {
	if s.request.policy == "isolate" && !areIsolated(combination, func(*group) bool { return true }) {
		return false
	}
	for _, suffixes := range s.request.isolated {
		isNamed := func(g *group) bool { return slices.Contains(suffixes, g.suffix) }
		if !areIsolated(combination, isNamed) {
			return false
		}
	}
	for _, value := range s.request.subtrees {
		if !s.satisfiesSubtree(combination, value) {
			return false
		}
	}
	for of, sum := range sums(combination) {
		if !of.provider.hasRoomForSum(of.class, sum) {
			return false
		}
	}
	return true
}

// areIsolated reports whether no two of some suffixed groups use the same provider.
func areIsolated(combination []solution, isMeant func(*group) bool) bool {
	taken := map[*Provider]bool{}
	for _, chosen := range combination {
		if chosen.group.suffix == "" || !isMeant(chosen.group) {
			continue
		}
		if taken[chosen.providers[0]] {
			return false
		}
		taken[chosen.providers[0]] = true
	}
	return true
}

// satisfiesSubtree reports whether one of the providers of the inside groups is at or above all of them, and no provider
// of the outside groups is at or below it (docs/contract/berth/search.md#groups-outside-a-subtree).
func (s *search) satisfiesSubtree(combination []solution, value subtree) bool {
	inside, outside := providersOf(combination, value.inside), providersOf(combination, value.outside)
	return slices.ContainsFunc(inside, func(top *Provider) bool {
		isBelow := func(provider *Provider) bool { return s.isAtOrAbove(top, provider) }
		isElsewhere := func(provider *Provider) bool { return !isBelow(provider) }
		return !slices.ContainsFunc(inside, isElsewhere) && !slices.ContainsFunc(outside, isBelow)
	})
}

// providersOf returns the providers of the groups with some suffixes.
func providersOf(combination []solution, suffixes []string) []*Provider {
	var providers []*Provider
	for _, chosen := range combination {
		if slices.Contains(suffixes, chosen.group.suffix) {
			providers = append(providers, chosen.providers...)
		}
	}
	return providers
}

// part is a class of a provider.
type part struct {
	provider *Provider
	class    string
}

// sums adds the amounts of all groups for each class of each provider.
func sums(combination []solution) map[part]int64 {
	summed := map[part]int64{}
	for _, chosen := range combination {
		for _, each := range chosen.uses {
			summed[part{each.provider, each.class}] += each.amount
		}
	}
	return summed
}

// merge returns the candidate of one solution for each group.
func (s *search) merge(combination []solution) Candidate {
	merged := Candidate{leading: s.leadingProvider(combination), Allocations: map[string]map[string]int64{}, Mappings: map[string][]string{}}
	for of, sum := range sums(combination) {
		if merged.Allocations[of.provider.Name] == nil {
			merged.Allocations[of.provider.Name] = map[string]int64{}
		}
		merged.Allocations[of.provider.Name][of.class] = sum
	}
	for _, chosen := range combination {
		var names []string
		for _, provider := range chosen.providers {
			names = append(names, provider.Name)
		}
		slices.Sort(names)
		merged.Mappings[chosen.group.suffix] = names
	}
	return merged
}

// shapeForVersion removes the members that an old version lacks. It removes mappings last, so that
// candidates that differ only in mappings remain two.
func (a *Response) shapeForVersion() {
	if a.minor < 29 {
		a.Candidates = slices.DeleteFunc(a.Candidates, a.usesATreeTwice)
	}
	if a.minor < 34 {
		for i := range a.Candidates {
			a.Candidates[i].Mappings = nil
		}
	}
	slices.SortFunc(a.Candidates, Candidate.compare)
}

// usesATreeTwice reports whether two providers of a candidate have the same root
// (docs/contract/allocation-candidates.md#microversions-below-129).
func (a *Response) usesATreeTwice(candidate Candidate) bool {
	return len(a.rootsOf(candidate)) < len(candidate.Allocations)
}

// rootsOf returns the roots of the providers of a candidate, without duplicates.
func (a *Response) rootsOf(candidate Candidate) []*Provider {
	var roots []*Provider
	for name := range maps.Keys(candidate.Allocations) {
		if root := a.deployment.Root(a.deployment.Named(name)); !slices.Contains(roots, root) {
			roots = append(roots, root)
		}
	}
	return roots
}
