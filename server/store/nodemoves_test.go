package store_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/berthd/berth/server/store"
)

// conductor says that there is one, without its own methods.
func (b *bundle) conductor(hostname string) string {
	b.t.Helper()
	b.execute("INSERT INTO conductors (hostname, drivers) VALUES ($1, '{fake-hardware}')", hostname)
	return hostname
}

func TestAStepIsTakenOnlyFromWhereItBegins(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	b.conductor("me")
	b.conductor("other")
	b.node("a node", "enroll")
	revision := func(n int64) *int64 { return &n }
	_, taken, err := b.NodeMove(t.Context(), "a node", store.NodeStep{
		From: []string{"manageable", "enroll"}, Revision: revision(0), To: "verifying", Target: new("manageable"), Conductor: new("me"),
	})
	b.must(err)
	if !taken {
		t.Fatal("the first step was not taken")
	}
	for name, step := range map[string]store.NodeStep{
		"another state":    {From: []string{"enroll"}},
		"no state":         {From: []string{}},
		"another revision": {Revision: revision(0)},
		"another holder":   {Holder: new("other")},
		"an unknown one":   {Holder: new("nobody")},
	} {
		step.To = "manageable"
		lines(t, b.changed(func() {
			if _, taken, err := b.NodeMove(t.Context(), "a node", step); taken || err != nil {
				t.Errorf("%s: taken %t, %v", name, taken, err)
			}
		}))
	}
	_, taken, err = b.NodeMove(t.Context(), "a node", store.NodeStep{
		From: []string{"verifying"}, Revision: revision(1), Holder: new("me"), To: "manageable",
	})
	if !taken || err != nil {
		t.Errorf("taken %t, %v", taken, err)
	}
}

func TestAStepWritesItsEffects(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	b.conductor("me")
	b.node("a node", "enroll")
	move := func(step store.NodeStep) func() {
		return func() {
			moved, taken, err := b.NodeMove(t.Context(), "a node", step)
			b.must(err)
			shown, err := b.NodeShow(t.Context(), "a node")
			b.must(err)
			if !taken || moved.Revision != shown.Revision || moved.ProvisionState != shown.ProvisionState {
				t.Errorf("taken %t: returned %+v, shown %+v", taken, moved, shown)
			}
		}
	}
	lines(t, b.changed(move(store.NodeStep{
		To: "verifying", Target: new("manageable"), Conductor: new("me"),
		NodeEffects: store.NodeEffects{Power: &store.NodePower{State: new("power off"), Target: new("power on")}},
	})), `~ nodes{id: 1} provision_state: enroll -> verifying, target_provision_state: null -> manageable, provision_updated_at: null -> set, `+
		`power_state: null -> "power off", target_power_state: null -> "power on", conductor_id: null -> 1, revision: 0 -> 1, updated_at: null -> set`)
	lines(t, b.changed(move(store.NodeStep{To: "enroll", NodeEffects: store.NodeEffects{LastError: new("no answer")}})),
		`~ nodes{id: 1} provision_state: verifying -> enroll, target_provision_state: manageable -> null, `+
			`last_error: null -> "no answer", conductor_id: 1 -> null, revision: 1 -> 2`)
	lines(t, b.changed(move(store.NodeStep{To: "enroll"})),
		`~ nodes{id: 1} last_error: "no answer" -> null, revision: 2 -> 3`)
	_, _, err := b.NodeMove(t.Context(), "nobody", store.NodeStep{To: "enroll"})
	refuses(t, err, store.NodeUnknown, store.Values{Node: "nobody"})
	_, _, err = b.NodeMove(t.Context(), "a node", store.NodeStep{To: "enroll", Conductor: new("nobody")})
	refuses(t, err, store.ConductorUnknown, store.Values{Node: named("a node").String(), Conductor: "nobody"})
}

func TestATearDownTakesInstanceAndAllocation(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	made := b.allocated("a node", "deleting", nil)
	_, err := b.NodeUpdate(t.Context(), "a node", func(n *store.Node) error {
		n.Details = map[string]json.RawMessage{"instance_info": json.RawMessage(`{"image": 1}`), "extra": json.RawMessage(`{"k": 1}`)}
		return nil
	})
	b.must(err)
	got := b.changed(func() {
		moved, _, err := b.NodeMove(t.Context(), "a node", store.NodeStep{
			To: "cleaning", Target: new("available"), NodeEffects: store.NodeEffects{TearDown: true},
		})
		b.must(err)
		if moved.InstanceUUID != nil || moved.AllocationUUID != nil {
			t.Errorf("it still has %v and %v", moved.InstanceUUID, moved.AllocationUUID)
		}
	})
	if len(got) != 2 || !strings.HasPrefix(got[0], "- node_allocations{id: 1, ") {
		t.Errorf("the allocation did not go: %q", got)
	}
	lines(t, got[1:], fmt.Sprintf(`~ nodes{id: 1} provision_state: deleting -> cleaning, target_provision_state: null -> available, `+
		`provision_updated_at: null -> set, instance_uuid: %s -> null, revision: 1 -> 2, `+
		`details: "{\"extra\": {\"k\": 1}, \"instance_info\": {\"image\": 1}}" -> "{\"extra\": {\"k\": 1}, \"instance_info\": {}}"`,
		made.InstanceUUID))
}

func TestConductorsHearOfNodesThatHaveSomethingLeftToDo(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	b.conductor("me")
	made := b.node("a node", "enroll")
	id := made.UUID.String()
	for _, c := range []struct {
		name string
		step store.NodeStep
		want []string
	}{
		{"a beginning", store.NodeStep{To: "verifying", Target: new("manageable")}, []string{id}},
		{"who works on it", store.NodeStep{To: "verifying", Target: new("manageable"), Conductor: new("me")}, nil},
		{"an end", store.NodeStep{To: "manageable"}, nil},
		{"power", store.NodeStep{To: "manageable", NodeEffects: store.NodeEffects{Power: &store.NodePower{Target: new("power on")}}}, []string{id}},
		{"a step that leaves the power to do", store.NodeStep{To: "manageable"}, []string{id}},
		{"a beginning for one", store.NodeStep{To: "cleaning", Target: new("available"), Conductor: new("me")}, []string{id}},
		{"a guard that doesn't hold", store.NodeStep{From: []string{"enroll"}, To: "verifying", Target: new("manageable")}, nil},
	} {
		heard := b.notified("berth_nodes", func() {
			_, _, err := b.NodeMove(t.Context(), "a node", c.step)
			b.must(err)
		})
		t.Run(c.name, func(t *testing.T) { lines(t, heard, c.want...) })
	}
}
