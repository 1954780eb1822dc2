package bruteforce_test

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/berthd/berth/internal/test/bruteforce"
)

// feature is a property that random cases must have, because otherwise they prove nothing.
type feature struct {
	name string
	// perThousand is the minimum number of cases with the feature per thousand cases with
	// candidates.
	perThousand int
	shows       func(w world, q question, answer *bruteforce.Response) bool
}

// matching returns a feature of the query. A suffix may follow each name.
func matching(pattern string) func(world, question, *bruteforce.Response) bool {
	compiled := regexp.MustCompile(pattern)
	return func(_ world, q question, _ *bruteforce.Response) bool { return compiled.MatchString("&" + q.query) }
}

// features are the features of the grammar and of the rules.
var features = []feature{
	{"several classes in the unsuffixed group", 100, matching(`&resources=[^&]*,`)},
	{"suffixed groups", 200, matching(`&resources[^=&]+=`)},
	{"several suffixed groups", 100, matching(`&resources[^=&]+=.*&resources[^=&]+=`)},
	{"a group without suffix and one with", 70, matching(`&resources=.*&resources[^=&]+=|&resources[^=&]+=.*&resources=`)},
	{"the same class with and without suffix", 40, matchingBoth(`&resources=([^&]*)`, `&resources[^=&]+=([^&]*)`)},
	{"groups alike", 25, hasGroupsAlike},
	{"required", 80, matching(`&required[^=&]*=[^!i]`)},
	{"required: forbidden", 60, matching(`&required[^=&]*=[^&]*!`)},
	{"required: in:", 20, matching(`&required[^=&]*=in:`)},
	{"required: repeated", 20, hasRepeated("required=")},
	{"member_of", 80, matching(`&member_of[^=&]*=[^!]`)},
	{"member_of: in:", 40, matching(`&member_of[^=&]*=in:`)},
	{"member_of: forbidden", 40, matching(`&member_of[^=&]*=!`)},
	{"member_of: forbidden in:", 15, matching(`&member_of[^=&]*=!in:`)},
	{"member_of: repeated", 40, hasRepeated("member_of=")},
	{"in_tree", 15, matching(`&in_tree=`)},
	{"in_tree with a suffix", 30, matching(`&in_tree[^=&]+=`)},
	{"group_policy=isolate", 60, matching(`&group_policy=isolate`)},
	{"group_policy=none", 90, matching(`&group_policy=none`)},
	{"same_subtree of several groups", 45, matching(`&same_subtree=[^&]*,`)},
	{"same_subtree: repeated", 10, matching(`&same_subtree=.*&same_subtree=`)},
	{"a group without resources", 60, hasResourcelessGroup},
	{"a group without resources that only excludes", 20, hasExcludingGroup},
	{"root_required", 35, matching(`&root_required=`)},
	{"limit that cuts", 12, isCut},
	{"a limit larger than the list", 10, func(_ world, _ question, answer *bruteforce.Response) bool {
		return answer.Limit >= len(answer.Candidates)
	}},
	{"a provider of another tree shares", 60, usesSeveralTrees},
	{"a child shares with another tree", 20, usesForeignChild},
	{"two groups take from one place", 60, addsUp},
	{"something is used already", 400, func(w world, _ question, _ *bruteforce.Response) bool {
		return slices.ContainsFunc(w.Providers, isUsed)
	}},
	{"below 1.12", 10, below(12)},
	{"below 1.17", 40, below(17)},
	{"below 1.25", 100, below(25)},
	{"below 1.29", 100, below(29)},
	{"below 1.29, with children", 100, func(w world, q question, _ *bruteforce.Response) bool {
		return q.minor < 29 && len(w.Roots()) < len(w.Providers)
	}},
	{"below 1.34", 150, below(34)},
}

func below(minor int) func(world, question, *bruteforce.Response) bool {
	return func(_ world, q question, _ *bruteforce.Response) bool { return q.minor < minor }
}

// classPattern matches the classes in a resources parameter.
var classPattern = regexp.MustCompile(`[A-Z_]+`)

// matchingBoth returns a feature: two parameters contain the same class.
func matchingBoth(one, other string) func(world, question, *bruteforce.Response) bool {
	first, second := regexp.MustCompile(one), regexp.MustCompile(other)
	return func(_ world, q question, _ *bruteforce.Response) bool {
		for _, here := range first.FindAllStringSubmatch("&"+q.query, -1) {
			for _, there := range second.FindAllStringSubmatch("&"+q.query, -1) {
				for _, class := range classPattern.FindAllString(here[1], -1) {
					if slices.Contains(classPattern.FindAllString(there[1], -1), class) {
						return true
					}
				}
			}
		}
		return false
	}
}

// groups returns the parameters of each suffix, in alphabetical order.
func (q question) groups() map[string][]string {
	found := map[string][]string{}
	for param := range strings.SplitSeq(q.query, "&") {
		name, value, _ := strings.Cut(param, "=")
		for _, kind := range []string{"resources", "required", "member_of", "in_tree"} {
			if suffix, ok := strings.CutPrefix(name, kind); ok {
				found[suffix] = append(found[suffix], kind+"="+value)
			}
		}
	}
	for suffix := range found {
		slices.Sort(found[suffix])
	}
	return found
}

// hasRepeated returns a feature: a group has several parameters of a kind.
func hasRepeated(kind string) func(world, question, *bruteforce.Response) bool {
	return func(_ world, q question, _ *bruteforce.Response) bool {
		for _, params := range q.groups() {
			if strings.Count("&"+strings.Join(params, "&"), "&"+kind) > 1 {
				return true
			}
		}
		return false
	}
}

func hasGroupsAlike(_ world, q question, _ *bruteforce.Response) bool {
	seen := map[string]bool{}
	for suffix, params := range q.groups() {
		key := strings.Join(params, "&")
		if suffix != "" && seen[key] {
			return true
		}
		seen[key] = suffix != ""
	}
	return false
}

func hasResourcelessGroup(_ world, q question, _ *bruteforce.Response) bool {
	return hasGroup(q, func(param string) bool { return !strings.HasPrefix(param, "resources=") })
}

func hasExcludingGroup(_ world, q question, _ *bruteforce.Response) bool {
	return hasGroup(q, regexp.MustCompile(`^(required|member_of)=![^!]*$`).MatchString)
}

// hasGroup reports whether all parameters of some group are of a kind.
func hasGroup(q question, isOfKind func(param string) bool) bool {
	for _, params := range q.groups() {
		if !slices.ContainsFunc(params, func(param string) bool { return !isOfKind(param) }) {
			return true
		}
	}
	return false
}

func isCut(_ world, _ question, answer *bruteforce.Response) bool {
	return answer.Limit > 0 && answer.Limit < len(answer.Candidates)
}

// usesSeveralTrees reports whether a candidate uses several trees, which requires a sharing
// provider.
func usesSeveralTrees(w world, _ question, answer *bruteforce.Response) bool {
	return slices.ContainsFunc(answer.Candidates, func(c bruteforce.Candidate) bool { return len(w.rootsOf(c)) > 1 })
}

func usesForeignChild(w world, _ question, answer *bruteforce.Response) bool {
	return slices.ContainsFunc(answer.Candidates, func(c bruteforce.Candidate) bool {
		for name := range c.Allocations {
			child := w.Named(name)
			if child.Parent != "" && slices.Contains(child.Traits, bruteforce.Sharing) && len(w.rootsOf(c)) > 1 {
				return true
			}
		}
		return false
	})
}

func (w world) rootsOf(candidate bruteforce.Candidate) map[*bruteforce.Provider]bool {
	roots := map[*bruteforce.Provider]bool{}
	for name := range candidate.Allocations {
		roots[w.Root(w.Named(name))] = true
	}
	return roots
}

// addsUp reports whether a class of a candidate is the sum of the amounts of two groups.
func addsUp(_ world, q question, answer *bruteforce.Response) bool {
	return slices.ContainsFunc(answer.Candidates, func(c bruteforce.Candidate) bool {
		taken := 0
		for _, classes := range c.Allocations {
			taken += len(classes)
		}
		wanted := 0
		for _, params := range q.groups() {
			for _, param := range params {
				if list, ok := strings.CutPrefix(param, "resources="); ok {
					wanted += strings.Count(list, ",") + 1
				}
			}
		}
		return taken < wanted
	})
}

// tally counts the features of cases. It is safe for concurrent use.
type tally struct {
	sync.Mutex
	features []feature
	// answered is the minimum percentage of cases with candidates.
	answered                       int
	cases, refused, withCandidates int
	seen                           map[string]int
}

func newTally(features []feature, answered int) *tally {
	return &tally{features: features, answered: answered, seen: map[string]int{}}
}

func (c *tally) count(w world, q question, answer *bruteforce.Response) {
	var shown []string
	for _, feature := range c.features {
		if len(answer.Candidates) > 0 && feature.shows(w, q, answer) {
			shown = append(shown, feature.name)
		}
	}
	c.Lock()
	defer c.Unlock()
	c.cases++
	if answer.Refused != "" {
		c.refused++
	}
	if len(answer.Candidates) > 0 {
		c.withCandidates++
	}
	for _, name := range shown {
		c.seen[name]++
	}
}

// check fails the test for each feature with too few cases.
func (c *tally) check(t *testing.T) {
	t.Helper()
	t.Logf("cases = %d, with candidates = %d, invalid = %d", c.cases, c.withCandidates, c.refused)
	if c.withCandidates*100 < c.cases*c.answered {
		t.Errorf("cases with candidates = %d of %d, want more", c.withCandidates, c.cases)
	}
	if c.refused*20 > c.cases {
		t.Errorf("invalid cases = %d of %d, want fewer", c.refused, c.cases)
	}
	for _, feature := range c.features {
		t.Logf("%6d  %s", c.seen[feature.name], feature.name)
		if least := c.withCandidates * feature.perThousand / 1000; c.seen[feature.name] < least {
			t.Errorf("%s: cases = %d, want at least %d", feature.name, c.seen[feature.name], least)
		}
	}
}
