package store_test

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

// twoRoots creates a host with a child, and another root.
func twoRoots(b *bundle, round string) {
	b.hostWithRoom(round)
	root := named(host(round))
	b.provider(child(round), &root, map[string]int32{"VCPU": 8})
	b.provider(other(round), nil, nil)
}

func addGrandchild(ctx context.Context, b *bundle, round string) error {
	parent := named(child(round))
	_, err := b.ProviderCreate(ctx, named("f grandchild"+round), "f grandchild"+round, &parent)
	return err
}

func moveHostUnderOther(ctx context.Context, b *bundle, round string) error {
	return moveUnder(ctx, b, host(round), other(round))
}

// The audit checks the roots afterwards.
func TestLocks_ConcurrentTreeChanges_ConsistentOutcome(t *testing.T) {
	t.Parallel()
	const lockRows = "SELECT FROM resource_providers FOR UPDATE"
	both := [][2]store.Rule{{"", ""}}
	meet(t, map[string]pair{
		"a child is created while its tree is moved": {
			lock: lockRows, prepare: twoRoots, one: addGrandchild, two: moveHostUnderOther, again: true, ends: both,
		},
		"an inventory is created while its tree is moved": {
			lock: lockRows, prepare: twoRoots, two: moveHostUnderOther, again: true, ends: both,
			one: func(ctx context.Context, b *bundle, round string) error {
				return addInventory(ctx, b, child(round), "DISK_GB")
			},
		},
		"inventories are replaced while their tree is moved": {
			lock: lockProviders, prepare: twoRoots, two: moveHostUnderOther, again: true, ends: both,
			one: func(ctx context.Context, b *bundle, round string) error {
				_, err := b.InventoryReplace(ctx, named(child(round)), 1, inventories(map[string]int32{"DISK_GB": 5, "VCPU": 6}), 1)
				return err
			},
		},
		"a child is renamed while its tree is moved": {
			lock: lockRows, prepare: twoRoots, two: moveHostUnderOther, again: true, ends: both,
			one: func(ctx context.Context, b *bundle, round string) error {
				_, err := b.ProviderUpdate(ctx, named(child(round)), store.ProviderChange{Name: child(round) + " again"})
				return err
			},
		},
		"a child gets traits and aggregates while its tree is moved": {
			lock: lockProviders, prepare: twoRoots, two: moveHostUnderOther, again: true, ends: both,
			one: func(ctx context.Context, b *bundle, round string) error {
				if _, _, err := b.ProviderTraitReplace(ctx, named(child(round)), 1, []string{"HW_CPU_X86_VMX"}); err != nil {
					return err
				}
				_, err := b.ProviderAggregateReplace(ctx, named(child(round)), nil, []uuid.UUID{named("e rack")})
				return err
			},
		},
		"a tree is reshaped while it is moved": {
			lock: lockRows, prepare: twoRoots, two: moveHostUnderOther, again: true, ends: both,
			one: func(ctx context.Context, b *bundle, round string) error {
				return b.Reshape(ctx, []store.ReshapedProvider{
					{Provider: named(host(round)), Generation: 1, Records: []store.Inventory{inventory("DISK_GB", 5)}},
					{Provider: named(child(round)), Generation: 1, Records: []store.Inventory{inventory("PCPU", 5)}},
				}, nil)
			},
		},
		"a subtree is moved while its root is moved": {
			lock: lockRows, prepare: twoRoots, two: moveHostUnderOther, again: true, ends: both,
			one: func(ctx context.Context, b *bundle, round string) error {
				return moveUnder(ctx, b, child(round), other(round))
			},
		},
		"two roots are moved below each other": {
			lock: lockRows, prepare: twoRoots, two: moveHostUnderOther, again: true,
			one: func(ctx context.Context, b *bundle, round string) error {
				return moveUnder(ctx, b, other(round), child(round))
			},
			ends: [][2]store.Rule{{"", store.ParentCycle}, {store.ParentCycle, ""}},
		},
		"a child becomes a root while its root is moved": {
			lock: lockRows, prepare: twoRoots, two: moveHostUnderOther, again: true, ends: both,
			one: func(ctx context.Context, b *bundle, round string) error {
				_, err := b.ProviderUpdate(ctx, named(child(round)), store.ProviderChange{Name: child(round), SetParent: true, MayReparent: true})
				return err
			},
		},
		"a provider is moved below one that is deleted": {
			lock: lockRows, again: true, prepare: twoRoots, one: moveHostUnderOther,
			two: func(ctx context.Context, b *bundle, round string) error {
				return b.ProviderDelete(ctx, named(other(round)), nil)
			},
			ends: [][2]store.Rule{{"", store.ProviderHasChildren}, {store.ParentNotFound, ""}},
		},
		"a provider is moved while it is deleted": {
			lock: lockRows, again: true, prepare: twoRoots,
			one: func(ctx context.Context, b *bundle, round string) error {
				return moveUnder(ctx, b, child(round), other(round))
			},
			two: func(ctx context.Context, b *bundle, round string) error {
				return b.ProviderDelete(ctx, named(child(round)), nil)
			},
			ends: [][2]store.Rule{{"", ""}, {store.ProviderNotFound, ""}},
		},
		"a child is created while its parent is deleted": {
			lock: lockRows, prepare: twoRoots, one: addGrandchild,
			two: func(ctx context.Context, b *bundle, round string) error {
				return b.ProviderDelete(ctx, named(child(round)), nil)
			},
			ends: [][2]store.Rule{{"", store.ProviderHasChildren}, {store.ParentNotFound, ""}},
		},
		"a child is created while its root is deleted": {
			lock: lockRows,
			prepare: func(b *bundle, round string) {
				b.hostWithRoom(round)
			},
			one: func(ctx context.Context, b *bundle, round string) error {
				root := named(host(round))
				_, err := b.ProviderCreate(ctx, named(child(round)), child(round), &root)
				return err
			},
			two:  deleteHost,
			ends: [][2]store.Rule{{"", store.ProviderHasChildren}, {store.ParentNotFound, ""}},
		},
		"a root and its child are deleted": {
			lock: lockRows, prepare: twoRoots, two: deleteHost,
			one: func(ctx context.Context, b *bundle, round string) error {
				return b.ProviderDelete(ctx, named(child(round)), nil)
			},
			ends: [][2]store.Rule{{"", ""}, {"", store.ProviderHasChildren}},
		},
		"a provider is created twice": {
			prepare: func(*bundle, string) {},
			one: func(ctx context.Context, b *bundle, round string) error {
				_, err := b.ProviderCreate(ctx, named(host(round)), host(round), nil)
				return err
			},
			two: func(ctx context.Context, b *bundle, round string) error {
				_, err := b.ProviderCreate(ctx, named(other(round)), host(round), nil)
				return err
			},
			ends: [][2]store.Rule{{"", store.ProviderNameTaken}, {store.ProviderNameTaken, ""}},
		},
	})
}
