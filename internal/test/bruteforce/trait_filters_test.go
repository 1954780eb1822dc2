package bruteforce_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berthd/berth/internal/test/bruteforce"
)

// qualities draws the constraints of a group other than resources.
func (a *queryGenerator) qualities(suffix string, providers []*bruteforce.Provider, percent int) {
	if a.minor >= 17 && a.chance(percent) {
		a.traits(suffix, providers)
	}
	if a.minor >= 21 && a.chance(percent) {
		a.aggregates(suffix, providers)
	}
}

// traits draws required traits, each from a selected provider, and forbidden traits, preferably of
// other providers.
func (a *queryGenerator) traits(suffix string, providers []*bruteforce.Provider) {
	var present, elements []string
	for _, provider := range providers {
		present = append(present, provider.Traits...)
		if len(provider.Traits) > 0 && a.chance(60) {
			elements = append(elements, pick(a.generator, provider.Traits...))
		}
	}
	if a.chance(6) {
		elements = append(elements, pick(a.generator, allTraits...))
	}
	if a.minor >= 22 && a.chance(45) {
		elements = append(elements, a.unwanted(present)...)
	}
	if a.minor >= 22 && a.chance(4) {
		elements = append(elements, "!"+pick(a.generator, allTraits...))
	}
	a.addTraits(suffix, elements)
	for range pick(a.generator, 0, 1, 0, 2) {
		if a.minor >= 39 && len(present) > 0 {
			anyOf := append(some(a.generator, 30, allTraits...), pick(a.generator, present...))
			a.add("required"+suffix, "in:"+strings.Join(anyOf, ","))
		}
	}
}

// unwanted returns a trait that none of the providers has, if there is one.
func (a *queryGenerator) unwanted(present []string) []string {
	absent, elsewhere := without(allTraits, present), []string(nil)
	for _, provider := range a.reach {
		elsewhere = append(elsewhere, without(provider.Traits, present)...)
	}
	switch {
	case len(elsewhere) > 0 && a.chance(70):
		return []string{"!" + pick(a.generator, elsewhere...)}
	case len(absent) > 0:
		return []string{"!" + pick(a.generator, absent...)}
	}
	return nil
}

// addTraits distributes traits over parameters. Before 1.39 only the last of several parameters
// counts.
func (a *queryGenerator) addTraits(suffix string, elements []string) {
	if len(elements) == 0 {
		return
	}
	if a.minor < 39 {
		if a.chance(6) {
			a.add("required"+suffix, pick(a.generator, allTraits...))
		}
		a.add("required"+suffix, strings.Join(elements, ","))
		return
	}
	cut := a.below(len(elements) + 1)
	for _, part := range [][]string{elements[:cut], elements[cut:]} {
		if len(part) > 0 {
			a.add("required"+suffix, strings.Join(part, ","))
		}
	}
}

// aggregates draws required and forbidden aggregates of the provider of a group. No provider is in
// Z.
func (a *queryGenerator) aggregates(suffix string, providers []*bruteforce.Provider) {
	near := a.aggregatesOf(providers[a.below(len(providers))])
	if suffix == "" {
		near = append(near, a.aggregatesOf(a.anchor)...)
	}
	for range pick(a.generator, 1, 2, 1, 2) {
		if len(near) > 0 && a.chance(75) {
			a.add("member_of"+suffix, a.anyOf(pick(a.generator, near...), allAggregates))
		} else if a.chance(10) {
			a.add("member_of"+suffix, a.anyOf(pick(a.generator, allAggregates...), nil))
		}
		if a.minor < 24 {
			break
		}
	}
	if a.minor >= 32 && a.chance(45) {
		a.notMemberOf(suffix, providers, near)
	}
}

// notMemberOf forbids aggregates without the selected providers, preferably aggregates of their
// roots or of the anchor.
func (a *queryGenerator) notMemberOf(suffix string, providers []*bruteforce.Provider, near []string) {
	far := without(append(slices.Clone(allAggregates), "Z"), near)
	var around []string
	for _, provider := range append(slices.Clone(a.reach), a.anchor) {
		around = append(around, a.aggregatesOf(a.Root(provider))...)
	}
	for _, provider := range providers {
		around = without(around, a.aggregatesOf(provider))
	}
	if len(around) > 0 && a.chance(50) {
		far = around
	}
	a.add("member_of"+suffix, "!"+a.anyOf(pick(a.generator, far...), far))
}

// anyOf returns an aggregate, alone or in a list with others.
func (a *queryGenerator) anyOf(name string, others []string) string {
	if !a.chance(45) {
		return "{" + name + "}"
	}
	return "in:" + braced(append(some(a.generator, 30, append(others, "Z")...), name))
}

// bind draws the constraints between groups and of the root.
func (a *queryGenerator) bind(isTied bool) {
	switch {
	case len(a.suffixes) > 1 && !a.chance(2):
		a.add("group_policy", pick(a.generator, "none", "isolate"))
	case a.minor >= 25 && a.chance(25):
		a.add("group_policy", pick(a.generator, "none", "isolate"))
	}
	if isTied {
		a.add("same_subtree", strings.Join(a.suffixes, ","))
	}
	for _, suffix := range a.resourceless {
		if !isTied {
			others := some(a.generator, 25, without(a.suffixes, []string{suffix})...)
			a.add("same_subtree", strings.Join(append(others, suffix), ","))
		}
	}
	if a.minor >= 36 && len(a.suffixes) > 1 && a.chance(25) {
		a.add("same_subtree", fmt.Sprintf("%s,%s", pick(a.generator, a.suffixes...), pick(a.generator, a.suffixes...)))
	}
	if a.minor >= 35 && a.chance(20) {
		a.rootTraits()
	}
}

// rootTraits draws root_required, preferably satisfied by the anchor and not by other roots.
func (a *queryGenerator) rootTraits() {
	absent := without(allTraits, a.anchor.Traits)
	elements := some(a.generator, 50, a.anchor.Traits...)
	if len(absent) > 0 && a.chance(60) {
		forbidden := pick(a.generator, absent...)
		for _, root := range a.Roots() {
			if others := without(root.Traits, a.anchor.Traits); len(others) > 0 && a.chance(60) {
				forbidden = pick(a.generator, others...)
			}
		}
		elements = append(elements, "!"+forbidden)
	}
	if len(elements) == 0 || a.chance(6) {
		elements = append(elements, pick(a.generator, allTraits...))
	}
	a.add("root_required", strings.Join(elements, ","))
}
