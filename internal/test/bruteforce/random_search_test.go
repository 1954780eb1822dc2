package bruteforce_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berthd/berth/internal/test/bruteforce"
)

// searchMinors selects berth 1.1 for all queries.
var searchMinors = []int{bruteforce.Berth}

// enoughSearch is the minimum number of cases whose distribution the tests check. It is larger than enough, because there
// are more features.
const enoughSearch = 3000

// TestCandidates_RandomSearchQueries_CoverEveryRule checks the generator of queries of berth 1.1 without a server.
func TestCandidates_RandomSearchQueries_CoverEveryRule(t *testing.T) {
	t.Parallel()
	shown := newTally(searchFeatures, 40)
	rapid.Check(t, func(t *rapid.T) {
		for range 4 {
			drawn := trials(searchMinors).Draw(t, "trial")
			for _, q := range drawn.questions {
				shown.count(drawn.world, q, q.answer(drawn.world))
			}
		}
	})
	if shown.cases >= enoughSearch {
		shown.check(t)
	}
}

// TestCandidates_BruteforceResponses_WrongOnesAreFound compares correct responses with the brute force, and some that are
// wrong.
func TestCandidates_BruteforceResponses_WrongOnesAreFound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		drawn := trials(searchMinors).Draw(t, "trial")
		for _, q := range drawn.questions {
			answer := q.answer(drawn.world)
			if answer.Refused != "" || len(answer.Candidates) == 0 || len(answer.Candidates) > 300 {
				continue
			}
			compare := func(response []bruteforce.Candidate) []string {
				return answer.Differences(&bruteforce.ServerResponse{Candidates: response, Summaries: answer.Summaries(response)})
			}
			if lines := compare(answer.Sample()); lines != nil {
				t.Fatalf("%#v\n%#v\n%s", drawn.world, q, strings.Join(lines, "\n"))
			}
			for name, response := range wrongResponses(drawn.world, q, answer) {
				if compare(response) == nil {
					t.Fatalf("%#v\n%#v\na %s response is accepted", drawn.world, q, name)
				}
			}
		}
	})
}

// wrongResponses returns responses that are wrong. With sharing providers several responses of different lengths and
// orders can be correct.
func wrongResponses(w world, q question, answer *bruteforce.Response) map[string][]bruteforce.Candidate {
	sample := answer.Sample()
	wrong := map[string][]bruteforce.Candidate{"repeated": append(slices.Clip(sample), sample[0])}
	if len(w.names(isSharing)) > 0 {
		return wrong
	}
	wrong["shorter"] = sample[:len(sample)-1]
	hasSequence := strings.Contains(q.query, "order=") && !strings.Contains(q.query, "order=random")
	isElsewhere := func(c bruteforce.Candidate) bool { return !maps.Equal(w.rootsOf(c), w.rootsOf(sample[0])) }
	if hasSequence && slices.ContainsFunc(sample, isElsewhere) {
		wrong["reversed"] = slices.Clone(sample)
		slices.Reverse(wrong["reversed"])
	}
	return wrong
}

// variation is a query and one with more parameters.
type variation struct {
	world
	*queryGenerator
	t *rapid.T
	// base is the query without limits and order.
	base string
}

// properties are relations between the answers of queries, by name.
var properties = map[string]func(v variation){
	"isolate only removes candidates":               variation.checkIsolate,
	"isolate of all groups is the policy":           variation.checkPolicy,
	"groups outside of a subtree remove candidates": variation.checkOutside,
	"can_split keeps candidates":                    variation.checkSplit,
	"root_member_of and its negation complement":    variation.checkRootMembers,
	"a condition only removes candidates":           variation.checkCondition,
	"not_in_tree removes the candidates of a tree":  variation.checkExcludedTree,
	"a body is a query":                             variation.checkBody,
}

// TestCandidates_RandomSearchQueries_KeepProperties checks docs/contract/berth/search.md on the brute force.
func TestCandidates_RandomSearchQueries_KeepProperties(t *testing.T) {
	t.Parallel()
	for name, check := range properties {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				drawn := trials(searchMinors).Draw(t, "trial")
				for _, q := range drawn.questions[:5] {
					base := withoutParams(q.query, "order", "limit", "limit_per_tree")
					if drawn.world.Ask(bruteforce.Expand(base), bruteforce.Berth).Refused == "" {
						check(variation{drawn.world, &queryGenerator{generator: generator{t}, world: drawn.world}, t, base})
					}
				}
			})
		})
	}
}

// withoutParams removes parameters from a query.
func withoutParams(query string, names ...string) string {
	params := slices.DeleteFunc(strings.Split(query, "&"), func(param string) bool {
		name, _, _ := strings.Cut(param, "=")
		return slices.Contains(names, name)
	})
	return strings.Join(params, "&")
}

// candidates returns the candidates of a query, without the mappings of conditions, which can differ between anchors.
func (v variation) candidates(query string) map[string]bool {
	answer := v.world.Ask(bruteforce.Expand(query), bruteforce.Berth)
	if answer.Refused != "" {
		v.t.Fatalf("%s\n%s: %s", v.world, query, answer.Refused)
	}
	found := map[string]bool{}
	for _, candidate := range answer.Candidates {
		found[withoutConditions(answer, candidate)] = true
	}
	return found
}

// withoutConditions returns the text of a candidate, from which it removes the mappings of conditions.
func withoutConditions(answer *bruteforce.Response, candidate bruteforce.Candidate) string {
	for _, suffix := range answer.Conditions() {
		delete(candidate.Mappings, suffix)
	}
	return candidate.String()
}

// mustBeIn fails the test if a candidate of a query is missing in others.
func (v variation) mustBeIn(query string, some map[string]bool, all ...map[string]bool) {
	for _, candidate := range slices.Sorted(maps.Keys(some)) {
		if !slices.ContainsFunc(all, func(set map[string]bool) bool { return set[candidate] }) {
			v.t.Fatalf("%s\n%s\ncompared with %s: only one has %s", v.world, v.base, query, candidate)
		}
	}
}

// withResources returns the suffixes of the groups with resources.
func (v variation) withResources() []string {
	q := question{query: v.base}
	return slices.Sorted(slices.Values(without(q.suffixes(), q.resourceless())))
}

// checkIsolate has no query with can_split, because an anchor that loses its candidates splits classes, and isolates
// no condition, because it becomes a choice.
func (v variation) checkIsolate() {
	base := withoutParams(v.base, "can_split", "group_policy")
	if suffixes := v.withResources(); len(suffixes) > 1 {
		query := base + "&isolate=" + strings.Join(v.several(suffixes), ",")
		v.mustBeIn(query, v.candidates(query), v.candidates(base))
	}
}

func (v variation) checkPolicy() {
	base := withoutParams(v.base, "isolate", "group_policy")
	if suffixes := (question{query: base}).suffixes(); len(suffixes) > 1 {
		query := base + "&isolate=" + strings.Join(suffixes, ",")
		isolated, policy := v.candidates(query), v.candidates(base+"&group_policy=isolate")
		v.mustBeIn(query, isolated, policy)
		v.mustBeIn(query, policy, isolated)
	}
}

func (v variation) checkOutside() {
	base := withoutParams(v.base, "can_split", "same_subtree")
	if suffixes := v.withResources(); len(suffixes) > 1 {
		named := v.several(suffixes)
		inside := base + "&same_subtree=" + strings.Join(named[1:], ",")
		query := inside + ",!" + named[0]
		v.mustBeIn(query, v.candidates(query), v.candidates(inside))
	}
}

// checkSplit also compares the anchors with candidates: the whole answer, if no sharing provider can have several.
func (v variation) checkSplit() {
	query := v.base
	base := withoutParams(query, "can_split")
	whole, split := v.candidates(base), v.candidates(query)
	v.mustBeIn(query, whole, split)
	if strings.Contains(query, "can_split") && len(v.names(isSharing)) == 0 {
		trees := map[string]bool{}
		for _, candidate := range v.Ask(bruteforce.Expand(base), bruteforce.Berth).Candidates {
			trees[v.treeOf(candidate)] = true
		}
		answer := v.Ask(bruteforce.Expand(query), bruteforce.Berth)
		for _, candidate := range answer.Candidates {
			if trees[v.treeOf(candidate)] && !whole[withoutConditions(answer, candidate)] {
				v.t.Fatalf("%s\n%s: a split in a tree with candidates: %s", v.world, query, candidate)
			}
		}
	}
}

func isSharing(p *bruteforce.Provider) bool { return slices.Contains(p.Traits, bruteforce.Sharing) }

// treeOf returns the name of the only root of a candidate.
func (v variation) treeOf(candidate bruteforce.Candidate) string {
	for root := range v.rootsOf(candidate) {
		return root.Name
	}
	return ""
}

func (v variation) checkRootMembers() {
	value := braced([]string{pick(v.generator, append(allAggregates, "Z")...)})
	in, out := v.base+"&root_member_of="+value, v.base+"&root_member_of=!"+value
	v.mustBeIn(in, v.candidates(v.base), v.candidates(in), v.candidates(out))
}

func (v variation) checkCondition() {
	base := withoutParams(v.base, "group_policy")
	query := base + "&required_COND=" + pick(v.generator, "", "!") + pick(v.generator, allTraits...)
	v.mustBeIn(query, v.candidates(query), v.candidates(base))
}

// checkExcludedTree has no sharing providers, whose candidates can have several anchors.
func (v variation) checkExcludedTree() {
	if len(v.names(isSharing)) > 0 || strings.Contains(v.base, "not_in_tree") {
		return
	}
	excluded := pick(v.generator, v.Providers...)
	query := v.base + "&not_in_tree={" + excluded.Name + "}"
	left := map[string]bool{}
	answer := v.Ask(bruteforce.Expand(v.base), bruteforce.Berth)
	for _, candidate := range answer.Candidates {
		if !v.rootsOf(candidate)[v.Root(excluded)] {
			left[withoutConditions(answer, candidate)] = true
		}
	}
	v.mustBeIn(query, v.candidates(query), left)
	v.mustBeIn(query, left, v.candidates(query))
}

func (v variation) checkBody() {
	body, ok := bodyOf(bruteforce.Expand(v.base))
	if !ok {
		return
	}
	query, refusal := bruteforce.QueryOf(body)
	if refusal != nil {
		v.t.Fatalf("%s: %+v", body, refusal)
	}
	v.mustBeIn(query, v.candidates(v.base), v.candidates(query))
	v.mustBeIn(query, v.candidates(query), v.candidates(v.base))
}
