package placement

import (
	"slices"
	"strings"

	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/querystring"
)

// check holds the groups against each other, when each by itself is well formed.
func (a *candidateAsk) check(querystring.Values) error {
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

// checkResourceless: groups that take nothing must be part of a subtree.
func (a *candidateAsk) checkResourceless() error {
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
		return fault.New(fault.Invalid, "There must be at least one resources or resources[$S] parameter.").
			WithCode(fault.CodeMissingValue)
	case loose != nil:
		return fault.New(fault.Invalid, "Resourceless suffixed group request should be specified in `same_subtree` "+
			"query param: bad group(s) - %s.", suffixList(loose)).WithCode(fault.CodeBadValue)
	case unknown != nil:
		return fault.New(fault.Invalid, "Real suffixes should be specified in `same_subtree`: %s not found in %s.",
			suffixList(unknown), suffixList(all)).WithCode(fault.CodeBadValue)
	}
	return nil
}

var quoteEscapes = strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`, "\t", `\t`)

// suffixList shows suffixes in the notation of the API's error texts.
func suffixList(suffixes []string) string {
	quoted := make([]string, len(suffixes))
	for i, suffix := range suffixes {
		quoted[i] = "'" + quoteEscapes.Replace(suffix) + "'"
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// checkOrphans: before there were groups that take nothing, every group took
// something.
func (a *candidateAsk) checkOrphans() error {
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
		return fault.New(fault.Invalid, "All request groups must specify resources.")
	case len(a.Groups) == 0:
		return fault.New(fault.Invalid, "At least one request group (`resources` or `resources{$S}`) is required.")
	}
	return nil
}

// checkConflicts looks for sets of traits of which one is required and all are
// forbidden.
func (a *candidateAsk) checkConflicts() error {
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
	return fault.New(fault.Invalid, "Conflicting required and forbidden traits found in the following traits keys: %s",
		strings.Join(conflicts, ", "))
}

// checkPolicy: several groups with suffixes must say whether they may share a
// provider.
func (a *candidateAsk) checkPolicy() error {
	suffixed := len(a.Groups)
	if _, ok := a.places[""]; ok {
		suffixed--
	}
	if suffixed > 1 && !a.hasPolicy {
		return fault.New(fault.Invalid,
			`The "group_policy" parameter is required when specifying more than one "resources{N}" parameter.`)
	}
	return nil
}
