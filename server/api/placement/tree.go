package placement

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/observe/auditlog"
	"github.com/berthd/berth/server/wire/jsonbody"
)

// providerName is the name of a provider in a request.
type providerName string

// Schema implements huma.SchemaProvider.
func (providerName) Schema(huma.Registry) *huma.Schema {
	shortest, longest := 1, 200
	return &huma.Schema{Type: huma.TypeString, MinLength: &shortest, MaxLength: &longest, Examples: []any{"compute-17"}}
}

// TreeProvider is the new state of a provider.
type TreeProvider struct {
	UUID        string          `json:"uuid" format:"uuid" doc:"The provider." example:"c0ffee00-5ca1-4b1e-8000-000000000001"`
	Name        providerName    `json:"name" doc:"Unique name."`
	Parent      optionalUUID    `json:"parent_provider_uuid" doc:"UUID of the parent provider; null only for the provider in the path."`
	Generation  nullableInt     `json:"generation" doc:"The provider generation that the client read; null for a new provider. Compared if anything differs."`
	Inventories *recordsByClass `json:"inventories,omitempty" nullable:"false" doc:"All new inventories by resource class. Default: they stay as they are."`
	Traits      *traitNames     `json:"traits,omitempty" nullable:"false" doc:"All new traits. Custom traits that do not exist are created. Default: they stay as they are."`
	Aggregates  *uuids          `json:"aggregates,omitempty" nullable:"false" doc:"All new aggregates. Default: they stay as they are."`

	Root      ignored `json:"root_provider_uuid,omitempty" doc:"Ignored; accepted because responses contain it."`
	Links     ignored `json:"links,omitempty" doc:"Ignored."`
	Usages    ignored `json:"usages,omitempty" doc:"Ignored."`
	Sharing   ignored `json:"sharing,omitempty" doc:"Ignored."`
	CreatedAt ignored `json:"created_at,omitempty" doc:"Ignored."`
	UpdatedAt ignored `json:"updated_at,omitempty" doc:"Ignored."`
}

// DeletedProvider is a provider to delete.
type DeletedProvider struct {
	Generation jsonbody.Int `json:"generation" doc:"The provider generation that the client read." example:"4"`
}

// TreeAllocations are the requested allocations on one provider.
type TreeAllocations struct {
	Resources  claimedResources `json:"resources" doc:"Amounts by resource class."`
	Generation ignored          `json:"generation,omitempty" doc:"Ignored; accepted because responses contain it."`
	Name       ignored          `json:"name,omitempty" doc:"Ignored."`
	Root       ignored          `json:"root_provider_uuid,omitempty" doc:"Ignored."`
	CreatedAt  ignored          `json:"created_at,omitempty" doc:"Ignored."`
}

// TreeConsumer is a consumer with all its new allocations.
type TreeConsumer struct {
	Allocations keyed[TreeAllocations] `json:"allocations" doc:"Allocations by provider UUID. Empty removes all allocations of the consumer."`
	Owner
	Generation nullableInt `json:"consumer_generation" doc:"The consumer generation that the client read; null for a new consumer. Compared if anything differs."`
	Type       string      `json:"consumer_type" minLength:"1" maxLength:"255" pattern:"^[A-Z0-9_]+$" doc:"The consumer's type." example:"INSTANCE"`

	UUID           ignored `json:"uuid,omitempty" doc:"Ignored; accepted because responses contain it."`
	CreatedAt      ignored `json:"created_at,omitempty" doc:"Ignored."`
	UpdatedAt      ignored `json:"updated_at,omitempty" doc:"Ignored."`
	SharingOnly    ignored `json:"sharing_only,omitempty" doc:"Ignored."`
	NodeAllocation ignored `json:"node_allocation,omitempty" doc:"Ignored."`
	Mappings       ignored `json:"mappings,omitempty" doc:"Ignored; accepted because allocation candidates contain it."`
	Lease          ignored `json:"lease,omitempty" since:"berth 6" doc:"Ignored."`
}

// claim implements claimRequest.
func (c TreeConsumer) claim() (store.Claim, receivedUUIDs, error) {
	allocations := make(jsonbody.Ordered[ClaimedOfProvider], 0, len(c.Allocations.Ordered))
	for _, entry := range c.Allocations.Ordered {
		allocations = append(allocations, jsonbody.Entry[ClaimedOfProvider]{
			Key: entry.Key, Value: ClaimedOfProvider{Resources: entry.Value.Resources},
		})
	}
	result, sent, err := claimOf(allocations, c.Owner)
	result.Generation, result.Type = c.Generation.value, c.Type
	return result, sent, err
}

// TreeReplace is the request for the new state of providers of one tree.
type TreeReplace struct {
	Providers []TreeProvider         `json:"resource_providers" nullable:"false" maxItems:"10000" doc:"Providers to create or change. Providers of the tree that are not listed stay as they are."`
	Deleted   keyed[DeletedProvider] `json:"deleted_providers,omitempty" doc:"Providers to delete, by UUID."`
	Consumers keyed[TreeConsumer]    `json:"consumers,omitempty" doc:"Consumers with all their new allocations, by UUID. The allocations of omitted consumers do not change."`
}

// TreeProviderChanged is what a request did to a provider.
type TreeProviderChanged struct {
	Change     string   `json:"change" enum:"created,updated,unchanged,deleted" doc:"What the request did to the provider."`
	Generation *int64   `json:"generation,omitempty" doc:"The provider's generation; missing if the provider does not exist." example:"5"`
	Changed    []string `json:"changed,omitempty" enum:"name,parent,inventories,traits,aggregates,usages" nullable:"false" doc:"What differed, for an updated provider."`
}

// TreeConsumerChanged is what a request did to a consumer.
type TreeConsumerChanged struct {
	Change     string `json:"change" enum:"created,updated,unchanged,deleted" doc:"What the request did to the consumer."`
	Generation *int64 `json:"consumer_generation,omitempty" doc:"The consumer's generation; missing if the consumer does not exist." example:"2"`
}

// TreeChanged is the response to TreeReplace.
type TreeChanged struct {
	Providers jsonbody.Ordered[TreeProviderChanged] `json:"resource_providers" doc:"What the request did to each named provider, and to others whose allocations changed, by UUID."`
	Consumers jsonbody.Ordered[TreeConsumerChanged] `json:"consumers" doc:"What the request did to each named consumer, by UUID."`
}

func (o *operations) treeOperations() []*route.Operation {
	body := route.Body[providerPath]{Example: map[string]any{
		"resource_providers": []any{
			map[string]any{"uuid": exampleHost, "name": hostRow.Name, "parent_provider_uuid": nil, "generation": 4},
			map[string]any{
				"uuid": exampleNode, "name": "compute-17-numa-0", "parent_provider_uuid": exampleHost, "generation": nil,
				"inventories": map[string]any{"VCPU": map[string]any{"total": 16}}, "traits": []string{"HW_NUMA_ROOT"},
			},
		},
	}}
	generations := [2]int64{4, 1}
	return []*route.Operation{o.treeShowOperation(), {
		ID: "tree-replace", Method: http.MethodPut, Path: "/resource_providers/{uuid}/tree", Tag: tagProviders,
		Rule: policy.TreeUpdate, Body: route.BodyLarge, Checks: writesSince, Fails: treeFailures, Inverse: treeInverse,
		Summary: "Create, change and delete providers of a tree",
		Description: "Atomic. Providers of the tree that the request does not name stay. A request that describes what is there " +
			"changes nothing, whatever its generations. The generation of a provider is incremented once if its inventories, " +
			"traits, aggregates or allocations change.",
		Variants: []route.Variant{route.Write(berth13, body, o.treeReplace, route.Example(showing(TreeChanged{
			Providers: jsonbody.Ordered[TreeProviderChanged]{
				{Key: exampleHost, Value: TreeProviderChanged{Change: "unchanged", Generation: &generations[0]}},
				{Key: exampleNode, Value: TreeProviderChanged{Change: "created", Generation: &generations[1]}},
			},
			Consumers: jsonbody.Ordered[TreeConsumerChanged]{},
		})))},
	}}
}

func (o *operations) treeReplace(ctx context.Context, in *providerPath, body *TreeReplace) (*cached[TreeChanged], error) {
	tree, sent, err := body.toStore(in)
	if err != nil {
		return nil, err
	}
	result, err := o.store.TreeReplace(ctx, tree)
	recordTree(ctx, &tree, &result, err)
	if err != nil {
		return nil, treeFaults(in, sent).Translate(err)
	}
	return answer(ctx, treeChanged(&result), now()), nil
}

// treeChanged converts the result to the wire type.
func treeChanged(result *store.TreeResult) TreeChanged {
	output := TreeChanged{Providers: jsonbody.Ordered[TreeProviderChanged]{}, Consumers: jsonbody.Ordered[TreeConsumerChanged]{}}
	for _, provider := range result.Providers {
		output.Providers = append(output.Providers, jsonbody.Entry[TreeProviderChanged]{Key: provider.Provider.String(), Value: TreeProviderChanged{
			Change: provider.Change, Generation: provider.Generation, Changed: provider.Changed,
		}})
	}
	for _, consumer := range result.Consumers {
		output.Consumers = append(output.Consumers, jsonbody.Entry[TreeConsumerChanged]{Key: consumer.Consumer.String(), Value: TreeConsumerChanged{
			Change: consumer.Change, Generation: consumer.Generation,
		}})
	}
	return output
}

// recordTree adds the generations of providers and consumers to the audit record. A generation before the write is that
// of the request, which the store compares only if anything differs.
func recordTree(ctx context.Context, tree *store.Tree, result *store.TreeResult, err error) {
	record := auditlog.From(ctx)
	if record == nil {
		return
	}
	if err != nil {
		for i := range tree.Providers {
			record.Provider(auditlog.Generation{UUID: tree.Providers[i].UUID, Sent: tree.Providers[i].Generation})
		}
		for i := range tree.Deleted {
			record.Provider(auditlog.Generation{UUID: tree.Deleted[i].UUID, Sent: &tree.Deleted[i].Generation})
		}
		recordClaims(ctx, tree.Claims, true, err)
		return
	}
	for _, provider := range result.Providers {
		record.Provider(auditlog.Generation{UUID: provider.Provider, After: provider.Generation, Removed: provider.Change == store.TreeDeleted})
	}
	for _, consumer := range result.Consumers {
		record.Consumer(auditlog.Generation{UUID: consumer.Consumer, After: consumer.Generation, Removed: consumer.Change == store.TreeDeleted})
	}
}
