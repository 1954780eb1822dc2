package bruteforce_test

import (
	"regexp"
	"slices"
	"strings"

	"github.com/berthd/berth/internal/test/bruteforce"
)

// searchFeatures are the features of berth 1.1, with the rules of 1.39 that they use.
var searchFeatures = []feature{
	{"root_member_of", 100, matching(`&root_member_of=[^!]`)},
	{"root_member_of: forbidden", 60, matching(`&root_member_of=!`)},
	{"root_member_of: in:", 50, matching(`&root_member_of=!?in:`)},
	{"root_member_of: repeated", 50, matching(`&root_member_of=.*&root_member_of=`)},
	{"root_member_of, through a sharing provider", 2, both(matching(`&root_member_of=`), usesSeveralTrees)},
	{"not_in_tree", 50, matching(`&not_in_tree=`)},
	{"not_in_tree that excludes a tree with candidates", 3, excludesCandidates},
	{"root_required", 39, matching(`&root_required=`)},
	{"several suffixed groups without group_policy", 80, func(_ world, q question, _ *bruteforce.Response) bool {
		return !strings.Contains(q.query, "group_policy") && len(q.suffixes()) > 1
	}},
	{"group_policy=isolate", 60, matching(`&group_policy=isolate`)},
	{"isolate", 70, matching(`&isolate=`)},
	{"isolate: repeated", 20, matching(`&isolate=.*&isolate=`)},
	{"isolate of some groups", 1, isolatesSome},
	{"isolate of a group without resources", 30, namesResourceless(`&isolate=[^&]*`)},
	{"same_subtree with !", 60, matching(`&same_subtree=[^&]*!`)},
	{"same_subtree with ! and several groups inside", 1, matching(`&same_subtree=[^!&]*,[^!&]*,!`)},
	{"same_subtree with ! of a group without resources", 25, namesResourceless(`&same_subtree=[^&]*![^&]*`)},
	{"same_subtree twice, once with !", 15, matching(`&same_subtree=.*!.*&same_subtree=|&same_subtree=.*&same_subtree=[^&]*!`)},
	{"can_split", 300, matching(`&can_split=`)},
	{"can_split of several classes", 69, matching(`&can_split=[^&]*,|&can_split=.*&can_split=`)},
	{"can_split where an amount fits", 60, both(matching(`&can_split=`), func(_ world, _ question, answer *bruteforce.Response) bool {
		return !answer.SplitsClasses()
	})},
	{"a split", 90, splits},
	{"a split of several classes", 20, both(splits, matching(`&can_split=[^&]*,|&can_split=.*&can_split=`))},
	{"a split and a class of one provider", 8, both(splits, hasUnsplitClass)},
	{"a split and a suffixed group", 23, both(splits, matching(`&resources[^=&]+=`))},
	{"a split and a suffixed group of the same class", 4, both(splits, matchingBoth(`&can_split=([^&]*)`, `&resources[^=&]+=([^&]*)`))},
	{"a split with traits", 1, both(splits, matching(`&required=`))},
	{"a split with member_of", 1, both(splits, matching(`&member_of=`))},
	{"a split in one tree", 1, both(splits, matching(`&in_tree=`))},
	{"a split over a sharing provider", 8, both(splits, usesSeveralTrees)},
	{"a split over three providers", 20, both(splits, usesProviders(3))},
	{"several splits", 40, both(splits, func(_ world, _ question, answer *bruteforce.Response) bool { return len(answer.Candidates) > 1 })},
	{"a split with units", 10, both(splits, hasUnits)},
	{"a condition", 111, hasCondition},
	{"a condition of a provider of another tree", 1, hasForeignCondition},
	{"a group without resources as a choice", 80, both(hasResourcelessGroup, func(w world, q question, answer *bruteforce.Response) bool {
		return !hasCondition(w, q, answer)
	})},
	{"order=id", 30, matching(`&order=id`)},
	{"order=random", 30, matching(`&order=random`)},
	{"order=pack of several trees", 5, both(matching(`&order=pack`), hasTrees(2))},
	{"order=spread of several trees", 7, both(matching(`&order=spread`), hasTrees(2))},
	{"order=pack or spread with several candidates of a tree", 50, both(matching(`&order=(pack|spread)`), hasPerTree(2))},
	{"order with a limit that cuts", 1, both(matching(`&order=`), isCut)},
	{"limit_per_tree", 150, matching(`&limit_per_tree=`)},
	{"limit_per_tree that cuts", 34, isCutPerTree},
	{"limit_per_tree and a limit that cuts", 1, both(isCutPerTree, isCut)},
	{"limit_per_tree that cuts with an order", 7, both(isCutPerTree, matching(`&order=`))},
	{"a body", 200, func(_ world, q question, _ *bruteforce.Response) bool { return q.body() != "" }},
	{"a provider of another tree shares", 60, usesSeveralTrees},
	{"a child shares with another tree", 16, usesForeignChild},
	{"no provider shares", 250, func(w world, _ question, _ *bruteforce.Response) bool {
		return len(w.names(isSharing)) == 0
	}},
}

func both(one, other func(world, question, *bruteforce.Response) bool) func(world, question, *bruteforce.Response) bool {
	return func(w world, q question, answer *bruteforce.Response) bool {
		return one(w, q, answer) && other(w, q, answer)
	}
}

func splits(_ world, _ question, answer *bruteforce.Response) bool { return answer.SplitsClasses() }

// suffixes returns the suffixes of the groups with a suffix.
func (q question) suffixes() []string {
	var found []string
	for suffix := range q.groups() {
		if suffix != "" {
			found = append(found, suffix)
		}
	}
	return found
}

// resourceless returns the suffixes of the groups without resources.
func (q question) resourceless() []string {
	var found []string
	for suffix, params := range q.groups() {
		if !slices.ContainsFunc(params, func(param string) bool { return strings.HasPrefix(param, "resources=") }) {
			found = append(found, suffix)
		}
	}
	return found
}

// isolatesSome reports whether a suffixed group is in no isolate.
func isolatesSome(_ world, q question, _ *bruteforce.Response) bool {
	named := strings.Join(regexp.MustCompile(`&isolate=[^&]*`).FindAllString("&"+q.query, -1), ",")
	return named != "" && slices.ContainsFunc(q.suffixes(), func(suffix string) bool { return !namesSuffix(named, suffix) })
}

func namesSuffix(list, suffix string) bool {
	return regexp.MustCompile(`[=,! ]` + regexp.QuoteMeta(suffix) + `(,|&|$)`).MatchString(list)
}

// namesResourceless returns a feature: a parameter names a group without resources.
func namesResourceless(pattern string) func(world, question, *bruteforce.Response) bool {
	compiled := regexp.MustCompile(pattern)
	return func(_ world, q question, _ *bruteforce.Response) bool {
		named := strings.Join(compiled.FindAllString("&"+q.query, -1), ",")
		return slices.ContainsFunc(q.resourceless(), func(suffix string) bool { return namesSuffix(named, suffix) })
	}
}

// hasCondition reports whether a group without resources is named nowhere.
func hasCondition(_ world, q question, _ *bruteforce.Response) bool {
	named := strings.Join(regexp.MustCompile(`&(isolate|same_subtree)=[^&]*`).FindAllString("&"+q.query, -1), ",")
	return !strings.Contains(q.query, "group_policy=isolate") &&
		slices.ContainsFunc(q.resourceless(), func(suffix string) bool { return !namesSuffix(named, suffix) })
}

// hasForeignCondition reports whether a condition is met by a provider of a tree from which a candidate uses nothing.
func hasForeignCondition(w world, q question, answer *bruteforce.Response) bool {
	return hasCondition(w, q, answer) && slices.ContainsFunc(answer.Candidates, func(c bruteforce.Candidate) bool {
		return slices.ContainsFunc(q.resourceless(), func(suffix string) bool {
			mapped := c.Mappings[suffix]
			return len(mapped) == 1 && !w.rootsOf(c)[w.Root(w.Named(mapped[0]))]
		})
	})
}

func hasUnsplitClass(_ world, q question, _ *bruteforce.Response) bool {
	split := strings.Join(regexp.MustCompile(`&can_split=[^&]*`).FindAllString("&"+q.query, -1), ",")
	requested := regexp.MustCompile(`&resources=([^&]*)`).FindStringSubmatch("&" + q.query)[1]
	return slices.ContainsFunc(classPattern.FindAllString(requested, -1), func(class string) bool { return !namesSuffix(split, class) })
}

func usesProviders(count int) func(world, question, *bruteforce.Response) bool {
	return func(_ world, _ question, answer *bruteforce.Response) bool {
		return slices.ContainsFunc(answer.Candidates, func(c bruteforce.Candidate) bool { return len(c.Mappings[""]) >= count })
	}
}

// hasUnits reports whether a contributing provider has a min_unit, max_unit or step_size.
func hasUnits(w world, _ question, answer *bruteforce.Response) bool {
	return slices.ContainsFunc(answer.Candidates, func(c bruteforce.Candidate) bool {
		return slices.ContainsFunc(c.Mappings[""], func(name string) bool {
			for class := range c.Allocations[name] {
				if i := w.Named(name).Inventories[class]; i.MinUnit > 1 || i.StepSize > 1 || i.MaxUnit < bruteforce.Unlimited {
					return true
				}
			}
			return false
		})
	})
}

func hasTrees(count int) func(world, question, *bruteforce.Response) bool {
	return func(_ world, _ question, answer *bruteforce.Response) bool { return answer.Trees() >= count }
}

func hasPerTree(count int) func(world, question, *bruteforce.Response) bool {
	return func(_ world, _ question, answer *bruteforce.Response) bool { return answer.MaxPerTree() >= count }
}

func isCutPerTree(_ world, _ question, answer *bruteforce.Response) bool {
	return answer.LimitPerTree > 0 && answer.LimitPerTree < answer.MaxPerTree()
}

// excludesCandidates reports whether not_in_tree removes candidates.
func excludesCandidates(w world, q question, answer *bruteforce.Response) bool {
	if !strings.Contains(q.query, "&not_in_tree=") || answer.Refused != "" {
		return false
	}
	whole := w.Ask(bruteforce.Expand(withoutParams(q.query, "not_in_tree")), bruteforce.Berth)
	return len(whole.Candidates) > len(answer.Candidates)
}
