package store_test

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

// lockProviders is what every write to a provider waits for.
const lockProviders = "SELECT FROM provider_generations FOR UPDATE"

func TestClaim_ConcurrentOnOneInventory_NeverExceedsCapacity(t *testing.T) {
	t.Parallel()
	const claimants, total, each = 24, 21, 2
	b := setup(t, claimants)
	host := b.provider("a host", nil, map[string]int32{"VCPU": total})
	var claims []func(context.Context) error
	for i := range claimants {
		claims = append(claims, func(ctx context.Context) error {
			one := claim(fmt.Sprintf("%x server %d", i%16, i), nil, host, each)
			return b.AllocationReplace(ctx, []store.Claim{one}, true)
		})
	}
	got := tally(b.behind(lockProviders, claims...))
	want := map[store.Rule]int{"": total / each, store.AllocationExceedsCapacity: claimants - total/each}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := b.used(host), int64(total/each*each); got != want {
		t.Errorf("used: got %d, want %d", got, want)
	}
	// One for the inventory, one for each claim.
	if got, want := b.generation(host), int64(1+total/each); got != want {
		t.Errorf("generation: got %d, want %d", got, want)
	}
	if b.Pool().Retries() > 0 {
		t.Errorf("retries = %d, want 0", b.Pool().Retries())
	}
}

func TestClaim_ConcurrentForNewConsumer_OneSucceeds(t *testing.T) {
	t.Parallel()
	const claimants = 8
	b := setup(t, claimants)
	host := b.provider("a host", nil, map[string]int32{"VCPU": 100})
	var claims []func(context.Context) error
	for i := range claimants {
		claims = append(claims, func(ctx context.Context) error {
			return b.AllocationReplace(ctx, []store.Claim{claim("a server", nil, host, int64(i+1))}, true)
		})
	}
	got := tally(b.behind(lockProviders, claims...))
	want := map[store.Rule]int{"": 1, store.ConsumerGenerationConflict: claimants - 1}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestClaim_ConcurrentSameConsumerGeneration_OneSucceeds(t *testing.T) {
	t.Parallel()
	const claimants = 8
	b := setup(t, claimants)
	host := b.provider("a host", nil, map[string]int32{"VCPU": 100})
	b.must(b.AllocationReplace(t.Context(), []store.Claim{claim("a server", nil, host, 1)}, true))
	var claims []func(context.Context) error
	for i := range claimants {
		claims = append(claims, func(ctx context.Context) error {
			return b.AllocationReplace(ctx, []store.Claim{claim("a server", at(1), host, int64(i+1))}, true)
		})
	}
	got := tally(b.behind(lockProviders, claims...))
	want := map[store.Rule]int{"": 1, store.ConsumerGenerationConflict: claimants - 1}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestClaim_ConcurrentWithoutGeneration_AllSucceed(t *testing.T) {
	t.Parallel()
	const claimants = 8
	b := setup(t, claimants)
	host := b.provider("a host", nil, map[string]int32{"VCPU": 8})
	var claims []func(context.Context) error
	for i := range claimants {
		claims = append(claims, func(ctx context.Context) error {
			return b.AllocationReplace(ctx, []store.Claim{claim("a server", nil, host, int64(i+1))}, false)
		})
	}
	got := tally(b.behind(lockProviders, claims...))
	if want := (map[store.Rule]int{"": claimants}); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	found, err := b.AllocationList(t.Context(), named("a server"))
	if err != nil || found.Generation != claimants || len(found.Rows) != 1 {
		t.Errorf("got %+v, %v", found, err)
	}
}

// A consumer without allocations is deleted; a claim that waited for it creates a new one on its retry.
func TestClaim_ConsumerDeletedMeanwhile_Recreated(t *testing.T) {
	t.Parallel()
	b := setup(t, 8)
	host := b.provider("a host", nil, map[string]int32{"VCPU": 100})
	b.must(b.AllocationReplace(t.Context(), []store.Claim{claim("a server", nil, host, 1)}, true))
	operations := []func(context.Context) error{
		func(ctx context.Context) error { _, err := b.AllocationDelete(ctx, named("a server"), nil); return err },
		func(ctx context.Context) error {
			return b.AllocationReplace(ctx, []store.Claim{claim("a server", nil, host, 0)}, false)
		},
	}
	for range 4 {
		operations = append(operations, func(ctx context.Context) error {
			return b.AllocationReplace(ctx, []store.Claim{claim("a server", nil, host, 3)}, false)
		})
	}
	got := tally(b.behind("SELECT FROM consumers FOR UPDATE", operations...))
	if want := (map[store.Rule]int{"": len(operations)}); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Each side lists the consumers in its own order, and both providers are full.
func TestLocks_ClaimsInOppositeOrder_NoDeadlock(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	hosts := []uuid.UUID{
		b.provider("a host", nil, map[string]int32{"VCPU": 8}), b.provider("b host", nil, map[string]int32{"VCPU": 8}),
	}
	on := func(ctx context.Context, first, second store.Claim) error {
		return b.AllocationReplace(ctx, []store.Claim{first, second}, true)
	}
	b.must(on(t.Context(), claim("1 server", nil, hosts[0], 8), claim("2 server", nil, hosts[1], 8)))
	for generation := int64(1); generation <= 20; generation++ {
		there, here := hosts[generation%2], hosts[(generation+1)%2]
		one, two := claim("1 server", at(generation), there, 8), claim("2 server", at(generation), here, 8)
		got := tally(b.together(
			func(ctx context.Context) error { return on(ctx, one, two) },
			func(ctx context.Context) error { return on(ctx, two, one) },
		))
		want := map[store.Rule]int{"": 1, store.ConsumerGenerationConflict: 1}
		if !maps.Equal(got, want) {
			t.Fatalf("swap %d: got %v, want %v", generation, got, want)
		}
	}
	if b.Pool().Retries() > 0 {
		t.Errorf("retries = %d, want 0", b.Pool().Retries())
	}
}

// The projects, users and types of many claims are new to all of them.
func TestClaim_ConcurrentNewProjectsAndUsers_CreatedOnce(t *testing.T) {
	t.Parallel()
	const claimants = 8
	b := setup(t, claimants)
	host := b.provider("a host", nil, map[string]int32{"VCPU": 100})
	var claims []func(context.Context) error
	for i := range claimants {
		claims = append(claims, func(ctx context.Context) error {
			one, two := claim(fmt.Sprintf("%x one", i), nil, host, 1), claim(fmt.Sprintf("%x two", i), nil, host, 1)
			one.ProjectID, two.ProjectID = "north", "south"
			one.UserID, two.UserID = "ada", "bob"
			one.Type, two.Type = "INSTANCE", "MIGRATION"
			if i%2 == 0 {
				one, two = two, one
			}
			return b.AllocationReplace(ctx, []store.Claim{one, two}, true)
		})
	}
	got := tally(b.together(claims...))
	if want := (map[store.Rule]int{"": claimants}); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	var projects, users, types int
	b.must(b.db.Pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM projects), (SELECT count(*) FROM users),
		(SELECT count(*) FROM consumer_types)`).Scan(&projects, &users, &types))
	if projects != 2 || users != 2 || types != 2 {
		t.Errorf("projects = %d, users = %d, types = %d", projects, users, types)
	}
	if b.Pool().Retries() > 0 {
		t.Errorf("retries = %d, want 0", b.Pool().Retries())
	}
}
