package placement

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/wire/fault"
)

func TestCandidates_ExtendedQuery_Parsed(t *testing.T) {
	t.Parallel()
	one := candidates.Group{Resources: amountsOf("VCPU", 1)}
	a, b := candidates.Group{Suffix: "_A", Resources: amountsOf("VGPU", 1)}, candidates.Group{Suffix: "_B", Resources: amountsOf("VGPU", 2)}
	const three = "resources=VCPU:1&resources_A=VGPU:1&resources_B=VGPU:2"
	for name, test := range map[string]struct {
		query string
		want  candidates.Query
	}{
		"needs no policy": {three, candidates.Query{Groups: []candidates.Group{one, a, b}}},
		"has the first policy": {three + "&group_policy=isolate&group_policy=none",
			candidates.Query{Groups: []candidates.Group{one, a, b}, Isolate: true}},
		"has aggregates of the root": {
			"resources=VCPU:1&root_member_of=" + goldDigits + "&root_member_of=in:" + gold + "," + silver + "&root_member_of=!" + gold + "&root_member_of=!in:" + silver,
			candidates.Query{
				Groups: []candidates.Group{one}, RootMemberOf: [][]uuid.UUID{{goldID}, {goldID, silverID}}, RootNotMemberOf: []uuid.UUID{goldID, silverID},
			}},
		"may want and forbid an aggregate": {"resources=VCPU:1&root_member_of=" + gold + "&root_member_of=!" + gold,
			candidates.Query{Groups: []candidates.Group{one}, RootMemberOf: [][]uuid.UUID{{goldID}}, RootNotMemberOf: []uuid.UUID{goldID}}},
		"has sets of isolated groups": {three + "&required_X=T&isolate=+_B+,_A,_B&isolate=_X,_A&group_policy=none",
			candidates.Query{
				Groups: []candidates.Group{one, a, b, {Suffix: "_X", Required: [][]string{{"T"}}}}, Isolated: [][]int{{1, 2}, {1, 3}},
			}},
		"has subtrees without groups": {three + "&same_subtree=!+_B,_A,!_B,_A&same_subtree=_B",
			candidates.Query{
				Groups: []candidates.Group{one, a, b}, Subtrees: []candidates.Subtree{{Inside: []int{1}, Outside: []int{2}}, {Inside: []int{2}}},
			}},
		"splits classes": {"resources=VCPU:1,DISK_GB:2&can_split=DISK_GB,+VCPU&can_split=VCPU",
			candidates.Query{Groups: []candidates.Group{{Resources: amountsOf("VCPU", 1, "DISK_GB", 2)}}, CanSplit: []string{"DISK_GB", "VCPU"}}},
		"has groups that are conditions": {"resources=VCPU:1&required_X=!T&in_tree_Y=" + gold + "&member_of_Z=" + gold,
			candidates.Query{Groups: []candidates.Group{
				one, {Suffix: "_X", Forbidden: []string{"T"}}, {Suffix: "_Y", InTree: &goldID}, {Suffix: "_Z", MemberOf: [][]uuid.UUID{{goldID}}},
			}}},
		"is ordered by creation":       {"resources=VCPU:1&order=id", candidates.Query{Groups: []candidates.Group{one}, Order: candidates.Order{By: candidates.OrderID}}},
		"is random":                    {"resources=VCPU:1&order=random", candidates.Query{Groups: []candidates.Group{one}, Order: candidates.Order{By: candidates.OrderRandom}}},
		"is packed":                    {three + "&order=pack:VGPU", candidates.Query{Groups: []candidates.Group{one, a, b}, Order: candidates.Order{By: candidates.OrderPack, Class: "VGPU"}}},
		"is spread":                    {"resources=VCPU:1&order=spread:VCPU", candidates.Query{Groups: []candidates.Group{one}, Order: candidates.Order{By: candidates.OrderSpread, Class: "VCPU"}}},
		"has the first limit of trees": {"resources=VCPU:1&limit_per_tree=2&limit_per_tree=9&limit=3", candidates.Query{Groups: []candidates.Group{one}, Limit: 3, LimitPerTree: 2}},
		"has no limit beyond 64 bits":  {"resources=VCPU:1&limit_per_tree=99999999999999999999", candidates.Query{Groups: []candidates.Group{one}}},
		"has suffixes that look special": {"resourcesorder=VGPU:1&resourcesin_tree=VGPU:2&isolate=order,in_tree", candidates.Query{
			Groups: []candidates.Group{{Suffix: "order", Resources: amountsOf("VGPU", 1)}, {Suffix: "in_tree", Resources: amountsOf("VGPU", 2)}}, Isolated: [][]int{{0, 1}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := askedAt(t, berth11, test.query)
			if err != nil {
				t.Fatal(err)
			}
			test.want.Extended = true
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("%s\ngot  %s\nwant %s", test.query, asJSON(t, got), asJSON(t, test.want))
			}
		})
	}
}

// TestCandidates_ExtendedSeveralErrors_FirstStepReported sends queries with the error of one step and of all later steps.
func TestCandidates_ExtendedSeveralErrors_FirstStepReported(t *testing.T) {
	t.Parallel()
	const value, undefined = fault.CodeExtensionBadValue, ""
	query := ""
	for _, step := range []struct{ add, code, want string }{
		{"resources_A=VGPU:1&resources_B=VGPU:1&required_A=T,!T", undefined, "Conflicting required and forbidden traits found in the following traits keys: required_A: (T)"},
		{"order=pack:VCPU", value, "`order` names a class that no group asks for: VCPU."},
		{"can_split=VGPU,DISK_GB,+DISK_GB&can_split=MEMORY_MB", value, "`can_split` names classes that the group without a suffix does not ask for: VGPU, DISK_GB, MEMORY_MB."},
		{"isolate=_A,_D&isolate=_E,_D,it's", fault.CodeExtensionUnknownGroup, `Real suffixes should be specified in ` + "`isolate`" + `: ['_D', '_E', 'it\'s'] not found in ['_A', '_B'].`},
		{"same_subtree=_A,!_D&same_subtree=_E,_D", fault.CodeBadValue, "Real suffixes should be specified in `same_subtree`: ['_D', '_E'] not found in ['_A', '_B']."},
		{"member_of=" + gold, value, "The group without a suffix asks for no resources. Give it a suffix, or use root_required and root_member_of for what the root must have."},
		{"in_tree_A=x", undefined, "Invalid query string parameters: Expected 'in_tree' parameter to be a format of uuid. Got: x"},
		{"required_B=,", undefined, "Invalid query string parameters: Expected 'required' parameter"},
		{"order=big", fault.CodeExtensionDuplicateKey, "Query parameter 'order' may be specified only once."},
		{"can_split=VGPU,+", value, "`can_split` has an empty class name. Got: VGPU, "},
		{"isolate=_A,_A,+_A", value, "`isolate` must name at least two groups. Got: _A,_A, _A"},
		{"isolate=_A,", value, "Empty string (unsuffixed group) can not be specified in `isolate`"},
		{"same_subtree=!_A,!_B", value, "`same_subtree` must name at least one group without '!'. Got: !_A,!_B"},
		{"same_subtree=!_A,_B,!_B", value, "`same_subtree` names group '_B' both with and without '!'. Got: !_A,_B,!_B"},
		{"same_subtree=_A,!+", fault.CodeBadValue, "Empty string (unsuffixed group) can not be specified in `same_subtree` "},
		{"root_member_of=!in:" + gold + ",silver", value, "Expected 'root_member_of' parameter to contain valid UUID(s). Got: silver"},
		{"root_member_of=!" + gold + "," + gold, value, "Several values of 'root_member_of' must be prefixed with 'in:' or '!in:'. Got: !" + gold + "," + gold},
		{"root_required=in:A", undefined, "Invalid query string parameters: The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC' only supported since microversion 1.39."},
		{"limit_per_tree=0", undefined, "Invalid query string parameters: '0' does not match '^[1-9][0-9]*$'"},
	} {
		query += "&" + step.add
		wantFault(t, berth11, query, step.code, step.want)
	}
}

func TestCandidates_ExtendedInvalidQuery_ErrorTextMatchesContract(t *testing.T) {
	t.Parallel()
	const value = fault.CodeExtensionBadValue
	for _, test := range []struct{ query, code, want string }{
		{"resources=VCPU:1&root_member_of=", value, "Expected 'root_member_of' parameter to contain valid UUID(s). Got: "},
		{"resources=VCPU:1&root_member_of=!", value, "Expected 'root_member_of' parameter to contain valid UUID(s). Got: "},
		{"resources=VCPU:1&resources_A=VCPU:1&isolate=_A", value, "`isolate` must name at least two groups. Got: _A"},
		{"resources_A=VCPU:1&resources_B=VCPU:1&isolate=_A,_B&group_policy=isolate", fault.CodeExtensionConflict,
			"`isolate` cannot be combined with group_policy=isolate, which isolates all groups with a suffix already."},
		{"resources=VCPU:1&can_split=", value, "`can_split` has an empty class name. Got: "},
		{"resources_A=VCPU:1&can_split=VCPU", value, "`can_split` names classes that the group without a suffix does not ask for: VCPU."},
		{"resources=VCPU:1&order=", value, "Expected 'order' parameter to be one of: id, pack:CLASS, spread:CLASS, random. Got: "},
		{"resources=VCPU:1&order=id:VCPU", value, "Expected 'order' parameter to be one of: id, pack:CLASS, spread:CLASS, random. Got: id:VCPU"},
		{"resources=VCPU:1&order=pack:", value, "Expected 'order' parameter to be one of: id, pack:CLASS, spread:CLASS, random. Got: pack:"},
		{"resources=VCPU:1&order=random:", value, "Expected 'order' parameter to be one of: id, pack:CLASS, spread:CLASS, random. Got: random:"},
		{"resources=VCPU:1&order=pack", value, "Expected 'order' parameter to be one of: id, pack:CLASS, spread:CLASS, random. Got: pack"},
		{"resources=VCPU:1&order=pack:VCPU:1", value, "`order` names a class that no group asks for: VCPU:1."},
		{"resources=VCPU:1&order=id&order=id", fault.CodeExtensionDuplicateKey, "Query parameter 'order' may be specified only once."},
		{"required_X=A", fault.CodeMissingValue, "There must be at least one resources or resources[$S] parameter."},
		{"resources=VCPU:1&limit_per_tree=x&limit_per_tree=1", "", "Invalid query string parameters: 'x' does not match '^[1-9][0-9]*$'"},
		{"resources=VCPU:1&limit_per_tree=2&limit_per_tree=0&limit_per_tree=1", "", "Invalid query string parameters: '0' does not match '^[1-9][0-9]*$'"},
		{"resources=VCPU:1&group_policy=x", "", "Invalid query string parameters: 'x' is not one of ['none', 'isolate']"},
		{"resources=VCPU:1&can_split_A=VCPU&root_member_of1=" + gold, "", "Invalid query string parameters: " +
			"'can_split_A', 'root_member_of1' do not match any of the regexes: '^in_tree([a-zA-Z0-9_-]{1,64})?$', "},
	} {
		wantFault(t, berth11, test.query, test.code, test.want)
	}
}

func TestCandidates_WithoutExtensions_ParametersUnknown(t *testing.T) {
	t.Parallel()
	for _, given := range []string{"root_member_of=" + gold, "isolate=_A,_B", "can_split=VCPU", "order=id", "limit_per_tree=1"} {
		name, _, _ := strings.Cut(given, "=")
		wantFault(t, v(39), "resources=VCPU:1&"+given, "", "Invalid query string parameters: '"+name+"' does not match any of the regexes: ")
	}
	wantFault(t, v(39), "resources_A=VCPU:1&resources_B=VCPU:1&same_subtree=_A,!_B&group_policy=none", fault.CodeBadValue,
		"Real suffixes should be specified in `same_subtree`: ['!_B'] not found in ['_A', '_B'].")
	wantFault(t, v(39), "resources_A=VCPU:1&required_B=T", fault.CodeBadValue,
		"Resourceless suffixed group request should be specified in `same_subtree` query param: bad group(s) - ['_B'].")
	wantFault(t, v(39), "resources_A=VCPU:1&resources_B=VCPU:1", "", `The "group_policy" parameter is required`)
}

func TestCandidates_QueryOrder_ReplacesServerSettings(t *testing.T) {
	t.Parallel()
	for by, randomize := range map[candidates.OrderBy]bool{candidates.OrderID: false, candidates.OrderRandom: true, candidates.OrderPack: false} {
		for _, setting := range []bool{false, true} {
			asked := candidates.Query{Order: candidates.Order{By: by}, Limit: 9}
			CandidateOptions{Max: 5, Strategy: "breadth-first", Randomize: setting, Budget: 7}.apply(&asked)
			if asked.BreadthFirst || asked.Randomize != randomize || asked.Limit != 5 || asked.Budget != 7 {
				t.Errorf("order %d with randomize %v: %+v", by, setting, asked)
			}
		}
	}
}
