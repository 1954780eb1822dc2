package bruteforce

import (
	"iter"
	"maps"
	"slices"
)

// Ask returns the complete answer to a query at a minor version from 10 to 39.
func (d *Deployment) Ask(rawQuery string, minor int) *Answer {
	answer := &Answer{deployment: d, minor: minor}
	asked, err := parse(rawQuery, minor)
	if err != nil {
		answer.Refused = err.Error()
		return answer
	}
	s := &search{Deployment: d, request: asked}
	answer.request, answer.Limit = asked, asked.limit
	known := map[string]bool{}
	for _, anchor := range d.Roots() {
		if !s.mayAnchor(anchor) {
			continue
		}
		for combination := range product(s.allSolutions(anchor)) {
			if !s.isAcceptable(combination) {
				continue
			}
			candidate := merge(combination)
			if key := candidate.String(); !known[key] { // found with another anchor before
				known[key] = true
				answer.Candidates = append(answer.Candidates, candidate)
			}
		}
	}
	answer.shapeForVersion()
	return answer
}

// mayAnchor reports whether a root satisfies root_required.
func (s *search) mayAnchor(root *Provider) bool {
	return isSubset(s.request.rootRequired, root.Traits) &&
		!slices.ContainsFunc(s.request.rootForbidden, root.hasTrait)
}

func (s *search) allSolutions(anchor *Provider) [][]solution {
	var each [][]solution
	for _, g := range s.request.groups {
		each = append(each, s.solutions(g, anchor))
	}
	return each
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
	if s.request.policy == "isolate" && !areIsolated(combination) {
		return false
	}
	for _, suffixes := range s.request.subtrees {
		if !s.shareSubtree(combination, suffixes) {
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

// areIsolated reports whether no two suffixed groups use the same provider.
func areIsolated(combination []solution) bool {
	taken := map[*Provider]bool{}
	for _, chosen := range combination {
		if chosen.group.suffix == "" {
			continue
		}
		if taken[chosen.providers[0]] {
			return false
		}
		taken[chosen.providers[0]] = true
	}
	return true
}

// shareSubtree reports whether one of the providers of the groups is an ancestor of all others.
func (s *search) shareSubtree(combination []solution, suffixes []string) bool {
	var providers []*Provider
	for _, chosen := range combination {
		if slices.Contains(suffixes, chosen.group.suffix) {
			providers = append(providers, chosen.providers...)
		}
	}
	return slices.ContainsFunc(providers, func(top *Provider) bool {
		return !slices.ContainsFunc(providers, func(provider *Provider) bool { return !s.isAtOrAbove(top, provider) })
	})
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
func merge(combination []solution) Candidate {
	merged := Candidate{Allocations: map[string]map[string]int64{}, Mappings: map[string][]string{}}
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
func (a *Answer) shapeForVersion() {
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
func (a *Answer) usesATreeTwice(candidate Candidate) bool {
	return len(a.rootsOf(candidate)) < len(candidate.Allocations)
}

// rootsOf returns the roots of the providers of a candidate, without duplicates.
func (a *Answer) rootsOf(candidate Candidate) []*Provider {
	var roots []*Provider
	for name := range maps.Keys(candidate.Allocations) {
		if root := a.deployment.Root(a.deployment.Named(name)); !slices.Contains(roots, root) {
			roots = append(roots, root)
		}
	}
	return roots
}
