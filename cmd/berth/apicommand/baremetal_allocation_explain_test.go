package apicommand

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/client/baremetal"
)

func TestExplain_NodeAllocationText_AllSections(t *testing.T) {
	t.Parallel()
	missing := []baremetal.Missing{
		{Step: "available", Value: "active"}, {Step: "no_instance"}, {Step: "no_maintenance"}, {Step: "powered"}, {Step: "owner"}, {Step: "candidate_nodes"},
		{Step: "traits", Value: "CUSTOM_A"}, {Step: "traits", Value: "!CUSTOM_B"}, {Step: "traits", Value: "in:CUSTOM_C,CUSTOM_D"}, {Step: "unclaimed"}, {Step: "later"},
	}
	stages := []baremetal.ExplanationStage{{Stage: "all", Nodes: 1200}, {Stage: "resource_class", Value: "gold", Nodes: 40}}
	for _, one := range missing {
		if one.Step == "available" {
			one.Value = ""
		}
		stages = append(stages, baremetal.ExplanationStage{Stage: one.Step, Value: one.Value, Nodes: 4})
	}
	stages = append(stages, baremetal.ExplanationStage{Stage: "last"}, baremetal.ExplanationStage{Stage: "not shown"})
	for name, test := range map[string]struct {
		of   baremetal.Explanation
		want string
	}{
		"short form": {baremetal.Explanation{Reason: "busy", Summary: "No node of the class was free when the allocation was decided.", Incomplete: true},
			`Nothing fits: busy
No node of the class was free when the allocation was decided.
The explanation is incomplete: the service had no time for the rest.
`},
		"all sections": {baremetal.Explanation{
			Reason: "claimed", Summary: "All 4 nodes that fit are claimed through Placement. Nearest: rack-1 lacks a free unit in Placement.",
			Funnel: stages, Nearest: []baremetal.NearNode{
				{Node: baremetal.NodeName{Name: new("rack-1\x1b")}, Missing: missing},
				{Node: baremetal.NodeName{UUID: uuid.Nil}, Missing: missing[:1]},
			}, Relaxations: []baremetal.Relaxation{{Change: "drop", Value: "traits=CUSTOM_A", Nodes: 12}, {Change: "replace", Value: "resource_class=golf", Nodes: 3}},
		}, `Nothing fits: claimed
All 4 nodes that fit are claimed through Placement. Nearest: rack-1 lacks a free
unit in Placement.

NODES
    1200  all
      40  of class gold
       4  available
       4  without an instance
       4  not in maintenance
       4  with a known power state
       4  that the owner may use
       4  among the candidate nodes
       4  with CUSTOM_A
       4  without CUSTOM_B
       4  with one of CUSTOM_C, CUSTOM_D
       4  not claimed through Placement
       4  later
       0  last

NEAREST
  rack-1\x1b                            is active, has an instance, is in
                                        maintenance, has no known power state,
                                        has another owner, is no candidate node,
                                        has no CUSTOM_A, has the trait CUSTOM_B,
                                        has none of CUSTOM_C, CUSTOM_D, has no
                                        free unit in Placement, later
  00000000-0000-0000-0000-000000000000  is active

WOULD FIT
      12  without traits=CUSTOM_A
       3  with resource_class=golf
`},
		"fits": {baremetal.Explanation{Reason: "fits", Summary: "2 nodes fit."}, "Fits.\n2 nodes fit.\n"},
	} {
		var got strings.Builder
		if err := nodeExplanationText(&test.of).print(&got); err != nil || got.String() != test.want {
			t.Errorf("%s: %v\n%s\nwant:\n%s", name, err, got.String(), test.want)
		}
	}
}
