package provision

import (
	"slices"
	"testing"
)

// apiStates lists the provision states of the Bare Metal API a second time, with their rules.
var apiStates = []struct {
	name string
	// entered: Berth's nodes can enter it; transient: a conductor works on the node.
	entered, transient bool
	// updatable: a node with a target can be changed; unallocatedStates: the node is not in use.
	updatable, unallocatedStates bool
}{
	{name: "enroll", entered: true, unallocatedStates: true},
	{name: "verifying", entered: true, transient: true, updatable: true},
	{name: "manageable", entered: true, unallocatedStates: true},
	{name: "inspecting", entered: true, transient: true, updatable: true, unallocatedStates: true},
	{name: "inspect wait", updatable: true, unallocatedStates: true},
	{name: "inspect failed", entered: true, updatable: true},
	{name: "cleaning", entered: true, transient: true},
	{name: "clean wait"},
	{name: "clean failed", entered: true, updatable: true},
	{name: "available", entered: true, unallocatedStates: true},
	{name: "deploying", entered: true, transient: true},
	{name: "wait call-back"},
	{name: "deploy failed", entered: true, updatable: true},
	{name: "active", entered: true},
	{name: "adopting", entered: true, transient: true},
	{name: "adopt failed", entered: true, updatable: true},
	{name: "deleting", entered: true, transient: true},
	{name: "error", entered: true, updatable: true},
	{name: "rescue"},
	{name: "rescuing"},
	{name: "rescue wait"},
	{name: "rescue failed", updatable: true},
	{name: "unrescuing"},
	{name: "unrescue failed", updatable: true},
}

func TestNode_RulesInEachState_FollowTheContract(t *testing.T) {
	t.Parallel()
	for _, state := range apiStates {
		for rule, c := range map[string]struct{ got, want bool }{
			"is a state":                      {IsState(state.name), true},
			"is entered":                      {slices.Contains(States(), state.name), state.entered},
			"is transient":                    {Transient(state.name), state.transient},
			"allows updates with a target":    {AllowsUpdates(state.name, Available), state.updatable},
			"allows updates without a target": {AllowsUpdates(state.name, ""), true},
			"allows instance removal":         {AllowsInstanceRemoval(state.name, false), state.unallocatedStates},
			"allows it in maintenance":        {AllowsInstanceRemoval(state.name, true), true},
			"allows a class change":           {AllowsClassChange(state.name), state.unallocatedStates},
		} {
			if c.got != c.want {
				t.Errorf("%q %s: got %v, want %v", state.name, rule, c.got, c.want)
			}
		}
	}
}

// The package must have exactly the states of the contract.
func TestNode_States_AreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	var want []string
	for _, state := range apiStates {
		want = append(want, state.name)
	}
	slices.Sort(want)
	if got := slices.Sorted(slices.Values(slices.Concat(reachableStates, nameOnlyStates))); !slices.Equal(got, want) {
		t.Errorf("states = %q, want %q", got, want)
	}
	for _, name := range []string{"", "Available", "nowhere", "manage"} {
		if IsState(name) {
			t.Errorf("%q is a state, want none", name)
		}
	}
}

func TestNode_VerbsInMaintenance_OnlySomeAreAllowed(t *testing.T) {
	t.Parallel()
	allowed := map[string]bool{"manage": true, "provide": true, "inspect": true, "adopt": true, "deleted": true, "undeploy": true,
		"abort": true, "clean": false, "active": false, "deploy": false, "rebuild": false}
	for verb, want := range allowed {
		if got := AllowsInMaintenance(verb); got != want {
			t.Errorf("%s in maintenance: allowed = %v, want %v", verb, got, want)
		}
	}
}
