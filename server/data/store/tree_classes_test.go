package store_test

import (
	"context"
	"slices"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/store"
)

// treeClasses returns the counts of inventories by tree and class.
func (b *bundle) treeClasses() []string {
	return b.texts(`SELECT root.name || ' ' || class.name || ' ' || tree.providers
		FROM tree_classes AS tree
		JOIN resource_providers AS root ON root.id = tree.root_id
		JOIN resource_classes AS class ON class.id = tree.class_id
		ORDER BY root.name, class.name`)
}

func TestInventory_Writes_CountProvidersByTreeAndClass(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	ctx := t.Context()
	expect := func(after string, want ...string) {
		t.Helper()
		if got := b.treeClasses(); !slices.Equal(got, want) {
			t.Errorf("after %s: counts = %q, want %q", after, got, want)
		}
		dbtest.Audit(t, b.db)
	}
	host := b.provider("a host", nil, map[string]int32{"VCPU": 8, "DISK_GB": 100})
	first := b.provider("b first", &host, map[string]int32{"VGPU": 1})
	second := b.provider("c second", &first, map[string]int32{"VGPU": 1, "DISK_GB": 10})
	rack := b.provider("d rack", nil, map[string]int32{"VGPU": 1})
	expect("creation", "a host DISK_GB 2", "a host VCPU 1", "a host VGPU 2", "d rack VGPU 1")

	_, err := b.InventoryReplace(ctx, host, b.generation(host), inventories(map[string]int32{"VCPU": 9, "MEMORY_MB": 5}), 1)
	b.must(err)
	expect("a replacement", "a host DISK_GB 1", "a host MEMORY_MB 1", "a host VCPU 1", "a host VGPU 2", "d rack VGPU 1")

	b.must(moveUnder(ctx, b, "b first", "d rack"))
	expect("a re-parenting", "a host MEMORY_MB 1", "a host VCPU 1", "d rack DISK_GB 1", "d rack VGPU 3")

	_, err = b.ProviderUpdate(ctx, first, store.ProviderChange{Name: "b first", SetParent: true, MayReparent: true})
	b.must(err)
	expect("an un-parenting", "a host MEMORY_MB 1", "a host VCPU 1", "b first DISK_GB 1", "b first VGPU 2", "d rack VGPU 1")

	b.must(b.Reshape(ctx, []store.ReshapedProvider{
		{Provider: second, Generation: b.generation(second), Records: []store.Inventory{inventory("DISK_GB", 5)}},
		{Provider: rack, Generation: b.generation(rack), Records: []store.Inventory{inventory("DISK_GB", 5)}},
	}, nil))
	expect("a reshape", "a host MEMORY_MB 1", "a host VCPU 1", "b first DISK_GB 1", "b first VGPU 1", "d rack DISK_GB 1")

	_, err = b.InventoryDelete(ctx, host, nil, "VCPU")
	b.must(err)
	_, err = b.InventoryClear(ctx, second, nil)
	b.must(err)
	b.must(b.ProviderDelete(ctx, rack, nil))
	expect("deletions", "a host MEMORY_MB 1", "b first VGPU 1")
}

// TestClaim_AllForms_DoNotWriteTreeClasses: claims neither write nor lock rows of tree_classes or rows of roots.
func TestClaim_AllForms_DoNotWriteTreeClasses(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	ctx := t.Context()
	host := b.provider("a host", nil, map[string]int32{"VCPU": 8})
	part := b.provider("b part", &host, map[string]int32{"VCPU": 8})
	versions := func() []string {
		return b.texts(`SELECT 'tree ' || tree.ctid || tree.xmin || ' ' || tree.xmax FROM tree_classes AS tree
			UNION ALL SELECT 'provider ' || provider.ctid || provider.xmin || ' ' || provider.xmax FROM resource_providers AS provider
			ORDER BY 1`)
	}
	before := versions()
	for name, write := range map[string]func() error{
		"one provider":      func() error { return b.AllocationReplace(ctx, []store.Claim{claimOn("c one", host)}, true) },
		"several providers": func() error { return b.AllocationReplace(ctx, []store.Claim{claimOn("d two", host, part)}, true) },
		"several consumers": func() error {
			return b.AllocationReplace(ctx, []store.Claim{claimOn("e three", host), claimOn("f four", part)}, true)
		},
	} {
		b.must(write())
		if after := versions(); !slices.Equal(after, before) {
			t.Errorf("%s: rows = %q, want %q", name, after, before)
		}
	}
	change := claimOn("c one", part)
	change.Generation = at(1)
	b.must(b.AllocationReplace(ctx, []store.Claim{change}, true))
	_, err := b.AllocationDelete(ctx, named("d two"), nil)
	b.must(err)
	if after := versions(); !slices.Equal(after, before) {
		t.Errorf("change and deletion: rows = %q, want %q", after, before)
	}
}

// TestLocks_ConcurrentInventoryWritesInTree_NoDeadlock: writers of different providers of a tree change its counts in
// opposite orders.
func TestLocks_ConcurrentInventoryWritesInTree_NoDeadlock(t *testing.T) {
	t.Parallel()
	prepare := func(b *bundle, round string) {
		b.hostWithRoom(round)
		root := named(host(round))
		b.provider(child(round), &root, map[string]int32{"VCPU": 8})
		b.provider(other(round), &root, map[string]int32{"DISK_GB": 8})
	}
	replace := func(ctx context.Context, b *bundle, name, class string) error {
		_, err := b.InventoryReplace(ctx, named(name), 1, inventories(map[string]int32{class: 5}), 1)
		return err
	}
	one := func(ctx context.Context, b *bundle, round string) error {
		return replace(ctx, b, child(round), "DISK_GB")
	}
	meet(t, map[string]pair{
		"inventories of two children are replaced": {
			lock: lockProviders, prepare: prepare, ends: [][2]store.Rule{{"", ""}}, one: one,
			two: func(ctx context.Context, b *bundle, round string) error { return replace(ctx, b, other(round), "VCPU") },
		},
		"inventories of a child are deleted": {
			lock: lockProviders, prepare: prepare, ends: [][2]store.Rule{{"", ""}}, one: one,
			two: func(ctx context.Context, b *bundle, round string) error {
				_, err := b.InventoryClear(ctx, named(other(round)), nil)
				return err
			},
		},
		"a child is deleted": {
			lock: lockProviders, prepare: prepare, ends: [][2]store.Rule{{"", ""}}, one: one,
			two: func(ctx context.Context, b *bundle, round string) error {
				return b.ProviderDelete(ctx, named(other(round)), nil)
			},
		},
		"the tree is reshaped": {
			lock: lockProviders, prepare: prepare, ends: [][2]store.Rule{{"", ""}}, one: one,
			two: func(ctx context.Context, b *bundle, round string) error {
				return b.Reshape(ctx, []store.ReshapedProvider{
					{Provider: named(other(round)), Generation: 1, Records: []store.Inventory{inventory("VCPU", 5)}},
					{Provider: named(host(round)), Generation: 1, Records: []store.Inventory{inventory("DISK_GB", 5)}},
				}, nil)
			},
		},
		"a root is deleted while it becomes a child": {
			lock: "SELECT FROM resource_providers FOR UPDATE", again: true, ends: [][2]store.Rule{{"", ""}, {"", store.ProviderNotFound}},
			prepare: func(b *bundle, round string) {
				b.hostWithRoom(round)
				b.provider(other(round), nil, map[string]int32{"VCPU": 8})
			},
			one: deleteHost,
			two: func(ctx context.Context, b *bundle, round string) error {
				return moveUnder(ctx, b, host(round), other(round))
			},
		},
	})
}
