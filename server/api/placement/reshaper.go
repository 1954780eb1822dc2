package placement

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/observe/auditlog"
	"github.com/berthd/berth/server/search/explain"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/jsonbody"
	"github.com/berthd/berth/server/wire/uuidlike"
)

// ReshapeRequest is the request for new inventories and allocations.
type ReshapeRequest[C any] struct {
	Inventories keyedNonEmpty[InventoriesReplace] `json:"inventories" doc:"All new inventories of each provider, by provider UUID."`
	Allocations keyed[C]                          `json:"allocations" doc:"All new allocations of each consumer, by consumer UUID. The allocations of omitted consumers do not change."`
}

// The requests of the microversions differ in the format of a claim.
type (
	// ReshapeV30 is the request up to 1.33.
	ReshapeV30 struct{ ReshapeRequest[ClaimV28] }
	// ReshapeV34 adds mappings.
	ReshapeV34 struct{ ReshapeRequest[ClaimV34] }
	// ReshapeV38 adds consumer types.
	ReshapeV38 struct{ ReshapeRequest[ClaimV38] }
)

func (o *operations) reshaperOperations() []*route.Operation {
	body := func(since uint8) route.Body[none] {
		return route.Body[none]{Example: map[string]any{
			"inventories": map[string]any{
				exampleHost: reshapedInventory(4, "MEMORY_MB", 262144), exampleNode: reshapedInventory(0, "VCPU", 64),
			},
			"allocations": map[string]any{exampleInstance: reshapedClaim(since)},
		}}
	}
	return []*route.Operation{{
		ID: "reshape", Method: http.MethodPost, Path: "/reshaper", Tag: tagAllocations, Rule: policy.Reshape, Body: route.BodyLarge,
		Further: explainsFurther, Inverse: reshapeInverse,
		Summary: "Change inventories and allocations atomically",
		Description: "Atomic. Use it to move inventories between providers " +
			"while consumers hold allocations on them.",
		Checks: writesSince, Keyed: true, Fails: reshapeFailures,
		Variants: []route.Variant{
			route.Write(v(30), body(30), func(ctx context.Context, _ *none, body *ReshapeV30) (*empty, error) {
				return reshape(ctx, o, body.ReshapeRequest)
			}),
			route.Write(v(34), body(34), func(ctx context.Context, _ *none, body *ReshapeV34) (*empty, error) {
				return reshape(ctx, o, body.ReshapeRequest)
			}),
			route.Write(v(38), body(38), func(ctx context.Context, _ *none, body *ReshapeV38) (*empty, error) {
				return reshape(ctx, o, body.ReshapeRequest)
			}),
		},
	}, o.reshapePatchOperation()}
}

// The example moves the host's VCPUs, and the instance's allocations of them, to the child of the host.

func reshapedInventory(generation int, class string, total int) map[string]any {
	return map[string]any{
		"resource_provider_generation": generation,
		"inventories":                  map[string]any{class: map[string]any{"total": total}},
	}
}

func reshapedClaim(since uint8) map[string]any {
	claim := exampleClaim(since)
	claim["consumer_generation"] = 1
	claim["allocations"] = map[string]any{
		exampleHost: map[string]any{"resources": map[string]any{"MEMORY_MB": 2048}},
		exampleNode: map[string]any{"resources": map[string]any{"VCPU": 2}},
	}
	return claim
}

func reshape[C claimRequest](ctx context.Context, o *operations, body ReshapeRequest[C]) (*empty, error) {
	shapes, shaped, err := shapesOf(body.Inventories)
	if err != nil {
		return nil, err
	}
	claims, sent, err := claimsOf(body.Allocations.Ordered)
	if err == nil {
		err = o.checkLeases(claims)
	}
	if err != nil {
		return nil, err
	}
	err = o.store.Keyed(route.IdempotencyKey(ctx)).Reshape(ctx, shapes, claims)
	recordShapes(ctx, shapes, err)
	recordClaims(ctx, claims, true, err)
	return nil, o.claimError(ctx, explain.Claim{Claims: claims, Shapes: shapes}, err,
		claimFaults(sent, textReshape).With(reshapeFaults(shaped)).With(leaseFaults))
}

func shapesOf(inventories keyedNonEmpty[InventoriesReplace]) ([]store.ReshapedProvider, receivedUUIDs, error) {
	shapes, sent := make([]store.ReshapedProvider, 0, len(inventories.Ordered)), receivedUUIDs{}
	for _, entry := range inventories.Ordered {
		id, ok := uuidlike.Parse(entry.Key)
		if !ok {
			return nil, nil, shapeProviderUnknown.Of(entry.Key)
		}
		if _, twice := sent[id.String()]; twice {
			return nil, nil, route.InvalidBody.Of("resource provider " + entry.Key + " is named twice")
		}
		sent[id.String()] = entry.Key
		shapes = append(shapes, store.ReshapedProvider{
			Provider: id, Generation: int64(entry.Value.Generation), Records: entry.Value.Inventories.toStore(),
		})
	}
	return shapes, sent, nil
}

func reshapeFaults(sent receivedUUIDs) route.RuleFaults {
	return route.RuleFaults{
		store.ProviderNotFound: func(values store.Values) *fault.Error {
			return shapeProviderUnknown.Of(sent.of(values.Provider))
		},
		store.ProviderGenerationConflict: func(values store.Values) *fault.Error {
			return staleShape.Of(sent.of(values.Provider), *values.Actual, *values.Given)
		},
		store.InventoryInUse: func(values store.Values) *fault.Error {
			return inventoryInUseForUpdate.Of(values.Class, sent.of(values.Provider))
		},
	}
}

// ReshapedConsumer is the merge patch of a consumer and its allocations. A null generation expects that the consumer does
// not exist.
type ReshapedConsumer struct {
	ConsumerPatch
	Generation receivedInt `json:"consumer_generation,omitempty" doc:"The consumer generation that the client read; null for a new consumer. Default: not compared." example:"1"`
	Lease      ignored     `json:"lease,omitempty" since:"berth 6" doc:"Ignored."`
}

// reshapedConsumers maps consumers to merge patches; null removes all allocations.
type reshapedConsumers struct {
	jsonbody.Ordered[orNull[ReshapedConsumer]]
}

// Schema implements huma.SchemaProvider.
func (reshapedConsumers) Schema(r huma.Registry) *huma.Schema {
	return jsonbody.MapSchema(orNull[ReshapedConsumer]{}.Schema(r), uuidKeyPattern, 0)
}

// ReshapePatch is the request for changes of inventories and allocations.
type ReshapePatch struct {
	Inventories keyed[InventoriesPatch] `json:"inventories,omitempty" doc:"Merge patches of inventories, by provider UUID."`
	Allocations reshapedConsumers       `json:"allocations,omitempty" doc:"Merge patches of allocations, by consumer UUID; null removes all allocations of the consumer."`
}

// ReshapedGeneration is a provider's generation after a reshape.
type ReshapedGeneration struct {
	Generation int64 `json:"resource_provider_generation" doc:"The provider's generation." example:"5"`
}

// ReshapedConsumerGeneration is a consumer's generation after a reshape.
type ReshapedConsumerGeneration struct {
	Generation int64 `json:"consumer_generation" doc:"The consumer's generation." example:"2"`
}

// ReshapedGenerations are the generations after a reshape.
type ReshapedGenerations struct {
	Inventories jsonbody.Ordered[ReshapedGeneration]          `json:"inventories" doc:"Providers whose generations changed, by UUID."`
	Allocations jsonbody.Ordered[*ReshapedConsumerGeneration] `json:"allocations" doc:"The consumers of the request, by UUID; null for one that does not exist."`
}

var (
	reshapeWithoutChange = route.Failure{
		Name: "empty-request", When: "The request has neither inventories nor allocations.",
		Fault: route.InvalidBody.Of("{} does not have enough properties"),
	}
	reshapedConsumerUnknown = route.Fails(fault.Invalid, "consumer-not-found",
		"A consumer does not exist, and the patch does not create it.",
		"Consumer %s does not exist. To make it, send project_id, user_id, consumer_type and consumer_generation null.",
		exampleInstance).WithCode(fault.CodeWriteBadValue)
	reshapePatchFailures = with(claimFailures(textReshape), reshapeWithoutChange, shapeProviderUnknown, staleShape,
		reshapedConsumerUnknown, patchWithoutChange, inventoryTotalMissing, capacityNegative, inventoryInUseForUpdate)
)

// reshapePatchOperation returns the row of the table.
func (o *operations) reshapePatchOperation() *route.Operation {
	body := route.Body[none]{Example: map[string]any{
		"inventories": map[string]any{
			exampleHost: map[string]any{"inventories": map[string]any{"VCPU": nil}},
			exampleNode: map[string]any{"inventories": map[string]any{"VCPU": map[string]any{"total": 64}}},
		},
		"allocations": map[string]any{exampleInstance: map[string]any{"allocations": map[string]any{
			exampleHost: map[string]any{"resources": map[string]any{"VCPU": nil}},
			exampleNode: map[string]any{"resources": map[string]any{"VCPU": 2}},
		}}},
	}}
	return &route.Operation{
		ID: "reshape-patch", Method: http.MethodPatch, Path: "/reshaper", Tag: tagAllocations, Rule: policy.Reshape,
		Body: route.BodyLarge, Checks: patches, Keyed: true, Fails: reshapePatchFailures, Inverse: reshapeInverse,
		Summary: "Change some inventories and allocations atomically",
		Description: "Merge patches (RFC 7396) of inventories and allocations. New inventories are written before the allocations, " +
			"and removed ones after them. Each generation that changes is incremented once.",
		Variants: []route.Variant{route.Write(berth13, body, o.reshapePatch, route.Example(showing(ReshapedGenerations{
			Inventories: jsonbody.Ordered[ReshapedGeneration]{{Key: exampleHost, Value: ReshapedGeneration{5}}, {Key: exampleNode, Value: ReshapedGeneration{1}}},
			Allocations: jsonbody.Ordered[*ReshapedConsumerGeneration]{{Key: exampleInstance, Value: &ReshapedConsumerGeneration{2}}},
		})))},
	}
}

func (o *operations) reshapePatch(ctx context.Context, _ *none, body *ReshapePatch) (*cached[ReshapedGenerations], error) {
	if len(body.Inventories.Ordered)+len(body.Allocations.Ordered) == 0 {
		return nil, reshapeWithoutChange.Fault
	}
	inventories, shaped, err := body.inventories()
	if err != nil {
		return nil, err
	}
	consumers, sent, err := body.consumers()
	if err != nil {
		return nil, err
	}
	result, err := o.store.Keyed(route.IdempotencyKey(ctx)).ReshapePatch(ctx, inventories, consumers)
	recordReshapePatch(ctx, inventories, consumers, &result, err)
	if err != nil {
		return nil, claimFaults(sent, textReshape).With(reshapeFaults(shaped)).With(route.RuleFaults{
			store.ConsumerNotFound:      func(values store.Values) *fault.Error { return reshapedConsumerUnknown.Of(values.Consumer) },
			store.InventoryTotalMissing: func(store.Values) *fault.Error { return inventoryTotalMissing.Fault },
			store.InventoryOverReserved: func(values store.Values) *fault.Error {
				return capacityNegative.Of("update", shaped.of(values.Provider), values.Class)
			},
		}).Translate(err)
	}
	generations := ReshapedGenerations{Inventories: jsonbody.Ordered[ReshapedGeneration]{}, Allocations: jsonbody.Ordered[*ReshapedConsumerGeneration]{}}
	for _, provider := range result.Providers {
		generations.Inventories = append(generations.Inventories, jsonbody.Entry[ReshapedGeneration]{Key: provider.Provider.String(), Value: ReshapedGeneration{provider.Generation}})
	}
	for _, consumer := range result.Consumers {
		entry := jsonbody.Entry[*ReshapedConsumerGeneration]{Key: consumer.Consumer.String()}
		if consumer.Generation != nil {
			entry.Value = &ReshapedConsumerGeneration{*consumer.Generation}
		}
		generations.Allocations = append(generations.Allocations, entry)
	}
	return answer(ctx, generations, writtenAt(ctx)), nil
}

// inventories converts the patches of inventories.
func (p *ReshapePatch) inventories() ([]store.PatchedInventories, receivedUUIDs, error) {
	result, sent := []store.PatchedInventories{}, receivedUUIDs{}
	for _, entry := range p.Inventories.Ordered {
		id, ok := uuidlike.Parse(entry.Key)
		if !ok {
			return nil, nil, shapeProviderUnknown.Of(entry.Key)
		}
		if _, twice := sent[id.String()]; twice {
			return nil, nil, route.InvalidBody.Of("resource provider " + entry.Key + " is named twice")
		}
		sent[id.String()] = entry.Key
		patch := entry.Value.Inventories.toStore()
		result = append(result, store.PatchedInventories{
			Provider: id, Generation: generationOf(entry.Value.Generation), Changed: patch.Changed, Removed: patch.Removed,
		})
	}
	return result, sent, nil
}

// consumers converts the patches of consumers.
func (p *ReshapePatch) consumers() ([]store.PatchedConsumer, receivedUUIDs, error) {
	result, sent, seen := []store.PatchedConsumer{}, receivedUUIDs{}, map[uuid.UUID]bool{}
	for _, entry := range p.Allocations.Ordered {
		id, ok := uuidlike.Parse(entry.Key)
		switch {
		case !ok:
			return nil, nil, route.InvalidBody.Of("'" + entry.Key + "' is not a 'uuid'")
		case seen[id]:
			return nil, nil, route.InvalidBody.Of("consumer " + entry.Key + " is named twice")
		}
		seen[id] = true
		if entry.Value.value == nil {
			result = append(result, store.PatchedConsumer{AllocationPatch: store.AllocationPatch{Consumer: id}, Removed: true})
			continue
		}
		if entry.Value.value.isEmpty() {
			return nil, nil, patchWithoutChange.Of()
		}
		given := entry.Value.value.Generation
		patch, spelled, err := entry.Value.value.toStore(id, generationOf(given.value))
		if err != nil {
			return nil, nil, err
		}
		result = append(result, store.PatchedConsumer{AllocationPatch: patch, IsNew: given.isSent && given.value == nil})
		for canonical, text := range spelled {
			sent[canonical] = text
		}
	}
	return result, sent, nil
}

// recordReshapePatch adds the generations of providers and consumers to the audit record.
func recordReshapePatch(
	ctx context.Context, inventories []store.PatchedInventories, consumers []store.PatchedConsumer,
	result *store.ReshapeResult, err error,
) {
	record, sent := auditlog.From(ctx), map[uuid.UUID]*int64{}
	for _, inventory := range inventories {
		sent[inventory.Provider] = inventory.Generation
		if err != nil {
			record.Provider(auditlog.Generation{UUID: inventory.Provider, Sent: inventory.Generation})
		}
	}
	for i := range consumers {
		sent[consumers[i].Consumer] = consumers[i].Generation
		if err != nil {
			record.Consumer(auditlog.Generation{UUID: consumers[i].Consumer, Sent: consumers[i].Generation})
		}
	}
	if err != nil {
		return
	}
	for _, provider := range result.Providers {
		record.Provider(auditlog.Generation{UUID: provider.Provider, Before: sent[provider.Provider], After: &provider.Generation})
	}
	for _, consumer := range result.Consumers {
		record.Consumer(auditlog.Generation{UUID: consumer.Consumer, Before: sent[consumer.Consumer], After: consumer.Generation, Removed: consumer.Generation == nil})
	}
}
