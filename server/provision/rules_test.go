package provision

import (
	"slices"
	"testing"
)

// where lists the states for which a rule holds, the ones that are only named included.
func where(holds func(state string) bool) []string {
	var states []string
	for _, state := range slices.Concat(reached, named) {
		if holds(state) {
			states = append(states, state)
		}
	}
	slices.Sort(states)
	return states
}

func TestRulesHoldInExactlyTheStatesTheAPINames(t *testing.T) {
	t.Parallel()
	updatable := []string{"adopt failed", "clean failed", "deploy failed", "error", "inspect failed", "inspect wait", "inspecting",
		"rescue failed", "unrescue failed", "verifying"}
	unbound := []string{"available", "enroll", "inspect wait", "inspecting", "manageable"}
	for name, rule := range map[string]struct {
		holds func(string) bool
		want  []string
	}{
		"updates with a target":          {func(s string) bool { return AllowsUpdates(s, Available) }, updatable},
		"deleting the allocation":        {func(s string) bool { return AllowsAllocationDelete(s, Available, false) }, updatable},
		"removing the instance":          {func(s string) bool { return AllowsInstanceRemoval(s, false) }, unbound},
		"another resource class":         {AllowsClassChange, unbound},
		"deleting the node":              {func(s string) bool { return AllowsNodeDelete(s, false) }, []string{"adopt failed", "available", "enroll", "manageable"}},
		"a failed state":                 {Failed, []string{"adopt failed", "clean failed", "deploy failed", "error", "inspect failed"}},
		"a transient state":              {Transient, []string{"adopting", "cleaning", "deleting", "deploying", "inspecting", "verifying"}},
		"an allocation deleted at rest":  {func(s string) bool { return !AllowsAllocationDelete(s, "", false) }, []string{"active"}},
		"nothing refused in maintenance": {func(s string) bool { return !AllowsAllocationDelete(s, Available, true) }, nil},
	} {
		if got := where(rule.holds); !slices.Equal(got, rule.want) {
			t.Errorf("%s holds in %q, want %q", name, got, rule.want)
		}
	}
	for _, state := range slices.Concat(reached, named) {
		if !AllowsUpdates(state, "") || !AllowsInstanceRemoval(state, true) || !AllowsNodeDelete(state, true) {
			t.Errorf("state %q: refused at rest or in maintenance", state)
		}
	}
}

func TestFiltersKnowEveryStateOfTheAPI(t *testing.T) {
	t.Parallel()
	if all := len(States()) + len(named); all != 24 {
		t.Errorf("there are %d states", all)
	}
	for _, state := range slices.Concat(States(), named) {
		if !IsState(state) {
			t.Errorf("%q is no state", state)
		}
	}
	for _, name := range []string{"", "Available", "nowhere", "manage"} {
		if IsState(name) {
			t.Errorf("%q is a state", name)
		}
	}
}

func TestMaintenanceForbidsWhatPutsASystemOnTheNode(t *testing.T) {
	t.Parallel()
	var refused []string
	for _, verb := range everyVerb {
		if !AllowsInMaintenance(verb) {
			refused = append(refused, verb)
		}
	}
	if want := []string{Clean, Activate, Deploy, Rebuild}; !slices.Equal(refused, want) {
		t.Errorf("refused in maintenance: %q, want %q", refused, want)
	}
}
