package placement

import (
	"errors"
	"regexp"
	"slices"
	"testing"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/microversion"
)

// FuzzCandidateQuery checks the invariants of accepted queries that the store relies on.
func FuzzCandidateQuery(f *testing.F) {
	for _, seed := range []string{
		"resources=VCPU:1", "resources=VCPU:1&limit=5&limit=x", "resources1=VCPU:1&resources2=VCPU:2&group_policy=isolate",
		"resources=VCPU:1&required=in:A,B&required=!A&member_of=!in:" + gold + "&in_tree=+" + goldDigits,
		"resources=VCPU:1&required_X=A,!B&resources_Y=DISK_GB:1&same_subtree=_X,+_Y,_X&group_policy=none&root_required=A,!B",
		"resources=VCPU:4&resources_X=VGPU:1&required_Y=A&root_member_of=!in:" + gold + "&isolate=_X,_Y&same_subtree=_X,!_Y&can_split=VCPU&order=pack:VGPU&limit_per_tree=1",
		"required1=A,!A", "same_subtree=,", "root_required=A&root_required=B", "resourcesresources=%2b1:1", "in_tree=x;resources=VCPU:1",
	} {
		for _, minor := range []uint8{0, 14, 18, 25, 29, 30} {
			f.Add(minor, seed)
		}
	}
	f.Fuzz(func(t *testing.T, minor uint8, raw string) {
		at := v(10 + minor%31)
		if at > microversion.Max {
			at = berth11
		}
		asked, err := askedAt(t, at, raw)
		if err != nil {
			var found *fault.Error
			if !errors.As(err, &found) || found.Kind != fault.Invalid || found.Detail == "" {
				t.Fatalf("%s ?%s: %#v", at, raw, err)
			}
			return
		}
		for _, sentence := range brokenInvariants(asked, at) {
			t.Errorf("%s ?%s: %s: %+v", at, raw, sentence, asked)
		}
	})
}

// brokenInvariants returns the invariants that a query violates.
func brokenInvariants(asked candidates.Query, at microversion.Version) []string {
	var broken []string
	must := func(holds bool, sentence string) {
		if !holds {
			broken = append(broken, sentence)
		}
	}
	suffixForm := regexp.MustCompile("^(" + suffixPattern(at) + ")?$")
	bound, suffixes, takes := map[int]bool{}, map[string]bool{}, false
	hasPlaces := func(places []int) {
		must(slices.IsSorted(places) && len(slices.Compact(slices.Clone(places))) == len(places), "a list has each group once")
		for _, place := range places {
			must(place >= 0 && place < len(asked.Groups) && asked.Groups[place].Suffix != "", "a list has groups with suffixes")
		}
	}
	for _, subtree := range asked.Subtrees {
		must(len(subtree.Inside) > 0, "a subtree has a group")
		must(asked.Extended || subtree.Outside == nil, "without extensions no group is outside of a subtree")
		hasPlaces(subtree.Inside)
		hasPlaces(slices.Sorted(slices.Values(slices.Concat(subtree.Inside, subtree.Outside))))
		for _, place := range subtree.Inside {
			bound[place] = true
		}
	}
	for _, places := range asked.Isolated {
		must(len(places) > 1 && !asked.Isolate, "a set of isolated groups has several")
		hasPlaces(places)
	}
	for place, group := range asked.Groups {
		must(suffixForm.MatchString(group.Suffix) && !suffixes[group.Suffix], "a suffix has its form and is not repeated")
		suffixes[group.Suffix] = true
		takes = takes || len(group.Resources) > 0
		must(len(group.Resources) > 0 || bound[place] && at.AllowsResourcelessGroups() || asked.Extended && group.Suffix != "",
			"a group has resources or is in a subtree")
		classes := map[string]bool{}
		for _, wanted := range group.Resources {
			must(wanted.Amount >= 1 && !classes[wanted.Class], "amounts are positive and classes distinct")
			classes[wanted.Class] = true
		}
		for _, set := range group.Required {
			must(len(set) > 0 && !slices.Contains(set, ""), "a set of traits has names")
			must(slices.ContainsFunc(set, func(trait string) bool { return !slices.Contains(group.Forbidden, trait) }), "a set of traits is not all forbidden")
		}
		for _, set := range group.MemberOf {
			must(len(set) > 0, "a set of aggregates is not empty")
		}
		must(!slices.Contains(group.Forbidden, ""), "a forbidden trait has a name")
	}
	for _, trait := range asked.RootRequired {
		must(trait != "" && !slices.Contains(asked.RootForbidden, trait), "no trait of the root is required and forbidden")
	}
	must(takes, "a group has resources")
	must(asked.Limit >= 0 && asked.LimitPerTree >= 0, "a limit is 0 or positive")
	broken = append(broken, brokenExtensions(asked, at)...)
	must(asked.OnePerTree == !at.CombinesTrees(), "trees are combined from 1.29 on")
	return broken
}

// brokenExtensions returns the invariants of the search language that a query violates.
func brokenExtensions(asked candidates.Query, at microversion.Version) []string {
	var broken []string
	requests := func(class string, unsuffixed bool) bool {
		return slices.ContainsFunc(asked.Groups, func(group candidates.Group) bool {
			return (!unsuffixed || group.Suffix == "") &&
				slices.ContainsFunc(group.Resources, func(wanted store.Amount) bool { return wanted.Class == class })
		})
	}
	extended := at >= berth11
	if asked.Extended != extended {
		broken = append(broken, "queries are extended from version 1.1 of the extensions on")
	}
	used := asked.Isolated != nil || asked.CanSplit != nil || asked.Order != candidates.Order{} || asked.LimitPerTree > 0 ||
		asked.RootMemberOf != nil || asked.RootNotMemberOf != nil
	if used && !extended {
		broken = append(broken, "only extended queries have their parameters")
	}
	for i, class := range asked.CanSplit {
		if !requests(class, true) || slices.Contains(asked.CanSplit[:i], class) {
			broken = append(broken, "a split class is one of the group without a suffix, once")
		}
	}
	byClass := asked.Order.By == candidates.OrderPack || asked.Order.By == candidates.OrderSpread
	if byClass != (asked.Order.Class != "") || byClass && !requests(asked.Order.Class, false) {
		broken = append(broken, "the order has a requested class")
	}
	for _, set := range asked.RootMemberOf {
		if len(set) == 0 {
			broken = append(broken, "a set of aggregates is not empty")
		}
	}
	return broken
}
