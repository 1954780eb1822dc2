package client

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
)

// TestClient_FlushConflict_DropsTreeFromCache: a tree without the child in conflict would be
// taken for the whole tree.
func TestClient_FlushConflict_DropsTreeFromCache(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		for _, what := range []string{"inventories", "aggregates", "traits"} {
			t.Run(what, func(t *testing.T) {
				t.Parallel()
				c := cloudOf().build(t)
				tree := c.load(t)
				c.have(t, numa2, Inventories{"VCPU": {Total: 9}, "MEMORY_MB": {Total: 4096}})
				var err error
				switch what {
				case "inventories":
					_, err = tree.UpdateInventory("numa2", Inventories{"VCPU": {Total: 10}, "MEMORY_MB": {Total: 4096}}, nil)
				case "aggregates":
					err = tree.AddAggregates("numa2", aggregate)
				case "traits":
					err = tree.AddTraits("numa2", "HW_NUMA_ROOT")
				}
				if err != nil {
					t.Fatal(err)
				}
				err = c.client.UpdateFromProviderTree(t.Context(), tree, nil)
				if !errors.Is(err, ErrUpdateConflict) || !errors.Is(err, ErrConcurrentUpdate) {
					t.Errorf("%v, want ErrUpdateConflict", err)
				}
				c.requests()
				tree = c.load(t)
				wantOutline(t, tree, "cn<", "numa1<cn", "numa2<cn", "ssp<")
				if node := must(tree.Provider("numa2"))(t); node.Inventories["VCPU"].Total != 9 {
					t.Errorf("after the conflict numa2 has %v", node.Inventories)
				}
				if slices.Contains(c.requests(), "GET /rp/SSP/inventories") {
					t.Error("another tree was dropped as well")
				}
			})
		}
	})
}

// TestClient_TwoWritersOfTraits_BothApplied because the loser loads again.
func TestClient_TwoWritersOfTraits_BothApplied(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		c := cloudOf().build(t)
		other := newClientOf(t, c.server)
		mine := c.load(t)
		theirs := must(other.GetProviderTreeAndEnsureRoot(t.Context(), cn, "cn", uuid.Nil))(t)
		if err := errors.Join(mine.AddTraits("cn", "CUSTOM_MINE"), theirs.AddTraits("cn", "CUSTOM_THEIRS")); err != nil {
			t.Fatal(err)
		}
		c.update(t, mine, nil)
		if err := other.UpdateFromProviderTree(t.Context(), theirs, nil); !errors.Is(err, ErrUpdateConflict) {
			t.Fatalf("%v, want ErrUpdateConflict", err)
		}
		if err := pass(t.Context(), other, func(tree *ProviderTree, _ Allocations) error {
			return tree.AddTraits("cn", "CUSTOM_THEIRS")
		}); err != nil {
			t.Fatal(err)
		}
		traits, _, err := c.operator.ProviderTraitList(t.Context(), cn)
		if err != nil || !slices.Equal(sortedNames(traits), []string{"CUSTOM_MINE", "CUSTOM_THEIRS"}) {
			t.Errorf("the traits are %q, %v", traits, err)
		}
	})
}

// TestClient_StaleTreeCopy_RejectedWithoutRequest: the generation sent is the cache's,
// so the server could not notice.
func TestClient_StaleTreeCopy_RejectedWithoutRequest(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	first, second := c.load(t), c.load(t)
	if err := errors.Join(first.AddTraits("cn", "CUSTOM_FIRST"), second.AddTraits("cn", "CUSTOM_SECOND")); err != nil {
		t.Fatal(err)
	}
	c.update(t, first, nil)
	c.requests()
	if err := c.client.UpdateFromProviderTree(t.Context(), second, nil); !errors.Is(err, ErrUpdateConflict) {
		t.Errorf("%v, want ErrUpdateConflict", err)
	}
	wantRequests(t, c, "an old copy")
	// The first one knows the generations it has caused and can go on.
	if err := first.AddTraits("cn", "CUSTOM_THIRD"); err != nil {
		t.Fatal(err)
	}
	c.load(t)
	c.update(t, first, nil)
}

// TestClient_ConcurrentFlushes_AllApplied: a writer with a stale copy loads it again.
func TestClient_ConcurrentFlushes_AllApplied(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		c := cloudOf().build(t)
		var group sync.WaitGroup
		for i := range 6 {
			group.Go(func() {
				for {
					err := pass(t.Context(), c.client, func(tree *ProviderTree, _ Allocations) error {
						return tree.AddTraits("cn", fmt.Sprintf("CUSTOM_%d", i))
					})
					if err == nil {
						return
					}
					if !errors.Is(err, ErrUpdateConflict) {
						t.Error(err)
						return
					}
				}
			})
		}
		group.Wait()
		if traits, _, err := c.operator.ProviderTraitList(t.Context(), cn); err != nil || len(traits) != 6 {
			t.Errorf("the traits are %q, %v", traits, err)
		}
	})
}
