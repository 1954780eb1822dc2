package bruteforce

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Response is the set of all correct responses to a query.
type Response struct {
	// Refused is the reason of a 400; empty: the status is 200.
	Refused string
	// Code is the code of a 400 at Berth, where Refused is the exact text.
	Code string
	// Candidates are all candidates. Below 1.34 they have no mappings, so that several may be
	// equal.
	Candidates []Candidate
	// Limit is the maximum number of candidates in the response; 0: no limit.
	Limit int
	// LimitPerTree is the maximum number of candidates of each anchor in the response; 0: no limit.
	LimitPerTree int

	// trees are the anchors with candidates, in the order of the response if the query determines it.
	trees []tree
	// conditions are the suffixes of the groups that are conditions.
	conditions []string
	deployment *Deployment
	request    *request
	minor      int
}

// Candidate is one solution of all groups, with providers by name.
type Candidate struct {
	// Allocations are amounts by provider and class.
	Allocations map[string]map[string]int64
	// Mappings are the sorted providers of each suffix; nil below 1.34.
	Mappings map[string][]string

	// leading is the provider that determines the first candidate of a tree; nil if the query does not.
	leading *Provider
}

// String returns the notation of the contract: cn{VCPU:1} + ss{DISK_GB:10} [”→cn+ss].
func (c Candidate) String() string {
	var uses []string
	for _, provider := range slices.Sorted(maps.Keys(c.Allocations)) {
		var amounts []string
		for _, class := range slices.Sorted(maps.Keys(c.Allocations[provider])) {
			amounts = append(amounts, fmt.Sprintf("%s:%d", class, c.Allocations[provider][class]))
		}
		uses = append(uses, provider+"{"+strings.Join(amounts, ",")+"}")
	}
	text := strings.Join(uses, " + ")
	if c.Mappings == nil {
		return text
	}
	var mappings []string
	for _, suffix := range slices.Sorted(maps.Keys(c.Mappings)) {
		mappings = append(mappings, fmt.Sprintf("'%s'→%s", suffix, strings.Join(c.Mappings[suffix], "+")))
	}
	return text + " [" + strings.Join(mappings, "; ") + "]"
}

// key returns the text of a candidate without the mappings of conditions: candidates that differ in nothing else are one
// candidate.
func (a *Response) key(candidate Candidate) string {
	if a.conditions == nil {
		return candidate.String()
	}
	candidate.Mappings = maps.Clone(candidate.Mappings)
	for _, suffix := range a.conditions {
		delete(candidate.Mappings, suffix)
	}
	return candidate.String()
}

// Conditions returns the suffixes of the groups that are conditions.
func (a *Response) Conditions() []string { return a.conditions }

func (c Candidate) compare(other Candidate) int { return strings.Compare(c.String(), other.String()) }

// Summary is the summary of one provider. Members that an old version omits are nil.
type Summary struct {
	Resources map[string]Level
	Traits    []string
	// Root and Parent are names; Parent is empty for a root. Below 1.29 they are nil.
	Parent, Root *string
}

// Level is the capacity and usage of a class.
type Level struct {
	Capacity float64
	Used     int64
}

// String returns a text for comparisons and messages.
func (s Summary) String() string {
	var words []string
	for _, class := range slices.Sorted(maps.Keys(s.Resources)) {
		level := s.Resources[class]
		words = append(words, fmt.Sprintf("%s=%d/%.0f", class, level.Used, level.Capacity))
	}
	if s.Traits != nil {
		words = append(words, "traits:"+strings.Join(slices.Sorted(slices.Values(s.Traits)), ","))
	}
	if s.Parent != nil {
		words = append(words, "parent:"+*s.Parent)
	}
	if s.Root != nil {
		words = append(words, "root:"+*s.Root)
	}
	return strings.Join(words, " ")
}

// Summaries returns the summaries for some of the candidates, by provider
// (docs/contract/allocation-candidates.md#response): of all members of every tree from which a
// candidate uses a provider.
func (a *Response) Summaries(kept []Candidate) map[string]Summary {
	var roots []*Provider
	for _, candidate := range kept {
		roots = append(roots, a.rootsOf(candidate)...)
	}
	shown := map[string]Summary{}
	for _, provider := range a.deployment.Providers {
		if slices.Contains(roots, a.deployment.Root(provider)) && a.isSummarized(provider, kept) {
			shown[provider.Name] = a.summary(provider)
		}
	}
	return shown
}

// isSummarized reports whether a response has the summary of a provider. Below 1.29, if the
// deployment has trees, it omits providers that no candidate uses. OpenStack Placement also counts
// candidates beyond the limit (docs/contract/allocation-candidates.md#microversions-below-129).
func (a *Response) isSummarized(provider *Provider, kept []Candidate) bool {
	uses := func(candidate Candidate) bool { return candidate.Allocations[provider.Name] != nil }
	return a.minor >= 29 || !a.deployment.hasTrees() || slices.ContainsFunc(kept, uses)
}

func (a *Response) summary(provider *Provider) Summary {
	made := Summary{Resources: map[string]Level{}}
	for class, inventory := range provider.Inventories {
		if a.minor >= 27 || a.request.wants(class) {
			// Adding 0 converts -0, to which -0.5 is truncated, to 0.
			made.Resources[class] = Level{math.Trunc(inventory.capacity()) + 0, provider.Used[class]}
		}
	}
	if a.minor >= 17 {
		made.Traits = append([]string{}, provider.Traits...)
	}
	if a.minor >= 29 {
		made.Parent, made.Root = &provider.Parent, &a.deployment.Root(provider).Name
	}
	return made
}

// wants reports whether any group requests a class.
func (r *request) wants(class string) bool {
	return slices.ContainsFunc(r.groups, func(g *group) bool { return g.resources[class] > 0 })
}
