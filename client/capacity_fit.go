package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

// CapacityFitQuery asks how many members fit, which all send the same query.
type CapacityFitQuery struct {
	// Query is what each member asks. The service ignores its order and its limits.
	Query CandidateQuery
	// Count is the number of members at which the search ends, at most 1000000; 0: 100.
	Count int
	// Apart and Together are relations of the places of the members: "root", or "" for none.
	Apart, Together string
	// Changes are made in their order, in the memory of the service only; at most 32.
	Changes []CapacityChange
}

// CapacityChange is a change of the hardware for which a question is asked. It either adds Count trees like the one around
// Like, or changes the inventories of Class.
type CapacityChange struct {
	Like  *uuid.UUID `json:"like,omitempty"`
	Count int        `json:"count,omitempty"`
	Class string     `json:"resource_class,omitempty"`
	// AllocationRatio and Reserved are the new settings; nil: unchanged. At least one is set.
	AllocationRatio *float64 `json:"allocation_ratio,omitempty"`
	Reserved        *int64   `json:"reserved,omitempty"`
	// InTree or MemberOf restricts the change to the tree of a provider, or to the providers that are in an aggregate, or whose
	// root is; nil: to none.
	InTree   *uuid.UUID `json:"in_tree,omitempty"`
	MemberOf *uuid.UUID `json:"member_of,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (q CapacityFitQuery) MarshalJSON() ([]byte, error) {
	type relation struct {
		Apart    string `json:"apart,omitempty"`
		Together string `json:"together,omitempty"`
	}
	query := q.Query.withoutLimits()
	result := struct {
		Query    json.RawMessage  `json:"query"`
		Count    int              `json:"count,omitempty"`
		Relation *relation        `json:"relation,omitempty"`
		Changes  []CapacityChange `json:"changes,omitempty"`
	}{Query: query.body(""), Count: q.Count, Changes: q.Changes}
	if result.Query == nil {
		return nil, errors.New("invalid suffixes or resources of the query")
	}
	if q.Apart+q.Together != "" {
		result.Relation = &relation{q.Apart, q.Together}
	}
	return json.Marshal(result)
}

// CapacityFit returns how many members fit, as things are or with other hardware. It needs berth 1.4: the error of a service
// without it is an ErrExtensions. The service answers two questions of a caller at once; the client repeats a third one later.
func (c *Client) CapacityFit(ctx context.Context, query CapacityFitQuery) (api.CapacityFit, error) {
	var capacityFit api.CapacityFit
	return capacityFit, c.do(ctx, &capacityFit, request{method: http.MethodPost, path: "capacity", body: query, needs: berth14})
}
