package querytext

import (
	"slices"
	"testing"
)

func TestCandidates_QuestionOrdered_KeepsEachParameter(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"resources=VCPU:1&limit=2": "resources=VCPU:1&limit=2",
		"limit=2&resources=VCPU:1": "resources=VCPU:1&limit=2",
		"resources_A=VCPU:1&resources=DISK_GB:2&required_A=X&required_A=in:Y,Z": "resources=DISK_GB:2&resources_A=VCPU:1&required_A=X&required_A=in:Y,Z",
		"required=A&resources=VCPU:1&required=in:X,Y&required=!B,C":             "resources=VCPU:1&required=A,!B,C&required=in:X,Y",
		"resources=VCPU:1&required=A,,B&required=C":                             "resources=VCPU:1&required=A,,B&required=C",
		"limit=1&limit=2&resources=VCPU&color=red&in_tree=":                     "limit=1&limit=2&resources=VCPU&color=red&in_tree=",
		"resources=VCPU%3A1&&=x&same_subtree=_A%2C%21_B&explain=%zz":            "resources=VCPU:1&same_subtree=_A,!_B",
	} {
		if got := Encode(New(Parse(raw)).Ordered()); got != want {
			t.Errorf("%s becomes %s, want %s", raw, got, want)
		}
	}
	if got := Parse("resources=VCPU:1&show=2", "show"); len(got) != 1 {
		t.Errorf("parameters = %v", got)
	}
}

func TestCandidates_QuestionText_HasWhatAFormCannotShow(t *testing.T) {
	t.Parallel()
	q := New(Parse("resources=VCPU:1&resources=VCPU:2&resources_A=B&limit=1&limit=2&color=red&required=X"))
	if got := Encode(q.Text); got != "resources=VCPU:2&resources_A=B&limit=2&color=red" {
		t.Errorf("text = %s", got)
	}
}

func TestCandidates_QuestionFromFields_JoinsAmounts(t *testing.T) {
	t.Parallel()
	fields := Parse("resources-class=VCPU&resources-amount=4&resources-class=&resources-amount=9&resources-class=DISK_GB&resources-amount=&required=&required=X&text=color%3Dred%26limit%3D2&add=group")
	if got := Encode(FromFields(fields)); got != "resources=VCPU:4,DISK_GB:1&required=X&color=red&limit=2&add=group" {
		t.Errorf("query = %s", got)
	}
	for value, want := range map[string]int{"A,!B": 2, "in:A,B": 1, "A,,B": 1, "A": 1} {
		if got := Elements("required_GPU", value); len(got) != want {
			t.Errorf("elements of %s = %q, want %d", value, got, want)
		}
	}
	if got := Elements("same_subtree", "_A,_B"); len(got) != 1 {
		t.Errorf("elements of a set of groups = %q, want 1", got)
	}
}

func TestCandidates_QuestionFromText_ReadsAddressesAndFlavors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`curl -H 'X-Auth-Token: t' 'http://h:1/placement/allocation_candidates?resources=VCPU:1&limit=2'`:                           "resources=VCPU:1&limit=2",
		"https://h/console/candidates/funnel?resources=VCPU:1":                                                                      "resources=VCPU:1",
		"resources:VCPU=4\nresources:DISK_GB=0\ntrait:HW_X='required'\ntrait1:Y=forbidden\nresources1:VGPU=1\ngroup_policy=isolate": "resources=VCPU:4&required=HW_X&resources1=VGPU:1&required1=!Y&group_policy=isolate",
		`{"resources:VCPU": "4"}`: "resources=VCPU:4",
		"?resources=VCPU:1":       "resources=VCPU:1",
		"hello":                   "", "a = b": "",
	} {
		if got := FromText(text); got != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
}

func TestCandidates_QuestionAmounts_ByGroupInOrder(t *testing.T) {
	t.Parallel()
	q := New(Parse("resources=DISK_GB:2&resources1=VCPU:3,VGPU:x"))
	amounts, classes := q.ByGroup()
	if amounts["1"]["VCPU"] != 3 || amounts[""]["DISK_GB"] != 2 || !slices.Equal(classes, []string{"DISK_GB", "VCPU", "VGPU"}) || q.FreeSuffix() != "2" {
		t.Errorf("amounts = %v, classes = %v, free suffix = %s", amounts, classes, q.FreeSuffix())
	}
}
