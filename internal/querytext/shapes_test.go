package querytext

import (
	"reflect"
	"strings"
	"testing"

	"github.com/berthd/berth/client"
)

func TestCandidates_ShapesFile_ReadsQueryStringsAndBodies(t *testing.T) {
	t.Parallel()
	found, err := ReadShapes(strings.NewReader(`
- name: m1.large
  query: resources=VCPU:4,MEMORY_MB:16384&required=CUSTOM_SSD
- name: gpu
  query:
    groups:
      "": {resources: {DISK_GB: 20}}
      _GPU: {resources: {VGPU: 1}, required: ["CUSTOM_A100", "!CUSTOM_OLD"], member_of: ["in:U1,U2"], in_tree: U3}
    root_required: [CUSTOM_T1, "!CUSTOM_T2"]
    same_subtree: [[_GPU, _CPU]]
    can_split: [DISK_GB]
    group_policy: none
`))
	if err != nil || len(found) != 2 {
		t.Fatalf("shapes = %v, %v", found, err)
	}
	for i, want := range []Shape{
		{"m1.large", "resources=VCPU:4,MEMORY_MB:16384&required=CUSTOM_SSD"},
		{"gpu", "resources=DISK_GB:20&resources_GPU=VGPU:1&required_GPU=CUSTOM_A100,!CUSTOM_OLD&member_of_GPU=in:U1,U2&in_tree_GPU=U3" +
			"&same_subtree=_GPU,_CPU&group_policy=none&root_required=CUSTOM_T1,!CUSTOM_T2&can_split=DISK_GB"},
	} {
		if found[i] != want {
			t.Errorf("shape = %v, want %v", found[i], want)
		}
	}
}

func TestCandidates_ShapesFileWithMistake_NamesLine(t *testing.T) {
	t.Parallel()
	for text, line := range map[string]string{
		"name: a":                              "line 1",
		"- name: a\n  query: resources=VCPU\n": "line 2",
		"- name: a\n  query: required=A\n":     "line 2",
		"- name: a\n  query: {groups: {\"\": {resource: {A: 1}}}}\n":                   "line 2",
		"- name: a\n  query: {group: 1}\n":                                             "line 2",
		"- name: a\n  query: {groups: 1}\n":                                            "line 2",
		"- name: a\n  quest: resources=VCPU:1\n":                                       "line 2",
		"- query: resources=VCPU:1\n":                                                  "line 1",
		"- name: a\n  query: resources=VCPU:1\n- name: a\n  query: resources=VCPU:1\n": "line 4",
	} {
		if found, err := ReadShapes(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), line) {
			t.Errorf("shapes of %q = %v, %v, want an error of %s", text, found, err, line)
		}
	}
}

func TestCandidates_QuestionForClient_HasAllParameters(t *testing.T) {
	t.Parallel()
	const query = "resources=VCPU:4,DISK_GB:20&required=A&required=in:B,C&member_of=U&in_tree=T&resources_N=VCPU:8&required_N=!D" +
		"&same_subtree=_N,_M&isolate=_N,_M&group_policy=none&root_required=E,!F&root_member_of=V&not_in_tree=W,X&can_split=VCPU&order=id&limit=3"
	asked := New(Parse(query))
	if err := asked.Check(); err != nil {
		t.Fatal(err)
	}
	want := client.CandidateQuery{
		Resources: "VCPU:4,DISK_GB:20", Required: []string{"A", "in:B,C"}, MemberOf: []string{"U"}, InTree: "T", SameSubtree: []string{"_N,_M"},
		Isolate: [][]string{{"_N", "_M"}}, GroupPolicy: "none", RootRequired: "E,!F", RootMemberOf: []string{"V"}, NotInTree: []string{"W", "X"},
		CanSplit: []string{"VCPU"}, Groups: []client.GroupQuery{{Suffix: "_N", Resources: "VCPU:8", Required: []string{"!D"}}},
	}
	if found := asked.Candidates(); !reflect.DeepEqual(found, want) {
		t.Errorf("query = %+v, want %+v", found, want)
	}
	if units := asked.Units(); !reflect.DeepEqual(units, []client.CapacityUnit{{Class: "VCPU", Amount: 8}, {Class: "DISK_GB", Amount: 20}}) {
		t.Errorf("units = %v", units)
	}
	for _, query := range []string{"", "required=A", "resources=VCPU", "resources=VCPU:0", "resources=VCPU:x", "resources=VCPU:1&color=red"} {
		if New(Parse(query)).Check() == nil {
			t.Errorf("%q has no error", query)
		}
	}
}
