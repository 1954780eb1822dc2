package client

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
)

func TestClient_UnchangedTree_SendsNothing(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		c := cloudOf().build(t)
		tree := c.load(t)
		if _, err := tree.UpdateInventory("numa1", Inventories{"VCPU": {Total: 8}, "MEMORY_MB": {Total: 4096}}, nil); err != nil {
			t.Fatal(err)
		}
		allocations := must(c.client.GetAllocationsForProviderTree(t.Context(), "cn"))(t)
		c.requests()
		c.update(t, tree, nil)
		wantRequests(t, c, "an unchanged tree")
		c.update(t, tree, allocations)
		wantRequests(t, c, "an unchanged tree with unchanged allocations")
		c.update(t, tree, Allocations{})
		wantRequests(t, c, "an unchanged tree with no allocations")
	})
}

func TestClient_OneChange_SendsOneRequest(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	tree := c.load(t)
	before := dbtest.Snapshot(t, c.db)
	c.requests()
	if err := tree.AddTraits("numa1", "HW_NUMA_ROOT"); err != nil {
		t.Fatal(err)
	}
	c.update(t, tree, nil)
	wantRequests(t, c, "a trait", "PUT /rp/NUMA1/traits")
	c.update(t, tree, nil)
	wantRequests(t, c, "the same again")
	changes := before.Diff(dbtest.Snapshot(t, c.db))
	if len(changes) != 2 || !strings.Contains(changes[0], "provider_generations") || !strings.HasPrefix(changes[1], "+ provider_traits") {
		t.Errorf("the database has changed by %q", changes)
	}
}

// TestClient_NewProvider_TraitsWrittenBeforeInventory is about the moment in which the
// scheduler could use it without knowing what it is.
func TestClient_NewProvider_TraitsWrittenBeforeInventory(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	tree := c.load(t)
	c.requests()
	if _, err := tree.NewChild("gpu0", "numa1", gpu0); err != nil {
		t.Fatal(err)
	}
	if _, err := tree.UpdateInventory("gpu0", Inventories{"VGPU": {Total: 1}, "CUSTOM_GPU": {Total: 1}}, nil); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(tree.AddTraits("gpu0", "CUSTOM_A", "CUSTOM_B", "HW_NUMA_ROOT"), tree.AddAggregates("gpu0", aggregate)); err != nil {
		t.Fatal(err)
	}
	c.update(t, tree, nil)
	wantRequests(t, c, "a new provider", "POST /rp", "PUT /rp/GPU0/aggregates",
		"GET /traits?name=in:CUSTOM_A,CUSTOM_B", "PUT /traits/CUSTOM_A", "PUT /traits/CUSTOM_B", "PUT /rp/GPU0/traits",
		"PUT /resource_classes/CUSTOM_GPU", "PUT /rp/GPU0/inventories")
	// What others use already need not be ensured again.
	if err := tree.AddTraits("numa2", "CUSTOM_A"); err != nil {
		t.Fatal(err)
	}
	if _, err := tree.UpdateInventory("numa1", Inventories{
		"VCPU": {Total: 8}, "MEMORY_MB": {Total: 4096}, "CUSTOM_GPU": {Total: 2},
	}, nil); err != nil {
		t.Fatal(err)
	}
	c.update(t, tree, nil)
	wantRequests(t, c, "known names", "PUT /rp/NUMA2/traits", "PUT /rp/NUMA1/inventories")
}

func TestClient_ReshapeWithNewProviders_TraitsWrittenFirst(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.load(t)
	if err := pass(t.Context(), c.client, func(tree *ProviderTree, allocations Allocations) error {
		err := splitGPUs(tree, allocations)
		return errors.Join(err, tree.AddTraits("gpu0", "CUSTOM_A"))
	}); err != nil {
		t.Fatal(err)
	}
	sent := c.requests()
	traits, reshape := slices.Index(sent, "PUT /rp/GPU0/traits"), slices.Index(sent, "POST /reshaper")
	if traits < 0 || reshape < traits {
		t.Errorf("the requests are %q", sent)
	}
}

func TestClient_InventoryInUse_ReportedAndRestWritten(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		c := cloudOf().build(t)
		tree := c.load(t)
		if _, err := tree.UpdateInventory("numa1", Inventories{"MEMORY_MB": {Total: 4096}}, nil); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(tree.AddTraits("numa2", "HW_NUMA_ROOT"), tree.AddTraits("cn", "HW_NUMA_ROOT")); err != nil {
			t.Fatal(err)
		}
		err := c.client.UpdateFromProviderTree(t.Context(), tree, nil)
		if !errors.Is(err, ErrInventoryInUse) || errors.Is(err, ErrSyncFailed) || !strings.Contains(err.Error(), "numa1") {
			t.Errorf("%v, want ErrInventoryInUse of numa1", err)
		}
		c.requests()
		tree = c.load(t)
		wantRequests(t, c, "a load after that")
		for _, name := range []string{"numa2", "cn"} {
			if has, err := tree.HasTraits(name, "HW_NUMA_ROOT"); err != nil || !has {
				t.Errorf("%s has its trait: %t, %v", name, has, err)
			}
		}
	})
}

func TestClient_FlushWithOneRejectedWrite_WritesTheRest(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		c := cloudOf().build(t)
		tree := c.load(t)
		if err := errors.Join(tree.AddTraits("numa1", "HW_NOT_A_TRAIT"), tree.AddTraits("cn", "HW_NUMA_ROOT")); err != nil {
			t.Fatal(err)
		}
		err := c.client.UpdateFromProviderTree(t.Context(), tree, nil)
		var refused *Error
		if !errors.Is(err, ErrSyncFailed) || !errors.As(err, &refused) || refused.Status != 400 || !strings.Contains(err.Error(), "numa1") {
			t.Errorf("%v, want ErrSyncFailed of numa1 with the 400", err)
		}
		if traits, _, err := c.operator.ProviderTraitList(t.Context(), cn); err != nil || len(traits) != 1 {
			t.Errorf("the host's traits are %q, %v", traits, err)
		}
		c.requests()
		c.load(t)
		if len(c.requests()) == 0 {
			t.Error("the tree is still taken for known")
		}
	})
}
