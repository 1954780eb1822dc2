package placement

import (
	"slices"
	"strings"

	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/querystring"
)

// check validates the rules that span several groups. Each group is already well-formed.
func (a *candidateParser) check(querystring.Values) error {
	checks := []func() error{a.checkOrphans, a.checkConflicts, a.checkPolicy}
	if a.at.AllowsResourcelessGroups() {
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
	bound := map[string]bool{}
	var unknown []string
	for _, suffix := range slices.Concat(a.subtrees...) {
		if _, known := a.places[suffix]; !known && !bound[suffix] {
			unknown = append(unknown, suffix)
		}
		bound[suffix] = true
	}
	var all, loose []string
	takes := false
	for _, group := range a.Groups {
		all = append(all, group.Suffix)
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
	case unknown != nil:
		return unknownSuffix.Of(suffixList(unknown), suffixList(all))
	}
	return nil
}

var quoteEscapes = strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`, "\t", `\t`)

// suffixList formats suffixes like a Python list, as in the error texts of the API.
func suffixList(suffixes []string) string {
	quoted := make([]string, len(suffixes))
	for i, suffix := range suffixes {
		quoted[i] = "'" + quoteEscapes.Replace(suffix) + "'"
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

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
