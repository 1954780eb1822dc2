package placement

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/querystring"
	"github.com/berthd/berth/server/request"
	"github.com/berthd/berth/server/store"
)

// candidateSchemas are those of all microversions, made when they are asked for.
var candidateSchemas = func() (made [microversion.Max + 1]func() *querystring.Schema) {
	for _, at := range microversion.All() {
		made[at] = sync.OnceValue(func() *querystring.Schema { return candidateListSchema(at) })
	}
	return made
}()

// askedAt reads a raw query as a request does.
func askedAt(t testing.TB, at microversion.Version, raw string) (store.CandidateQuery, error) {
	t.Helper()
	values, err := query(request.With(t.Context(), &request.Info{RawQuery: raw}), candidateSchemas[at]())
	if err != nil {
		return store.CandidateQuery{}, err
	}
	return candidateQuery(values, at)
}

const (
	gold, silver = "a99e0000-0000-4000-8000-000000000001", "a99e0000-0000-4000-8000-000000000002"
	goldDigits   = "a99e0000000040008000000000000001"
)

var goldID, silverID = uuid.MustParse(gold), uuid.MustParse(silver)

func amountsOf(pairs ...any) []store.Amount {
	var made []store.Amount
	for i := 0; i < len(pairs); i += 2 {
		made = append(made, store.Amount{Class: pairs[i].(string), Amount: int64(pairs[i+1].(int))})
	}
	return made
}

// asJSON shows what pointers point to.
func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAQuestionForCandidates(t *testing.T) {
	t.Parallel()
	one := []store.CandidateGroup{{Resources: amountsOf("VCPU", 1)}}
	for name, test := range map[string]struct {
		at    uint8
		query string
		want  store.CandidateQuery
	}{
		"is about amounts": {39, "resources=VCPU:1,MEMORY_MB:5", store.CandidateQuery{
			Groups: []store.CandidateGroup{{Resources: amountsOf("VCPU", 1, "MEMORY_MB", 5)}}}},
		"takes the last amount of a class that is named twice, in the place of the first": {39, "resources=VCPU:1,MEMORY_MB:5,VCPU:2", store.CandidateQuery{
			Groups: []store.CandidateGroup{{Resources: amountsOf("VCPU", 2, "MEMORY_MB", 5)}}}},
		"takes the last of repeated resources": {39, "resources=VCPU:1&resources=MEMORY_MB:5", store.CandidateQuery{
			Groups: []store.CandidateGroup{{Resources: amountsOf("MEMORY_MB", 5)}}}},
		"uses one provider of a tree before 1.29": {28, "resources=VCPU:1", store.CandidateQuery{Groups: one, OnePerTree: true}},
		"uses several from 1.29 on":               {29, "resources=VCPU:1", store.CandidateQuery{Groups: one}},
		"may have a limit":                        {39, "resources=VCPU:1&limit=7", store.CandidateQuery{Groups: one, Limit: 7}},
		"takes the first limit":                   {39, "resources=VCPU:1&limit=7&limit=1", store.CandidateQuery{Groups: one, Limit: 7}},
		"has no limit where that is beyond all numbers": {39, "resources=VCPU:1&limit=99999999999999999999", store.CandidateQuery{
			Groups: one}},
		"has groups in the order in which any of their parameters appears": {
			39, "in_tree2=" + gold + "&resources=VCPU:1&required1=A&group_policy=none&resources1=VCPU:3&resources2=VCPU:2",
			store.CandidateQuery{Groups: []store.CandidateGroup{
				{Suffix: "2", Resources: amountsOf("VCPU", 2), InTree: &goldID},
				{Resources: amountsOf("VCPU", 1)},
				{Suffix: "1", Resources: amountsOf("VCPU", 3), Required: [][]string{{"A"}}},
			}},
		},
		"tells suffixes apart by case": {33, "resources_a=VCPU:1&resources_A=VCPU:2&group_policy=isolate", store.CandidateQuery{
			Groups: []store.CandidateGroup{
				{Suffix: "_a", Resources: amountsOf("VCPU", 1)}, {Suffix: "_A", Resources: amountsOf("VCPU", 2)},
			}, Isolate: true}},
		"may have a suffix that looks like a parameter": {33, "resourcesin_tree=VCPU:1", store.CandidateQuery{
			Groups: []store.CandidateGroup{{Suffix: "in_tree", Resources: amountsOf("VCPU", 1)}}}},
		"may have a suffix of 64 characters": {33, "resources" + strings.Repeat("x", 64) + "=VCPU:1", store.CandidateQuery{
			Groups: []store.CandidateGroup{{Suffix: strings.Repeat("x", 64), Resources: amountsOf("VCPU", 1)}}}},
		"requires and forbids": {39, "resources=VCPU:1&required=A,!B&required=in:C,D", store.CandidateQuery{
			Groups: []store.CandidateGroup{{
				Resources: amountsOf("VCPU", 1), Required: [][]string{{"A"}, {"C", "D"}}, Forbidden: []string{"B"},
			}}}},
		"requires what was said last before 1.39": {38, "resources=VCPU:1&required=,&required=B", store.CandidateQuery{
			Groups: []store.CandidateGroup{{Resources: amountsOf("VCPU", 1), Required: [][]string{{"B"}}}}}},
		"may forbid one of several alternatives": {39, "resources=VCPU:1&required=in:A,B&required=!A", store.CandidateQuery{
			Groups: []store.CandidateGroup{{
				Resources: amountsOf("VCPU", 1), Required: [][]string{{"A", "B"}}, Forbidden: []string{"A"},
			}}}},
		"is about members": {39, "resources1=VCPU:1&member_of1=" + goldDigits + "&member_of1=!in:" + gold + "," + silver, store.CandidateQuery{
			Groups: []store.CandidateGroup{{
				Suffix: "1", Resources: amountsOf("VCPU", 1), MemberOf: [][]uuid.UUID{{goldID}}, NotMemberOf: []uuid.UUID{goldID, silverID},
			}}}},
		"is about a tree, spelled in any way": {31, "resources=VCPU:1&in_tree=" + gold + "&in_tree=+urn:uuid:" + strings.ToUpper(silver) + "+", store.CandidateQuery{
			Groups: []store.CandidateGroup{{Resources: amountsOf("VCPU", 1), InTree: &silverID}}}},
		"is about roots": {35, "root_required=A,+!B,!!C&resources=VCPU:1", store.CandidateQuery{
			Groups: one, RootRequired: []string{"A"}, RootForbidden: []string{"B", "C"}}},
		"binds groups together": {
			36, "resources=VCPU:1&required_N=A&resources_C=VCPU:2&same_subtree=+_C+,_N,_C&same_subtree=_N&group_policy=none",
			store.CandidateQuery{Groups: []store.CandidateGroup{
				{Resources: amountsOf("VCPU", 1)}, {Suffix: "_N", Required: [][]string{{"A"}}},
				{Suffix: "_C", Resources: amountsOf("VCPU", 2)},
			}, Subtrees: [][]int{{1, 2}, {1}}},
		},
		"keeps groups apart if the first policy says so": {25, "resources1=VCPU:1&group_policy=isolate&group_policy=none", store.CandidateQuery{
			Groups: []store.CandidateGroup{{Suffix: "1", Resources: amountsOf("VCPU", 1)}}, Isolate: true, OnePerTree: true}},
		"lets them meet if the first policy is nonsense": {25, "resources1=VCPU:1&group_policy=bogus&group_policy=isolate", store.CandidateQuery{
			Groups: []store.CandidateGroup{{Suffix: "1", Resources: amountsOf("VCPU", 1)}}, OnePerTree: true}},
		"asks for no more than there are numbers": {39, "resources=VCPU:99999999999999999999", store.CandidateQuery{
			Groups: []store.CandidateGroup{{Resources: []store.Amount{{Class: "VCPU", Amount: math.MaxInt64}}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := askedAt(t, v(test.at), test.query)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("%s\ngot  %s\nwant %s", test.query, asJSON(t, got), asJSON(t, test.want))
			}
		})
	}
}

// TestOfSeveralMistakesTheFirstStepIsTold: each query makes the mistake of its step
// and those of all later steps.
func TestOfSeveralMistakesTheFirstStepIsTold(t *testing.T) {
	t.Parallel()
	const (
		policy    = "resources1=VCPU:1&resources2=VCPU:1"
		conflict  = "&required1=A,!A"
		unknown   = "&same_subtree=_GONE"
		loose     = "&in_tree3=" + gold
		tree      = "&in_tree1=x"
		groups    = "&member_of1=x"
		subtree   = "&same_subtree="
		rootTwice = "&root_required=A"
	)
	for _, test := range []struct{ name, query, code, want string }{
		{"14 the policy", policy, "", `The "group_policy" parameter is required when specifying more than one "resources{N}" parameter.`},
		{"13 conflicts", policy + conflict, "", "Conflicting required and forbidden traits found in the following traits keys: required1: (A)"},
		{"11 unknown suffixes", policy + conflict + unknown, fault.CodeBadValue,
			"Real suffixes should be specified in `same_subtree`: ['_GONE'] not found in ['1', '2']."},
		{"10 groups that take nothing", policy + conflict + unknown + loose, fault.CodeBadValue,
			"Resourceless suffixed group request should be specified in `same_subtree` query param: bad group(s) - ['3']."},
		{"9 nothing is taken", "required1=A,!A" + unknown + loose, fault.CodeMissingValue,
			"There must be at least one resources or resources[$S] parameter."},
		{"8 trees", "required1=A,!A" + unknown + tree, "", "Invalid query string parameters: Expected 'in_tree' parameter to be a format of uuid. Got: x"},
		{"7 groups", "required1=A,!A" + unknown + tree + groups, "",
			"Invalid query string parameters: Expected 'member_of' parameter to contain valid UUID(s). Got: x"},
		{"6 subtrees", "required1=A,!A" + subtree + tree + groups, fault.CodeBadValue,
			"Empty string (unsuffixed group) can not be specified in `same_subtree` "},
		{"5 the root contradicts itself", "root_required=B,A,!A,!B,!C" + subtree + groups, fault.CodeBadValue,
			"Conflicting required and forbidden traits found in root_required: A, B"},
		{"4 alternatives of the root", "root_required=in:A,B" + subtree + groups, "",
			"Invalid query string parameters: The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC' only supported since microversion 1.39. Got: in:A,B"},
		{"3 an empty trait of the root", "root_required=A,,!A" + subtree + groups, "", "Invalid query string parameters: " +
			"Expected 'required' parameter value of the form: HW_CPU_X86_VMX,!CUSTOM_MAGIC. Got an empty trait in: A,,!A"},
		{"2 the root twice", "root_required=,&" + rootTwice + subtree + groups, fault.CodeDuplicateKey,
			"Query parameter 'root_required' may be specified only once."},
		{"1 the schema", "limit=0&root_required=,&" + rootTwice + subtree + groups, "",
			"Invalid query string parameters: '0' does not match '^[1-9][0-9]*$' Failed validating 'pattern'"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			wantFault(t, v(39), test.query, test.code, test.want)
		})
	}
}

func wantFault(t *testing.T, at microversion.Version, query, code, begins string) {
	t.Helper()
	_, err := askedAt(t, at, query)
	found := fault.As(err)
	if found == nil || found.Kind != fault.Invalid || found.Code != code || !strings.HasPrefix(found.Detail, begins) {
		t.Errorf("%s ?%s\ngot  %+v\nwant %s %s", at, query, err, code, begins)
	}
}

func TestGroupsAreCheckedInTheOrderOfTheQuery(t *testing.T) {
	t.Parallel()
	const resources, required, member = "resources=x", "required1=,", "member_of=x"
	says := map[string]string{
		resources: "Badly formed resources parameter.", required: "Invalid query string parameters: Expected 'required'",
		member: "Invalid query string parameters: Expected 'member_of'",
	}
	for first, want := range says {
		for second := range says {
			if second != first {
				wantFault(t, v(39), first+"&"+second, "", want)
			}
		}
	}
	wantFault(t, v(39), "required1=A&resources=x&required1=,", "", says[required])
	wantFault(t, v(38), "required1=,&resources=x&required1=A", "", says[resources])
	wantFault(t, v(39), "member_of="+gold+"&resources=x&member_of=x", "", says[member])
	wantFault(t, v(39), "resources=VCPU:1&required1=,&resources=x", "", says[required])
	wantFault(t, v(39), "resources=VCPU:1&resources=x&required1=,", "", says[resources])
}

func TestEveryMistakeIsWorded(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name        string
		at          uint8
		query, code string
		want        string
	}{
		{"a class without an amount", 10, "resources=VCPU", "", "Badly formed resources parameter. Expected resources query string " +
			"parameter in form: ?resources=VCPU:2,MEMORY_MB:1024. Got: VCPU."},
		{"no resources", 10, "resources=", "", "Badly formed resources parameter. Expected resources query string parameter in form: " +
			"?resources=VCPU:2,MEMORY_MB:1024. Got: empty string."},
		{"a junk limit in front of a good one", 16, "resources=VCPU:1&limit=x&limit=1", "", "Invalid query string parameters: 'x' does not match '^[1-9][0-9]*$'"},
		{"members of a group before they may be repeated", 23, "resources=VCPU:1&member_of=" + gold + "&member_of=" + gold, "",
			"Multiple member_of parameters are not supported"},
		{"members of a group that are excluded too early", 31, "resources1=VCPU:1&member_of1=!" + gold, "",
			"Forbidden member_of1 parameters are not supported in the specified microversion"},
		{"a list of members without its prefix, named without suffix", 39, "resources1=VCPU:1&member_of1=" + gold + "," + gold, "",
			"Multiple values for 'member_of' must be prefixed with the 'in:' or '!in:' keyword using the valid microversion. Got: " + gold + "," + gold},
		{"a tree as it was sent", 31, "resources=VCPU:1&in_tree=+x+", "", "Invalid query string parameters: Expected 'in_tree' parameter to be a format of uuid. Got:  x "},
		{"a tree whose first value is no uuid", 31, "resources=VCPU:1&in_tree=x&in_tree=" + gold, "", "Invalid query string parameters: Expected 'in_tree'"},
		{"traits without resources", 35, "required1=A&required=B&resources3=VCPU:1&required2=!C&required10=D", "",
			"All traits parameters must be associated with resources.  Found the following orphaned traits keys: required1, required, required10"},
		{"aggregates without resources", 35, "member_of3=" + gold + "&member_of=!" + gold + "&resources1=VCPU:1", "",
			"All member_of parameters must be associated with resources. Found the following orphaned member_of keys: member_of3, member_of"},
		{"forbidden traits without resources", 25, "resources=VCPU:1&required1=!A", "", "All request groups must specify resources."},
		{"a tree without resources", 31, "in_tree=" + gold, "", "All request groups must specify resources."},
		{"no group", 25, "", "", "At least one request group (`resources` or `resources{$S}`) is required."},
		{"no group at 1.36", 36, "group_policy=none", fault.CodeMissingValue, "There must be at least one resources or resources[$S] parameter."},
		{"the group without suffix takes nothing", 36, "resources1=VCPU:1&required=A&same_subtree=1", fault.CodeBadValue,
			"Resourceless suffixed group request should be specified in `same_subtree` query param: bad group(s) - ['']."},
		{"several groups take nothing", 36, "required_B=A&resources1=VCPU:1&required=A&required_A=A", fault.CodeBadValue,
			"Resourceless suffixed group request should be specified in `same_subtree` query param: bad group(s) - ['_B', '', '_A']."},
		{"suffixes of no group", 36, "resources_C=VCPU:1&resources=VCPU:1&same_subtree=_B,it's,_C&same_subtree=_B,%5C", fault.CodeBadValue,
			"Real suffixes should be specified in `same_subtree`: ['_B', 'it\\'s', '\\\\'] not found in ['_C', '']."},
		{"conflicts, sorted", 39, "resources1=VCPU:1&required1=in:B,A&required1=!A,!B&required=C,!C,E,D,!D&resources=VCPU:1", "",
			"Conflicting required and forbidden traits found in the following traits keys: required1: (A, B), required: (C), required: (D)"},
		{"a policy that is empty in front of one", 25, "resources1=VCPU:1&resources2=VCPU:1&group_policy=&group_policy=none", "",
			`The "group_policy" parameter is required`},
		{"groups that take nothing need a policy too", 36, "resources_C=VCPU:1&required_X=A&same_subtree=_C,_X", "", `The "group_policy" parameter is required`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			wantFault(t, v(test.at), test.query, test.code, test.want)
		})
	}
}

// FuzzCandidateQuery holds whatever is accepted against what the store may rely on.
func FuzzCandidateQuery(f *testing.F) {
	for _, seed := range []string{
		"resources=VCPU:1", "resources=VCPU:1&limit=5&limit=x", "resources1=VCPU:1&resources2=VCPU:2&group_policy=isolate",
		"resources=VCPU:1&required=in:A,B&required=!A&member_of=!in:" + gold + "&in_tree=+" + goldDigits,
		"resources=VCPU:1&required_X=A,!B&resources_Y=DISK_GB:1&same_subtree=_X,+_Y,_X&group_policy=none&root_required=A,!B",
		"required1=A,!A", "same_subtree=,", "root_required=A&root_required=B", "resourcesresources=%2b1:1", "in_tree=x;resources=VCPU:1",
	} {
		for _, minor := range []uint8{10, 24, 28, 35, 39} {
			f.Add(minor, seed)
		}
	}
	f.Fuzz(func(t *testing.T, minor uint8, raw string) {
		at := v(10 + minor%30)
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

// brokenInvariants are what a question must be and is not.
func brokenInvariants(asked store.CandidateQuery, at microversion.Version) []string {
	var broken []string
	must := func(holds bool, sentence string) {
		if !holds {
			broken = append(broken, sentence)
		}
	}
	suffixForm := regexp.MustCompile("^(" + suffixPattern(at) + ")?$")
	bound, suffixes, takes := map[int]bool{}, map[string]bool{}, false
	for _, places := range asked.Subtrees {
		must(len(places) > 0 && slices.IsSorted(places) && len(slices.Compact(slices.Clone(places))) == len(places), "a subtree has each group once")
		for _, place := range places {
			must(place >= 0 && place < len(asked.Groups) && asked.Groups[place].Suffix != "", "a subtree has groups with suffixes")
			bound[place] = true
		}
	}
	for place, group := range asked.Groups {
		must(suffixForm.MatchString(group.Suffix) && !suffixes[group.Suffix], "a suffix has its form and is not repeated")
		suffixes[group.Suffix] = true
		takes = takes || len(group.Resources) > 0
		must(len(group.Resources) > 0 || bound[place] && at.AllowsResourcelessGroups(), "a group takes something or is bound")
		classes := map[string]bool{}
		for _, wanted := range group.Resources {
			must(wanted.Amount >= 1 && !classes[wanted.Class], "an amount is positive and a class named once")
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
		must(trait != "" && !slices.Contains(asked.RootForbidden, trait), "the root does not contradict itself")
	}
	must(takes, "something is taken")
	must(asked.Limit >= 0, "a limit is none or positive")
	must(asked.OnePerTree == !at.CombinesTrees(), "trees are combined from 1.29 on")
	return broken
}
