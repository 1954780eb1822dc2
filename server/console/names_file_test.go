package console

import (
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestConsole_AggregateNamesFile_ReadsNamesOrNamesLine(t *testing.T) {
	t.Parallel()
	id := uuid.MustParse("a9900000-0000-4000-8000-000000000001")
	found, err := ReadAggregateNames(strings.NewReader("# racks\n" + id.String() + ": rack-a\n"))
	if err != nil || found[id] != "rack-a" || len(found) != 1 {
		t.Errorf("names = %v, %v", found, err)
	}
	if found, err := ReadAggregateNames(strings.NewReader("")); err != nil || len(found) != 0 {
		t.Errorf("names of an empty file = %v, %v", found, err)
	}
	for text, line := range map[string]string{
		"\nrack-a: a9900000\n":                        "line 2",
		id.String() + ":\n":                           "line 1",
		id.String() + ": [a]\n":                       "line 1",
		id.String() + ": a\n" + id.String() + ": b\n": "line 2",
		"- a\n": "line 1",
	} {
		if _, err := ReadAggregateNames(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), line) {
			t.Errorf("error of %q = %v, want %s", text, err, line)
		}
	}
}

func TestConsole_ShapesFile_ReadsQueryStringsAndBodies(t *testing.T) {
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
		{"m1.large", "required=CUSTOM_SSD&resources=VCPU%3A4%2CMEMORY_MB%3A16384"},
		{"gpu", "can_split=DISK_GB&group_policy=none&in_tree_GPU=U3&member_of_GPU=in%3AU1%2CU2&required_GPU=CUSTOM_A100&required_GPU=%21CUSTOM_OLD" +
			"&resources=DISK_GB%3A20&resources_GPU=VGPU%3A1&root_required=CUSTOM_T1%2C%21CUSTOM_T2&same_subtree=_GPU%2C_CPU"},
	} {
		if found[i] != want {
			t.Errorf("shape = %v, want %v", found[i], want)
		}
	}
}

func TestConsole_ShapesFileWithMistake_NamesLine(t *testing.T) {
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
