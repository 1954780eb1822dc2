package placement

import (
	"slices"
	"strconv"
	"strings"

	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/querystring"
	"github.com/berthd/berth/server/wire/uuidlike"
)

// candidateParser is a candidate query while it is parsed.
type candidateParser struct {
	candidates.Query
	at microversion.Version
	// places maps suffixes to indexes in Groups.
	places map[string]int
	// subtrees are the values of same_subtree, isolated those of isolate. Their suffixes may name no group.
	subtrees [][]subtreeSuffix
	isolated [][]string
	// hasPolicy reports whether the query contains group_policy.
	hasPolicy bool
}

// subtreeSuffix is a suffix in same_subtree, and whether "!" precedes it.
type subtreeSuffix struct {
	suffix  string
	negated bool
}

// candidateQuery parses a query that has passed its schema. The order of its steps is the order of errors.
func candidateQuery(values querystring.Values, at microversion.Version) (candidates.Query, error) {
	ask := candidateParser{at: at, places: map[string]int{}}
	ask.readLimits(values)
	steps := []func(querystring.Values) error{ask.readRoot, ask.readSubtrees, ask.readGroups, ask.readTrees, ask.check}
	if ask.Extended = at >= berth11; ask.Extended {
		steps = ask.extendedSteps()
	}
	for _, step := range steps {
		if err := step(values); err != nil {
			return candidates.Query{}, err
		}
	}
	ask.OnePerTree = !at.CombinesTrees()
	for _, subtree := range ask.subtrees {
		ask.Subtrees = append(ask.Subtrees, ask.subtreeOf(subtree))
	}
	for _, suffixes := range ask.isolated {
		ask.Isolated = append(ask.Isolated, ask.placesOf(suffixes))
	}
	return ask.Query, nil
}

// readLimits reads the parameters whose first value applies, unlike those of other parameters.
func (a *candidateParser) readLimits(values querystring.Values) {
	a.Limit, a.LimitPerTree = firstLimit(values, limitParam), firstLimit(values, limitPerTreeParam)
	// The schema has validated the last value. An empty first value equals none.
	policy, _ := values.First(groupPolicyParam)
	a.hasPolicy, a.Isolate = policy != "", policy == "isolate"
}

// firstLimit returns the first value of a limit, or 0 without one.
func firstLimit(values querystring.Values, name string) int {
	text, ok := values.First(name)
	if !ok {
		return 0
	}
	// After the schema, Atoi fails only for a number above the range of int, which equals no limit.
	limit, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return limit
}

// rootGrammar is the microversion whose format root_required has. That format has no alternatives at any microversion.
var rootGrammar = v(38)

func (a *candidateParser) readRoot(values querystring.Values) error {
	given := values.All(rootRequiredParam)
	if len(given) > 1 {
		return rootRequiredRepeated.Of()
	}
	required, forbidden, err := parseRequired(given, rootGrammar)
	if err != nil {
		return err
	}
	a.RootRequired, a.RootForbidden = eachOnce(slices.Concat(required...)), eachOnce(forbidden)
	var both []string
	isForbidden := make(map[string]bool, len(forbidden))
	for _, trait := range forbidden {
		isForbidden[trait] = true
	}
	for _, trait := range a.RootRequired {
		if isForbidden[trait] {
			both = append(both, trait)
		}
	}
	if both == nil {
		return nil
	}
	slices.Sort(both)
	return rootRequiredConflict.Of(strings.Join(both, ", "))
}

// eachOnce returns the names in their order without repetitions, so that an explanation names and drops a repeated trait once.
func eachOnce(names []string) []string {
	var kept []string
	given := make(map[string]bool, len(names))
	for _, name := range names {
		if !given[name] {
			given[name] = true
			kept = append(kept, name)
		}
	}
	return kept
}

func (a *candidateParser) readSubtrees(values querystring.Values) error {
	for _, value := range values.All(sameSubtreeParam) {
		var subtree []subtreeSuffix
		for text := range strings.SplitSeq(value, ",") {
			item := subtreeSuffix{suffix: strings.TrimSpace(text)}
			if rest, ok := strings.CutPrefix(item.suffix, "!"); ok && a.Extended {
				item = subtreeSuffix{suffix: strings.TrimSpace(rest), negated: true}
			}
			if item.suffix == "" {
				return fault.New(fault.Invalid, "Empty string (unsuffixed group) can not be specified in `same_subtree` ").
					WithCode(fault.CodeBadValue)
			}
			subtree = append(subtree, item)
		}
		a.subtrees = append(a.subtrees, subtree)
	}
	return nil
}

// These parameters of a group can have a suffix.
const (
	resourcesParam = "resources"
	requiredParam  = "required"
	memberOfParam  = "member_of"
	inTreeParam    = "in_tree"
)

// These parameters apply to all groups.
const (
	limitParam        = "limit"
	groupPolicyParam  = "group_policy"
	rootRequiredParam = "root_required"
	sameSubtreeParam  = "same_subtree"
	rootMemberOfParam = "root_member_of"
	notInTreeParam    = "not_in_tree"
	isolateParam      = "isolate"
	canSplitParam     = "can_split"
	orderParam        = "order"
	limitPerTreeParam = "limit_per_tree"
)

// splitGroupParam splits a group parameter into its name and its suffix. The schema has validated the suffix.
func splitGroupParam(name string) (param, suffix string, ok bool) {
	for _, param := range []string{resourcesParam, requiredParam, memberOfParam, inTreeParam} {
		if suffix, ok := strings.CutPrefix(name, param); ok {
			return param, suffix, true
		}
	}
	return "", "", false
}

// group returns the group with a suffix and creates it if it does not exist. The pointer is valid until the next group
// is created.
func (a *candidateParser) group(suffix string) *candidates.Group {
	place, known := a.places[suffix]
	if !known {
		place = len(a.Groups)
		a.places[suffix] = place
		a.Groups = append(a.Groups, candidates.Group{Suffix: suffix})
	}
	return &a.Groups[place]
}

// readGroups reads the groups except for in_tree. The first parameter of a group creates it and determines its
// position. At the first required or member_of of a group it reads all values of that parameter. It reads each
// resources parameter in order, and the last one applies.
func (a *candidateParser) readGroups(values querystring.Values) error {
	byName := map[string][]string{}
	for _, pair := range values.Pairs() {
		byName[pair.Name] = append(byName[pair.Name], pair.Value)
	}
	for _, pair := range values.Pairs() {
		param, suffix, ok := splitGroupParam(pair.Name)
		if !ok {
			continue
		}
		group, given := a.group(suffix), byName[pair.Name]
		var err error
		switch {
		case param == resourcesParam:
			group.Resources, err = parseResources(pair.Value)
		case given == nil: // read at its first occurrence
		case param == requiredParam:
			group.Required, group.Forbidden, err = parseRequired(given, a.at)
			byName[pair.Name] = nil
		case param == memberOfParam:
			group.MemberOf, group.NotMemberOf, err = parseMemberOf(pair.Name, given, a.at)
			byName[pair.Name] = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readTrees reads in_tree of all groups. Each value must be a UUID, and the last one applies.
func (a *candidateParser) readTrees(values querystring.Values) error {
	for _, pair := range values.Pairs() {
		param, suffix, ok := splitGroupParam(pair.Name)
		if !ok || param != inTreeParam {
			continue
		}
		id, ok := uuidlike.Parse(strings.TrimSpace(pair.Value))
		if !ok {
			return invalidInTree.Of(pair.Value)
		}
		a.group(suffix).InTree = &id
	}
	return nil
}

// subtreeOf returns the indexes of the groups in a same_subtree.
func (a *candidateParser) subtreeOf(suffixes []subtreeSuffix) candidates.Subtree {
	var inside, outside []string
	for _, suffix := range suffixes {
		if suffix.negated {
			outside = append(outside, suffix.suffix)
		} else {
			inside = append(inside, suffix.suffix)
		}
	}
	return candidates.Subtree{Inside: a.placesOf(inside), Outside: a.placesOf(outside)}
}

// placesOf returns the indexes of the groups with the suffixes, sorted and without duplicates.
func (a *candidateParser) placesOf(suffixes []string) []int {
	var places []int
	for _, suffix := range suffixes {
		places = append(places, a.places[suffix])
	}
	slices.Sort(places)
	return slices.Compact(places)
}
