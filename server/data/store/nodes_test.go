package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/store"
)

// bareNode returns a node with that name as clients create it, in this state.
func bareNode(name, state string) store.Node {
	return store.Node{UUID: named(name), Name: &name, Driver: "fake-hardware", ProvisionState: state}
}

// node creates a node.
func (b *bundle) node(name, state string) store.Node {
	b.t.Helper()
	made, err := b.NodeCreate(b.t.Context(), bareNode(name, state))
	b.must(err)
	return made
}

// allocated creates a node that has a node allocation with this owner, without a conductor's decision.
func (b *bundle) allocated(name, state string, owner *string) store.Node {
	b.t.Helper()
	wanted := bareNode(name, state)
	wanted.InstanceUUID = new(named("f instance of " + name))
	wanted.ResourceClass = new("baremetal")
	made, err := b.NodeCreate(b.t.Context(), wanted)
	b.must(err)
	b.execute(`INSERT INTO node_allocations (uuid, node_id, state, resource_class, owner) VALUES ($1, $2, 'active', 'baremetal', $3)`,
		*wanted.InstanceUUID, made.ID, owner)
	shown, err := b.NodeShow(b.t.Context(), name)
	b.must(err)
	return shown
}

// execute runs an SQL statement.
func (b *bundle) execute(statement string, arguments ...any) {
	b.t.Helper()
	if _, err := b.db.Pool.Exec(b.t.Context(), statement, arguments...); err != nil {
		b.t.Fatal(err)
	}
}

// changed returns all changed rows of a call.
func (b *bundle) changed(call func()) []string {
	b.t.Helper()
	before := dbtest.Snapshot(b.t, b.db)
	call()
	return before.Diff(dbtest.Snapshot(b.t, b.db))
}

// lines compares all changes, or other lines, with the expected ones.
func lines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func refuses(t *testing.T, err error, want store.Rule, values store.Values) {
	t.Helper()
	refused := store.AsRuleViolation(err)
	if refused == nil || refused.Rule != want {
		t.Fatalf("got %v, want rule %s", err, want)
	}
	if !reflect.DeepEqual(refused.Values, values) {
		t.Errorf("got values %+v, want %+v", refused.Values, values)
	}
}

func TestNode_Create_ShownUnchanged(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	made := store.Node{
		UUID: named("a node"), Name: new("a-node"), Driver: "fake-hardware", ResourceClass: new("Bäre Metal"),
		ProvisionState: "enroll", TargetProvisionState: new("manageable"), PowerState: new("power off"), TargetPowerState: new("power on"),
		Maintenance: true, MaintenanceReason: new("dust"), Fault: new("clean failure"), InstanceUUID: new(named("b instance")),
		Owner: new("o"), Lessee: new("l"), Protected: true, Retired: true, ConductorGroup: "g", LastError: new("e"),
		Details: map[string]json.RawMessage{"extra": json.RawMessage(`{"a": [1, 2.50]}`), "description": json.RawMessage(`null`)},
		Traits:  []string{},
	}
	created, err := b.NodeCreate(t.Context(), made)
	b.must(err)
	if time.Since(created.CreatedAt) > time.Minute {
		t.Errorf("created at %s", created.CreatedAt)
	}
	made.ID, made.CreatedAt = created.ID, created.CreatedAt
	if !reflect.DeepEqual(created, made) {
		t.Errorf("got %+v, want %+v", created, made)
	}
	for _, ident := range []string{"a-node", made.UUID.String(), strings.ToUpper(made.UUID.String()), strings.ReplaceAll(made.UUID.String(), "-", "")} {
		shown, err := b.NodeShow(t.Context(), ident)
		b.must(err)
		if !reflect.DeepEqual(shown, made) {
			t.Errorf("%s: got %+v, want %+v", ident, shown, made)
		}
	}
}

func TestNode_UUIDLikeName_NotLookedUp(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	wanted := bareNode("a node", "enroll")
	wanted.Name = new(named("b other").String())
	_, err := b.NodeCreate(t.Context(), wanted)
	b.must(err)
	_, err = b.NodeShow(t.Context(), *wanted.Name)
	refuses(t, err, store.NodeNotFound, store.Values{Node: *wanted.Name})
}

func TestNode_DuplicateUniqueValues_HaveOwnRules(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	first := bareNode("a node", "enroll")
	first.InstanceUUID = new(named("c instance"))
	_, err := b.NodeCreate(t.Context(), first)
	b.must(err)
	for rule, edit := range map[store.Rule]func(*store.Node){
		store.NodeUUIDTaken:     func(n *store.Node) { n.UUID = first.UUID },
		store.NodeNameTaken:     func(n *store.Node) { n.Name = first.Name },
		store.NodeInstanceTaken: func(n *store.Node) { n.InstanceUUID = first.InstanceUUID },
	} {
		second := bareNode("b node", "enroll")
		edit(&second)
		lines(t, b.changed(func() {
			if _, err := b.NodeCreate(t.Context(), second); outcome(err) != rule {
				t.Errorf("got %v, want %s", err, rule)
			}
		}))
	}
}

func TestNode_Update_WritesOnlyEditedColumns(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	b.node("a node", "enroll")
	var updated store.Node
	got := b.changed(func() {
		var err error
		updated, err = b.NodeUpdate(t.Context(), "a node", func(n *store.Node) error {
			n.Name, n.ResourceClass, n.Owner = new("b"), new("x"), new("o")
			n.Details["extra"] = json.RawMessage(`{"k": 1}`)
			n.ID, n.UUID, n.Traits, n.Conductor = 99, uuid.New(), []string{"CUSTOM_NO"}, new("unknown")
			return nil
		})
		b.must(err)
	})
	lines(t, got, `~ nodes{id: 1} name: "a node" -> b, resource_class: null -> x, owner: null -> o, revision: 0 -> 1, `+
		`details: "{}" -> "{\"extra\": {\"k\": 1}}", updated_at: null -> set`)
	shown, err := b.NodeShow(t.Context(), "b")
	b.must(err)
	if !reflect.DeepEqual(updated, shown) {
		t.Errorf("returned %+v, shown %+v", updated, shown)
	}
}

func TestNode_UpdateCallbackFails_WritesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	b.node("a node", "enroll")
	no := errors.New("no")
	lines(t, b.changed(func() {
		if _, err := b.NodeUpdate(t.Context(), "a node", func(n *store.Node) error { n.Owner = new("o"); return no }); err != no {
			t.Errorf("got %v", err)
		}
	}))
}

func TestNode_InstanceUUID_SetOnlyWhenUnset(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	b.node("a node", "active")
	set := func(instance *uuid.UUID) error {
		_, err := b.NodeUpdate(t.Context(), "a node", func(n *store.Node) error { n.InstanceUUID = instance; return nil })
		return err
	}
	b.must(set(new(named("c mine"))))
	b.must(set(new(named("c mine"))))
	refused := store.AsRuleViolation(set(new(named("d other"))))
	if refused == nil || refused.Rule != store.NodeAssociated || refused.Values.Instance != named("c mine").String() {
		t.Errorf("got %v", refused)
	}
	b.must(set(nil))
	b.must(set(new(named("d other"))))
}

func TestNode_InstanceUUIDRemoved_AllocationDeleted(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	made := b.allocated("a node", "available", nil)
	if made.AllocationUUID == nil || *made.AllocationUUID != *made.InstanceUUID {
		t.Fatalf("node allocation = %v", made.AllocationUUID)
	}
	got := b.changed(func() {
		updated, err := b.NodeUpdate(t.Context(), "a node", func(n *store.Node) error { n.InstanceUUID = nil; return nil })
		b.must(err)
		if updated.AllocationUUID != nil {
			t.Errorf("node allocation = %s, want none", updated.AllocationUUID)
		}
	})
	if len(got) != 2 || !strings.HasPrefix(got[0], "- node_allocations{id: 1, ") {
		t.Errorf("the node allocation was not deleted: %q", got)
	}
	lines(t, got[1:], fmt.Sprintf("~ nodes{id: 1} instance_uuid: %s -> null, revision: 0 -> 1, updated_at: null -> set", made.InstanceUUID))
}

func TestNode_OwnerChangeWithOwnedAllocation_Rejected(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	b.allocated("a node", "available", new("an owner"))
	b.allocated("b node", "available", nil)
	own := func(name string) error {
		_, err := b.NodeUpdate(t.Context(), name, func(n *store.Node) error { n.Owner = new("me"); return nil })
		return err
	}
	if got := outcome(own("a node")); got != store.NodeOwnerFixed {
		t.Errorf("got %q", got)
	}
	b.must(own("b node"))
}

func TestNode_MaintenanceOff_ClearsReasonAndFault(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	b.node("a node", "enroll")
	lines(t, b.changed(func() { b.must(b.NodeMaintenance(t.Context(), "a node", true, new("dust"))) }),
		"~ nodes{id: 1} maintenance: false -> true, maintenance_reason: null -> dust, revision: 0 -> 1, updated_at: null -> set")
	b.execute("UPDATE nodes SET fault = 'power failure', revision = revision + 1")
	lines(t, b.changed(func() { b.must(b.NodeMaintenance(t.Context(), "a node", false, new("ignored"))) }),
		`~ nodes{id: 1} maintenance: true -> false, maintenance_reason: dust -> null, fault: "power failure" -> null, revision: 2 -> 3`)
	refuses(t, b.NodeMaintenance(t.Context(), "unknown", true, nil), store.NodeNotFound, store.Values{Node: "unknown"})
}

func TestNode_DeleteRules_DependOnStateAndMaintenance(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit func(*store.Node)
		want store.Rule
	}{
		"enrolled":     {func(n *store.Node) { n.ProvisionState = "enroll" }, ""},
		"manageable":   {func(n *store.Node) { n.ProvisionState = "manageable" }, ""},
		"adopt failed": {func(n *store.Node) { n.ProvisionState = "adopt failed" }, ""},
		"available":    {func(n *store.Node) {}, ""},
		"active":       {func(n *store.Node) { n.ProvisionState = "active" }, store.NodeNotDeletable},
		"active, in maintenance": {
			func(n *store.Node) { n.ProvisionState, n.Maintenance = "active", true }, ""},
		"with an instance":                 {func(n *store.Node) { n.InstanceUUID = new(named("b")) }, store.NodeAssociated},
		"with an instance, in maintenance": {func(n *store.Node) { n.InstanceUUID, n.Maintenance = new(named("b")), true }, ""},
		"protected":                        {func(n *store.Node) { n.Protected = true }, store.NodeProtected},
		"protected, in maintenance":        {func(n *store.Node) { n.Protected, n.Maintenance = true, true }, store.NodeProtected},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, 1)
			before := dbtest.Snapshot(t, b.db)
			wanted := bareNode("a node", "available")
			c.edit(&wanted)
			_, err := b.NodeCreate(t.Context(), wanted)
			b.must(err)
			if got := outcome(b.NodeDelete(t.Context(), "a node")); got != c.want {
				t.Fatalf("got %q, want %q", got, c.want)
			}
			if c.want == "" {
				lines(t, before.Diff(dbtest.Snapshot(t, b.db)))
			}
		})
	}
}

func TestNode_Delete_RemovesAllDependents(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	empty := dbtest.Snapshot(t, b.db)
	made := b.allocated("a node", "active", nil)
	b.must(b.NodeTraitAdd(t.Context(), "a node", "CUSTOM_A"))
	_, err := b.PortCreate(t.Context(), store.Port{UUID: named("b port"), NodeUUID: made.UUID, Address: "00:00:00:00:00:01"})
	b.must(err)
	refuses(t, b.NodeDelete(t.Context(), "a node"), store.NodeAssociated,
		store.Values{Node: made.UUID.String(), Instance: made.InstanceUUID.String(), State: "active"})
	b.must(b.NodeMaintenance(t.Context(), "a node", true, nil))
	b.must(b.NodeDelete(t.Context(), made.UUID.String()))
	lines(t, empty.Diff(dbtest.Snapshot(t, b.db)))
	refuses(t, b.NodeDelete(t.Context(), "a node"), store.NodeNotFound, store.Values{Node: "a node"})
}

func TestNode_StoredTraits_ReplacedAddedDeleted(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	b.node("a node", "enroll")
	b.node("b node", "enroll")
	ctx := t.Context()
	has := func(want ...string) {
		t.Helper()
		listed, err := b.NodeTraitList(ctx, "a node")
		b.must(err)
		lines(t, listed, want...)
		shown, err := b.NodeShow(ctx, "a node")
		b.must(err)
		lines(t, shown.Traits, want...)
	}
	has()
	b.must(b.NodeTraitReplace(ctx, "a node", []string{"CUSTOM_B", "CUSTOM_A", "CUSTOM_B"}))
	has("CUSTOM_A", "CUSTOM_B")
	b.must(b.NodeTraitReplace(ctx, "a node", []string{"CUSTOM_C", "CUSTOM_A"}))
	b.must(b.NodeTraitAdd(ctx, "a node", "CUSTOM__"))
	b.must(b.NodeTraitAdd(ctx, "a node", "CUSTOM__"))
	has("CUSTOM_A", "CUSTOM_C", "CUSTOM__")
	b.must(b.NodeTraitDelete(ctx, "a node", "CUSTOM_C"))
	has("CUSTOM_A", "CUSTOM__")
	refuses(t, b.NodeTraitDelete(ctx, "a node", "CUSTOM_C"), store.NodeTraitNotFound,
		store.Values{Node: named("a node").String(), Traits: "CUSTOM_C"})
	b.must(b.NodeTraitClear(ctx, "a node"))
	has()
	_, err := b.NodeTraitList(ctx, "unknown")
	refuses(t, err, store.NodeNotFound, store.Values{Node: "unknown"})
	for _, err := range []error{
		b.NodeTraitReplace(ctx, "unknown", nil), b.NodeTraitAdd(ctx, "unknown", "CUSTOM_A"),
		b.NodeTraitDelete(ctx, "unknown", "CUSTOM_A"), b.NodeTraitClear(ctx, "unknown"),
	} {
		refuses(t, err, store.NodeNotFound, store.Values{Node: "unknown"})
	}
}

func TestNode_MoreThan50Traits_Rejected(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	b.node("a node", "enroll")
	var fifty []string
	for i := range 50 {
		fifty = append(fifty, fmt.Sprintf("CUSTOM_%02d", i))
	}
	b.must(b.NodeTraitReplace(t.Context(), "a node", append(slices.Clone(fifty), "CUSTOM_00")))
	b.must(b.NodeTraitAdd(t.Context(), "a node", "CUSTOM_49"))
	limit := store.Values{Node: named("a node").String()}
	lines(t, b.changed(func() {
		refuses(t, b.NodeTraitAdd(t.Context(), "a node", "CUSTOM_50"), store.NodeTraitLimit, limit)
		refuses(t, b.NodeTraitReplace(t.Context(), "a node", append(fifty, "CUSTOM_50")), store.NodeTraitLimit, limit)
	}))
}

// notified collects the notifications on a channel during a call.
func (b *bundle) notified(channel string, call func()) []string {
	b.t.Helper()
	conn, err := pgx.Connect(b.t.Context(), b.db.URL)
	b.must(err)
	defer conn.Close(b.t.Context())
	_, err = conn.Exec(b.t.Context(), "LISTEN "+channel)
	b.must(err)
	call()
	b.execute("SELECT pg_notify($1, 'end')", channel)
	var heard []string
	for {
		notification, err := conn.WaitForNotification(b.t.Context())
		b.must(err)
		if notification.Payload == "end" {
			return heard
		}
		heard = append(heard, notification.Payload)
	}
}
