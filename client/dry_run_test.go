package client

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/dbtest"
)

func TestClient_DryRun_ReturnsResultAndChangesNothing(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.wire.Extended = true
	ctx, runs := WithDryRun(t.Context())
	before := dbtest.Snapshot(t, c.db)
	created := must(c.client.ProviderCreate(ctx, "new", id(50), cn))(t)
	inventories, generation, err := c.client.InventoryReplace(ctx, gpuless, 2, Inventories{"VCPU": {Total: 6}, "MEMORY_MB": {Total: 4096}})
	if err != nil || created.RootProviderUUID != cn || generation != 3 || inventories["VCPU"].Total != 6 {
		t.Errorf("created %+v; inventories %v at %d, %v", created, inventories, generation, err)
	}
	if !must(c.client.Claim(ctx, id(60), ClaimRequest{Allocations: map[uuid.UUID]Resources{numa1: {"VCPU": 1}}, ProjectID: "p", UserID: "u", Type: "INSTANCE"}))(t) {
		t.Error("the claim does not fit")
	}
	wantErrors(t, c.client.ProviderDelete(ctx, numa1), ErrProviderInUse)
	if _, err := c.client.AllocationList(ctx, instanceA); err != nil {
		t.Errorf("a read: %v", err)
	}
	results := runs.Results()
	var would []int
	for _, result := range results {
		would = append(would, result.Would)
	}
	if !slices.Equal(would, []int{200, 200, 200, 409}) {
		t.Fatalf("would be %v", would)
	}
	if change := results[0].Changes.ResourceProviders[id(50)]; change.Before != nil || *change.After.Name != "new" || *change.After.ParentProviderUUID != cn {
		t.Errorf("the creation changes %+v", change)
	}
	if change := results[1].Changes.ResourceProviders[gpuless]; change.Before.Inventories["VCPU"].Total != 8 || change.After.Inventories["VCPU"].Total != 6 {
		t.Errorf("the inventory changes %+v", change)
	}
	if change := results[2].Changes.Consumers[id(60)]; change.Before != nil || change.After.Allocations[numa1].Resources["VCPU"] != 1 {
		t.Errorf("the claim changes %+v", change)
	}
	if len(results[3].Changes.ResourceProviders) != 0 || results[3].Method != "DELETE" || !strings.HasSuffix(results[3].Path, numa1.String()) {
		t.Errorf("the deletion is %+v", results[3])
	}
	if changes := before.Diff(dbtest.Snapshot(t, c.db)); len(changes) > 0 {
		t.Errorf("the database changed: %q", changes)
	}
	if err := c.client.UpdateFromProviderTree(ctx, NewProviderTree(), nil); err == nil || !strings.Contains(err.Error(), "no dry run") {
		t.Errorf("UpdateFromProviderTree: %v", err)
	}
}

// gpuless is numa2, which has no child in any test.
var gpuless = numa2

// TestClient_DryRunInverse_LeadsBack decodes the body of the inverse into the type of the request.
func TestClient_DryRunInverse_LeadsBack(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.wire.Extended = true
	root := must(c.operator.ProviderShow(t.Context(), cn))(t)
	consumer := must(c.operator.AllocationList(t.Context(), instanceA))(t)
	consumer.Allocations[cn], consumer.Allocations[gpu0] = nil, Resources{"VGPU": 1}
	other := must(c.operator.AllocationList(t.Context(), instanceB))(t)
	other.Allocations[cn], other.Allocations[gpu0] = nil, Resources{"VGPU": 1}
	wanted := WantedTree{
		Providers: []WantedProvider{
			{UUID: cn, Name: "cn", Generation: &root.Generation, Inventories: Inventories{}},
			{UUID: gpu0, Name: "gpu0", Parent: &cn, Inventories: Inventories{"VGPU": {Total: 4}}, Traits: []string{"CUSTOM_GPU"}},
		},
		Consumers: Allocations{instanceA: consumer, instanceB: other},
	}
	dry, runs := WithDryRun(t.Context())
	preview := must(c.client.TreeReplace(dry, cn, wanted))(t)
	done := must(c.client.TreeReplace(t.Context(), cn, wanted))(t)
	if preview.ResourceProviders[gpu0].Change != "created" || done.ResourceProviders[gpu0].Change != "created" || *done.Consumers[instanceA].ConsumerGeneration != *preview.Consumers[instanceA].ConsumerGeneration {
		t.Errorf("preview %+v\ndone %+v", preview, done)
	}
	var inverse WantedTree
	if err := json.Unmarshal(runs.Results()[0].Inverse, &inverse); err != nil {
		t.Fatal(err)
	}
	back := must(c.client.TreeReplace(t.Context(), cn, inverse))(t)
	if back.ResourceProviders[gpu0].Change != "deleted" || back.Consumers[instanceA].Change != "updated" {
		t.Errorf("back %+v", back)
	}
	if again := must(c.client.TreeReplace(t.Context(), cn, inverse))(t); again.ResourceProviders[cn].Change != "unchanged" {
		t.Errorf("again %+v", again)
	}
	has := must(c.operator.AllocationList(t.Context(), instanceA))(t)
	if has.Allocations[cn]["VGPU"] != 1 || has.Allocations[storage]["DISK_GB"] != 10 {
		t.Errorf("the consumer has %v", has.Allocations)
	}
	changes := ReshapeChanges{Inventories: map[uuid.UUID]InventoryChanges{cn: {Inventories: map[string]*InventoryChange{"VGPU": {Total: new(int32(6))}}}}}
	must(c.client.ReshapePatch(dry, changes))(t)
	must(c.client.ReshapePatch(t.Context(), changes))(t)
	var undo ReshapeChanges
	if err := json.Unmarshal(runs.Results()[1].Inverse, &undo); err != nil {
		t.Fatal(err)
	}
	must(c.client.ReshapePatch(t.Context(), undo))(t)
	if record, _, err := c.operator.InventoryShow(t.Context(), cn, "VGPU"); err != nil || record.Total != 4 {
		t.Errorf("the inventory is %+v, %v", record, err)
	}
}
