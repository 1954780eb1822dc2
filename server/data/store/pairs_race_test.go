package store_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/store"
)

// pair is two conflicting operations, and their allowed outcomes.
type pair struct {
	// lock is the lock that the first operation waits for; see behind. Empty: none.
	lock string
	// prepare creates the objects of each round.
	prepare func(b *bundle, round string)
	one     func(ctx context.Context, b *bundle, round string) error
	two     func(ctx context.Context, b *bundle, round string) error
	// ends are the allowed outcomes, of one and two.
	ends [][2]store.Rule
	// again permits a retry of a write, because the other operation deletes a name that it has looked up, or re-parents
	// the tree.
	again bool
}

// The names of the objects of a round.
func host(round string) string   { return "a host" + round }
func child(round string) string  { return "b child" + round }
func other(round string) string  { return "c other" + round }
func server(round string) string { return "d server" + round }
func custom(round string) string { return "CUSTOM_R" + round }

func (b *bundle) hostWithRoom(round string) {
	b.provider(host(round), nil, map[string]int32{"VCPU": 8})
}

func claimOnHost(ctx context.Context, b *bundle, round string) error {
	return b.AllocationReplace(ctx, []store.Claim{claim(server(round), nil, named(host(round)), 2)}, true)
}

func deleteHost(ctx context.Context, b *bundle, round string) error {
	return b.ProviderDelete(ctx, named(host(round)), nil)
}

// moveUnder sets the parent of a provider.
func moveUnder(ctx context.Context, b *bundle, name, parent string) error {
	below := named(parent)
	_, err := b.ProviderUpdate(ctx, named(name), store.ProviderChange{Name: name, SetParent: true, Parent: &below, MayReparent: true})
	return err
}

func addInventory(ctx context.Context, b *bundle, name, class string) error {
	_, err := b.InventoryCreate(ctx, named(name), nil, inventory(class, 8), 1)
	return err
}

// rounds is how often each pair runs, half of them behind a lock.
const rounds = 8

// meet runs pairs one after the other on one database, which is audited after each of them.
func meet(t *testing.T, pairs map[string]pair) {
	t.Helper()
	b := setup(t, 4)
	for number, name := range slices.Sorted(maps.Keys(pairs)) {
		t.Run(name, func(t *testing.T) {
			b.t = t
			defer func(before int64) {
				if after := b.Pool().Retries(); !pairs[name].again && after > before {
					t.Errorf("retries = %d, want 0", after-before)
				}
				dbtest.Audit(t, b.db)
			}(b.Pool().Retries())
			pairs[name].meet(b, number)
		})
	}
	b.t = t
	if found := b.deadlocks(); found > 0 {
		t.Errorf("deadlocks = %d, want 0", found)
	}
}

func (p pair) meet(b *bundle, number int) {
	for i := range rounds {
		round := fmt.Sprintf("_%d_%d", number, i)
		p.prepare(b, round)
		operations := []func(context.Context) error{
			func(ctx context.Context) error { return p.one(ctx, b, round) },
			func(ctx context.Context) error { return p.two(ctx, b, round) },
		}
		if i%2 == 1 {
			slices.Reverse(operations)
		}
		var got []store.Rule
		if p.lock != "" && i%4 < 2 {
			got = b.behind(p.lock, operations...)
		} else {
			got = b.together(operations...)
		}
		if i%2 == 1 {
			slices.Reverse(got)
		}
		if !slices.Contains(p.ends, [2]store.Rule(got)) {
			b.t.Errorf("round %s: got %q, want one of %q", round, got, p.ends)
		}
	}
}

func TestLocks_ClaimWithProviderChange_ConsistentOutcome(t *testing.T) {
	t.Parallel()
	meet(t, map[string]pair{
		"the inventory is deleted": {
			lock: lockProviders, prepare: (*bundle).hostWithRoom, one: claimOnHost,
			two: func(ctx context.Context, b *bundle, round string) error {
				_, err := b.InventoryDelete(ctx, named(host(round)), nil, "VCPU")
				return err
			},
			ends: [][2]store.Rule{{"", store.InventoryInUse}, {store.AllocationNoInventory, ""}},
		},
		"all inventories are deleted": {
			lock: lockProviders, prepare: (*bundle).hostWithRoom, one: claimOnHost,
			two: func(ctx context.Context, b *bundle, round string) error {
				_, err := b.InventoryClear(ctx, named(host(round)), nil)
				return err
			},
			ends: [][2]store.Rule{{"", store.InventoryInUse}, {store.AllocationNoInventory, ""}},
		},
		"the inventory shrinks": {
			lock: lockProviders, prepare: (*bundle).hostWithRoom, one: claimOnHost,
			two: func(ctx context.Context, b *bundle, round string) error {
				_, err := b.InventoryUpdate(ctx, named(host(round)), 1, inventory("VCPU", 1), 1)
				return err
			},
			ends: [][2]store.Rule{{"", store.ProviderGenerationConflict}, {store.AllocationExceedsCapacity, ""}},
		},
		"the provider is deleted": {
			lock: lockProviders, prepare: (*bundle).hostWithRoom, one: claimOnHost, two: deleteHost, again: true,
			ends: [][2]store.Rule{{"", store.ProviderHasAllocations}, {store.AllocationProviderNotFound, ""}},
		},
		"the provider is moved": {
			lock: lockProviders, one: claimOnHost,
			prepare: func(b *bundle, round string) {
				b.hostWithRoom(round)
				b.provider(other(round), nil, nil)
			},
			two: func(ctx context.Context, b *bundle, round string) error {
				return moveUnder(ctx, b, host(round), other(round))
			},
			ends: [][2]store.Rule{{"", ""}},
		},
		"a reshape takes the inventory to a child": {
			lock: lockProviders, one: claimOnHost,
			prepare: func(b *bundle, round string) {
				b.hostWithRoom(round)
				root := named(host(round))
				b.provider(child(round), &root, nil)
			},
			two: func(ctx context.Context, b *bundle, round string) error {
				return b.Reshape(ctx, []store.ReshapedProvider{
					{Provider: named(host(round)), Generation: 1},
					{Provider: named(child(round)), Generation: 0, Records: []store.Inventory{inventory("VCPU", 8)}},
				}, nil)
			},
			ends: [][2]store.Rule{{"", store.ProviderGenerationConflict}, {store.AllocationNoInventory, ""}},
		},
		"its class is deleted": {
			again: true,
			prepare: func(b *bundle, round string) {
				b.hostWithRoom(round)
				_, err := b.ResourceClassCreate(b.t.Context(), custom(round))
				b.must(err)
			},
			one: func(ctx context.Context, b *bundle, round string) error {
				wanted := claim(server(round), nil, named(host(round)), 2)
				wanted.Allocations[0].Class = custom(round)
				return b.AllocationReplace(ctx, []store.Claim{wanted}, true)
			},
			two: func(ctx context.Context, b *bundle, round string) error {
				return b.ResourceClassDelete(ctx, custom(round))
			},
			ends: [][2]store.Rule{{store.AllocationNoInventory, ""}, {store.ClassNotFound, ""}},
		},
		"the consumer is deleted": {
			lock: "SELECT FROM consumers FOR UPDATE",
			prepare: func(b *bundle, round string) {
				b.hostWithRoom(round)
				b.must(claimOnHost(b.t.Context(), b, round))
			},
			one: func(ctx context.Context, b *bundle, round string) error {
				return b.AllocationReplace(ctx, []store.Claim{claim(server(round), at(1), named(host(round)), 8)}, true)
			},
			two: func(ctx context.Context, b *bundle, round string) error {
				_, err := b.AllocationDelete(ctx, named(server(round)), nil)
				return err
			},
			ends: [][2]store.Rule{{"", ""}, {store.ConsumerGenerationConflict, ""}},
		},
	})
}

func TestLocks_ProviderWrittenWhileDeleted_ConsistentOutcome(t *testing.T) {
	t.Parallel()
	const lockRows = "SELECT FROM resource_providers FOR UPDATE"
	ends := [][2]store.Rule{{"", ""}, {store.ProviderNotFound, ""}}
	writes := map[string]func(ctx context.Context, b *bundle, name, round string) error{
		"it gets an inventory": func(ctx context.Context, b *bundle, name, _ string) error {
			return addInventory(ctx, b, name, "DISK_GB")
		},
		"its inventories are replaced": func(ctx context.Context, b *bundle, name, _ string) error {
			_, err := b.InventoryReplace(ctx, named(name), 1, inventories(map[string]int32{"DISK_GB": 5, "VCPU": 6}), 1)
			return err
		},
		"it gets a trait": func(ctx context.Context, b *bundle, name, _ string) error {
			_, _, err := b.ProviderTraitReplace(ctx, named(name), 1, []string{"HW_CPU_X86_VMX"})
			return err
		},
		"it joins an aggregate": func(ctx context.Context, b *bundle, name, round string) error {
			_, err := b.ProviderAggregateReplace(ctx, named(name), at(1), []uuid.UUID{named("e rack" + round)})
			return err
		},
		"it is reshaped": func(ctx context.Context, b *bundle, name, _ string) error {
			records := inventories(map[string]int32{"DISK_GB": 5, "VCPU": 6})
			return b.Reshape(ctx, []store.ReshapedProvider{{Provider: named(name), Generation: 1, Records: records}}, nil)
		},
		"it is renamed": func(ctx context.Context, b *bundle, name, _ string) error {
			_, err := b.ProviderUpdate(ctx, named(name), store.ProviderChange{Name: name + " again"})
			return err
		},
		"it is renamed where its parent is": func(ctx context.Context, b *bundle, name, _ string) error {
			shown, err := b.ProviderShow(ctx, named(name))
			if err == nil {
				_, err = b.ProviderUpdate(ctx, named(name), store.ProviderChange{Name: name + " again", SetParent: true, Parent: shown.Parent})
			}
			return err
		},
	}
	pairs := map[string]pair{}
	for name, write := range writes {
		for _, of := range []string{"root", "child"} {
			written := host
			if of == "child" {
				written = child
			}
			for kind, lock := range map[string]string{"generations": lockProviders, "rows": lockRows} {
				pairs[name+", a "+of+" behind its "+kind] = pair{
					lock: lock, ends: ends,
					prepare: func(b *bundle, round string) {
						b.hostWithRoom(round)
						if of == "child" {
							root := named(host(round))
							b.provider(child(round), &root, map[string]int32{"VCPU": 8})
						}
					},
					one: func(ctx context.Context, b *bundle, round string) error { return write(ctx, b, written(round), round) },
					two: func(ctx context.Context, b *bundle, round string) error {
						return b.ProviderDelete(ctx, named(written(round)), nil)
					},
				}
			}
		}
	}
	meet(t, pairs)
}
