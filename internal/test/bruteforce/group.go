package bruteforce

import (
	"maps"
	"slices"
)

// solution is one solution of one group at one anchor.
type solution struct {
	group *group
	uses  []use
	// providers are the providers of the group: one for a suffixed group, any number for the
	// unsuffixed one.
	providers []*Provider
}

// use is an amount of a class on a provider for a group.
type use struct {
	provider *Provider
	class    string
	amount   int64
}

// search is a query on a deployment.
type search struct {
	*Deployment
	request *request
}

// reaches reports whether a candidate with the anchor may use a provider.
func (s *search) reaches(anchor, provider *Provider) bool {
	return slices.Contains(s.Anchors(provider), anchor)
}

// isForeign reports whether a provider is in another tree than the anchor.
func (s *search) isForeign(anchor, provider *Provider) bool { return s.Root(provider) != anchor }

// solutions returns all solutions of a group at an anchor.
func (s *search) solutions(g *group, anchor *Provider) []solution {
	if g.suffix == "" {
		return s.spread(g, anchor)
	}
	return s.single(g, anchor)
}

// single returns the providers that satisfy a suffixed group
// (docs/contract/allocation-candidates.md#suffixed-groups). The constraints other than resources
// also apply to a group without resources.
func (s *search) single(g *group, anchor *Provider) []solution {
	var found []solution
	for _, provider := range s.Providers {
		if !s.reaches(anchor, provider) || !s.satisfiesAlone(g, provider) {
			continue
		}
		made := solution{group: g, providers: []*Provider{provider}}
		for class, amount := range g.resources {
			made.uses = append(made.uses, use{provider, class, amount})
		}
		found = append(found, made)
	}
	return found
}

func (s *search) satisfiesAlone(g *group, provider *Provider) bool {
	for class, amount := range g.resources {
		if !provider.HasRoomFor(class, amount) {
			return false
		}
	}
	return haveTraits([]*Provider{provider}, g) &&
		isMember(provider, g) && !provider.isInAnyOf(g.notMemberOf) &&
		(g.inTree == "" || s.isInTreeOf(provider, g.inTree))
}

// isInTreeOf reports whether a provider is in the tree of the provider with a UUID. An unknown UUID
// is in no tree.
func (s *search) isInTreeOf(provider *Provider, uuid string) bool {
	member := s.Find(uuid)
	return member != nil && s.Root(member) == s.Root(provider)
}

// isMember reports whether a provider satisfies all member_of parameters.
func isMember(provider *Provider, g *group) bool {
	for _, anyOf := range g.memberOf {
		if !provider.isInAnyOf(anyOf) {
			return false
		}
	}
	return true
}

// haveTraits reports whether the providers together have all required traits, and none of them has
// a forbidden trait.
func haveTraits(providers []*Provider, g *group) bool {
	for _, provider := range providers {
		for _, trait := range g.forbidden {
			if provider.hasTrait(trait) {
				return false
			}
		}
	}
	for _, anyOf := range g.required {
		isMet := slices.ContainsFunc(providers, func(provider *Provider) bool {
			return slices.ContainsFunc(anyOf, provider.hasTrait)
		})
		if !isMet {
			return false
		}
	}
	return true
}

// spread returns all solutions of the unsuffixed group: each class on one of the eligible providers
// (docs/contract/allocation-candidates.md#unsuffixed-group).
func (s *search) spread(g *group, anchor *Provider) []solution {
	eligible := [][]use{}
	for _, class := range slices.Sorted(maps.Keys(g.resources)) {
		var of []use
		for _, provider := range s.Providers {
			if s.isEligible(g, anchor, provider) && provider.HasRoomFor(class, g.resources[class]) {
				of = append(of, use{provider, class, g.resources[class]})
			}
		}
		eligible = append(eligible, of)
	}
	var found []solution
	for uses := range product(eligible) {
		providers := contributing(uses)
		if haveTraits(providers, g) {
			found = append(found, solution{group: g, uses: uses, providers: providers})
		}
	}
	return found
}

// isEligible reports whether a provider may serve any class of the unsuffixed group at an anchor.
func (s *search) isEligible(g *group, anchor, provider *Provider) bool {
	switch {
	case !s.reaches(anchor, provider):
		return false
	case g.inTree != "" && (s.isForeign(anchor, provider) || !s.isInTreeOf(provider, g.inTree)):
		return false
	case provider.isInAnyOf(g.notMemberOf) || anchor.isInAnyOf(g.notMemberOf):
		return false
	case s.isForeign(anchor, provider):
		return isMember(provider, g)
	}
	return isMember(provider, g) || isMember(anchor, g)
}

// contributing returns the providers of uses, without duplicates.
func contributing(uses []use) []*Provider {
	var providers []*Provider
	for _, each := range uses {
		if !slices.Contains(providers, each.provider) {
			providers = append(providers, each.provider)
		}
	}
	return providers
}
