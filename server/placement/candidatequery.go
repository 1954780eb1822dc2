package placement

import (
	"slices"
	"strconv"
	"strings"

	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/querystring"
	"github.com/berthd/berth/server/store"
	"github.com/berthd/berth/server/uuidlike"
)

// candidateAsk is a question for candidates while it is read.
type candidateAsk struct {
	store.CandidateQuery
	at microversion.Version
	// places are the groups' by their suffixes.
	places map[string]int
	// subtrees are the values of same_subtree: suffixes that may name no group.
	subtrees [][]string
	// hasPolicy: group_policy was given.
	hasPolicy bool
}

// candidateQuery reads a query that its schema has seen. The order of the steps is
// that of the errors.
func candidateQuery(values querystring.Values, at microversion.Version) (store.CandidateQuery, error) {
	ask := candidateAsk{at: at, places: map[string]int{}}
	ask.readLimits(values)
	for _, step := range []func(querystring.Values) error{
		ask.readRoot, ask.readSubtrees, ask.readGroups, ask.readTrees, ask.check,
	} {
		if err := step(values); err != nil {
			return store.CandidateQuery{}, err
		}
	}
	ask.OnePerTree = !at.CombinesTrees()
	ask.Subtrees = ask.subtreePlaces()
	return ask.CandidateQuery, nil
}

// readLimits takes the parameters of which, unlike others, the first value counts.
func (a *candidateAsk) readLimits(values querystring.Values) {
	if text, ok := values.First("limit"); ok {
		// The schema leaves one thing that can be wrong with the number: that it is
		// beyond an int. So many candidates there are not.
		if limit, err := strconv.Atoi(text); err == nil {
			a.Limit = limit
		}
	}
	// The schema has seen the last value. An empty one in front of it is none.
	policy, _ := values.First("group_policy")
	a.hasPolicy, a.Isolate = policy != "", policy == "isolate"
}

// rootGrammar is the microversion whose required traits root_required is written
// like; it never learned to name alternatives.
var rootGrammar = v(38)

func (a *candidateAsk) readRoot(values querystring.Values) error {
	given := values.All("root_required")
	if len(given) > 1 {
		return fault.New(fault.Invalid, "Query parameter 'root_required' may be specified only once.").
			WithCode(fault.CodeDuplicateKey)
	}
	required, forbidden, err := parseRequired(given, rootGrammar)
	if err != nil {
		return err
	}
	a.RootRequired, a.RootForbidden = slices.Concat(required...), forbidden
	var both []string
	for _, trait := range a.RootRequired {
		if slices.Contains(forbidden, trait) {
			both = append(both, trait)
		}
	}
	if both == nil {
		return nil
	}
	slices.Sort(both)
	return fault.New(fault.Invalid, "Conflicting required and forbidden traits found in root_required: %s",
		strings.Join(slices.Compact(both), ", ")).WithCode(fault.CodeBadValue)
}

func (a *candidateAsk) readSubtrees(values querystring.Values) error {
	for _, value := range values.All("same_subtree") {
		suffixes := strings.Split(value, ",")
		for i, suffix := range suffixes {
			if suffixes[i] = strings.TrimSpace(suffix); suffixes[i] == "" {
				return fault.New(fault.Invalid, "Empty string (unsuffixed group) can not be specified in `same_subtree` ").
					WithCode(fault.CodeBadValue)
			}
		}
		a.subtrees = append(a.subtrees, suffixes)
	}
	return nil
}

// The parameters of a group, which a suffix may follow.
const (
	resourcesParam = "resources"
	requiredParam  = "required"
	memberOfParam  = "member_of"
	inTreeParam    = "in_tree"
)

// splitGroupParam cuts the suffix off a parameter of a group. The schema has seen
// that it is one.
func splitGroupParam(name string) (param, suffix string, ok bool) {
	for _, param := range []string{resourcesParam, requiredParam, memberOfParam, inTreeParam} {
		if suffix, ok := strings.CutPrefix(name, param); ok {
			return param, suffix, true
		}
	}
	return "", "", false
}

// group finds or makes the group with a suffix. What it returns is valid until the
// next is made.
func (a *candidateAsk) group(suffix string) *store.CandidateGroup {
	place, known := a.places[suffix]
	if !known {
		place = len(a.Groups)
		a.places[suffix] = place
		a.Groups = append(a.Groups, store.CandidateGroup{Suffix: suffix})
	}
	return &a.Groups[place]
}

// readGroups reads the groups but for their trees. Groups are made where any of
// their parameters first appears. All values of required and member_of are read
// there too; resources are read wherever they appear, and the last count.
func (a *candidateAsk) readGroups(values querystring.Values) error {
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
		case given == nil: // it was read where it appeared first
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

// readTrees reads which trees the groups are in. Each value must be a uuid, and the
// last counts.
func (a *candidateAsk) readTrees(values querystring.Values) error {
	for _, pair := range values.Pairs() {
		param, suffix, ok := splitGroupParam(pair.Name)
		if !ok || param != inTreeParam {
			continue
		}
		id, ok := uuidlike.Parse(strings.TrimSpace(pair.Value))
		if !ok {
			return fault.New(fault.Invalid, "Invalid query string parameters: "+
				"Expected 'in_tree' parameter to be a format of uuid. Got: %s", pair.Value)
		}
		a.group(suffix).InTree = &id
	}
	return nil
}

// subtreePlaces are the groups of each same_subtree, each of them once.
func (a *candidateAsk) subtreePlaces() [][]int {
	var all [][]int
	for _, suffixes := range a.subtrees {
		var places []int
		for _, suffix := range suffixes {
			places = append(places, a.places[suffix])
		}
		slices.Sort(places)
		all = append(all, slices.Compact(places))
	}
	return all
}
