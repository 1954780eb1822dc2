package provision

import (
	"maps"
	"slices"
	"testing"
)

// journeys lists every edge a second time, in the terms of the API: from, verb or result of the work, target before,
// to, target after.
var journeys = []struct{ from, how, before, to, after string }{
	{"enroll", "manage", "", "verifying", "manageable"},
	{"verifying", "done", "manageable", "manageable", ""},
	{"verifying", "fail", "manageable", "enroll", ""},
	{"available", "manage", "", "manageable", ""},
	{"clean failed", "manage", "available", "manageable", ""},
	{"inspect failed", "manage", "manageable", "manageable", ""},
	{"adopt failed", "manage", "active", "manageable", ""},
	{"manageable", "provide", "", "cleaning", "available"},
	{"manageable", "clean", "", "cleaning", "manageable"},
	{"cleaning", "done", "available", "available", ""},
	{"cleaning", "done", "manageable", "manageable", ""},
	{"cleaning", "done", "", "available", ""},
	{"cleaning", "fail", "available", "clean failed", "available"},
	{"cleaning", "fail", "manageable", "clean failed", "manageable"},
	{"manageable", "inspect", "", "inspecting", "manageable"},
	{"inspect failed", "inspect", "manageable", "inspecting", "manageable"},
	{"inspecting", "done", "manageable", "manageable", ""},
	{"inspecting", "fail", "manageable", "inspect failed", "manageable"},
	{"manageable", "adopt", "", "adopting", "active"},
	{"adopt failed", "adopt", "active", "adopting", "active"},
	{"adopting", "done", "active", "active", ""},
	{"adopting", "fail", "active", "adopt failed", "active"},
	{"available", "active", "", "deploying", "active"},
	{"available", "deploy", "", "deploying", "active"},
	{"deploy failed", "active", "active", "deploying", "active"},
	{"deploy failed", "deploy", "active", "deploying", "active"},
	{"deploy failed", "rebuild", "active", "deploying", "active"},
	{"active", "rebuild", "", "deploying", "active"},
	{"error", "rebuild", "", "deploying", "active"},
	{"deploying", "done", "active", "active", ""},
	{"deploying", "fail", "active", "deploy failed", "active"},
	{"active", "deleted", "", "deleting", "available"},
	{"active", "undeploy", "", "deleting", "available"},
	{"deploy failed", "deleted", "active", "deleting", "available"},
	{"deploy failed", "undeploy", "active", "deleting", "available"},
	{"error", "deleted", "", "deleting", "available"},
	{"error", "undeploy", "", "deleting", "available"},
	{"deleting", "done", "available", "cleaning", "available"},
	{"deleting", "fail", "available", "error", ""},
}

var everyVerb = []string{Manage, Provide, Inspect, Clean, Adopt, Activate, Deploy, Rebuild, Delete, Undeploy, Abort}

func TestNode_ProvisionEdges_MatchAPI(t *testing.T) {
	t.Parallel()
	for _, j := range journeys {
		var edge Edge
		var ok bool
		switch j.how {
		case "done":
			edge, ok = EdgeOnSuccess(j.from, j.before)
		case "fail":
			edge, ok = EdgeOnFailure(j.from, j.before)
		default:
			edge, ok = EdgeForVerb(j.from, j.how)
		}
		if !ok || edge.From != j.from || edge.To != j.to || edge.Target != j.after {
			t.Errorf("%s %s (target %q): %+v %v, want %s (target %q)", j.from, j.how, j.before, edge, ok, j.to, j.after)
		}
	}
}

func TestNode_OtherProvisionVerbs_NotAllowed(t *testing.T) {
	t.Parallel()
	allowed := map[[2]string]bool{}
	for _, j := range journeys {
		allowed[[2]string{j.from, j.how}] = true
	}
	for _, state := range slices.Concat(reachableStates, nameOnlyStates, []string{"", "nowhere"}) {
		for _, verb := range append(everyVerb, "", "done", "fly") {
			if _, ok := EdgeForVerb(state, verb); ok != (verb != "done" && allowed[[2]string{state, verb}]) {
				t.Errorf("verb %q in state %q: allowed = %v", verb, state, ok)
			}
		}
		_, done := EdgeOnSuccess(state, "")
		_, fail := EdgeOnFailure(state, "")
		if done != allowed[[2]string{state, "done"}] || fail != allowed[[2]string{state, "fail"}] {
			t.Errorf("state %q: done %v, fail %v", state, done, fail)
		}
	}
}

func TestNode_ProvisionStates_ReachableWithoutDeadEnds(t *testing.T) {
	t.Parallel()
	every := slices.Sorted(slices.Values(reachableStates))
	// After its verification a node never returns to enroll.
	verified := slices.DeleteFunc(slices.Clone(every), func(s string) bool { return s == Enroll || s == Verifying })
	for _, start := range reachableStates {
		want := verified
		if start == Enroll || start == Verifying {
			want = every
		}
		if got := reachable(start); !slices.Equal(got, want) {
			t.Errorf("reachable from %q = %q, want %q", start, got, want)
		}
	}
}

// reachable returns the states that a node can enter from one, by verbs and work.
func reachable(start string) []string {
	seen, left := map[string]bool{}, []string{start}
	for len(left) > 0 {
		state := left[0]
		left = left[1:]
		for _, e := range edgesFrom(state) {
			if !seen[e.To] {
				seen[e.To] = true
				left = append(left, e.To)
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func edgesFrom(state string) []Edge {
	var edges []Edge
	for _, verb := range everyVerb {
		if e, ok := EdgeForVerb(state, verb); ok {
			edges = append(edges, e)
		}
	}
	for _, target := range []string{Available, Manageable} {
		for _, end := range []func(string, string) (Edge, bool){EdgeOnSuccess, EdgeOnFailure} {
			if e, ok := end(state, target); ok {
				edges = append(edges, e)
			}
		}
	}
	return edges
}

func TestNode_TransientState_EndsInSuccessOrFailure(t *testing.T) {
	t.Parallel()
	for _, state := range reachableStates {
		_, done := EdgeOnSuccess(state, Available)
		_, fail := EdgeOnFailure(state, Available)
		if done != Transient(state) || fail != Transient(state) {
			t.Errorf("Transient(%q) = %v, but edge on success = %v, on failure = %v", state, Transient(state), done, fail)
		}
		for _, verb := range everyVerb {
			edge, ok := EdgeForVerb(state, verb)
			if ok && Transient(state) {
				t.Errorf("transient state permits a verb: %q in %q", verb, state)
			}
			if ok && Transient(edge.To) != (edge.Target != "") {
				t.Errorf("%+v: want a target if and only if the state is transient", edge)
			}
		}
	}
	if got := Transients(); len(got) != 6 {
		t.Errorf("transient states = %q", got)
	}
}

func TestNode_Abort_IsAllowedInNoState(t *testing.T) {
	t.Parallel()
	for _, state := range reachableStates {
		if _, ok := EdgeForVerb(state, Abort); ok {
			t.Errorf("abort is allowed in %q, which does not wait", state)
		}
	}
}
