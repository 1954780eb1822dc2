package placement

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/querystring"
	"github.com/berthd/berth/server/wire/uuidlike"
)

// berth11 is the version of Berth's extensions that adds the search language.
var berth11 = microversion.Berth(1)

// extendedSteps returns the steps of a query in the search language. Each step reads all values of its parameters before
// the next one begins.
func (a *candidateParser) extendedSteps() []func(querystring.Values) error {
	return []func(querystring.Values) error{
		a.readRoot, a.readRootAggregates, a.readExcludedTrees, a.readSubtrees, a.checkSubtrees, a.readIsolated, a.readSplits, a.readOrder,
		a.readGroups, a.readTrees, a.check,
	}
}

func (a *candidateParser) readRootAggregates(values querystring.Values) error {
	given := values.All(rootMemberOfParam)
	for _, value := range given {
		list, isList := cutAggregates(value)
		if !isList && strings.Contains(list, ",") {
			return rootMemberOfSeveral.Of(value)
		}
	}
	for _, value := range given {
		var set []uuid.UUID
		list, _ := cutAggregates(value)
		for element := range strings.SplitSeq(list, ",") {
			id, ok := uuidlike.Parse(element)
			if !ok {
				return rootMemberOfInvalid.Of(element)
			}
			set = append(set, id)
		}
		if strings.HasPrefix(value, "!") {
			a.RootNotMemberOf = append(a.RootNotMemberOf, set...)
		} else {
			a.RootMemberOf = append(a.RootMemberOf, set)
		}
	}
	return nil
}

// maxExcludedTrees limits the providers in not_in_tree.
const maxExcludedTrees = 1000

func (a *candidateParser) readExcludedTrees(values querystring.Values) error {
	for _, value := range values.All(notInTreeParam) {
		for _, element := range splitTrimmed(value) {
			id, ok := uuidlike.Parse(element)
			if !ok {
				return notInTreeInvalid.Of(element)
			}
			a.NotInTree = append(a.NotInTree, id)
		}
	}
	if count := len(a.NotInTree); count > maxExcludedTrees {
		return notInTreeTooMany.Of(count)
	}
	return nil
}

// cutAggregates removes "!" and "in:" from a list of aggregates, and reports whether it had the latter.
func cutAggregates(value string) (list string, isList bool) {
	return strings.CutPrefix(strings.TrimPrefix(value, "!"), "in:")
}

// checkSubtrees checks the use of "!" in the values of same_subtree that readSubtrees has split.
func (a *candidateParser) checkSubtrees(values querystring.Values) error {
	given := values.All(sameSubtreeParam)
	for i, subtree := range a.subtrees {
		first := map[string]bool{}
		for _, subtreeSuffix := range subtree {
			if negated, seen := first[subtreeSuffix.suffix]; seen && negated != subtreeSuffix.negated {
				return subtreeBothWays.Of(quoteSuffix(subtreeSuffix.suffix), given[i])
			}
			first[subtreeSuffix.suffix] = subtreeSuffix.negated
		}
	}
	for i, subtree := range a.subtrees {
		if !slices.ContainsFunc(subtree, func(suffix subtreeSuffix) bool { return !suffix.negated }) {
			return subtreeNegated.Of(given[i])
		}
	}
	return nil
}

func (a *candidateParser) readIsolated(values querystring.Values) error {
	given := values.All(isolateParam)
	for _, value := range given {
		suffixes := splitTrimmed(value)
		if slices.Contains(suffixes, "") {
			return isolateEmpty.Of()
		}
		a.isolated = append(a.isolated, suffixes)
	}
	for i, suffixes := range a.isolated {
		if !slices.ContainsFunc(suffixes, func(suffix string) bool { return suffix != suffixes[0] }) {
			return isolateSingle.Of(given[i])
		}
	}
	if len(given) > 0 && a.Isolate {
		return isolateConflict.Of()
	}
	return nil
}

func splitTrimmed(value string) []string {
	elements := strings.Split(value, ",")
	for i := range elements {
		elements[i] = strings.TrimSpace(elements[i])
	}
	return elements
}

func (a *candidateParser) readSplits(values querystring.Values) error {
	seen := map[string]bool{}
	for _, value := range values.All(canSplitParam) {
		for _, class := range splitTrimmed(value) {
			if class == "" {
				return canSplitEmpty.Of(value)
			}
			if !seen[class] {
				a.CanSplit = append(a.CanSplit, class)
			}
			seen[class] = true
		}
	}
	return nil
}

func (a *candidateParser) readOrder(values querystring.Values) error {
	given := values.All(orderParam)
	switch len(given) {
	case 0:
		return nil
	case 1:
		order, ok := parseOrder(given[0])
		if !ok {
			return orderInvalid.Of(given[0])
		}
		a.Order = order
		return nil
	}
	return orderRepeated.Of()
}

// parseOrder parses "id", "random", "pack:CLASS" or "spread:CLASS".
func parseOrder(value string) (candidates.Order, bool) {
	by, class, hasClass := strings.Cut(value, ":")
	if hasClass != (class != "") {
		return candidates.Order{}, false
	}
	known := map[string]candidates.OrderBy{"id": candidates.OrderID, "random": candidates.OrderRandom}
	if hasClass {
		known = map[string]candidates.OrderBy{"pack": candidates.OrderPack, "spread": candidates.OrderSpread}
	}
	order, ok := known[by]
	return candidates.Order{By: order, Class: class}, ok
}

// checkResources returns an error if no group has resources, or if the group without a suffix has only conditions.
func (a *candidateParser) checkResources() error {
	if !slices.ContainsFunc(a.Groups, func(group candidates.Group) bool { return len(group.Resources) > 0 }) {
		return resourcesMissing.Of()
	}
	if place, ok := a.places[""]; ok && len(a.Groups[place].Resources) == 0 {
		return unsuffixedWithoutResources.Of()
	}
	return nil
}

// checkNames returns an error if parameters name groups or classes that the query does not have.
func (a *candidateParser) checkNames() error {
	if err := a.checkSuffixes(&unknownSuffix, a.subtreeSuffixes()); err != nil {
		return err
	}
	if err := a.checkSuffixes(&isolateUnknown, slices.Concat(a.isolated...)); err != nil {
		return err
	}
	all, splittable := map[string]bool{}, map[string]bool{}
	for _, group := range a.Groups {
		for _, wanted := range group.Resources {
			all[wanted.Class] = true
			if group.Suffix == "" {
				splittable[wanted.Class] = true
			}
		}
	}
	var missing []string
	for _, class := range a.CanSplit {
		if !splittable[class] {
			missing = append(missing, class)
		}
	}
	if missing != nil {
		return canSplitUnknown.Of(strings.Join(missing, ", "))
	}
	if a.Order.Class != "" && !all[a.Order.Class] {
		return orderUnknown.Of(a.Order.Class)
	}
	return nil
}

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
