package store_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/berthd/berth/server/data/store"
)

// conductor inserts a conductor without the store's methods.
func (b *bundle) conductor(hostname string) string {
	b.t.Helper()
	b.execute("INSERT INTO conductors (hostname, drivers) VALUES ($1, '{fake-hardware}')", hostname)
	return hostname
}

func TestNode_Transition_OnlyFromExpectedState(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	b.conductor("me")
	b.conductor("other")
	b.node("a node", "enroll")
	revision := func(n int64) *int64 { return &n }
	_, taken, err := b.NodeTransition(t.Context(), "a node", store.Transition{
		From: []string{"manageable", "enroll"}, Revision: revision(0), To: "verifying", Target: new("manageable"), Conductor: new("me"),
	})
	b.must(err)
	if !taken {
		t.Fatal("the first transition was not executed")
	}
	for name, step := range map[string]store.Transition{
		"another state":    {From: []string{"enroll"}},
		"no state":         {From: []string{}},
		"another revision": {Revision: revision(0)},
		"another holder":   {Holder: new("other")},
		"an unknown one":   {Holder: new("unknown")},
	} {
		step.To = "manageable"
		lines(t, b.changed(func() {
			if _, taken, err := b.NodeTransition(t.Context(), "a node", step); taken || err != nil {
				t.Errorf("%s: executed = %t, error = %v", name, taken, err)
			}
		}))
	}
	_, taken, err = b.NodeTransition(t.Context(), "a node", store.Transition{
		From: []string{"verifying"}, Revision: revision(1), Holder: new("me"), To: "manageable",
	})
	if !taken || err != nil {
		t.Errorf("executed = %t, error = %v", taken, err)
	}
}

func TestNode_Transition_WritesEffects(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	b.conductor("me")
	b.node("a node", "enroll")
	move := func(step store.Transition) func() {
		return func() {
			moved, taken, err := b.NodeTransition(t.Context(), "a node", step)
			b.must(err)
			shown, err := b.NodeShow(t.Context(), "a node")
			b.must(err)
			if !taken || moved.Revision != shown.Revision || moved.ProvisionState != shown.ProvisionState {
				t.Errorf("executed = %t: returned %+v, shown %+v", taken, moved, shown)
			}
		}
	}
	lines(t, b.changed(move(store.Transition{
		To: "verifying", Target: new("manageable"), Conductor: new("me"),
		TransitionEffects: store.TransitionEffects{Power: &store.NodePower{State: new("power off"), Target: new("power on")}},
	})), `~ nodes{id: 1} provision_state: enroll -> verifying, target_provision_state: null -> manageable, provision_updated_at: null -> set, `+
		`power_state: null -> "power off", target_power_state: null -> "power on", conductor_id: null -> 1, revision: 0 -> 1, updated_at: null -> set`)
	lines(t, b.changed(move(store.Transition{To: "enroll", TransitionEffects: store.TransitionEffects{LastError: new("no answer")}})),
		`~ nodes{id: 1} provision_state: verifying -> enroll, target_provision_state: manageable -> null, `+
			`last_error: null -> "no answer", conductor_id: 1 -> null, revision: 1 -> 2`)
	lines(t, b.changed(move(store.Transition{To: "enroll"})),
		`~ nodes{id: 1} last_error: "no answer" -> null, revision: 2 -> 3`)
	_, _, err := b.NodeTransition(t.Context(), "unknown", store.Transition{To: "enroll"})
	refuses(t, err, store.NodeNotFound, store.Values{Node: "unknown"})
	_, _, err = b.NodeTransition(t.Context(), "a node", store.Transition{To: "enroll", Conductor: new("unknown")})
	refuses(t, err, store.ConductorNotFound, store.Values{Node: named("a node").String(), Conductor: "unknown"})
}

func TestNode_TearDown_ClearsInstanceAndAllocation(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	made := b.allocated("a node", "deleting", nil)
	_, err := b.NodeUpdate(t.Context(), "a node", func(n *store.Node) error {
		n.Details = map[string]json.RawMessage{"instance_info": json.RawMessage(`{"image": 1}`), "extra": json.RawMessage(`{"k": 1}`)}
		return nil
	})
	b.must(err)
	got := b.changed(func() {
		moved, _, err := b.NodeTransition(t.Context(), "a node", store.Transition{
			To: "cleaning", Target: new("available"), TransitionEffects: store.TransitionEffects{TearDown: true},
		})
		b.must(err)
		if moved.InstanceUUID != nil || moved.AllocationUUID != nil {
			t.Errorf("instance_uuid = %v, allocation_uuid = %v, want none", moved.InstanceUUID, moved.AllocationUUID)
		}
	})
	if len(got) != 2 || !strings.HasPrefix(got[0], "- node_allocations{id: 1, ") {
		t.Errorf("the node allocation was not deleted: %q", got)
	}
	lines(t, got[1:], fmt.Sprintf(`~ nodes{id: 1} provision_state: deleting -> cleaning, target_provision_state: null -> available, `+
		`provision_updated_at: null -> set, instance_uuid: %s -> null, revision: 1 -> 2, `+
		`details: "{\"extra\": {\"k\": 1}, \"instance_info\": {\"image\": 1}}" -> "{\"extra\": {\"k\": 1}, \"instance_info\": {}}"`,
		made.InstanceUUID))
}

func TestConductor_NodePending_Notified(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	b.conductor("me")
	made := b.node("a node", "enroll")
	id := made.UUID.String()
	for _, c := range []struct {
		name string
		step store.Transition
		want []string
	}{
		{"a transient state", store.Transition{To: "verifying", Target: new("manageable")}, []string{id}},
		{"a transient state with a reservation", store.Transition{To: "verifying", Target: new("manageable"), Conductor: new("me")}, nil},
		{"a stable state", store.Transition{To: "manageable"}, nil},
		{"power", store.Transition{To: "manageable", TransitionEffects: store.TransitionEffects{Power: &store.NodePower{Target: new("power on")}}}, []string{id}},
		{"a stable state with a pending power change", store.Transition{To: "manageable"}, []string{id}},
		{"a transient state for one conductor", store.Transition{To: "cleaning", Target: new("available"), Conductor: new("me")}, []string{id}},
		{"a guard that does not match", store.Transition{From: []string{"enroll"}, To: "verifying", Target: new("manageable")}, nil},
	} {
		heard := b.notified("berth_node_pending", func() {
			_, _, err := b.NodeTransition(t.Context(), "a node", c.step)
			b.must(err)
		})
		t.Run(c.name, func(t *testing.T) { lines(t, heard, c.want...) })
	}
}
