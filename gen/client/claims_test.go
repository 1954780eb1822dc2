package client

import (
	"testing"

	"github.com/google/uuid"
	"github.com/oapi-codegen/nullable"
)

// claim is what an instance is to have of the host and of the network device.
func claim(generation *int64, cpus int64) Claim {
	return Claim{
		Allocations: map[string]ClaimedOfProvider{
			host.String(): {Resources: map[string]int64{"VCPU": cpus, "MEMORY_MB": 1024}},
			nic.String():  {Resources: map[string]int64{"SRIOV_NET_VF": 1}},
		},
		ConsumerGeneration: generation, ConsumerType: "INSTANCE", ProjectID: "mercury", UserID: "ada",
	}
}

func isNew() *int64               { return nil }
func has(generation int64) *int64 { return &generation }

func claims(t *testing.T, c *ClientWithResponses) {
	ctx := t.Context()
	found := must(c.CandidateListWithResponse(ctx, &CandidateListParams{
		Resources: new("VCPU:2,MEMORY_MB:1024"), Required: []string{"!HW_CPU_X86_VMX", "!CUSTOM_FAST"}, Limit: new(5),
		GroupPolicy: new(CandidateListParamsGroupPolicyNone), OpenStackAPIVersion: v,
		Groups: map[string]string{"resources_NET": "SRIOV_NET_VF:1", "required_NET": "CUSTOM_FAST"},
	}))(t)
	candidates := body(t, found.JSON200, found.Body).AllocationRequests
	if len(candidates) != 1 {
		t.Fatalf("%d candidates, want 1: %s", len(candidates), found.Body)
	}
	first := claim(isNew(), 2)
	// A candidate's members are those of a claim.
	first.Mappings = candidates[0].Mappings
	same(t, "who serves what", first.Mappings, map[string][]uuid.UUID{"": {host}, "_NET": {nic}})
	answered(t, 204, must(c.AllocationReplaceWithResponse(ctx, instance.String(), &AllocationReplaceParams{OpenStackAPIVersion: v}, first))(t))
	again := must(c.AllocationReplaceWithResponse(ctx, instance.String(), &AllocationReplaceParams{OpenStackAPIVersion: v}, first))(t)
	refused(t, again.JSON409, again.Body, ErrorCodePlacementConcurrentUpdate, "consumer generation conflict")
	large := must(c.AllocationReplaceWithResponse(ctx, instance.String(), &AllocationReplaceParams{OpenStackAPIVersion: v}, claim(has(1), 65)))(t)
	refused(t, large.JSON409, large.Body, ErrorCodePlacementUndefinedCode, "exceed the capacity")

	answered(t, 204, must(c.AllocationReplaceManyWithResponse(ctx, &AllocationReplaceManyParams{OpenStackAPIVersion: v}, Claims{
		instance.String(): claim(has(1), 1), second.String(): claim(isNew(), 1),
	}))(t))
	late := must(c.AllocationReplaceManyWithResponse(ctx, &AllocationReplaceManyParams{OpenStackAPIVersion: v}, Claims{second.String(): claim(has(7), 1)}))(t)
	refused(t, late.JSON409, late.Body, ErrorCodePlacementConcurrentUpdate, "consumer generation conflict")
}

func allocations(t *testing.T, c *ClientWithResponses) {
	ctx := t.Context()
	listed := must(c.AllocationListWithResponse(ctx, instance.String(), &AllocationListParams{OpenStackAPIVersion: v}))(t)
	got := body(t, listed.JSON200, listed.Body)
	same(t, "whose it is", []any{*got.ConsumerGeneration, *got.ConsumerType, *got.ProjectID, *got.UserID},
		[]any{2, "INSTANCE", "mercury", "ada"})
	same(t, "what it has", got.Allocations[host.String()].Resources, map[string]int64{"VCPU": 1, "MEMORY_MB": 1024})
	missing := must(c.AllocationListWithResponse(ctx, id(0xdead).String(), &AllocationListParams{OpenStackAPIVersion: v}))(t)
	if empty := body(t, missing.JSON200, missing.Body); len(empty.Allocations) != 0 || empty.ConsumerGeneration != nil || empty.ProjectID != nil {
		t.Errorf("consumer without allocations: body = %s", missing.Body)
	}

	ofNIC := must(c.ProviderAllocationListWithResponse(ctx, nic.String(), &ProviderAllocationListParams{OpenStackAPIVersion: v}))(t)
	same(t, "who has the device", body(t, ofNIC.JSON200, ofNIC.Body).Allocations, map[string]ConsumerOnProvider{
		instance.String(): {ConsumerGeneration: 2, Resources: map[string]int64{"SRIOV_NET_VF": 1}},
		second.String():   {ConsumerGeneration: 1, Resources: map[string]int64{"SRIOV_NET_VF": 1}},
	})
	inUse := must(c.ProviderDeleteWithResponse(ctx, nic.String(), &ProviderDeleteParams{OpenStackAPIVersion: v}))(t)
	refused(t, inUse.JSON409, inUse.Body, ErrorCodePlacementResourceProviderInuse, nic.String())
	cleared := must(c.InventoryClearWithResponse(ctx, nic.String(), &InventoryClearParams{OpenStackAPIVersion: v}))(t)
	refused(t, cleared.JSON409, cleared.Body, ErrorCodePlacementInventoryInuse, "SRIOV_NET_VF")
	answered(t, 204, must(c.AllocationDeleteWithResponse(ctx, second.String(), &AllocationDeleteParams{OpenStackAPIVersion: v}))(t))
	gone := must(c.AllocationDeleteWithResponse(ctx, second.String(), &AllocationDeleteParams{OpenStackAPIVersion: v}))(t)
	refused(t, gone.JSON404, gone.Body, ErrorCodePlacementUndefinedCode, second.String())
}

func usages(t *testing.T, c *ClientWithResponses) {
	ctx := t.Context()
	ofHost := must(c.ProviderUsageListWithResponse(ctx, host.String(), &ProviderUsageListParams{OpenStackAPIVersion: v}))(t)
	same(t, "what is used of the host", body(t, ofHost.JSON200, ofHost.Body).Usages, map[string]int64{"VCPU": 1, "MEMORY_MB": 1024})
	sums := must(c.UsageListWithResponse(ctx, &UsageListParams{ProjectID: "mercury", UserID: new("ada"), OpenStackAPIVersion: v}))(t)
	same(t, "what the project uses", body(t, sums.JSON200, sums.Body).Usages, map[string]map[string]int64{
		"INSTANCE": {"VCPU": 1, "MEMORY_MB": 1024, "SRIOV_NET_VF": 1, "consumer_count": 1},
	})
	bad := must(c.UsageListWithResponse(ctx, &UsageListParams{OpenStackAPIVersion: v}))(t)
	refused(t, bad.JSON400, bad.Body, ErrorCodePlacementUndefinedCode, "project_id")
}

// reshape moves the processors from the host to the node, and the instance with
// them.
func reshape(t *testing.T, c *ClientWithResponses) {
	ctx := t.Context()
	generation := func(id uuid.UUID) int64 {
		shown := must(c.ProviderShowWithResponse(ctx, id.String(), &ProviderShowParams{OpenStackAPIVersion: v}))(t)
		return body(t, shown.JSON200, shown.Body).Generation
	}
	moved := claim(has(2), 1)
	moved.Allocations[host.String()] = ClaimedOfProvider{Resources: map[string]int64{"MEMORY_MB": 1024}}
	moved.Allocations[node.String()] = ClaimedOfProvider{Resources: map[string]int64{"VCPU": 1}}
	wanted := Reshape{
		Inventories: map[string]InventoriesReplace{
			host.String(): {ResourceProviderGeneration: generation(host), Inventories: map[string]InventoryRecord{"MEMORY_MB": {Total: 32768}}},
			node.String(): {ResourceProviderGeneration: generation(node), Inventories: map[string]InventoryRecord{"VCPU": {Total: 16}}},
		},
		Allocations: map[string]Claim{},
	}
	// Consumers that are left out keep what is about to go.
	stuck := must(c.ReshapeWithResponse(ctx, &ReshapeParams{OpenStackAPIVersion: v}, wanted))(t)
	refused(t, stuck.JSON409, stuck.Body, ErrorCodePlacementInventoryInuse, "VCPU")
	wanted.Allocations[instance.String()] = moved
	answered(t, 204, must(c.ReshapeWithResponse(ctx, &ReshapeParams{OpenStackAPIVersion: v}, wanted))(t))
	late := must(c.ReshapeWithResponse(ctx, &ReshapeParams{OpenStackAPIVersion: v}, wanted))(t)
	refused(t, late.JSON409, late.Body, ErrorCodePlacementConcurrentUpdate, "generation conflict")
	unknown := must(c.ReshapeWithResponse(ctx, &ReshapeParams{OpenStackAPIVersion: v}, Reshape{
		Inventories: map[string]InventoriesReplace{id(99).String(): {Inventories: map[string]InventoryRecord{}}},
		Allocations: map[string]Claim{},
	}))(t)
	refused(t, unknown.JSON400, unknown.Body, ErrorCodePlacementResourceProviderNotFound, id(99).String())
	ofNode := must(c.ProviderUsageListWithResponse(ctx, node.String(), &ProviderUsageListParams{OpenStackAPIVersion: v}))(t)
	same(t, "what is used of the node", body(t, ofNode.JSON200, ofNode.Body).Usages, map[string]int64{"VCPU": 1})
}

// end re-parents and removes providers: a parent that is left out stays, null is
// none.
func end(t *testing.T, c *ClientWithResponses) {
	ctx := t.Context()
	update := func(id uuid.UUID, change ProviderUpdate) Provider {
		updated := must(c.ProviderUpdateWithResponse(ctx, id.String(), &ProviderUpdateParams{OpenStackAPIVersion: v}, change))(t)
		return must(body(t, updated.JSON200, updated.Body).AsProvider())(t)
	}
	kept := update(nic, ProviderUpdate{Name: "card"})
	same(t, "name, parent and root", []any{kept.Name, *kept.ParentProviderUUID, kept.RootProviderUUID}, []any{"card", host, host})
	root := update(nic, ProviderUpdate{Name: "card", ParentProviderUUID: nullable.NewNullNullable[uuid.UUID]()})
	if root.ParentProviderUUID != nil || root.RootProviderUUID != nic {
		t.Errorf("after null as parent: %+v", root)
	}
	moved := update(nic, ProviderUpdate{Name: "card", ParentProviderUUID: nullable.NewNullableWithValue(spare)})
	same(t, "the new root", moved.RootProviderUUID, spare)
	taken := must(c.ProviderUpdateWithResponse(ctx, nic.String(), &ProviderUpdateParams{OpenStackAPIVersion: v}, ProviderUpdate{Name: "host"}))(t)
	refused(t, taken.JSON409, taken.Body, ErrorCodePlacementDuplicateName, "host")

	answered(t, 204, must(c.AllocationDeleteWithResponse(ctx, instance.String(), &AllocationDeleteParams{OpenStackAPIVersion: v}))(t))
	for _, id := range []uuid.UUID{nic, spare, node, host} {
		answered(t, 204, must(c.ProviderDeleteWithResponse(ctx, id.String(), &ProviderDeleteParams{OpenStackAPIVersion: v}))(t))
	}
}
