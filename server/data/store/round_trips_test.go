package store_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
)

// visit is the n-th call of a store method, about a host that no other operation has changed: inventory of 40 VCPU,
// generation 1.
type visit func(ctx context.Context, b *bundle, host uuid.UUID, n int) error

func listing(filter store.ProviderFilter) visit {
	return func(ctx context.Context, b *bundle, host uuid.UUID, _ int) error {
		rows, err := b.ProviderList(ctx, filter)
		if err != nil {
			return err
		}
		for range rows.All() { // to the end
		}
		return rows.Close()
	}
}

var readings = map[string]visit{
	"ProviderShow": func(ctx context.Context, b *bundle, host uuid.UUID, _ int) error {
		_, err := b.ProviderShow(ctx, host)
		return err
	},
	"InventoryList": func(ctx context.Context, b *bundle, host uuid.UUID, _ int) error {
		_, err := b.InventoryList(ctx, host)
		return err
	},
	"ProviderTraitList": func(ctx context.Context, b *bundle, host uuid.UUID, _ int) error {
		_, _, err := b.ProviderTraitList(ctx, host)
		return err
	},
	"ProviderAggregateList": func(ctx context.Context, b *bundle, host uuid.UUID, _ int) error {
		_, _, err := b.ProviderAggregateList(ctx, host)
		return err
	},
	"ProviderAllocationList": func(ctx context.Context, b *bundle, host uuid.UUID, _ int) error {
		_, _, err := b.ProviderAllocationList(ctx, host)
		return err
	},
	"AllocationList": func(ctx context.Context, b *bundle, _ uuid.UUID, _ int) error {
		_, err := b.AllocationList(ctx, named("d server"))
		return err
	},
	"UsageList": func(ctx context.Context, b *bundle, _ uuid.UUID, _ int) error {
		_, err := b.UsageList(ctx, store.UsageFilter{ProjectID: "project", ByType: true})
		return err
	},
	"TraitList": func(ctx context.Context, b *bundle, _ uuid.UUID, _ int) error {
		_, err := b.TraitList(ctx, store.TraitFilter{})
		return err
	},
	"TraitShow": func(ctx context.Context, b *bundle, _ uuid.UUID, _ int) error {
		_, err := b.TraitShow(ctx, "HW_CPU_X86_VMX")
		return err
	},
	"ResourceClassList": func(ctx context.Context, b *bundle, _ uuid.UUID, _ int) error {
		_, err := b.ResourceClassList(ctx)
		return err
	},
	"ResourceClassShow": func(ctx context.Context, b *bundle, _ uuid.UUID, _ int) error {
		_, err := b.ResourceClassShow(ctx, "VCPU")
		return err
	},
	"ProviderList":              listing(store.ProviderFilter{}),
	"ProviderList of one":       listing(store.ProviderFilter{UUID: new(uuid.UUID)}),
	"ProviderList of one name":  listing(store.ProviderFilter{Name: new(string)}),
	"ProviderList of one tree ": listing(store.ProviderFilter{InTree: new(uuid.UUID)}),
}

var writings = map[string]visit{
	"ProviderCreate": func(ctx context.Context, b *bundle, host uuid.UUID, n int) error {
		name := fmt.Sprintf("b new %d", n)
		_, err := b.ProviderCreate(ctx, named(name), name, &host)
		return err
	},
	"ProviderUpdate": func(ctx context.Context, b *bundle, host uuid.UUID, n int) error {
		change := store.ProviderChange{Name: fmt.Sprintf("moved %d", n), SetParent: true, MayReparent: true}
		if n == 0 {
			if _, err := b.ProviderCreate(ctx, named("c other"), "c other", nil); err != nil {
				return err
			}
			change.Parent = new(uuid.UUID)
			*change.Parent = named("c other")
		}
		_, err := b.ProviderUpdate(ctx, host, change)
		return err
	},
	"ProviderDelete": func(ctx context.Context, b *bundle, host uuid.UUID, n int) error {
		if n == 0 {
			host = b.provider("c child", &host, map[string]int32{"VCPU": 1})
		}
		return b.ProviderDelete(ctx, host, nil)
	},
	"InventoryReplace": func(ctx context.Context, b *bundle, host uuid.UUID, n int) error {
		_, err := b.InventoryReplace(ctx, host, int64(1+n), inventories(map[string]int32{"DISK_GB": 5, "VCPU": 5}), 1)
		return err
	},
	"InventoryClear": func(ctx context.Context, b *bundle, host uuid.UUID, _ int) error {
		_, err := b.InventoryClear(ctx, host, nil)
		return err
	},
	"InventoryCreate": func(ctx context.Context, b *bundle, host uuid.UUID, n int) error {
		_, err := b.InventoryCreate(ctx, host, nil, inventory([]string{"DISK_GB", "PCPU"}[n], 8), 1)
		return err
	},
	"InventoryUpdate": func(ctx context.Context, b *bundle, host uuid.UUID, n int) error {
		_, err := b.InventoryUpdate(ctx, host, int64(1+n), inventory("VCPU", 8), 1)
		return err
	},
	"InventoryDelete": func(ctx context.Context, b *bundle, host uuid.UUID, n int) error {
		if n == 0 {
			host = b.provider("c disk", nil, map[string]int32{"VCPU": 1})
		}
		_, err := b.InventoryDelete(ctx, host, nil, "VCPU")
		return err
	},
	"ProviderTraitReplace": func(ctx context.Context, b *bundle, host uuid.UUID, n int) error {
		_, _, err := b.ProviderTraitReplace(ctx, host, int64(1+n), []string{"HW_CPU_X86_VMX", "HW_CPU_X86_AVX2"}[:n+1])
		return err
	},
	"ProviderTraitClear": func(ctx context.Context, b *bundle, host uuid.UUID, _ int) error {
		return b.ProviderTraitClear(ctx, host, nil)
	},
	"ProviderAggregateReplace": func(ctx context.Context, b *bundle, host uuid.UUID, n int) error {
		_, err := b.ProviderAggregateReplace(ctx, host, at(int64(1+n)), []uuid.UUID{named(fmt.Sprintf("%x rack", n))})
		return err
	},
	"TraitEnsure": func(ctx context.Context, b *bundle, _ uuid.UUID, n int) error {
		_, _, err := b.TraitEnsure(ctx, fmt.Sprintf("CUSTOM_%d", n))
		return err
	},
	"TraitDelete": func(ctx context.Context, b *bundle, _ uuid.UUID, n int) error {
		if n == 0 {
			ensureTrait(b, "A")
			ensureTrait(b, "B")
		}
		return b.TraitDelete(ctx, custom([]string{"A", "B"}[n]))
	},
	"ResourceClassCreate": func(ctx context.Context, b *bundle, _ uuid.UUID, n int) error {
		_, err := b.ResourceClassCreate(ctx, fmt.Sprintf("CUSTOM_%d", n))
		return err
	},
	"ResourceClassRename": func(ctx context.Context, b *bundle, _ uuid.UUID, n int) error {
		if n == 0 {
			ensureClass(b, "A")
		}
		names := []string{"A", "B", "C"}
		return b.ResourceClassRename(ctx, custom(names[n]), custom(names[n+1]))
	},
	"ResourceClassDelete": func(ctx context.Context, b *bundle, _ uuid.UUID, n int) error {
		if n == 0 {
			ensureClass(b, "D")
			ensureClass(b, "E")
		}
		return b.ResourceClassDelete(ctx, custom([]string{"D", "E"}[n]))
	},
	"AllocationReplace of one consumer": func(ctx context.Context, b *bundle, host uuid.UUID, n int) error {
		return b.AllocationReplace(ctx, []store.Claim{claim(fmt.Sprintf("%x one", n), nil, host, 2)}, true)
	},
	"AllocationReplace of ten consumers": func(ctx context.Context, b *bundle, host uuid.UUID, n int) error {
		var claims []store.Claim
		for i := range 10 {
			claims = append(claims, claim(fmt.Sprintf("%x of ten %d", i, n), nil, host, 2))
		}
		return b.AllocationReplace(ctx, claims, true)
	},
	"AllocationDelete": func(ctx context.Context, b *bundle, host uuid.UUID, n int) error {
		if n == 0 {
			b.must(b.AllocationReplace(ctx, []store.Claim{claim("0 gone", nil, host, 1), claim("1 gone", nil, host, 1)}, true))
		}
		_, err := b.AllocationDelete(ctx, named(fmt.Sprintf("%x gone", n)), nil)
		return err
	},
	"Reshape": func(ctx context.Context, b *bundle, host uuid.UUID, n int) error {
		shape := store.ReshapedProvider{Provider: host, Generation: int64(1 + 3*n), Records: []store.Inventory{inventory("VCPU", 8)}}
		return b.Reshape(ctx, []store.ReshapedProvider{shape}, []store.Claim{claim(fmt.Sprintf("%x reshaped", n), nil, host, 1)})
	},
}

// trips calls an operation twice and counts the second call, when its statement is prepared.
func (b *bundle) trips(name string, run visit) int64 {
	b.t.Helper()
	host := b.provider("a host of "+name, nil, map[string]int32{"VCPU": 40})
	var count int64
	for n := range 2 {
		ctx, trips := postgres.CountRoundTrips(b.t.Context())
		b.must(run(ctx, b, host, n))
		count = trips.Count()
	}
	return count
}

// rehearsedTrips calls an operation once and its next call as a dry run, until a dry run takes no more than expected: one
// prepares statements, and during another one a transaction of another test may end.
func (b *bundle) rehearsedTrips(name string, run visit, expected int64) int64 {
	b.t.Helper()
	host := b.provider("a host of "+name, nil, map[string]int32{"VCPU": 400})
	b.must(run(b.t.Context(), b, host, 0))
	var count int64
	for range 100 {
		ctx, trips := postgres.CountRoundTrips(b.t.Context())
		ctx, _ = store.WithRehearsal(ctx)
		b.must(run(ctx, b, host, 1))
		if count = trips.Count(); count <= expected {
			break
		}
	}
	return count
}

// TestArchitecture_DryRuns_OneRoundTripMoreThanWrites counts two: the write with the states before and after it, and the ROLLBACK.
func TestArchitecture_DryRuns_OneRoundTripMoreThanWrites(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	for _, name := range slices.Sorted(maps.Keys(writings)) {
		t.Run(name, func(t *testing.T) {
			b.t = t
			if got := b.rehearsedTrips(name, writings[name], 2); got != 2 {
				t.Errorf("round trips = %d", got)
			}
		})
	}
}

// A dry run that names more than 64 resources reads the state before its write on another connection, which is one more.
func TestArchitecture_DryRunOfManyConsumers_TakesThreeRoundTrips(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	got := b.rehearsedTrips("many consumers", func(ctx context.Context, b *bundle, host uuid.UUID, n int) error {
		var claims []store.Claim
		for i := range 99 {
			claims = append(claims, claim(fmt.Sprintf("%x consumer %d", i, n), nil, host, 1))
		}
		return b.AllocationReplace(ctx, claims[:1+98*n], true)
	}, 3)
	if got != 3 {
		t.Errorf("round trips = %d", got)
	}
}

func TestArchitecture_StoreOperations_OneRoundTripEach(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	for _, of := range []map[string]visit{readings, writings} {
		for _, name := range slices.Sorted(maps.Keys(of)) {
			t.Run(name, func(t *testing.T) {
				b.t = t
				if got := b.trips(name, of[name]); got != 1 {
					t.Errorf("round trips = %d", got)
				}
			})
		}
	}
}

// The query first resolves the names in a list's filters, in the same snapshot, which takes a transaction.
func TestProvider_ListFilteredByNames_TakesMoreRoundTrips(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	host := b.provider("a first host", nil, nil)
	for _, c := range []struct {
		name   string
		filter store.ProviderFilter
		want   int64
	}{
		{"BEGIN, names, list, ROLLBACK", store.ProviderFilter{
			Required: [][]string{{"HW_CPU_X86_VMX"}}, Resources: []store.Amount{{Class: "VCPU", Amount: 1}},
			MemberOf: [][]uuid.UUID{{named("e rack")}}, NotMemberOf: []uuid.UUID{named("f rack")},
			Forbidden: []string{"HW_CPU_X86_AVX2"}, InTree: &host,
		}, 4},
		{"BEGIN, names, ROLLBACK for a tree that is not there", store.ProviderFilter{
			InTree: new(uuid.UUID), Forbidden: []string{"HW_CPU_X86_VMX"},
		}, 3},
		{"BEGIN, names, whether any provider has the traits, ROLLBACK where a later name is unknown", store.ProviderFilter{
			Required: [][]string{{"HW_CPU_X86_VMX"}}, Resources: []store.Amount{{Class: "CUSTOM_NOT_THERE", Amount: 1}},
		}, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.t = t
			if got := b.trips(c.name, listing(c.filter)); got != c.want {
				t.Errorf("round trips = %d, want %d", got, c.want)
			}
		})
	}
}

// The driver drops a prepared statement that failed, because a change of the schema may have been the reason. The store
// prepares statements that are expected to fail by name, so that a rejected request costs the next one no extra round
// trip.
func TestClaim_AfterRejectedClaim_TakesOneRoundTrip(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	host := b.provider("a host", nil, map[string]int32{"VCPU": 8})
	for n, want := range []struct {
		amount int64
		rule   store.Rule
		trips  int64
	}{{1, "", 1}, {1, "", 1}, {100, store.AllocationExceedsCapacity, 1}, {1, "", 1}, {1, "", 1}} {
		ctx, trips := postgres.CountRoundTrips(t.Context())
		err := b.AllocationReplace(ctx, []store.Claim{claim(fmt.Sprintf("%x server", n), nil, host, want.amount)}, true)
		if outcome(err) != want.rule || trips.Count() != want.trips {
			t.Errorf("claim %d: got %q in %d round trips, want %q in %d", n, outcome(err), trips.Count(), want.rule, want.trips)
		}
	}
}
