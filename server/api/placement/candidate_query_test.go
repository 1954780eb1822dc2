package placement

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/querystring"
	"github.com/berthd/berth/server/wire/request"
)

// candidateSchemas returns the schema of each microversion, created at the first use.
var candidateSchemas = func() map[microversion.Version]func() *querystring.Schema {
	made := map[microversion.Version]func() *querystring.Schema{}
	for _, at := range slices.Concat(microversion.All(), microversion.Extended()) {
		made[at] = sync.OnceValue(func() *querystring.Schema { return candidateListSchema(at) })
	}
	return made
}()

// askedAt parses a raw query like a request does.
func askedAt(t testing.TB, at microversion.Version, raw string) (candidates.Query, error) {
	t.Helper()
	values, err := query(request.With(t.Context(), &request.Info{RawQuery: raw}), candidateSchemas[at]())
	if err != nil {
		return candidates.Query{}, err
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

// asJSON formats a value with the targets of its pointers.
func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestCandidates_Query_Parsed(t *testing.T) {
	t.Parallel()
	one := []candidates.Group{{Resources: amountsOf("VCPU", 1)}}
	for name, test := range map[string]struct {
		at    uint8
		query string
		want  candidates.Query
	}{
		"has amounts": {39, "resources=VCPU:1,MEMORY_MB:5", candidates.Query{
			Groups: []candidates.Group{{Resources: amountsOf("VCPU", 1, "MEMORY_MB", 5)}}}},
		"takes the last amount of a repeated class, at the position of the first": {39, "resources=VCPU:1,MEMORY_MB:5,VCPU:2", candidates.Query{
			Groups: []candidates.Group{{Resources: amountsOf("VCPU", 2, "MEMORY_MB", 5)}}}},
		"takes the last of repeated resources": {39, "resources=VCPU:1&resources=MEMORY_MB:5", candidates.Query{
			Groups: []candidates.Group{{Resources: amountsOf("MEMORY_MB", 5)}}}},
		"uses one provider of a tree before 1.29": {28, "resources=VCPU:1", candidates.Query{Groups: one, OnePerTree: true}},
		"uses several from 1.29 on":               {29, "resources=VCPU:1", candidates.Query{Groups: one}},
		"may have a limit":                        {39, "resources=VCPU:1&limit=7", candidates.Query{Groups: one, Limit: 7}},
		"takes the first limit":                   {39, "resources=VCPU:1&limit=7&limit=1", candidates.Query{Groups: one, Limit: 7}},
		"has no limit if the limit exceeds 64 bits": {39, "resources=VCPU:1&limit=99999999999999999999", candidates.Query{
			Groups: one}},
		"orders groups by their first parameter": {
			39, "in_tree2=" + gold + "&resources=VCPU:1&required1=A&group_policy=none&resources1=VCPU:3&resources2=VCPU:2",
			candidates.Query{Groups: []candidates.Group{
				{Suffix: "2", Resources: amountsOf("VCPU", 2), InTree: &goldID},
				{Resources: amountsOf("VCPU", 1)},
				{Suffix: "1", Resources: amountsOf("VCPU", 3), Required: [][]string{{"A"}}},
			}},
		},
		"has case-sensitive suffixes": {33, "resources_a=VCPU:1&resources_A=VCPU:2&group_policy=isolate", candidates.Query{
			Groups: []candidates.Group{
				{Suffix: "_a", Resources: amountsOf("VCPU", 1)}, {Suffix: "_A", Resources: amountsOf("VCPU", 2)},
			}, Isolate: true}},
		"may have a suffix that looks like a parameter": {33, "resourcesin_tree=VCPU:1", candidates.Query{
			Groups: []candidates.Group{{Suffix: "in_tree", Resources: amountsOf("VCPU", 1)}}}},
		"may have a suffix of 64 characters": {33, "resources" + strings.Repeat("x", 64) + "=VCPU:1", candidates.Query{
			Groups: []candidates.Group{{Suffix: strings.Repeat("x", 64), Resources: amountsOf("VCPU", 1)}}}},
		"requires and forbids": {39, "resources=VCPU:1&required=A,!B&required=in:C,D", candidates.Query{
			Groups: []candidates.Group{{
				Resources: amountsOf("VCPU", 1), Required: [][]string{{"A"}, {"C", "D"}}, Forbidden: []string{"B"},
			}}}},
		"takes the last required before 1.39": {38, "resources=VCPU:1&required=,&required=B", candidates.Query{
			Groups: []candidates.Group{{Resources: amountsOf("VCPU", 1), Required: [][]string{{"B"}}}}}},
		"may forbid one of several alternatives": {39, "resources=VCPU:1&required=in:A,B&required=!A", candidates.Query{
			Groups: []candidates.Group{{
				Resources: amountsOf("VCPU", 1), Required: [][]string{{"A", "B"}}, Forbidden: []string{"A"},
			}}}},
		"has aggregates": {39, "resources1=VCPU:1&member_of1=" + goldDigits + "&member_of1=!in:" + gold + "," + silver, candidates.Query{
			Groups: []candidates.Group{{
				Suffix: "1", Resources: amountsOf("VCPU", 1), MemberOf: [][]uuid.UUID{{goldID}}, NotMemberOf: []uuid.UUID{goldID, silverID},
			}}}},
		"has a tree in any notation of a UUID": {31, "resources=VCPU:1&in_tree=" + gold + "&in_tree=+urn:uuid:" + strings.ToUpper(silver) + "+", candidates.Query{
			Groups: []candidates.Group{{Resources: amountsOf("VCPU", 1), InTree: &silverID}}}},
		"has traits of the root": {35, "root_required=A,+!B,!!C&resources=VCPU:1", candidates.Query{
			Groups: one, RootRequired: []string{"A"}, RootForbidden: []string{"B", "C"}}},
		"has subtrees": {
			36, "resources=VCPU:1&required_N=A&resources_C=VCPU:2&same_subtree=+_C+,_N,_C&same_subtree=_N&group_policy=none",
			candidates.Query{Groups: []candidates.Group{
				{Resources: amountsOf("VCPU", 1)}, {Suffix: "_N", Required: [][]string{{"A"}}},
				{Suffix: "_C", Resources: amountsOf("VCPU", 2)},
			}, Subtrees: []candidates.Subtree{{Inside: []int{1, 2}}, {Inside: []int{1}}}},
		},
		"isolates groups if the first policy is isolate": {25, "resources1=VCPU:1&group_policy=isolate&group_policy=none", candidates.Query{
			Groups: []candidates.Group{{Suffix: "1", Resources: amountsOf("VCPU", 1)}}, Isolate: true, OnePerTree: true}},
		"does not isolate groups if the first policy is invalid": {25, "resources1=VCPU:1&group_policy=bogus&group_policy=isolate", candidates.Query{
			Groups: []candidates.Group{{Suffix: "1", Resources: amountsOf("VCPU", 1)}}, OnePerTree: true}},
		"limits amounts to 64 bits": {39, "resources=VCPU:99999999999999999999", candidates.Query{
			Groups: []candidates.Group{{Resources: []store.Amount{{Class: "VCPU", Amount: math.MaxInt64}}}}}},
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

// TestCandidates_SeveralErrors_FirstStepReported sends queries with the error of one step and of all later steps.
func TestCandidates_SeveralErrors_FirstStepReported(t *testing.T) {
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
		{"10 groups without resources", policy + conflict + unknown + loose, fault.CodeBadValue,
			"Resourceless suffixed group request should be specified in `same_subtree` query param: bad group(s) - ['3']."},
		{"9 no resources", "required1=A,!A" + unknown + loose, fault.CodeMissingValue,
			"There must be at least one resources or resources[$S] parameter."},
		{"8 trees", "required1=A,!A" + unknown + tree, "", "Invalid query string parameters: Expected 'in_tree' parameter to be a format of uuid. Got: x"},
		{"7 groups", "required1=A,!A" + unknown + tree + groups, "",
			"Invalid query string parameters: Expected 'member_of' parameter to contain valid UUID(s). Got: x"},
		{"6 subtrees", "required1=A,!A" + subtree + tree + groups, fault.CodeBadValue,
			"Empty string (unsuffixed group) can not be specified in `same_subtree` "},
		{"5 conflicting traits of the root", "root_required=B,A,!A,!B,!C" + subtree + groups, fault.CodeBadValue,
			"Conflicting required and forbidden traits found in root_required: A, B"},
		{"4 alternatives of the root", "root_required=in:A,B" + subtree + groups, "",
			"Invalid query string parameters: The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC' only supported since microversion 1.39. Got: in:A,B"},
		{"3 an empty trait of the root", "root_required=A,,!A" + subtree + groups, "", "Invalid query string parameters: " +
			"Expected 'required' parameter value of the form: HW_CPU_X86_VMX,!CUSTOM_MAGIC. Got an empty trait in: A,,!A"},
		{"2 repeated root_required", "root_required=,&" + rootTwice + subtree + groups, fault.CodeDuplicateKey,
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

func TestCandidates_GroupErrors_ReportedInQueryOrder(t *testing.T) {
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

func TestCandidates_InvalidQuery_ErrorTextMatchesContract(t *testing.T) {
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
		{"an invalid limit before a valid one", 16, "resources=VCPU:1&limit=x&limit=1", "", "Invalid query string parameters: 'x' does not match '^[1-9][0-9]*$'"},
		{"repeated aggregates of a group before repetition is supported", 23, "resources=VCPU:1&member_of=" + gold + "&member_of=" + gold, "",
			"Multiple member_of parameters are not supported"},
		{"forbidden aggregates of a group before they are supported", 31, "resources1=VCPU:1&member_of1=!" + gold, "",
			"Forbidden member_of1 parameters are not supported in the specified microversion"},
		{"a list of aggregates without its prefix, named without suffix", 39, "resources1=VCPU:1&member_of1=" + gold + "," + gold, "",
			"Multiple values for 'member_of' must be prefixed with the 'in:' or '!in:' keyword using the valid microversion. Got: " + gold + "," + gold},
		{"an invalid tree, quoted as it was sent", 31, "resources=VCPU:1&in_tree=+x+", "", "Invalid query string parameters: Expected 'in_tree' parameter to be a format of uuid. Got:  x "},
		{"a tree whose first value is not a UUID", 31, "resources=VCPU:1&in_tree=x&in_tree=" + gold, "", "Invalid query string parameters: Expected 'in_tree'"},
		{"traits without resources", 35, "required1=A&required=B&resources3=VCPU:1&required2=!C&required10=D", "",
			"All traits parameters must be associated with resources.  Found the following orphaned traits keys: required1, required, required10"},
		{"aggregates without resources", 35, "member_of3=" + gold + "&member_of=!" + gold + "&resources1=VCPU:1", "",
			"All member_of parameters must be associated with resources. Found the following orphaned member_of keys: member_of3, member_of"},
		{"forbidden traits without resources", 25, "resources=VCPU:1&required1=!A", "", "All request groups must specify resources."},
		{"a tree without resources", 31, "in_tree=" + gold, "", "All request groups must specify resources."},
		{"no group", 25, "", "", "At least one request group (`resources` or `resources{$S}`) is required."},
		{"no group at 1.36", 36, "group_policy=none", fault.CodeMissingValue, "There must be at least one resources or resources[$S] parameter."},
		{"the group without suffix has no resources", 36, "resources1=VCPU:1&required=A&same_subtree=1", fault.CodeBadValue,
			"Resourceless suffixed group request should be specified in `same_subtree` query param: bad group(s) - ['']."},
		{"several groups have no resources", 36, "required_B=A&resources1=VCPU:1&required=A&required_A=A", fault.CodeBadValue,
			"Resourceless suffixed group request should be specified in `same_subtree` query param: bad group(s) - ['_B', '', '_A']."},
		{"suffixes of no group", 36, "resources_C=VCPU:1&resources=VCPU:1&same_subtree=_B,it's,_C&same_subtree=_B,%5C", fault.CodeBadValue,
			"Real suffixes should be specified in `same_subtree`: ['_B', 'it\\'s', '\\\\'] not found in ['_C', '']."},
		{"conflicts, sorted", 39, "resources1=VCPU:1&required1=in:B,A&required1=!A,!B&required=C,!C,E,D,!D&resources=VCPU:1", "",
			"Conflicting required and forbidden traits found in the following traits keys: required1: (A, B), required: (C), required: (D)"},
		{"an empty policy before a valid one", 25, "resources1=VCPU:1&resources2=VCPU:1&group_policy=&group_policy=none", "",
			`The "group_policy" parameter is required`},
		{"groups without resources need a policy too", 36, "resources_C=VCPU:1&required_X=A&same_subtree=_C,_X", "", `The "group_policy" parameter is required`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			wantFault(t, v(test.at), test.query, test.code, test.want)
		})
	}
}
