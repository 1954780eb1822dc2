package conductor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/work/provision"
)

// record records every change of a node's states with a trigger, so that the test misses none.
func (b *bundle) record() {
	b.exec(`
		CREATE TABLE moves (id int GENERATED ALWAYS AS IDENTITY, what text NOT NULL);
		CREATE FUNCTION note_move() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			IF (OLD.provision_state, OLD.target_provision_state, OLD.power_state)
			   IS DISTINCT FROM (NEW.provision_state, NEW.target_provision_state, NEW.power_state) THEN
				INSERT INTO moves (what) VALUES (concat_ws(' / ', NEW.provision_state,
					coalesce(NEW.target_provision_state, '-'), coalesce(NEW.power_state, '-'),
					CASE WHEN NEW.instance_uuid IS NOT NULL THEN 'in use' END));
			END IF;
			RETURN NEW;
		END $$;
		CREATE TRIGGER note_move AFTER UPDATE ON nodes FOR EACH ROW EXECUTE FUNCTION note_move();`)
}

func TestConductor_NodeLifecycle_RunsEveryState(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.record()
	b.run(b.conductor("one"))
	node := b.node("n", provision.Enroll)
	for _, step := range [][2]string{
		{provision.Manage, provision.Manageable}, {provision.Inspect, provision.Manageable}, {provision.Clean, provision.Manageable},
		{provision.Provide, provision.Available},
	} {
		b.verb(node, step[0])
		b.rests(node, step[1])
	}
	allocation := b.allocate("mine", "one")
	b.eventually("the node is assigned", func() bool { return b.show(node).InstanceUUID != nil })
	for _, step := range [][2]string{
		{provision.Activate, provision.Active}, {provision.Rebuild, provision.Active}, {provision.Undeploy, provision.Available},
		{provision.Manage, provision.Manageable}, {provision.Adopt, provision.Active}, {provision.Delete, provision.Available},
	} {
		b.verb(node, step[0])
		b.rests(node, step[1])
	}

	want := []string{
		"verifying / manageable / -", "manageable / - / power off",
		"inspecting / manageable / power off", "manageable / - / power off",
		"cleaning / manageable / power off", "manageable / - / power off",
		"cleaning / available / power off", "available / - / power off",
		"deploying / active / power off / in use", "active / - / power on / in use",
		"deploying / active / power on / in use", "active / - / power on / in use",
		"deleting / available / power on / in use", "cleaning / available / power off", "available / - / power off",
		"manageable / - / power off",
		"adopting / active / power off", "active / - / power off",
		"deleting / available / power off", "cleaning / available / power off", "available / - / power off",
	}
	if got := b.texts("SELECT what FROM moves ORDER BY id"); !slices.Equal(got, want) {
		t.Errorf("states of the node =\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	if _, err := b.NodeAllocationShow(t.Context(), allocation.UUID.String()); !gone(err) {
		t.Errorf("node allocation after teardown: error = %v, want not found", err)
	}
}

func TestConductor_TearDown_ClearsInstanceDataOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(b.conductor("one"))
	node := b.node("n", provision.Active)
	if _, err := b.NodeUpdate(t.Context(), node.UUID.String(), func(n *store.Node) error {
		n.Details = map[string]json.RawMessage{
			"instance_info": json.RawMessage(`{"image": "x"}`), "extra": json.RawMessage(`{"rack": "7"}`)}
		n.InstanceUUID = &n.UUID
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	b.verb(node, provision.Delete)
	after := b.rests(node, provision.Available)
	if string(after.Details["instance_info"]) != "{}" || string(after.Details["extra"]) != `{"rack": "7"}` || after.InstanceUUID != nil {
		t.Errorf("instance_info %s, extra %s, instance_uuid %v", after.Details["instance_info"], after.Details["extra"], after.InstanceUUID)
	}
}

func TestConductor_StepFails_FailureStateAndRetry(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ from, verb, step, to, target, again, rests string }{
		{provision.Enroll, provision.Manage, "verify", provision.Enroll, "", provision.Manage, provision.Manageable},
		{provision.Manageable, provision.Inspect, "inspect", provision.InspectFailed, provision.Manageable, provision.Inspect, provision.Manageable},
		{provision.Manageable, provision.Provide, "clean", provision.CleanFailed, provision.Available, provision.Manage, provision.Manageable},
		{provision.Manageable, provision.Clean, "clean", provision.CleanFailed, provision.Manageable, provision.Manage, provision.Manageable},
		{provision.Manageable, provision.Adopt, "adopt", provision.AdoptFailed, provision.Active, provision.Adopt, provision.Active},
		{provision.Available, provision.Activate, "deploy", provision.DeployFailed, provision.Active, provision.Activate, provision.Active},
		{provision.Active, provision.Rebuild, "deploy", provision.DeployFailed, provision.Active, provision.Delete, provision.Available},
		{provision.Active, provision.Delete, "tear down", provision.Error, "", provision.Delete, provision.Available},
		{provision.Active, provision.Delete, "clean", provision.CleanFailed, provision.Available, provision.Manage, provision.Manageable},
	} {
		t.Run(c.verb+" when "+c.step+" fails", func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			var once sync.Once
			b.run(b.conductor("one").script(func(_ context.Context, step string, _ store.Node) (err error) {
				if step == c.step {
					once.Do(func() { err = errors.New("the cable is loose") })
				}
				return err
			}))
			node := b.node("n", c.from)
			b.verb(node, c.verb)
			var failed store.Node
			b.eventually("the work fails", func() bool { failed = b.show(node); return failed.LastError != nil && failed.Conductor == nil })
			if failed.ProvisionState != c.to || value(failed.TargetProvisionState) != c.target ||
				!strings.HasSuffix(*failed.LastError, "failed on node "+node.UUID.String()+": the cable is loose") {
				t.Errorf("state %q, target %q, last_error %q", failed.ProvisionState, value(failed.TargetProvisionState), *failed.LastError)
			}
			aside := c.to == provision.CleanFailed
			if failed.Maintenance != aside || value(failed.Fault) != map[bool]string{true: "clean failure"}[aside] {
				t.Errorf("maintenance = %v, fault = %q", failed.Maintenance, value(failed.Fault))
			}
			b.verb(node, c.again)
			if repaired := b.rests(node, c.rests); repaired.LastError != nil || repaired.TargetProvisionState != nil {
				t.Errorf("after %s: last_error %q, target %q", c.again, value(repaired.LastError), value(repaired.TargetProvisionState))
			}
		})
	}
}

func TestConductor_PowerChangeFails_KeepsPowerState(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(b.conductor("one").script(func(_ context.Context, step string, _ store.Node) error {
		if step == SoftPowerOff {
			return errors.New("no response from the BMC")
		}
		return nil
	}))
	node := b.node("n", provision.Active)
	for _, c := range [][2]string{
		{PowerOn, PowerOn}, {SoftRebooting, PowerOn}, {SoftPowerOff, PowerOn}, {PowerOff, PowerOff}, {Rebooting, PowerOn},
	} {
		now := b.show(node)
		if _, _, err := b.NodeTransition(t.Context(), node.UUID.String(), store.Transition{
			To: now.ProvisionState, TransitionEffects: store.TransitionEffects{Power: &store.NodePower{State: now.PowerState, Target: &c[0]}},
		}); err != nil {
			t.Fatal(err)
		}
		after := b.rests(node, provision.Active)
		if failed := c[0] == SoftPowerOff; value(after.PowerState) != c[1] || (after.LastError != nil) != failed {
			t.Errorf("%s: power_state %q, last_error %q", c[0], value(after.PowerState), value(after.LastError))
		}
	}
}

func TestConductor_RetiredNode_StaysManageable(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(b.conductor("one"))
	node := b.node("n", provision.Active)
	if _, err := b.NodeUpdate(t.Context(), node.UUID.String(), func(n *store.Node) error { n.Retired = true; return nil }); err != nil {
		t.Fatal(err)
	}
	b.verb(node, provision.Delete)
	b.rests(node, provision.Manageable)
}

func TestConductor_NodeOfOtherDriver_Ignored(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(b.conductor("one"))
	foreign, err := b.NodeCreate(t.Context(), store.Node{UUID: [16]byte{1}, Driver: "redfish", ProvisionState: provision.Enroll})
	if err != nil {
		t.Fatal(err)
	}
	b.verb(foreign, provision.Manage)
	own := b.node("own", provision.Enroll)
	b.verb(own, provision.Manage)
	b.rests(own, provision.Manageable)
	if left := b.show(foreign); left.ProvisionState != provision.Verifying || left.Conductor != nil {
		t.Errorf("state = %q, conductor = %q", left.ProvisionState, value(left.Conductor))
	}
}

func TestConductor_NodeChangedDuringStep_KeepsUserChange(t *testing.T) {
	t.Parallel()
	b := setup(t)
	began, goOn := make(chan bool), make(chan bool)
	b.run(b.conductor("one").script(func(ctx context.Context, step string, _ store.Node) error {
		if step == "verify" {
			close(began)
			select {
			case <-goOn:
			case <-ctx.Done():
			}
		}
		return nil
	}))
	node := b.node("n", provision.Enroll)
	b.verb(node, provision.Manage)
	<-began
	if held := b.show(node); value(held.Conductor) != "one" {
		t.Errorf("reservation = %q", value(held.Conductor))
	}
	if _, err := b.NodeUpdate(t.Context(), node.UUID.String(), func(n *store.Node) error { n.Owner = new("someone"); return nil }); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	if after := b.rests(node, provision.Manageable); value(after.Owner) != "someone" || value(after.PowerState) != PowerOff {
		t.Errorf("owner %q, power_state %q", value(after.Owner), value(after.PowerState))
	}
}

func TestConductor_PowerRequestDuringSwitch_AppliedNext(t *testing.T) {
	t.Parallel()
	b := setup(t)
	began, goOn := make(chan bool), make(chan bool)
	b.run(b.conductor("one").script(func(ctx context.Context, step string, _ store.Node) error {
		if step == PowerOn {
			close(began)
			select {
			case <-goOn:
			case <-ctx.Done():
			}
		}
		return nil
	}))
	node := b.node("n", provision.Active)
	ask := func(target string) {
		now := b.show(node)
		if _, ok, err := b.NodeTransition(t.Context(), node.UUID.String(), store.Transition{
			To: now.ProvisionState, Conductor: now.Conductor,
			TransitionEffects: store.TransitionEffects{Power: &store.NodePower{State: now.PowerState, Target: &target}},
		}); err != nil || !ok {
			t.Fatal(ok, err)
		}
	}
	b.record()
	ask(PowerOn)
	<-began
	ask(SoftPowerOff)
	close(goOn)
	b.rests(node, provision.Active)
	want := []string{"active / - / power on", "active / - / power off"}
	if got := b.texts("SELECT what FROM moves ORDER BY id"); !slices.Equal(got, want) {
		t.Errorf("states = %q, want %q", got, want)
	}
}

func TestConductor_NodeDeletedDuringStep_Dropped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.conductor("one")
	node := b.node("n", provision.Enroll)
	log := &told{what: "cannot continue the work"}
	c.Log = slog.New(slog.NewTextHandler(log, nil))
	c.script(func(context.Context, string, store.Node) error {
		return errors.Join(b.NodeMaintenance(t.Context(), node.UUID.String(), true, nil), b.NodeDelete(t.Context(), node.UUID.String()))
	})
	b.run(c)
	b.verb(node, provision.Manage)
	other := b.node("other", provision.Available)
	b.eventually("the node is deleted", func() bool { return b.count("SELECT count(*) FROM nodes") == 1 })
	b.allocate("a", "one")
	b.decided(1, 1)
	if log.seen.Load() || b.show(other).AllocationUUID == nil {
		t.Error("the conductor logged an error for a deleted node")
	}
}

func TestConductor_TransientStates_HaveSteps(t *testing.T) {
	t.Parallel()
	if got, want := slices.Sorted(maps.Keys(steps)), slices.Sorted(slices.Values(provision.Transients())); !slices.Equal(got, want) {
		t.Errorf("transient states with a step = %q, want %q", got, want)
	}
	for name, wrong := range (fake{}).Validate(t.Context(), store.Node{}) {
		if wrong != nil {
			t.Errorf("fake driver: interface %s: %v", name, wrong)
		}
	}
}

// sharedSteps records which conductor ran which step on which node.
type sharedSteps struct {
	mu   sync.Mutex
	done map[string][]string
}

func (s *sharedSteps) of(conductor string) func(context.Context, string, store.Node) error {
	return func(_ context.Context, step string, node store.Node) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		key := fmt.Sprintf("%s %s", step, value(node.Name))
		s.done[key] = append(s.done[key], conductor)
		return nil
	}
}

func TestConductor_TwoConductors_NoStepRunTwice(t *testing.T) {
	t.Parallel()
	b := setup(t)
	shared := &sharedSteps{done: map[string][]string{}}
	b.run(b.conductor("one").script(shared.of("one")))
	b.run(b.conductor("two").script(shared.of("two")))
	nodes := make([]store.Node, 40)
	for i := range nodes {
		nodes[i] = b.node(fmt.Sprintf("n%d", i), provision.Active)
	}
	for _, node := range nodes {
		b.verb(node, provision.Delete)
	}
	for _, node := range nodes {
		b.rests(node, provision.Available)
	}
	workers := map[string]int{}
	for key, by := range shared.done {
		if len(by) != 1 {
			t.Errorf("step %s ran on conductors %q, want one", key, by)
		}
		workers[by[0]]++
	}
	if len(shared.done) != 80 || workers["one"] == 0 || workers["two"] == 0 {
		t.Errorf("steps = %d by %v, want 80 by both conductors", len(shared.done), workers)
	}
}

// TestConductor_PowerPendingBeforeWork_FinalStateIsShownUnreserved: the last commit of the work of a state sets the
// final state and releases the reservation, and no earlier power request reserves the node again.
func TestConductor_PowerPendingBeforeWork_FinalStateIsShownUnreserved(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(`CREATE TABLE versions (id bigint GENERATED ALWAYS AS IDENTITY, state text, held bool);
		CREATE FUNCTION note_version() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			INSERT INTO versions (state, held) VALUES (NEW.provision_state, NEW.conductor_id IS NOT NULL);
			RETURN NULL;
		END $$;
		CREATE TRIGGER note_version AFTER UPDATE ON nodes FOR EACH ROW EXECUTE FUNCTION note_version()`)
	node := b.node("rack-7", provision.Available)
	if _, moved, err := b.NodeTransition(t.Context(), node.UUID.String(), store.Transition{
		To: provision.Available, TransitionEffects: store.TransitionEffects{Power: &store.NodePower{State: node.PowerState, Target: new(PowerOff)}},
	}); err != nil || !moved {
		t.Fatal(moved, err)
	}
	b.verb(node, provision.Activate)
	b.run(b.conductor("a"))
	b.eventually("the node is active with nothing pending", func() bool {
		shown := b.show(node)
		return shown.ProvisionState == provision.Active && shown.TargetPowerState == nil
	})
	if got := b.rests(node, provision.Active).PowerState; value(got) != PowerOn {
		t.Errorf("power state = %q, want %q: the request to switch came before the one to deploy", value(got), PowerOn)
	}
	if got := b.texts(`SELECT state FROM versions WHERE held AND state = 'active'`); len(got) > 0 {
		t.Errorf("%d versions of the node are active and reserved, want none", len(got))
	}
}
