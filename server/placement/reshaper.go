package placement

import (
	"context"
	"net/http"

	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/policy"
	"github.com/berthd/berth/server/route"
	"github.com/berthd/berth/server/store"
	"github.com/berthd/berth/server/uuidlike"
)

// ReshapeRequest asks for new inventories and the allocations that go with them.
type ReshapeRequest[C any] struct {
	Inventories keyedNonEmpty[InventoriesReplace] `json:"inventories" doc:"By the provider's uuid: all its inventories afterwards."`
	Allocations keyed[C]                          `json:"allocations" doc:"By the consumer's uuid: all its allocations afterwards. Consumers left out keep theirs."`
}

// The requests of the versions, which differ in what a claim is.
type (
	// ReshapeV30 is the request up to 1.33.
	ReshapeV30 struct{ ReshapeRequest[ClaimV28] }
	// ReshapeV34 may have mappings.
	ReshapeV34 struct{ ReshapeRequest[ClaimV34] }
	// ReshapeV38 has types of consumers.
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
		ID: "reshape", Method: http.MethodPost, Path: "/reshaper", Tag: tagAllocations, Rule: policy.Reshape,
		Summary: "Change inventories and the allocations on them together",
		Description: "One transaction: all of it happens or nothing. It is how inventory moves between providers " +
			"under running consumers.",
		Checks: writesSince, Fails: reshapeFailures,
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
	}}
}

// The example moves the host's VCPUs, and what the instance has of them, to the
// node below it.

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

func reshape[C claimant](ctx context.Context, o *operations, body ReshapeRequest[C]) (*empty, error) {
	shapes, shaped, err := shapesOf(body.Inventories)
	if err != nil {
		return nil, err
	}
	claims, sent, err := claimsOf(body.Allocations.Ordered)
	if err != nil {
		return nil, err
	}
	return nil, claimWords(sent, "malformed reshaper data: ").with(reshapeWords(shaped)).say(o.store.Reshape(ctx, shapes, claims))
}

func shapesOf(inventories keyedNonEmpty[InventoriesReplace]) ([]store.Shape, spelling, error) {
	shapes, sent := make([]store.Shape, 0, len(inventories.Ordered)), spelling{}
	for _, entry := range inventories.Ordered {
		id, ok := uuidlike.Parse(entry.Key)
		if !ok {
			return nil, nil, unknownShape(entry.Key)
		}
		if _, twice := sent[id.String()]; twice {
			return nil, nil, fault.New(fault.Invalid, "JSON does not validate: resource provider %s is named twice", entry.Key)
		}
		sent[id.String()] = entry.Key
		shapes = append(shapes, store.Shape{
			Provider: id, Generation: int64(entry.Value.Generation), Records: entry.Value.Inventories.stored(),
		})
	}
	return shapes, sent, nil
}

func unknownShape(sent string) *fault.Error {
	return fault.New(fault.Invalid, "Resource provider %s in inventories not found: %s", sent, noProvider(sent).Detail).
		WithCode(fault.CodeProviderNotFound)
}

func reshapeWords(sent spelling) words {
	return words{
		store.ProviderUnknown: func(values store.Values) *fault.Error { return unknownShape(sent.of(values.Provider)) },
		store.ProviderGeneration: func(values store.Values) *fault.Error {
			return fault.New(fault.Conflict, "resource provider generation conflict for provider %s: actual: %d, given: %d",
				sent.of(values.Provider), *values.Actual, *values.Given).WithCode(fault.CodeConcurrentUpdate)
		},
		store.InventoryInUse: func(values store.Values) *fault.Error {
			return inUse("update conflict: ", sent.of(values.Provider))(values)
		},
	}
}
