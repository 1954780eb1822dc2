package placement

import (
	"slices"
	"strings"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/querystring"
)

// check validates the rules that span several groups. Each group is already well-formed.
func (a *candidateParser) check(querystring.Values) error {
	checks := []func() error{a.checkOrphans, a.checkConflicts, a.checkPolicy}
	switch {
	case a.Extended:
		checks = []func() error{a.checkResources, a.checkNames, a.checkConflicts}
	case a.at.AllowsResourcelessGroups():
		checks[0] = a.checkResourceless
	}
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkResourceless returns an error if a group without resources is not named in same_subtree.
func (a *candidateParser) checkResourceless() error {
	named, bound := a.subtreeSuffixes(), map[string]bool{}
	for _, suffix := range named {
		bound[suffix] = true
	}
	var loose []string
	takes := false
	for _, group := range a.Groups {
		takes = takes || len(group.Resources) > 0
		if len(group.Resources) == 0 && !bound[group.Suffix] {
			loose = append(loose, group.Suffix)
		}
	}
	switch {
	case !takes:
		return resourcesMissing.Of()
	case loose != nil:
		return groupOutsideSubtree.Of(suffixList(loose))
	}
	return a.checkSuffixes(&unknownSuffix, named)
}

// subtreeSuffixes returns the suffixes of all same_subtree in their order, without "!".
func (a *candidateParser) subtreeSuffixes() []string {
	var named []string
	for _, subtree := range a.subtrees {
		for _, subtreeSuffix := range subtree {
			named = append(named, subtreeSuffix.suffix)
		}
	}
	return named
}

// checkSuffixes returns the error if suffixes have no group, with each of them once.
func (a *candidateParser) checkSuffixes(unknown *route.Failure, suffixes []string) error {
	var missing, all []string
	seen := map[string]bool{}
	for _, suffix := range suffixes {
		if _, known := a.places[suffix]; !known && !seen[suffix] {
			missing = append(missing, suffix)
		}
		seen[suffix] = true
	}
	if missing == nil {
		return nil
	}
	for _, group := range a.Groups {
		all = append(all, group.Suffix)
	}
	return unknown.Of(suffixList(missing), suffixList(all))
}

var quoteEscapes = strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`, "\t", `\t`)

// suffixList formats suffixes like a Python list, as in the error texts of the API.
func suffixList(suffixes []string) string {
	texts := make([]string, len(suffixes))
	for i, suffix := range suffixes {
		texts[i] = quoteSuffix(suffix)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// quoteSuffix formats a suffix like a Python string.
func quoteSuffix(suffix string) string { return "'" + quoteEscapes.Replace(suffix) + "'" }

// checkOrphans returns an error if a group has no resources, at microversions that do not allow such groups.
func (a *candidateParser) checkOrphans() error {
	var traits, aggregates []string
	empty := false
	for _, group := range a.Groups {
		if len(group.Resources) > 0 {
			continue
		}
		empty = true
		if len(group.Required) > 0 {
			traits = append(traits, requiredParam+group.Suffix)
		}
		if len(group.MemberOf)+len(group.NotMemberOf) > 0 {
			aggregates = append(aggregates, memberOfParam+group.Suffix)
		}
	}
	switch {
	case traits != nil:
		return fault.New(fault.Invalid, "All traits parameters must be associated with resources.  "+
			"Found the following orphaned traits keys: %s", strings.Join(traits, ", "))
	case aggregates != nil:
		return fault.New(fault.Invalid, "All member_of parameters must be associated with resources. "+
			"Found the following orphaned member_of keys: %s", strings.Join(aggregates, ", "))
	case empty:
		return groupWithoutResources.Of()
	case len(a.Groups) == 0:
		return fault.New(fault.Invalid, "At least one request group (`resources` or `resources{$S}`) is required.")
	}
	return nil
}

// checkConflicts returns an error if a group forbids every trait of one of its required sets.
func (a *candidateParser) checkConflicts() error {
	var conflicts []string
	for _, group := range a.Groups {
		forbidden := map[string]bool{}
		for _, trait := range group.Forbidden {
			forbidden[trait] = true
		}
		for _, set := range group.Required {
			if !slices.ContainsFunc(set, func(trait string) bool { return !forbidden[trait] }) {
				names := slices.Compact(slices.Sorted(slices.Values(set)))
				conflicts = append(conflicts, requiredParam+group.Suffix+": ("+strings.Join(names, ", ")+")")
			}
		}
	}
	if conflicts == nil {
		return nil
	}
	slices.Sort(conflicts)
	return conflictingTraits.Of(strings.Join(conflicts, ", "))
}

// checkPolicy returns an error if several groups have suffixes and group_policy is missing.
func (a *candidateParser) checkPolicy() error {
	suffixed := len(a.Groups)
	if _, ok := a.places[""]; ok {
		suffixed--
	}
	if suffixed > 1 && !a.hasPolicy {
		return groupPolicyMissing.Of()
	}
	return nil
}
