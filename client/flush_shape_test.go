package client

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestClient_NewProvider_GetsGeneration(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		c := cloudOf().build(t)
		tree := c.load(t)
		if _, err := tree.NewChild("gpu0", "cn", gpu0); err != nil {
			t.Fatal(err)
		}
		c.update(t, tree, nil)
		if node := must(tree.Provider("gpu0"))(t); node.Generation == nil || *node.Generation != 0 {
			t.Errorf("the generation is %v", node.Generation)
		}
	})
}

func TestClient_RenamedAndMovedProviders_Sent(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		c := cloudOf().build(t)
		tree := c.load(t)
		// numa2's old name goes to numa1, a new provider comes between the two and the host.
		if err := errors.Join(tree.Rename("numa2", "numa3"), tree.Rename("numa1", "numa2")); err != nil {
			t.Fatal(err)
		}
		if _, err := tree.NewChild("board", "cn", id(33)); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(tree.Move("numa3", "board"), tree.Move("numa2", "numa3")); err != nil {
			t.Fatal(err)
		}
		c.update(t, tree, nil)
		c.client.ClearCache()
		wantOutline(t, c.load(t), "cn<", "board<cn", "numa3<board", "numa2<numa3", "ssp<")
		c.requests()
		c.update(t, tree, nil)
		wantRequests(t, c, "the same tree again")
	})
}

func TestClient_ParentAndChildSwapped_Reparented(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		c := cloudOf().build(t)
		tree := c.load(t)
		if err := tree.Move("numa2", "numa1"); err != nil {
			t.Fatal(err)
		}
		c.update(t, tree, nil)
		if err := errors.Join(tree.Move("numa2", "cn"), tree.Move("numa1", "numa2")); err != nil {
			t.Fatal(err)
		}
		c.update(t, tree, nil)
		c.client.ClearCache()
		wantOutline(t, c.load(t), "cn<", "numa2<cn", "numa1<numa2", "ssp<")
	})
}

func TestClient_NameUsedInOtherTree_ReportsBothProviders(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		c := cloudOf().build(t)
		must(c.operator.ProviderCreate(t.Context(), "gpu0", id(66), uuid.Nil))(t)
		for what, edit := range map[string]func(*ProviderTree) error{
			"a child":  func(tree *ProviderTree) error { _, err := tree.NewChild("gpu0", "cn", gpu0); return err },
			"a rename": func(tree *ProviderTree) error { return tree.Rename("numa1", "gpu0") },
		} {
			tree := c.load(t)
			if err := edit(tree); err != nil {
				t.Fatal(err)
			}
			err := c.client.UpdateFromProviderTree(t.Context(), tree, nil)
			if !errors.Is(err, ErrDuplicateName) || !errors.Is(err, ErrSyncFailed) || !strings.Contains(err.Error(), id(66).String()) {
				t.Errorf("%s with a taken name: %v, want ErrDuplicateName with the holder", what, err)
			}
		}
	})
}

func TestClient_NameUsedInSameTree_ReturnsConflict(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		c := cloudOf().build(t)
		tree := c.load(t)
		must(c.operator.ProviderCreate(t.Context(), "gpu0", id(66), cn))(t)
		if _, err := tree.NewChild("gpu0", "cn", gpu0); err != nil {
			t.Fatal(err)
		}
		if err := c.client.UpdateFromProviderTree(t.Context(), tree, nil); !errors.Is(err, ErrUpdateConflict) {
			t.Errorf("%v, want ErrUpdateConflict", err)
		}
		if node := must(c.load(t).Provider("gpu0"))(t); node.UUID != id(66) {
			t.Errorf("the next load has %s as gpu0", node.UUID)
		}
	})
}

func TestClient_RemovedSubtree_DeletedBottomUp(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		c := cloudOf().build(t)
		must(c.operator.ProviderCreate(t.Context(), "board", id(33), cn))(t)
		must(c.operator.ProviderCreate(t.Context(), "gpu0", gpu0, id(33)))(t)
		c.have(t, gpu0, Inventories{"VGPU": {Total: 1}})
		tree := c.load(t)
		// One of the two is gone already when its turn comes.
		if err := errors.Join(tree.Remove("board"), c.operator.ProviderDelete(t.Context(), gpu0)); err != nil {
			t.Fatal(err)
		}
		c.update(t, tree, nil)
		c.client.ClearCache()
		wantOutline(t, c.load(t), "cn<", "numa1<cn", "numa2<cn", "ssp<")
	})
}

// TestClient_StaleCopy_PreservesProvidersAddedLater: who came after the copy was made is not in
// it, and was not removed either.
func TestClient_StaleCopy_PreservesProvidersAddedLater(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		c := cloudOf().build(t)
		old, newer := c.load(t), c.load(t)
		if _, err := newer.NewChild("gpu0", "numa1", gpu0); err != nil {
			t.Fatal(err)
		}
		if _, err := newer.UpdateInventory("gpu0", Inventories{"VGPU": {Total: 1}}, nil); err != nil {
			t.Fatal(err)
		}
		c.update(t, newer, nil)
		if err := old.AddTraits("cn", "CUSTOM_X"); err != nil {
			t.Fatal(err)
		}
		c.update(t, old, nil)
		newer = c.load(t)
		wantOutline(t, newer, "cn<", "numa1<cn", "gpu0<numa1", "numa2<cn", "ssp<")
		// Who has seen it can remove it, also from a copy of the copy.
		if err := newer.Remove("gpu0"); err != nil {
			t.Fatal(err)
		}
		c.update(t, newer.Clone(), nil)
		c.client.ClearCache()
		wantOutline(t, c.load(t), "cn<", "numa1<cn", "numa2<cn", "ssp<")
	})
}

func TestClient_RemovedProviderInUse_NotDeleted(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		c := cloudOf().build(t)
		tree := c.load(t)
		if err := errors.Join(tree.Remove("numa1"), tree.AddTraits("numa2", "HW_NUMA_ROOT")); err != nil {
			t.Fatal(err)
		}
		err := c.client.UpdateFromProviderTree(t.Context(), tree, nil)
		if !errors.Is(err, ErrSyncFailed) || !errors.Is(err, ErrProviderInUse) {
			t.Errorf("%v, want ErrSyncFailed with ErrProviderInUse", err)
		}
		tree = c.load(t)
		wantOutline(t, tree, "cn<", "numa1<cn", "numa2<cn", "ssp<")
		if has, err := tree.HasTraits("numa2", "HW_NUMA_ROOT"); err != nil || !has {
			t.Errorf("the rest is written: %t, %v", has, err)
		}
	})
}

// TestClient_RootRemovedFromTree_NotDeleted: the copy may never have been meant to contain the root.
func TestClient_RootRemovedFromTree_NotDeleted(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		c := cloudOf().build(t)
		c.claim(t, instanceA, nil)
		c.claim(t, instanceB, nil)
		for _, name := range []string{"ssp", "cn"} {
			for _, allocations := range []Allocations{nil, {}} {
				tree := c.load(t)
				if err := tree.Remove(name); err != nil {
					t.Fatal(err)
				}
				c.requests()
				c.update(t, tree, allocations)
				wantRequests(t, c, "a tree without "+name)
			}
		}
	})
}

func TestClient_RenameChainOfSiblings_SentInOrder(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	tree := c.load(t)
	if _, err := tree.NewChild("numa3", "cn", id(33)); err != nil {
		t.Fatal(err)
	}
	c.update(t, tree, nil)
	if err := errors.Join(tree.Rename("numa3", "numa4"), tree.Rename("numa2", "numa3"), tree.Rename("numa1", "numa2")); err != nil {
		t.Fatal(err)
	}
	c.requests()
	c.update(t, tree, nil)
	if sent := c.requests(); len(sent) != 3 {
		t.Errorf("three renames take %q", sent)
	}
	c.client.ClearCache()
	for i, node := range must(c.load(t).UUIDs("numa2", "numa3", "numa4"))(t) {
		if want := []uuid.UUID{numa1, numa2, id(33)}[i]; node != want {
			t.Errorf("numa%d is %s, want %s", i+2, node, want)
		}
	}
}

func TestClient_NameSwap_ReturnsErrDuplicateName(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		c := cloudOf().build(t)
		tree := c.load(t)
		if err := errors.Join(tree.Rename("numa1", "x"), tree.Rename("numa2", "numa1"), tree.Rename("x", "numa2")); err != nil {
			t.Fatal(err)
		}
		err := c.client.UpdateFromProviderTree(t.Context(), tree, nil)
		if !errors.Is(err, ErrSyncFailed) || !errors.Is(err, ErrDuplicateName) ||
			!strings.Contains(err.Error(), numa1.String()) || !strings.Contains(err.Error(), numa2.String()) {
			t.Errorf("%v, want ErrDuplicateName with both", err)
		}
	})
}

// TestClient_NewProviderExistsOnServer_NotOverwritten: the driver takes it for new and
// has not seen what is there.
func TestClient_NewProviderExistsOnServer_NotOverwritten(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		for what, c := range map[string]struct {
			parent   uuid.UUID
			traits   []string
			conflict bool
		}{
			"empty":     {cn, nil, false},
			"not empty": {cn, []string{"HW_NUMA_ROOT"}, true},
			"elsewhere": {numa1, nil, true},
			"as a root": {uuid.Nil, nil, true},
		} {
			t.Run(what, func(t *testing.T) {
				t.Parallel()
				cloud := cloudOf().build(t)
				tree := cloud.load(t)
				must(cloud.operator.ProviderCreate(t.Context(), "gpu0", gpu0, c.parent))(t)
				if c.traits != nil {
					cloud.mark(t, gpu0, c.traits...)
				}
				drive := func(tree *ProviderTree, _ Allocations) error {
					if !tree.Exists("gpu0") {
						if _, err := tree.NewChild("gpu0", "cn", gpu0); err != nil {
							return err
						}
					}
					return tree.AddTraits("gpu0", "HW_CPU_X86_VMX")
				}
				err := drive(tree, nil)
				if err == nil {
					err = cloud.client.UpdateFromProviderTree(t.Context(), tree, nil)
				}
				if conflict := errors.Is(err, ErrUpdateConflict); conflict != c.conflict || !conflict && err != nil {
					t.Fatalf("%v, want a conflict: %t", err, c.conflict)
				}
				if !c.conflict || c.parent == uuid.Nil {
					return
				}
				if err := pass(t.Context(), cloud.client, drive); err != nil {
					t.Fatal(err)
				}
				traits, _, err := cloud.operator.ProviderTraitList(t.Context(), gpu0)
				if err != nil || !containsAll(traits, append(c.traits, "HW_CPU_X86_VMX")) {
					t.Errorf("the traits are %q, %v", traits, err)
				}
			})
		}
	})
}

func TestClient_NewRootExistsOnServer_UsedWithItsTree(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, cloudOf func(...Option) *cloud) {
		c := cloudOf().build(t)
		must(c.operator.ProviderCreate(t.Context(), "second", id(60), uuid.Nil))(t)
		must(c.operator.ProviderCreate(t.Context(), "second-child", id(61), id(60)))(t)
		tree := c.load(t)
		if err := errors.Join(tree.NewRoot("second", id(60), nil), tree.AddTraits("second", "HW_NUMA_ROOT")); err != nil {
			t.Fatal(err)
		}
		c.update(t, tree, nil)
		tree = must(c.client.GetProviderTreeAndEnsureRoot(t.Context(), id(60), "second", uuid.Nil))(t)
		wantOutline(t, tree, "cn<", "numa1<cn", "numa2<cn", "second<", "second-child<second", "ssp<")
	})
}
