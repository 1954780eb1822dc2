package store_test

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

// Of writers with the same generation one succeeds, and all others get a generation conflict.
func TestProvider_ConcurrentSameGeneration_OneSucceeds(t *testing.T) {
	t.Parallel()
	const writers = 8
	for name, write := range map[string]func(ctx context.Context, b *bundle, host uuid.UUID, i int) error{
		"replacing inventories": func(ctx context.Context, b *bundle, host uuid.UUID, i int) error {
			_, err := b.InventoryReplace(ctx, host, 1, inventories(map[string]int32{"VCPU": int32(i + 1)}), 1)
			return err
		},
		"updating an inventory": func(ctx context.Context, b *bundle, host uuid.UUID, i int) error {
			_, err := b.InventoryUpdate(ctx, host, 1, inventory("VCPU", int32(i+1)), 1)
			return err
		},
		"replacing traits": func(ctx context.Context, b *bundle, host uuid.UUID, i int) error {
			_, _, err := b.ProviderTraitReplace(ctx, host, 1, []string{fmt.Sprintf("CUSTOM_%d", i)})
			return err
		},
		"replacing aggregates": func(ctx context.Context, b *bundle, host uuid.UUID, i int) error {
			aggregates := []uuid.UUID{named(fmt.Sprintf("%x rack", i)), named("f rack")}
			_, err := b.ProviderAggregateReplace(ctx, host, at(1), aggregates)
			return err
		},
		"reshaping": func(ctx context.Context, b *bundle, host uuid.UUID, i int) error {
			shape := store.ReshapedProvider{Provider: host, Generation: 1, Records: []store.Inventory{inventory("VCPU", int32(i+1))}}
			return b.Reshape(ctx, []store.ReshapedProvider{shape}, nil)
		},
		"a different write each": func(ctx context.Context, b *bundle, host uuid.UUID, i int) (err error) {
			switch i % 4 {
			case 0:
				_, err = b.InventoryReplace(ctx, host, 1, nil, 1)
			case 1:
				_, _, err = b.ProviderTraitReplace(ctx, host, 1, []string{"CUSTOM_1"})
			case 2:
				_, err = b.ProviderAggregateReplace(ctx, host, at(1), []uuid.UUID{named("f rack")})
			default:
				err = b.Reshape(ctx, []store.ReshapedProvider{{Provider: host, Generation: 1}}, nil)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, writers)
			host := b.provider("a host", nil, map[string]int32{"VCPU": 1})
			var operations []func(context.Context) error
			for i := range writers {
				_, _, err := b.TraitEnsure(t.Context(), fmt.Sprintf("CUSTOM_%d", i))
				b.must(err)
				operations = append(operations, func(ctx context.Context) error { return write(ctx, b, host, i) })
			}
			got := tally(b.behind(lockProviders, operations...))
			want := map[store.Rule]int{"": 1, store.ProviderGenerationConflict: writers - 1}
			if !maps.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			if b.Pool().Retries() > 0 {
				t.Errorf("%d retries", b.Pool().Retries())
			}
		})
	}
}

// Claims raise the generation too, so a reshape that was planned before a claim is a conflict.
func TestReshape_ClaimMeanwhile_ReturnsGenerationConflict(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	host := b.provider("a host", nil, map[string]int32{"VCPU": 8})
	b.must(b.AllocationReplace(t.Context(), []store.Claim{claim("a server", nil, host, 1)}, true))
	shapes := []store.ReshapedProvider{{Provider: host, Generation: 1, Records: []store.Inventory{inventory("VCPU", 8)}}}
	if got := outcome(b.Reshape(t.Context(), shapes, nil)); got != store.ProviderGenerationConflict {
		t.Errorf("got %q", got)
	}
	shapes[0].Generation = 2
	moved := []store.Claim{claim("a server", at(1), host, 2)}
	again := []store.Claim{claim("a server", at(1), host, 3)}
	got := tally(b.behind(lockProviders,
		func(ctx context.Context) error { return b.Reshape(ctx, shapes, moved) },
		func(ctx context.Context) error { return b.AllocationReplace(ctx, again, true) },
	))
	// The reshape compares the provider first, the claim only the consumer.
	if got[""] != 1 || got[store.ProviderGenerationConflict]+got[store.ConsumerGenerationConflict] != 1 {
		t.Errorf("got %v", got)
	}
}
