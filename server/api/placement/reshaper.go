package placement

import (
	"context"
	"net/http"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/search/explain"
	"github.com/berthd/berth/server/wire/fault"
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
	if err != nil {
		return nil, err
	}
	err = o.store.Keyed(route.IdempotencyKey(ctx)).Reshape(ctx, shapes, claims)
	recordShapes(ctx, shapes, err)
	recordClaims(ctx, claims, true, err)
	return nil, o.claimError(ctx, explain.Claim{Claims: claims, Shapes: shapes}, err,
		claimFaults(sent, textReshape).With(reshapeFaults(shaped)))
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
