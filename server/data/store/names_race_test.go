package store_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

func ensureTrait(b *bundle, round string) {
	_, _, err := b.TraitEnsure(b.t.Context(), custom(round))
	b.must(err)
}

func ensureClass(b *bundle, round string) {
	_, err := b.ResourceClassCreate(b.t.Context(), custom(round))
	b.must(err)
}

// A name that is deleted while another request uses it either stays or is reported as not found.
func TestLocks_NameUsedWhileDeleted_SucceedsOrNotFound(t *testing.T) {
	t.Parallel()
	meet(t, map[string]pair{
		"a trait": {
			again: true,
			lock:  "SELECT FROM traits WHERE name LIKE 'CUSTOM%' FOR UPDATE",
			prepare: func(b *bundle, round string) {
				b.hostWithRoom(round)
				ensureTrait(b, round)
			},
			one: func(ctx context.Context, b *bundle, round string) error {
				_, _, err := b.ProviderTraitReplace(ctx, named(host(round)), 1, []string{custom(round)})
				return naming(err, custom(round))
			},
			two:  func(ctx context.Context, b *bundle, round string) error { return b.TraitDelete(ctx, custom(round)) },
			ends: [][2]store.Rule{{"", store.TraitInUse}, {store.TraitNotFound, ""}},
		},
		"the class of an inventory": {
			again: true,
			lock:  "SELECT FROM resource_classes WHERE name LIKE 'CUSTOM%' FOR UPDATE",
			prepare: func(b *bundle, round string) {
				b.hostWithRoom(round)
				ensureClass(b, round)
			},
			one: func(ctx context.Context, b *bundle, round string) error {
				return naming(addInventory(ctx, b, host(round), custom(round)), custom(round))
			},
			two: func(ctx context.Context, b *bundle, round string) error {
				return b.ResourceClassDelete(ctx, custom(round))
			},
			ends: [][2]store.Rule{{"", store.ClassInUse}, {store.ClassNotFound, ""}},
		},
		"the class of a reshape": {
			again: true,
			lock:  "SELECT FROM resource_classes WHERE name LIKE 'CUSTOM%' FOR UPDATE",
			prepare: func(b *bundle, round string) {
				b.hostWithRoom(round)
				ensureClass(b, round)
			},
			one: func(ctx context.Context, b *bundle, round string) error {
				records := []store.Inventory{inventory(custom(round), 1)}
				err := b.Reshape(ctx, []store.ReshapedProvider{{Provider: named(host(round)), Generation: 1, Records: records}}, nil)
				return naming(err, custom(round))
			},
			two: func(ctx context.Context, b *bundle, round string) error {
				return b.ResourceClassDelete(ctx, custom(round))
			},
			ends: [][2]store.Rule{{"", store.ClassInUse}, {store.ClassNotFound, ""}},
		},
		"a class that is renamed": {
			lock:    "SELECT FROM resource_classes WHERE name LIKE 'CUSTOM%' FOR UPDATE",
			prepare: ensureClass,
			one: func(ctx context.Context, b *bundle, round string) error {
				return b.ResourceClassRename(ctx, custom(round), custom(round)+"_NEW")
			},
			two: func(ctx context.Context, b *bundle, round string) error {
				return b.ResourceClassDelete(ctx, custom(round))
			},
			ends: [][2]store.Rule{{"", store.ClassNotFound}, {store.ClassNotFound, ""}},
		},
	})
}

// naming returns an error for a rule violation that does not contain the name.
func naming(err error, name string) error {
	refused := store.AsRuleViolation(err)
	if refused != nil && refused.Values.Class != name && refused.Values.Traits != name {
		return fmt.Errorf("%w does not name %s", err, name)
	}
	return err
}

func TestLocks_ConcurrentNameCreation_CreatedOnce(t *testing.T) {
	t.Parallel()
	const makers = 8
	for name, create := range map[string]func(ctx context.Context, b *bundle, i int) (bool, error){
		"a trait": func(ctx context.Context, b *bundle, _ int) (bool, error) {
			created, _, err := b.TraitEnsure(ctx, "CUSTOM_NEW")
			return created, err
		},
		"a resource class": func(ctx context.Context, b *bundle, _ int) (bool, error) {
			return b.ResourceClassCreate(ctx, "CUSTOM_NEW")
		},
		"an aggregate": func(ctx context.Context, b *bundle, i int) (bool, error) {
			racks := []uuid.UUID{named("e rack"), named("f rack")}
			_, err := b.ProviderAggregateReplace(ctx, named(fmt.Sprintf("%x host", i)), at(0), racks)
			return i == 0, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, makers)
			created := make([]bool, makers)
			var operations []func(context.Context) error
			for i := range makers {
				b.provider(fmt.Sprintf("%x host", i), nil, nil)
				operations = append(operations, func(ctx context.Context) (err error) {
					created[i], err = create(ctx, b, i)
					return err
				})
			}
			if got := tally(b.together(operations...)); got[""] != makers {
				t.Errorf("got %v", got)
			}
			makersOfIt := 0
			for _, one := range created {
				if one {
					makersOfIt++
				}
			}
			if makersOfIt != 1 {
				t.Errorf("created by %d requests, want 1", makersOfIt)
			}
			if b.Pool().Retries() > 0 {
				t.Errorf("retries = %d, want 0", b.Pool().Retries())
			}
		})
	}
}
