package placement

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/explain"
	"github.com/berthd/berth/server/wire/jsonbody"
)

// recordedClaims are the amounts of a recorded claim, by consumer, provider and class, in the order of the request.
type recordedClaims = jsonbody.Ordered[jsonbody.Ordered[jsonbody.Ordered[int64]]]

// recordedReshape is a recorded reshape: new inventories by provider, and claims.
type recordedReshape struct {
	Inventories jsonbody.Ordered[[]store.Inventory] `json:"inventories"`
	Allocations recordedClaims                      `json:"allocations"`
}

// reshapePrefix begins the text of a reshape. That of other claims begins with the UUID of a consumer.
const reshapePrefix = `{"inventories":`

// claimText returns a claim as JSON, without projects, users, types and generations.
func claimText(asked *explain.Claim) string {
	allocations := recordedClaims{}
	for i := range asked.Claims {
		allocations = append(allocations, jsonbody.Entry[jsonbody.Ordered[jsonbody.Ordered[int64]]]{
			Key: asked.Claims[i].Consumer.String(), Value: amountsByProvider(asked.Claims[i].Allocations),
		})
	}
	var encoded []byte
	if asked.Shapes == nil {
		encoded, _ = json.Marshal(allocations) // it has strings and integers only
		return string(encoded)
	}
	result := recordedReshape{Allocations: allocations}
	for i := range asked.Shapes {
		result.Inventories = append(result.Inventories, jsonbody.Entry[[]store.Inventory]{
			Key: asked.Shapes[i].Provider.String(), Value: asked.Shapes[i].Records,
		})
	}
	encoded, _ = json.Marshal(result) // PostgreSQL has accepted its numbers
	return string(encoded)
}

// amountsByProvider groups allocations. Those on one provider are next to each other.
func amountsByProvider(of []store.Allocation) (ordered jsonbody.Ordered[jsonbody.Ordered[int64]]) {
	for _, allocation := range of {
		provider := allocation.Provider.String()
		if len(ordered) == 0 || ordered[len(ordered)-1].Key != provider {
			ordered = append(ordered, jsonbody.Entry[jsonbody.Ordered[int64]]{Key: provider})
		}
		amounts := &ordered[len(ordered)-1].Value
		*amounts = append(*amounts, jsonbody.Entry[int64]{Key: allocation.Class, Value: allocation.Amount})
	}
	return ordered
}

// parseClaim is the inverse of claimText.
func parseClaim(text string, reason explain.Reason) (*explain.Claim, error) {
	result := &explain.Claim{Reason: reason}
	var recorded recordedReshape
	var err error
	if strings.HasPrefix(text, reshapePrefix) {
		err = json.Unmarshal([]byte(text), &recorded)
	} else {
		err = json.Unmarshal([]byte(text), &recorded.Allocations)
	}
	if err != nil {
		return nil, fmt.Errorf("invalid recorded claim: %w", err)
	}
	for _, shape := range recorded.Inventories {
		provider, err := uuid.Parse(shape.Key)
		if err != nil {
			return nil, fmt.Errorf("invalid provider of a recorded claim: %w", err)
		}
		result.Shapes = append(result.Shapes, store.ReshapedProvider{Provider: provider, Records: shape.Value})
	}
	for _, consumer := range recorded.Allocations {
		claim, err := recordedClaim(consumer.Key, consumer.Value)
		if err != nil {
			return nil, err
		}
		result.Claims = append(result.Claims, claim)
	}
	return result, nil
}

// recordedClaim returns the claim of one consumer.
func recordedClaim(consumer string, amounts jsonbody.Ordered[jsonbody.Ordered[int64]]) (claim store.Claim, err error) {
	if claim.Consumer, err = uuid.Parse(consumer); err != nil {
		return claim, fmt.Errorf("invalid consumer of a recorded claim: %w", err)
	}
	for _, entry := range amounts {
		provider, err := uuid.Parse(entry.Key)
		if err != nil {
			return claim, fmt.Errorf("invalid provider of a recorded claim: %w", err)
		}
		for _, item := range entry.Value {
			claim.Allocations = append(claim.Allocations, store.Allocation{Provider: provider, Class: item.Key, Amount: item.Value})
		}
	}
	return claim, nil
}
