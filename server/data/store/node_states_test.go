package store_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/work/provision"
)

// everyState lists the provision states of the Bare Metal API, those that no node of Berth enters
// included: SQL decides by name.
var everyState = []string{
	"enroll", "verifying", "manageable", "inspecting", "inspect wait", "inspect failed", "cleaning", "clean wait",
	"clean failed", "available", "deploying", "wait call-back", "deploy failed", "active", "adopting", "adopt failed",
	"deleting", "error", "rescue", "rescuing", "rescue wait", "rescue failed", "unrescuing", "unrescue failed",
}

// into sets the state of a node, with a target unless that is empty.
func (b *bundle) into(name, state, target string, maintenance bool) {
	b.t.Helper()
	b.execute("UPDATE nodes SET revision = revision + 1, provision_state = $1, target_provision_state = NULLIF($2, ''), "+
		"maintenance = $3 WHERE name = $4", state, target, maintenance, name)
}

func TestNode_DeleteInEachState_IsAllowedInFour(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	var allowed []string
	for i, state := range everyState {
		name := fmt.Sprintf("%x node", i)
		b.node(name, "available")
		b.into(name, state, "", false)
		err := b.NodeDelete(t.Context(), name)
		if err == nil {
			allowed = append(allowed, state)
			continue
		}
		refuses(t, err, store.NodeNotDeletable, store.Values{Node: named(name).String(), State: state})
		b.into(name, state, "", true)
		if err := b.NodeDelete(t.Context(), name); err != nil {
			t.Errorf("%s in maintenance: error = %v, want none", state, err)
		}
	}
	if want := []string{"enroll", "manageable", "available", "adopt failed"}; !slices.Equal(allowed, want) {
		t.Errorf("deletable states = %q, want %q", allowed, want)
	}
}

// TestNodeAllocation_DeleteInEachState_FollowsUpdates compares the function, which lists the states
// itself, with the rule for changes of a node: both are the same, except for active.
func TestNodeAllocation_DeleteInEachState_FollowsUpdates(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, b *bundle) {
		for i, state := range everyState {
			for j, target := range []string{"", "available"} {
				name := fmt.Sprintf("%x node to %d", i, j)
				b.free(name, name)
				done := b.decided(store.NodeAllocationRequest{ResourceClass: name})
				b.into(name, state, target, false)
				var want store.Rule
				switch {
				case state == "active":
					want = store.NodeAllocationNodeActive
				case !provision.AllowsUpdates(state, target):
					want = store.NodeAllocationNodeBusy
				}
				err := b.NodeAllocationDelete(t.Context(), done.UUID.String())
				if got := outcome(err); got != want {
					t.Errorf("%s with target %q: rule = %q, want %q", state, target, got, want)
				}
				if err == nil {
					continue
				}
				b.into(name, state, target, true)
				if err := b.NodeAllocationDelete(t.Context(), done.UUID.String()); err != nil {
					t.Errorf("%s with target %q in maintenance: error = %v, want none", state, target, err)
				}
			}
		}
	})
}
