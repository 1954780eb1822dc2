package store_test

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
)

// treeOf returns a request for a root with an inventory and a child with a trait and an aggregate.
func treeOf(root, child uuid.UUID, total int32, generation *int64, names ...string) store.Tree {
	return store.Tree{Root: root, Providers: []store.TreeProvider{
		{UUID: root, Name: root.String(), Generation: generation, Inventories: []store.Inventory{inventory("VCPU", total)}},
		{UUID: child, Name: child.String(), Parent: &root, Generation: generation, Traits: names, Aggregates: []uuid.UUID{named("a rack")}},
	}}
}

// asTree returns an operation that writes a tree.
func (b *bundle) asTree(tree store.Tree) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := b.TreeReplace(ctx, tree)
		return err
	}
}

func TestProvider_TreeUnchanged_TakesOneRoundTrip(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	root, child := named("a host"), named("b node")
	tree := treeOf(root, child, 8, nil, "CUSTOM_A")
	tree.Claims = []store.Claim{claim("a server", nil, root, 2)}
	_, err := b.TreeReplace(t.Context(), tree)
	b.must(err)
	for range 3 {
		ctx, trips := postgres.CountRoundTrips(t.Context())
		result, err := b.TreeReplace(ctx, tree)
		b.must(err)
		want := store.TreeResult{
			Providers: []store.TreeProviderResult{
				{Provider: root, Change: "unchanged", Generation: at(1)}, {Provider: child, Change: "unchanged", Generation: at(1)},
			},
			Consumers: []store.TreeConsumerResult{{Consumer: named("a server"), Change: "unchanged", Generation: at(1)}},
		}
		if !reflect.DeepEqual(result, want) {
			t.Errorf("result = %+v, want %+v", result, want)
		}
		if trips.Count() != 1 {
			t.Errorf("round trips = %d, want 1", trips.Count())
		}
	}
}

// lockRoots and lockClasses make all writers of trees wait at the same lock.
const (
	lockRoots   = "SELECT FROM resource_providers WHERE parent_id IS NULL ORDER BY id FOR UPDATE"
	lockClasses = "LOCK TABLE aggregates IN SHARE MODE"
)

func TestProvider_ConcurrentTrees_OneSucceeds(t *testing.T) {
	t.Parallel()
	b := setup(t, 8)
	root, child := named("a host"), named("b node")
	b.must(b.asTree(treeOf(root, child, 8, nil))(t.Context()))
	var operations []func(context.Context) error
	for i := range 4 {
		operations = append(operations, b.asTree(treeOf(root, child, int32(9+i), at(1))))
	}
	got := tally(b.behind(lockRoots, operations...))
	if want := map[store.Rule]int{"": 1, store.ProviderGenerationConflict: 3}; !maps.Equal(got, want) {
		t.Errorf("outcomes = %v, want %v", got, want)
	}
	if b.Pool().Retries() > 0 {
		t.Errorf("retries = %d, want 0", b.Pool().Retries())
	}
}

func TestProvider_ConcurrentNewTrees_OneCreatesThem(t *testing.T) {
	t.Parallel()
	b := setup(t, 8)
	root, child := named("a host"), named("b node")
	var operations []func(context.Context) error
	for i := range 6 {
		operations = append(operations, b.asTree(treeOf(root, child, int32(8+i/2), nil)))
	}
	got := tally(b.behind(lockClasses, operations...))
	if want := map[store.Rule]int{"": 2, store.ProviderGenerationConflict: 4}; !maps.Equal(got, want) {
		t.Errorf("outcomes = %v, want %v", got, want)
	}
}

// Two requests that create the same traits, listed in the opposite order, wait for each other without a deadlock.
func TestProvider_ConcurrentTreesWithNewTraits_AllSucceed(t *testing.T) {
	t.Parallel()
	b := setup(t, 8)
	names := []string{}
	for i := range 20 {
		names = append(names, fmt.Sprintf("CUSTOM_%02d", i))
	}
	var operations []func(context.Context) error
	for i := range 6 {
		slices.Reverse(names)
		root, child := named(fmt.Sprintf("%x host", i)), named(fmt.Sprintf("%x child", 8+i))
		operations = append(operations, b.asTree(treeOf(root, child, 8, nil, slices.Clone(names)...)))
	}
	got := tally(b.behind("LOCK TABLE resource_classes, traits IN SHARE MODE", operations...))
	if want := map[store.Rule]int{"": 6}; !maps.Equal(got, want) || b.Pool().Retries() > 0 {
		t.Errorf("outcomes = %v, want %v; retries = %d", got, want, b.Pool().Retries())
	}
}

func TestProvider_TreeAndClaimAtOnce_OneSucceeds(t *testing.T) {
	t.Parallel()
	b := setup(t, 8)
	root, child := named("a host"), named("b node")
	b.must(b.asTree(treeOf(root, child, 8, nil))(t.Context()))
	drop := treeOf(root, child, 8, at(1))
	drop.Providers[0].Inventories = []store.Inventory{}
	take := func(ctx context.Context) error {
		return b.AllocationReplace(ctx, []store.Claim{claim("a server", nil, root, 3)}, true)
	}
	got := b.behind("SELECT FROM provider_generations ORDER BY provider_id FOR UPDATE", b.asTree(drop), take)
	switch {
	case got[0] == "" && got[1] == store.AllocationNoInventory && b.used(root) == 0:
	case got[0] == store.ProviderGenerationConflict && got[1] == "" && b.used(root) == 3:
	default:
		t.Errorf("outcomes = %q, used = %d", got, b.used(root))
	}
}

// A tree of the property test: its providers, the first of which is the root, and what a consumer has of it.
type modelTree struct {
	providers []store.TreeProvider
	claim     []store.Allocation
}

func drawTree(t *rapid.T, root uuid.UUID) (made modelTree) {
	for i := range rapid.IntRange(1, 5).Draw(t, "providers") {
		one := store.TreeProvider{UUID: root, Name: "root", Inventories: []store.Inventory{}, Traits: []string{}, Aggregates: []uuid.UUID{}}
		if i > 0 {
			one.UUID, one.Name = named(fmt.Sprintf("%x provider", i)), fmt.Sprintf("provider %d", i)
			one.Parent = &made.providers[rapid.IntRange(0, i-1).Draw(t, "parent")].UUID
		}
		for _, class := range []string{"DISK_GB", "VCPU"} {
			if rapid.Bool().Draw(t, class) {
				one.Inventories = append(one.Inventories, inventory(class, int32(rapid.IntRange(100, 102).Draw(t, "total"))))
				if rapid.Bool().Draw(t, "allocated") {
					made.claim = append(made.claim, store.Allocation{Provider: one.UUID, Class: class, Amount: rapid.Int64Range(1, 3).Draw(t, "amount")})
				}
			}
		}
		if rapid.Bool().Draw(t, "trait") {
			one.Traits = append(one.Traits, "CUSTOM_A")
		}
		if rapid.Bool().Draw(t, "aggregate") {
			one.Aggregates = append(one.Aggregates, named("a rack"))
		}
		made.providers = append(made.providers, one)
	}
	return made
}

func TestProvider_RandomTrees_ReadBackEqual(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	root, consumer := named("a root"), named("a server")
	present := map[uuid.UUID]store.TreeProvider{}
	var had []store.Allocation
	var consumerGeneration *int64
	rapid.Check(t, func(t *rapid.T) {
		wanted := drawTree(t, root)
		request := store.Tree{Root: root, Claims: []store.Claim{{
			Consumer: consumer, ProjectID: "p", UserID: "u", Type: "INSTANCE", Generation: consumerGeneration, Allocations: wanted.claim,
		}}}
		gone := maps.Clone(present)
		for _, one := range wanted.providers {
			one.Generation = present[one.UUID].Generation
			delete(gone, one.UUID)
			request.Providers = append(request.Providers, one)
		}
		for id, one := range gone {
			request.Deleted = append(request.Deleted, store.DeletedProvider{UUID: id, Generation: *one.Generation})
		}
		result, err := b.TreeReplace(t.Context(), request)
		if err != nil {
			t.Fatalf("tree: %v", err)
		}
		for i, one := range request.Providers {
			was, existed := present[one.UUID]
			usages := func(all []store.Allocation) (of []store.Allocation) {
				for _, allocation := range all {
					if allocation.Provider == one.UUID {
						of = append(of, allocation)
					}
				}
				return of
			}
			generation := int64(0)
			if existed {
				generation = *was.Generation
			}
			same := len(was.Inventories)+len(one.Inventories) == 0 || reflect.DeepEqual(was.Inventories, one.Inventories)
			same = same && slices.Equal(was.Traits, one.Traits) && slices.Equal(was.Aggregates, one.Aggregates)
			if !same || !slices.Equal(usages(had), usages(wanted.claim)) {
				generation++
			}
			if *result.Providers[i].Generation != generation {
				t.Errorf("generation of %s = %d, want %d", one.Name, *result.Providers[i].Generation, generation)
			}
			wanted.providers[i].Generation = &generation
		}
		present = map[uuid.UUID]store.TreeProvider{}
		for _, one := range wanted.providers {
			present[one.UUID] = one
			compareProvider(t, b, root, one)
		}
		for id := range gone {
			if _, err := b.ProviderShow(t.Context(), id); outcome(err) != store.ProviderNotFound {
				t.Errorf("deleted provider %s: %v", id, err)
			}
		}
		consumerGeneration, had = result.Consumers[0].Generation, wanted.claim
		found, err := b.AllocationList(t.Context(), consumer)
		if err != nil || len(found.Rows) != len(had) {
			t.Errorf("allocations = %+v, want %+v; error %v", found.Rows, had, err)
		}
	})
}

// compareProvider compares what the reads of a provider return with a request.
func compareProvider(t *rapid.T, b *bundle, root uuid.UUID, want store.TreeProvider) {
	shown, err := b.ProviderShow(t.Context(), want.UUID)
	if err != nil {
		t.Fatal(err)
	}
	got := store.TreeProvider{
		UUID: shown.UUID, Name: shown.Name, Parent: shown.Parent, Generation: &shown.Generation,
		Inventories: []store.Inventory{}, Traits: []string{}, Aggregates: []uuid.UUID{},
	}
	inventories, err := b.InventoryList(t.Context(), want.UUID)
	for _, record := range inventories.Records {
		got.Inventories = append(got.Inventories, inventory(record.Class, record.Total))
	}
	_, traits, traitErr := b.ProviderTraitList(t.Context(), want.UUID)
	for _, trait := range traits {
		got.Traits = append(got.Traits, trait.Name)
	}
	_, aggregates, aggregateErr := b.ProviderAggregateList(t.Context(), want.UUID)
	got.Aggregates = append(got.Aggregates, aggregates...)
	slices.SortFunc(got.Inventories, func(a, b store.Inventory) int { return slices.Compare([]byte(a.Class), []byte(b.Class)) })
	if err != nil || traitErr != nil || aggregateErr != nil || shown.Root != root || !reflect.DeepEqual(got, want) {
		t.Errorf("provider = %+v in the tree of %s, want %+v", got, shown.Root, want)
	}
}
