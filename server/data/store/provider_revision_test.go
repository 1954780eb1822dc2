package store_test

import (
	"maps"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

// TestProvider_ConditionsChange_RevisionIncreases holds that a provider's revision increases with everything that a search
// reads of the provider except its inventories and usages: POST /claims compares it.
func TestProvider_ConditionsChange_RevisionIncreases(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	ctx := t.Context()
	root, child, leaf, other := named("root"), named("child"), named("leaf"), named("other")
	create := func(id uuid.UUID, name string, parent *uuid.UUID) {
		t.Helper()
		if _, err := b.ProviderCreate(ctx, id, name, parent); err != nil {
			t.Fatal(err)
		}
	}
	create(root, "root", nil)
	create(child, "child", &root)
	create(leaf, "leaf", &child)
	create(other, "other", nil)
	inventory := []store.Inventory{{Class: "VCPU", Total: 8, MinUnit: 1, MaxUnit: 8, StepSize: 1, AllocationRatio: 1}}
	claim := []store.Claim{{Consumer: named("consumer"), ProjectID: "p", UserID: "u", Type: "INSTANCE",
		Allocations: []store.Allocation{{Provider: child, Class: "VCPU", Amount: 1}}}}
	for _, step := range []struct {
		name  string
		write func() error
		want  map[uuid.UUID]int64 // increments
	}{
		{"inventory", func() error { _, err := b.InventoryReplace(ctx, child, 0, inventory, 0); return err }, nil},
		{"claim", func() error { return b.AllocationReplace(ctx, claim, true) }, nil},
		{"trait", func() error {
			_, _, err := b.ProviderTraitPatch(ctx, child, nil, []string{"HW_CPU_X86_VMX"}, nil)
			return err
		}, map[uuid.UUID]int64{child: 1}},
		{"same trait", func() error {
			_, _, err := b.ProviderTraitPatch(ctx, child, nil, []string{"HW_CPU_X86_VMX"}, nil)
			return err
		}, nil},
		{"aggregate", func() error {
			_, _, err := b.ProviderAggregatePatch(ctx, child, nil, []uuid.UUID{named("aggregate")}, nil)
			return err
		}, map[uuid.UUID]int64{child: 1}},
		{"move below another root", func() error {
			_, err := b.ProviderUpdate(ctx, child, store.ProviderChange{Name: "child", SetParent: true, Parent: &other, MayReparent: true})
			return err
		}, map[uuid.UUID]int64{child: 1, leaf: 1}},
	} {
		before := revisions(t, b)
		if err := step.write(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		increments := map[uuid.UUID]int64{}
		for id, revision := range revisions(t, b) {
			if revision != before[id] {
				increments[id] = revision - before[id]
			}
		}
		if !maps.Equal(increments, step.want) {
			t.Errorf("%s: increments of revisions = %v, want %v", step.name, increments, step.want)
		}
	}
}

// revisions returns the revisions of all providers.
func revisions(t *testing.T, b *bundle) map[uuid.UUID]int64 {
	t.Helper()
	rows, err := b.db.Pool.Query(t.Context(), "SELECT uuid, revision FROM resource_providers")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	found := map[uuid.UUID]int64{}
	for rows.Next() {
		var id uuid.UUID
		var revision int64
		if err := rows.Scan(&id, &revision); err != nil {
			t.Fatal(err)
		}
		found[id] = revision
	}
	return found
}
