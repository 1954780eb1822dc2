package client

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/uuid"
)

// The providers of the story: a host with a NUMA node and a network device below
// it, and a second host.
var (
	host, node, nic, spare = id(1), id(2), id(3), id(4)
	rack                   = id(0xaa)
	instance, second       = id(0xf001), id(0xf002)
)

// TestOpenAPI_GeneratedClient_CoversEveryOperation tells one story, each chapter
// on top of those before, and then holds what was sent against the document.
func TestOpenAPI_GeneratedClient_CoversEveryOperation(t *testing.T) {
	t.Parallel()
	sent := &notes{}
	c := asking(t, serve(t), "admin", "admin,service", WithHTTPClient(&http.Client{Transport: sent}))
	for _, chapter := range []struct {
		name string
		tell func(*testing.T, *ClientWithResponses)
	}{
		{"versions", versions}, {"resource classes", classes}, {"traits", traits}, {"providers", providers},
		{"inventories", inventories}, {"one inventory", oneInventory}, {"aggregates", aggregates},
		{"traits of a provider", providerTraits}, {"claims", claims}, {"readers of allocations", allocations},
		{"usages", usages}, {"a reshape", reshape}, {"the end", end},
	} {
		if !t.Run(chapter.name, func(t *testing.T) { chapter.tell(t, c) }) {
			return
		}
	}
	if missing := sent.missing(t); missing != nil {
		t.Errorf("operations of the document that were not driven: %v", missing)
	}
}

func versions(t *testing.T, c *ClientWithResponses) {
	got := must(c.VersionListWithResponse(t.Context(), &VersionListParams{new(v)}))(t)
	version := body(t, got.JSON200, got.Body).Versions[0]
	same(t, "the version", []string{version.ID, version.MinVersion, version.MaxVersion, version.Status},
		[]string{"v1.0", "1.0", "1.39", "CURRENT"})
}

func classes(t *testing.T, c *ClientWithResponses) {
	ctx := t.Context()
	answered(t, 201, must(c.ResourceClassCreateWithResponse(ctx, &ResourceClassCreateParams{OpenStackAPIVersion: v}, ResourceClassName{Name: "CUSTOM_GOLD"}))(t))
	twice := must(c.ResourceClassCreateWithResponse(ctx, &ResourceClassCreateParams{OpenStackAPIVersion: v}, ResourceClassName{Name: "CUSTOM_GOLD"}))(t)
	refused(t, twice.JSON409, twice.Body, ErrorCodePlacementUndefinedCode, "CUSTOM_GOLD")
	answered(t, 201, must(c.ResourceClassEnsureWithResponse(ctx, "CUSTOM_TIN", &ResourceClassEnsureParams{OpenStackAPIVersion: v}))(t))
	answered(t, 204, must(c.ResourceClassEnsureWithResponse(ctx, "CUSTOM_TIN", &ResourceClassEnsureParams{OpenStackAPIVersion: v}))(t))

	shown := must(c.ResourceClassShowWithResponse(ctx, "CUSTOM_TIN", &ResourceClassShowParams{OpenStackAPIVersion: v}))(t)
	same(t, "the class", *body(t, shown.JSON200, shown.Body),
		ResourceClass{Name: "CUSTOM_TIN", Links: []Link{{Rel: "self", Href: "/resource_classes/CUSTOM_TIN"}}})
	listed := must(c.ResourceClassListWithResponse(ctx, &ResourceClassListParams{OpenStackAPIVersion: v}))(t)
	all := body(t, listed.JSON200, listed.Body).ResourceClasses
	same(t, "the first and the last class", []string{all[0].Name, all[len(all)-1].Name}, []string{"VCPU", "CUSTOM_TIN"})

	answered(t, 204, must(c.ResourceClassDeleteWithResponse(ctx, "CUSTOM_TIN", &ResourceClassDeleteParams{OpenStackAPIVersion: v}))(t))
	gone := must(c.ResourceClassShowWithResponse(ctx, "CUSTOM_TIN", &ResourceClassShowParams{OpenStackAPIVersion: v}))(t)
	refused(t, gone.JSON404, gone.Body, ErrorCodePlacementUndefinedCode, "CUSTOM_TIN")
}

func traits(t *testing.T, c *ClientWithResponses) {
	ctx := t.Context()
	for _, name := range []string{"CUSTOM_FAST", "CUSTOM_OLD"} {
		answered(t, 201, must(c.TraitEnsureWithResponse(ctx, name, &TraitEnsureParams{OpenStackAPIVersion: v}))(t))
	}
	answered(t, 204, must(c.TraitShowWithResponse(ctx, "CUSTOM_OLD", &TraitShowParams{OpenStackAPIVersion: v}))(t))
	answered(t, 204, must(c.TraitDeleteWithResponse(ctx, "CUSTOM_OLD", &TraitDeleteParams{OpenStackAPIVersion: v}))(t))
	gone := must(c.TraitShowWithResponse(ctx, "CUSTOM_OLD", &TraitShowParams{OpenStackAPIVersion: v}))(t)
	refused(t, gone.JSON404, gone.Body, ErrorCodePlacementUndefinedCode, "CUSTOM_OLD")
	for associated, want := range map[bool][]string{false: {"CUSTOM_FAST"}, true: {}} {
		listed := must(c.TraitListWithResponse(ctx, &TraitListParams{
			Name: new("startswith:CUSTOM_"), Associated: &associated, OpenStackAPIVersion: v,
		}))(t)
		same(t, fmt.Sprintf("custom traits, associated %v", associated), body(t, listed.JSON200, listed.Body).Traits, want)
	}
}

func providers(t *testing.T, c *ClientWithResponses) {
	ctx := t.Context()
	create := func(name string, id uuid.UUID, parent *uuid.UUID) *ProviderCreateResponse {
		return must(c.ProviderCreateWithResponse(ctx, &ProviderCreateParams{OpenStackAPIVersion: v}, ProviderCreate{Name: name, UUID: &id, ParentProviderUUID: parent}))(t)
	}
	below := &host
	create("host", host, nil)
	create("nic", nic, below)
	create("spare", spare, nil)
	made := create("node", node, below)
	got := must(body(t, made.JSON200, made.Body).AsProvider())(t)
	same(t, "the node", []any{got.Name, got.UUID, got.Generation, *got.ParentProviderUUID, got.RootProviderUUID},
		[]any{"node", node, 0, host, host})
	twice := create("host", id(99), nil)
	refused(t, twice.JSON409, twice.Body, ErrorCodePlacementDuplicateName, "host already exists")

	shown := must(c.ProviderShowWithResponse(ctx, host.String(), &ProviderShowParams{OpenStackAPIVersion: v}))(t)
	if root := body(t, shown.JSON200, shown.Body); root.ParentProviderUUID != nil || root.RootProviderUUID != host {
		t.Errorf("the host is no root: %s", shown.Body)
	}
	gone := must(c.ProviderShowWithResponse(ctx, id(99).String(), &ProviderShowParams{OpenStackAPIVersion: v}))(t)
	refused(t, gone.JSON404, gone.Body, ErrorCodePlacementUndefinedCode, id(99).String())
	listed := must(c.ProviderListWithResponse(ctx, &ProviderListParams{InTree: &node, OpenStackAPIVersion: v}))(t)
	names := []string{}
	for _, provider := range body(t, listed.JSON200, listed.Body).ResourceProviders {
		names = append(names, provider.Name)
	}
	same(t, "the tree of the node", names, []string{"host", "nic", "node"})
	parent := must(c.ProviderDeleteWithResponse(ctx, host.String(), &ProviderDeleteParams{OpenStackAPIVersion: v}))(t)
	refused(t, parent.JSON409, parent.Body, ErrorCodePlacementResourceProviderCannotDeleteParent, host.String())
}

func inventories(t *testing.T, c *ClientWithResponses) {
	ctx := t.Context()
	replace := func(id uuid.UUID, generation int64, records map[string]InventoryRecord) *InventoryReplaceResponse {
		return must(c.InventoryReplaceWithResponse(ctx, id.String(), &InventoryReplaceParams{OpenStackAPIVersion: v},
			InventoriesReplace{ResourceProviderGeneration: generation, Inventories: records}))(t)
	}
	replaced := replace(host, 0, map[string]InventoryRecord{
		"VCPU": {Total: 16, AllocationRatio: new(4.0)}, "MEMORY_MB": {Total: 32768, Reserved: new(int32(512))},
	})
	got := must(body(t, replaced.JSON200, replaced.Body).AsInventories())(t)
	same(t, "what was written", got, Inventories{ResourceProviderGeneration: 1, Inventories: map[string]Inventory{
		"VCPU":      {Total: 16, AllocationRatio: 4, MinUnit: 1, MaxUnit: 2147483647, StepSize: 1},
		"MEMORY_MB": {Total: 32768, Reserved: 512, AllocationRatio: 1, MinUnit: 1, MaxUnit: 2147483647, StepSize: 1},
	}})
	late := replace(host, 0, nil)
	if late.JSON400 == nil || late.StatusCode() != 400 {
		t.Errorf("inventories of null are answered %s", late.Body)
	}
	late = replace(host, 0, map[string]InventoryRecord{})
	refused(t, late.JSON409, late.Body, ErrorCodePlacementConcurrentUpdate, "generation conflict")
	replace(nic, 0, map[string]InventoryRecord{"SRIOV_NET_VF": {Total: 8}})
	replace(spare, 0, map[string]InventoryRecord{"VCPU": {Total: 4}})

	listed := must(c.InventoryListWithResponse(ctx, host.String(), &InventoryListParams{OpenStackAPIVersion: v}))(t)
	same(t, "what is read", *body(t, listed.JSON200, listed.Body), got)
	answered(t, 204, must(c.InventoryClearWithResponse(ctx, spare.String(), &InventoryClearParams{OpenStackAPIVersion: v}))(t))
}

func oneInventory(t *testing.T, c *ClientWithResponses) {
	ctx := t.Context()
	created := must(c.InventoryCreateWithResponse(ctx, node.String(), &InventoryCreateParams{OpenStackAPIVersion: v},
		InventoryCreate{ResourceClass: "CUSTOM_GOLD", Total: 2}))(t)
	same(t, "the generation", *body(t, created.JSON201, created.Body).ResourceProviderGeneration, 1)
	twice := must(c.InventoryCreateWithResponse(ctx, node.String(), &InventoryCreateParams{OpenStackAPIVersion: v},
		InventoryCreate{ResourceClass: "CUSTOM_GOLD", Total: 2}))(t)
	refused(t, twice.JSON409, twice.Body, ErrorCodePlacementConcurrentUpdate, "CUSTOM_GOLD")
	updated := must(c.InventoryUpdateWithResponse(ctx, node.String(), "CUSTOM_GOLD", &InventoryUpdateParams{OpenStackAPIVersion: v},
		InventoryUpdate{ResourceProviderGeneration: 1, Total: 3}))(t)
	same(t, "the total", must(body(t, updated.JSON200, updated.Body).AsInventoryWithGeneration())(t).Total, 3)
	late := must(c.InventoryUpdateWithResponse(ctx, node.String(), "CUSTOM_GOLD", &InventoryUpdateParams{OpenStackAPIVersion: v},
		InventoryUpdate{ResourceProviderGeneration: 1, Total: 3}))(t)
	refused(t, late.JSON409, late.Body, ErrorCodePlacementConcurrentUpdate, "generation conflict")
	shown := must(c.InventoryShowWithResponse(ctx, node.String(), "CUSTOM_GOLD", &InventoryShowParams{OpenStackAPIVersion: v}))(t)
	same(t, "what is read", body(t, shown.JSON200, shown.Body).Total, 3)
	answered(t, 204, must(c.InventoryDeleteWithResponse(ctx, node.String(), "CUSTOM_GOLD", &InventoryDeleteParams{OpenStackAPIVersion: v}))(t))
	gone := must(c.InventoryShowWithResponse(ctx, node.String(), "CUSTOM_GOLD", &InventoryShowParams{OpenStackAPIVersion: v}))(t)
	refused(t, gone.JSON404, gone.Body, ErrorCodePlacementUndefinedCode, "CUSTOM_GOLD")
}

func aggregates(t *testing.T, c *ClientWithResponses) {
	ctx := t.Context()
	replace := func() *ProviderAggregateReplaceResponse {
		return must(c.ProviderAggregateReplaceWithResponse(ctx, host.String(), &ProviderAggregateReplaceParams{OpenStackAPIVersion: v},
			AggregatesReplace{ResourceProviderGeneration: 1, Aggregates: []uuid.UUID{rack}}))(t)
	}
	replaced := replace()
	want := &Aggregates{ResourceProviderGeneration: 2, Aggregates: []uuid.UUID{rack}}
	same(t, "the aggregates", must(body(t, replaced.JSON200, replaced.Body).AsAggregates())(t), *want)
	late := replace()
	refused(t, late.JSON409, late.Body, ErrorCodePlacementConcurrentUpdate, "generation")
	listed := must(c.ProviderAggregateListWithResponse(ctx, host.String(), &ProviderAggregateListParams{OpenStackAPIVersion: v}))(t)
	same(t, "what is read", body(t, listed.JSON200, listed.Body), want)
}

func providerTraits(t *testing.T, c *ClientWithResponses) {
	ctx := t.Context()
	replace := func(id uuid.UUID, generation int64) *ProviderTraitReplaceResponse {
		return must(c.ProviderTraitReplaceWithResponse(ctx, id.String(), &ProviderTraitReplaceParams{OpenStackAPIVersion: v},
			ProviderTraitsReplace{ResourceProviderGeneration: generation, Traits: []string{"CUSTOM_FAST", "HW_CPU_X86_AVX2"}}))(t)
	}
	replaced := replace(nic, 1)
	want := &ProviderTraits{ResourceProviderGeneration: 2, Traits: []string{"CUSTOM_FAST", "HW_CPU_X86_AVX2"}}
	got := must(body(t, replaced.JSON200, replaced.Body).AsProviderTraits())(t)
	same(t, "how many traits there are, and the generation", []any{len(got.Traits), got.ResourceProviderGeneration}, []any{2, 2})
	late := replace(nic, 1)
	refused(t, late.JSON409, late.Body, ErrorCodePlacementConcurrentUpdate, "generation")
	listed := must(c.ProviderTraitListWithResponse(ctx, nic.String(), &ProviderTraitListParams{OpenStackAPIVersion: v}))(t)
	same(t, "what is read", len(body(t, listed.JSON200, listed.Body).Traits), len(want.Traits))
	replace(spare, 2)
	answered(t, 204, must(c.ProviderTraitClearWithResponse(ctx, spare.String(), &ProviderTraitClearParams{OpenStackAPIVersion: v}))(t))
	inUse := must(c.TraitDeleteWithResponse(ctx, "CUSTOM_FAST", &TraitDeleteParams{OpenStackAPIVersion: v}))(t)
	refused(t, inUse.JSON409, inUse.Body, ErrorCodePlacementUndefinedCode, "CUSTOM_FAST")
}
