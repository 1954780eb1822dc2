package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
)

// A deletion holds the row of a provider while it waits for a claim. If a write of the traits or aggregates of a
// descendant waited for that row, there would be a deadlock: the claim may wait for the generation that the write
// holds.
func TestLocks_ParentIsBeingDeleted_WritesToItsChildrenDoNotWait(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	root := b.provider("a root", nil, nil)
	parent := b.provider("b parent", &root, nil)
	leaf, other := b.provider("c leaf", &parent, nil), b.provider("d leaf", &parent, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	traits := func(provider uuid.UUID, names ...string) {
		_, _, err := b.ProviderTraitReplace(ctx, provider, b.generation(provider), names)
		b.must(err)
	}
	aggregates := func(provider uuid.UUID, names ...string) {
		var wanted []uuid.UUID
		for _, name := range names {
			wanted = append(wanted, named(name))
		}
		_, err := b.ProviderAggregateReplace(ctx, provider, nil, wanted)
		b.must(err)
	}
	for _, one := range []uuid.UUID{leaf, other} {
		traits(one, "HW_CPU_X86_AVX", "HW_CPU_X86_SSE")
		aggregates(one, "rack 1", "rack 2")
	}

	holder := b.outside()
	hold := func(provider uuid.UUID) {
		_, err := holder.Exec(ctx, "SELECT FROM resource_providers WHERE uuid = $1 FOR UPDATE", provider)
		b.must(err)
	}
	hold(parent)
	b.must(b.ProviderDelete(ctx, other, nil))
	hold(root)
	// Both delete something and add something.
	traits(leaf, "HW_CPU_X86_SSE", "HW_CPU_X86_VMX")
	aggregates(leaf, "rack 2", "rack 3")
}
