package bruteforce

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Answer is everything that may be answered to a query.
type Answer struct {
	// Refused says why the answer is 400; empty if it is 200.
	Refused string
	// Candidates are all there are. Below 1.34 they have no mappings and may look
	// the same.
	Candidates []Candidate
	// Limit is how many of them are shown at most; 0: all.
	Limit int

	deployment *Deployment
	request    *request
	minor      int
}

// Candidate is one way to satisfy all groups at once, with providers by name.
type Candidate struct {
	// Allocations are amounts by provider and class.
	Allocations map[string]map[string]int64
	// Mappings are the providers of each suffix, sorted; nil below 1.34.
	Mappings map[string][]string
}

// String is the notation of the contract: cn{VCPU:1} + ss{DISK_GB:10} [”→cn+ss].
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

func (c Candidate) compare(other Candidate) int { return strings.Compare(c.String(), other.String()) }

// Summary describes a provider beside candidates. What an old version leaves out
// is nil.
type Summary struct {
	Resources map[string]Level
	Traits    []string
	// Root is a name, and so is Parent: empty for a root. Below 1.29 they are nil.
	Parent, Root *string
}

// Level is how much of a class is used.
type Level struct {
	Capacity float64
	Used     int64
}

// String is for comparing and showing.
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

// Summaries are those that belong to some of the candidates, by provider
// (docs/contract/allocation-candidates.md#response): all members of every tree from which a candidate takes something.
func (a *Answer) Summaries(kept []Candidate) map[string]Summary {
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

// isSummarized leaves out, below 1.29 and where there are trees, who is in none of
// the candidates. OpenStack Placement also counts those that a limit cuts off
// (docs/contract/allocation-candidates.md#microversions-below-129).
func (a *Answer) isSummarized(provider *Provider, kept []Candidate) bool {
	uses := func(candidate Candidate) bool { return candidate.Allocations[provider.Name] != nil }
	return a.minor >= 29 || !a.deployment.hasTrees() || slices.ContainsFunc(kept, uses)
}

func (a *Answer) summary(provider *Provider) Summary {
	made := Summary{Resources: map[string]Level{}}
	for class, inventory := range provider.Inventories {
		if a.minor >= 27 || a.request.wants(class) {
			// Adding 0 makes 0 of the -0 to which -0.5 is truncated.
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

// wants tells whether any group asks for a class.
func (r *request) wants(class string) bool {
	return slices.ContainsFunc(r.groups, func(g *group) bool { return g.resources[class] > 0 })
}
