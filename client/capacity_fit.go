package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/google/uuid"
)

// CapacityFitQuestion is the question how many members fit, which all ask the same query.
type CapacityFitQuestion struct {
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
func (q CapacityFitQuestion) MarshalJSON() ([]byte, error) {
	type relation struct {
		Apart    string `json:"apart,omitempty"`
		Together string `json:"together,omitempty"`
	}
	query := q.Query
	query.Limit, query.LimitPerTree = 0, 0
	made := struct {
		Query    json.RawMessage  `json:"query"`
		Count    int              `json:"count,omitempty"`
		Relation *relation        `json:"relation,omitempty"`
		Changes  []CapacityChange `json:"changes,omitempty"`
	}{Query: query.body(""), Count: q.Count, Changes: q.Changes}
	if made.Query == nil {
		return nil, errors.New("invalid suffixes or resources of the query")
	}
	if q.Apart+q.Together != "" {
		made.Relation = &relation{q.Apart, q.Together}
	}
	return json.Marshal(made)
}

// CapacityFit is how many members fit.
type CapacityFit struct {
	CapacityFitCount
	Trees     CapacityFitTrees            `json:"trees"`
	Resources map[string]CapacityFitClass `json:"resources"`
	// Before is the answer without the changes; nil for a question without any.
	Before *CapacityFitCount `json:"before,omitempty"`
}

// CapacityFitCount is a number of members.
type CapacityFitCount struct {
	// Fit is the number of members for which there are places that hold together. AtMost is an upper bound; nil unless all trees
	// were searched. Exact is true if both are equal.
	Fit    int64  `json:"fit"`
	AtMost *int64 `json:"at_most"`
	Exact  bool   `json:"exact"`
	// Stopped is why the search ended: "all" trees were searched, or it reached the "count", the "budget" or the "time".
	Stopped string `json:"stopped"`
	// EndsFirst is the class of which there is the least; nil unless all trees were searched.
	EndsFirst *string `json:"ends_first"`
}

// CapacityFitTrees counts trees: the searched ones, those with a place, and the members of the tree with the most.
type CapacityFitTrees struct {
	LookedAt  int64 `json:"looked_at"`
	WithRoom  int64 `json:"with_room"`
	MostInOne int64 `json:"most_in_one"`
}

// CapacityFitClass is what the members use of a class. Limit, Free and Stranded are nil if the service does not know them.
type CapacityFitClass struct {
	Amount   int64  `json:"amount"`
	Limit    *int64 `json:"limit"`
	Free     *int64 `json:"free"`
	Usable   int64  `json:"usable"`
	Stranded *int64 `json:"stranded"`
}

// CapacityFit returns how many members fit, as things are or with other hardware. It needs berth 1.4: the error of a service
// without it is an ErrExtensions. The service answers two questions of a caller at once; the client repeats a third one later.
func (c *Client) CapacityFit(ctx context.Context, question CapacityFitQuestion) (CapacityFit, error) {
	var made CapacityFit
	body, err := json.Marshal(question)
	if err != nil {
		var invalid *json.MarshalerError
		if errors.As(err, &invalid) {
			err = invalid.Err
		}
		return made, err
	}
	return made, c.sendReading(ctx, &made, http.MethodPost, "capacity", body)
}
