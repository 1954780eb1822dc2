package client

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/google/uuid"
)

func TestClient_OmittedInventoryField_IsNoChange(t *testing.T) {
	t.Parallel()
	full := InventoryRecord{Total: 8, Reserved: new(int32(1)), MinUnit: new(int32(1)), MaxUnit: new(int32(8)),
		StepSize: new(int32(1)), AllocationRatio: new(1.5)}
	tree := host(t)
	if _, err := tree.UpdateInventory("numa0", Inventories{"VCPU": full}, nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what    string
		wanted  Inventories
		changed bool
	}{
		{"the same", Inventories{"VCPU": full}, false},
		{"only the total", Inventories{"VCPU": {Total: 8}}, false},
		{"another total", Inventories{"VCPU": {Total: 9}}, true},
		{"another ratio", Inventories{"VCPU": {Total: 8, AllocationRatio: new(1.0)}}, true},
		{"another step", Inventories{"VCPU": {Total: 8, StepSize: new(int32(2))}}, true},
		{"a generation", Inventories{"VCPU": {Total: 8, ResourceProviderGeneration: new(int64(3))}}, false},
		{"another class", Inventories{"PCPU": full}, true},
		{"one more class", Inventories{"VCPU": full, "PCPU": full}, true},
		{"nothing", nil, true},
	} {
		if changed, err := tree.InventoryChanged("numa0", c.wanted); err != nil || changed != c.changed {
			t.Errorf("%s: changed %t, %v", c.what, changed, err)
		}
	}
	// What is there may have been written by a driver that gave the total only.
	if _, err := tree.UpdateInventory("numa1", Inventories{"VCPU": {Total: 8}}, nil); err != nil {
		t.Fatal(err)
	}
	if changed, err := tree.InventoryChanged("numa1", Inventories{"VCPU": full}); err != nil || !changed {
		t.Errorf("a field more: changed %t, %v", changed, err)
	}
}

func TestClient_GenerationWithoutChange_Stored(t *testing.T) {
	t.Parallel()
	tree := host(t)
	changed, err := tree.UpdateInventory("numa0", Inventories{}, new(int64(7)))
	if node, _ := tree.Provider("numa0"); err != nil || changed || *node.Generation != 7 {
		t.Errorf("changed %t, generation %d, %v", changed, *node.Generation, err)
	}
	changed, err = tree.UpdateTraits("numa0", nil, new(int64(8)))
	if node, _ := tree.Provider("numa0"); err != nil || changed || *node.Generation != 8 {
		t.Errorf("changed %t, generation %d, %v", changed, *node.Generation, err)
	}
	changed, err = tree.UpdateAggregates("numa0", nil, new(int64(9)))
	if node, _ := tree.Provider("numa0"); err != nil || changed || *node.Generation != 9 {
		t.Errorf("changed %t, generation %d, %v", changed, *node.Generation, err)
	}
}

func TestClient_TraitsAndAggregates_EditedAsSets(t *testing.T) {
	t.Parallel()
	tree := host(t)
	if err := errors.Join(
		tree.AddTraits("gpu", "B", "A", "B"), tree.AddTraits("gpu", "C"), tree.RemoveTraits("gpu", "B", "X"),
		tree.AddAggregates("gpu", id(2), id(1), id(2)), tree.RemoveAggregates("gpu", id(1), id(7)),
	); err != nil {
		t.Fatal(err)
	}
	node, err := tree.Provider("gpu")
	if err != nil || !slices.Equal(node.Traits, []string{"A", "C"}) || !slices.Equal(node.Aggregates, ids(2)) {
		t.Errorf("the provider is %+v, %v", node, err)
	}
	if changed, err := tree.TraitsChanged("gpu", []string{"C", "A", "C"}); err != nil || changed {
		t.Errorf("the same set of traits: changed %t, %v", changed, err)
	}
	if changed, err := tree.AggregatesChanged("gpu", nil); err != nil || !changed {
		t.Errorf("no aggregates: changed %t, %v", changed, err)
	}
	for _, c := range []struct {
		traits []string
		want   bool
	}{{nil, true}, {[]string{"A"}, true}, {[]string{"A", "B"}, false}} {
		if has, err := tree.HasTraits("gpu", c.traits...); err != nil || has != c.want {
			t.Errorf("has %q: %t, %v", c.traits, has, err)
		}
	}
	if in, err := tree.InAggregates("gpu", id(2)); err != nil || !in {
		t.Errorf("in the aggregate: %t, %v", in, err)
	}
}

func TestClient_SharingProvider_NeedsTraitAndInventory(t *testing.T) {
	t.Parallel()
	tree := host(t)
	disk := Inventories{"DISK_GB": {Total: 100}}
	if _, err := tree.UpdateInventory("host", disk, nil); err != nil {
		t.Fatal(err)
	}
	if tree.HasSharingProvider("DISK_GB") {
		t.Error("a provider shares without the trait")
	}
	if err := tree.AddTraits("host", sharingTrait); err != nil {
		t.Fatal(err)
	}
	if !tree.HasSharingProvider("DISK_GB") || tree.HasSharingProvider("VCPU") {
		t.Error("the wrong classes are shared")
	}
}

// TestClient_TreeArguments_CopiedNotAliased edits all that goes in or comes out.
func TestClient_TreeArguments_CopiedNotAliased(t *testing.T) {
	t.Parallel()
	tree := host(t)
	inventories := Inventories{"VCPU": {Total: 8, Reserved: new(int32(1))}}
	traits, aggregates := []string{"A", "B"}, []uuid.UUID{id(1), id(2)}
	generation := new(int64(5))
	if _, err := tree.UpdateInventory("gpu", inventories, generation); err != nil {
		t.Fatal(err)
	}
	if _, err := tree.UpdateTraits("gpu", traits, generation); err != nil {
		t.Fatal(err)
	}
	if _, err := tree.UpdateAggregates("gpu", aggregates, generation); err != nil {
		t.Fatal(err)
	}
	before, copied := tree.Nodes(), tree.Clone()

	*inventories["VCPU"].Reserved, traits[0], aggregates[0], *generation = 9, "Z", id(9), 9
	node, err := copied.Provider("gpu")
	if err != nil {
		t.Fatal(err)
	}
	*node.Inventories["VCPU"].Reserved, node.Traits[0], node.Aggregates[0], *node.Generation = 9, "Z", id(9), 9
	for _, tree := range []*ProviderTree{tree, copied} {
		if after := tree.Nodes(); !reflect.DeepEqual(after, before) {
			t.Errorf("an edit of a copy changes the forest from %+v to %+v", before, after)
		}
	}
	if err := errors.Join(copied.AddTraits("gpu", "Q"), copied.AddAggregates("gpu", id(7)), copied.Rename("gpu", "q"),
		copied.Move("q", "host"), copied.Remove("numa0")); err != nil {
		t.Fatal(err)
	}
	if _, err := copied.UpdateInventory("q", nil, new(int64(77))); err != nil {
		t.Fatal(err)
	}
	if after := tree.Nodes(); !reflect.DeepEqual(after, before) {
		t.Errorf("an edit of the clone changes the forest from %+v to %+v", before, after)
	}
}
