package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
)

// wholeTree selects everything of a provider's tree.
func wholeTree(provider uuid.UUID) store.TreeQuery {
	return store.TreeQuery{
		Provider: provider, Inventories: true, Traits: true, Aggregates: true, Sharing: true, Consumers: true, MaxConsumers: 10_000,
	}
}

// randomCloud creates providers in trees, some of which share, and consumers on random ones of them.
func (b *bundle) randomCloud(random *rand.Rand) (providers, consumers []uuid.UUID) {
	b.t.Helper()
	ctx := b.t.Context()
	for i := range 3 + random.IntN(9) {
		var parent *uuid.UUID
		if i > 0 && random.IntN(3) > 0 {
			parent = &providers[random.IntN(i)]
		}
		id := b.provider(fmt.Sprintf("%x provider", i), parent, map[string]int32{"VCPU": 100, "DISK_GB": 100})
		traits := []string{"HW_CPU_X86_VMX", "HW_CPU_X86_AVX2"}[:random.IntN(3)]
		if random.IntN(2) == 0 {
			traits = append(slices.Clone(traits), "MISC_SHARES_VIA_AGGREGATE")
		}
		_, _, err := b.ProviderTraitReplace(ctx, id, 1, traits)
		b.must(err)
		var aggregates []uuid.UUID
		for n := range 3 {
			if random.IntN(3) == 0 {
				aggregates = append(aggregates, named(fmt.Sprintf("%x rack", n)))
			}
		}
		_, err = b.ProviderAggregateReplace(ctx, id, nil, aggregates)
		b.must(err)
		providers = append(providers, id)
	}
	if moved := random.IntN(len(providers)); random.IntN(2) == 0 { // the ids of its parents may be greater
		name := fmt.Sprintf("%x moved", moved)
		parent := providers[random.IntN(len(providers))]
		_, err := b.ProviderUpdate(ctx, providers[moved], store.ProviderChange{Name: name, SetParent: true, Parent: &parent, MayReparent: true})
		if violation := store.AsRuleViolation(err); err != nil && violation == nil {
			b.must(err)
		}
	}
	for i := range random.IntN(12) {
		made := store.Claim{Consumer: named(fmt.Sprintf("%x consumer", i)), ProjectID: "p", UserID: "u", Type: []string{"", "INSTANCE"}[random.IntN(2)]}
		for range 1 + random.IntN(3) {
			one := store.Allocation{Provider: providers[random.IntN(len(providers))], Class: []string{"VCPU", "DISK_GB"}[random.IntN(2)], Amount: 1 + random.Int64N(3)}
			if !slices.ContainsFunc(made.Allocations, func(other store.Allocation) bool { return other.Provider == one.Provider && other.Class == one.Class }) {
				made.Allocations = append(made.Allocations, one)
			}
		}
		b.must(b.AllocationReplace(ctx, []store.Claim{made}, true))
		consumers = append(consumers, made.Consumer)
	}
	return providers, consumers
}

// singly is a provider as the reads of one provider return it.
func (b *bundle) singly(id uuid.UUID) (made store.ShownProvider) {
	b.t.Helper()
	ctx := b.t.Context()
	shown, err := b.ProviderShow(ctx, id)
	b.must(err)
	made.Provider = shown
	made.ModifiedAt = nil
	inventories, err := b.InventoryList(ctx, id)
	b.must(err)
	for _, record := range inventories.Records {
		record.ModifiedAt = time.Time{}
		made.Inventories = append(made.Inventories, record)
	}
	_, traits, err := b.ProviderTraitList(ctx, id)
	b.must(err)
	for _, trait := range traits {
		made.Traits = append(made.Traits, trait.Name)
	}
	_, made.Aggregates, err = b.ProviderAggregateList(ctx, id)
	b.must(err)
	if len(made.Aggregates) == 0 {
		made.Aggregates = nil
	}
	return made
}

// expectedTree computes the tree of a provider from reads of single providers and consumers.
func (b *bundle) expectedTree(of uuid.UUID, providers, consumers []uuid.UUID) (own, sharing map[uuid.UUID]store.ShownProvider, sharingOnly map[uuid.UUID]bool) {
	b.t.Helper()
	own, sharing, sharingOnly = map[uuid.UUID]store.ShownProvider{}, map[uuid.UUID]store.ShownProvider{}, map[uuid.UUID]bool{}
	root := b.singly(of).Root
	all, aggregates := map[uuid.UUID]store.ShownProvider{}, map[uuid.UUID]bool{}
	for _, id := range providers {
		all[id] = b.singly(id)
		if all[id].Root == root {
			own[id] = all[id]
			for _, aggregate := range all[id].Aggregates {
				aggregates[aggregate] = true
			}
		}
	}
	shares := func(id uuid.UUID) bool { return slices.Contains(all[id].Traits, "MISC_SHARES_VIA_AGGREGATE") }
	for id, one := range all {
		if one.Root != root && shares(id) && slices.ContainsFunc(one.Aggregates, func(aggregate uuid.UUID) bool { return aggregates[aggregate] }) {
			sharing[id] = one
		}
	}
	for _, consumer := range consumers {
		found, err := b.AllocationList(b.t.Context(), consumer)
		b.must(err)
		inTree, inSharing, elsewhere := false, false, false
		for _, row := range found.Rows {
			_, reached := sharing[row.Provider]
			inTree = inTree || all[row.Provider].Root == root
			inSharing = inSharing || reached
			elsewhere = elsewhere || !shares(row.Provider)
		}
		if inTree {
			sharingOnly[consumer] = false
		} else if inSharing && !elsewhere {
			sharingOnly[consumer] = true
		}
	}
	return own, sharing, sharingOnly
}

func TestProvider_TreeShown_EqualsSingleReads(t *testing.T) {
	t.Parallel()
	const seeds = 12
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			b := setup(t, 2)
			random := rand.New(rand.NewPCG(uint64(seed), 4))
			providers, consumers := b.randomCloud(random)
			for _, id := range providers {
				tree, err := b.TreeShow(t.Context(), wholeTree(id))
				b.must(err)
				own, sharing, users := b.expectedTree(id, providers, consumers)
				compareShown(t, "tree", tree.Providers, own)
				compareShown(t, "sharing providers", tree.Sharing, sharing)
				b.compareConsumers(tree.Consumers, users)
			}
		})
	}
}

// compareShown compares providers with those expected, and checks that parents precede children.
func compareShown(t *testing.T, what string, shown []store.ShownProvider, want map[uuid.UUID]store.ShownProvider) {
	t.Helper()
	if len(shown) != len(want) {
		t.Errorf("%s = %d providers, want %d", what, len(shown), len(want))
	}
	seen := map[uuid.UUID]bool{}
	for _, one := range shown {
		if one.Parent != nil {
			if _, listed := want[*one.Parent]; listed && !seen[*one.Parent] {
				t.Errorf("%s: provider %s precedes its parent", what, one.Name)
			}
		}
		seen[one.UUID] = true
		if !reflect.DeepEqual(one, want[one.UUID]) {
			t.Errorf("%s: provider = %+v, want %+v", what, one, want[one.UUID])
		}
	}
}

// compareConsumers compares consumers with their own allocations, and with those expected.
func (b *bundle) compareConsumers(shown []store.ConsumerRecord, want map[uuid.UUID]bool) {
	b.t.Helper()
	got := map[uuid.UUID]bool{}
	for i := range shown {
		one := &shown[i]
		got[one.UUID] = one.SharingOnly
		single, err := b.AllocationList(b.t.Context(), one.UUID)
		b.must(err)
		record := store.ConsumerAllocations{ProjectID: one.ProjectID, UserID: one.UserID, Generation: one.Generation, Type: one.Type}
		for _, allocation := range one.Allocations {
			record.Rows = append(record.Rows, store.AllocationRow{
				Allocation: store.Allocation{Provider: allocation.Provider, Class: allocation.Class, Amount: allocation.Used},
				Generation: allocation.ProviderGeneration, Consumer: one.UUID, CreatedAt: allocation.CreatedAt,
			})
			if shown, err := b.ProviderShow(b.t.Context(), allocation.Provider); err != nil || shown.Name != allocation.ProviderName || shown.Root != allocation.Root {
				b.t.Errorf("provider of an allocation = %q in the tree of %s, want %+v; error %v", allocation.ProviderName, allocation.Root, shown, err)
			}
		}
		if !reflect.DeepEqual(record, single) || one.NodeAllocation != nil {
			b.t.Errorf("consumer = %+v, want %+v", record, single)
		}
	}
	if !reflect.DeepEqual(got, want) {
		b.t.Errorf("consumers = %v, want %v", got, want)
	}
}

func TestProvider_TreeShownWithConsumers_TakesOneRoundTrip(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	host := b.provider("a host", nil, map[string]int32{"VCPU": 8})
	for _, query := range []store.TreeQuery{{Provider: host, Inventories: true}, {Provider: host, Sharing: true}, wholeTree(host)} {
		for attempt := range 2 { // the first one prepares the statements
			ctx, trips := postgres.CountRoundTrips(t.Context())
			_, err := b.TreeShow(ctx, query)
			b.must(err)
			if attempt > 0 && trips.Count() != 1 {
				t.Errorf("round trips of %+v = %d, want 1", query, trips.Count())
			}
		}
	}
}

func TestProvider_TreeShownWithTooManyConsumers_ReturnsNone(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	host := b.provider("a host", nil, map[string]int32{"VCPU": 8})
	for i := range 4 {
		b.must(b.AllocationReplace(t.Context(), []store.Claim{claim(fmt.Sprintf("%x server", i), nil, host, 1)}, true))
	}
	for most, want := range map[int64]int{3: 0, 4: 4, 5: 4} {
		query := wholeTree(host)
		query.MaxConsumers = most
		tree, err := b.TreeShow(t.Context(), query)
		if err != nil || len(tree.Consumers) != want || tree.ConsumersExceeded != (want == 0) {
			t.Errorf("at most %d: consumers = %d, exceeded = %t, want %d; error %v", most, len(tree.Consumers), tree.ConsumersExceeded, want, err)
		}
	}
}

func TestProvider_TreeShownOfUnknownProvider_ReturnsNotFound(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	for _, query := range []store.TreeQuery{{Provider: uuid.New()}, wholeTree(uuid.New())} {
		if _, err := b.TreeShow(t.Context(), query); outcome(err) != store.ProviderNotFound {
			t.Errorf("error = %v, want %s", err, store.ProviderNotFound)
		}
	}
}

// TestProvider_TreeShownUnderWriters_IsOneMoment lets 16 writers replace their allocations on one of the two providers of a
// tree. The generation of the provider rises with each of these, so equal generations come with equal usages, and usages are
// the sums of the consumers.
func TestProvider_TreeShownUnderWriters_IsOneMoment(t *testing.T) {
	t.Parallel()
	const writers, reads = 16, 60
	b := setup(t, 6)
	root := b.provider("a host", nil, map[string]int32{"VCPU": 1000})
	child := b.provider("b node", &root, map[string]int32{"VCPU": 1000})
	var all sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for i := range writers {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				one := claim(fmt.Sprintf("%x server", i), nil, []uuid.UUID{root, child}[i%2], int64(1+n%3))
				if found, err := b.AllocationList(ctx, one.Consumer); err == nil && len(found.Rows) > 0 {
					one.Generation = &found.Generation
				}
				if err := b.AllocationReplace(ctx, []store.Claim{one}, true); err != nil && ctx.Err() == nil && store.AsRuleViolation(err) == nil {
					t.Errorf("claim: %v", err)
				}
			}
		})
	}
	moments := map[string]map[int64]int64{}
	for n := 0; n < reads || len(moments["a host"]) < 2 && n < 100*reads; n++ {
		tree, err := b.TreeShow(t.Context(), wholeTree(child))
		b.must(err)
		sums := map[uuid.UUID]int64{}
		for _, consumer := range tree.Consumers {
			for _, allocation := range consumer.Allocations {
				sums[allocation.Provider] += allocation.Used
			}
		}
		for _, one := range tree.Providers {
			used := one.Inventories[0].Used
			if used != sums[one.UUID] {
				t.Errorf("%s: usage = %d, want the sum of the consumers, %d", one.Name, used, sums[one.UUID])
			}
			if moments[one.Name] == nil {
				moments[one.Name] = map[int64]int64{}
			}
			if before, seen := moments[one.Name][one.Generation]; seen && before != used {
				t.Errorf("%s: usage = %d at generation %d, was %d", one.Name, used, one.Generation, before)
			}
			moments[one.Name][one.Generation] = used
			for _, consumer := range tree.Consumers {
				for _, allocation := range consumer.Allocations {
					if allocation.Provider == one.UUID && allocation.ProviderGeneration != one.Generation {
						t.Errorf("%s: generation = %d and %d in one response", one.Name, one.Generation, allocation.ProviderGeneration)
					}
				}
			}
		}
	}
	stop()
	all.Wait()
	if len(moments["a host"]) < 2 {
		t.Error("no writer changed the tree between the reads")
	}
}

// TestProvider_TreeShownOfLongChain_ParentsFirst shows a chain whose ids ascend from the deepest provider to the root.
func TestProvider_TreeShownOfLongChain_ParentsFirst(t *testing.T) {
	t.Parallel()
	const depth = 3000
	b := setup(t, 1)
	root := b.provider("a host", nil, nil)
	if _, err := b.db.Pool.Exec(t.Context(), fmt.Sprintf(`
		ALTER TABLE resource_providers DISABLE TRIGGER USER;
		WITH root AS (SELECT id FROM resource_providers WHERE name = 'a host')
		INSERT INTO resource_providers (id, uuid, name, root_id, parent_id) OVERRIDING SYSTEM VALUE
		SELECT 100000 + n, gen_random_uuid(), 'link ' || n, root.id, CASE WHEN n = %[1]d THEN root.id ELSE 100001 + n END
		FROM root, generate_series(1, %[1]d) AS n;
		ALTER TABLE resource_providers ENABLE TRIGGER USER;
		INSERT INTO provider_generations (provider_id) SELECT id FROM resource_providers WHERE id > 100000 ON CONFLICT DO NOTHING`, depth)); err != nil {
		t.Fatal(err)
	}
	tree, err := b.TreeShow(t.Context(), store.TreeQuery{Provider: root})
	b.must(err)
	if len(tree.Providers) != depth+1 || tree.Providers[0].UUID != root {
		t.Fatalf("providers = %d, want %d with the root first", len(tree.Providers), depth+1)
	}
	for i, one := range tree.Providers[1:] {
		if want := tree.Providers[i].UUID; one.Parent == nil || *one.Parent != want {
			t.Fatalf("parent of provider %d = %v, want %s", i+1, one.Parent, want)
		}
	}
}
