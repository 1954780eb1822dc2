package explain

import (
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
)

// FreedBy is which consumers must go so that the whole query fits in a tree; null: it does not fit even if all go.
type FreedBy struct {
	*FreedSet
	// IsKnown is false if the member is missing.
	IsKnown bool
}

// FreedSet is consumers without which the whole query fits in a tree.
type FreedSet struct {
	Consumers []FreedConsumer `json:"consumers" doc:"The consumers, with the largest amounts first."`
	Exact     bool            `json:"exact" doc:"Whether no smaller set is enough, and no set of so many consumers with a smaller sum of amounts. False if the server has not compared all sets."`
}

// FreedConsumer is a consumer, and what it holds of what the query lacks.
type FreedConsumer struct {
	Consumer    uuid.UUID         `json:"consumer" format:"uuid" doc:"UUID of the consumer."`
	Allocations []FreedAllocation `json:"allocations" doc:"What the consumer holds of the amounts that the query lacks in the tree."`
}

// FreedAllocation is an amount that a consumer holds.
type FreedAllocation struct {
	Provider Provider `json:"provider" doc:"The provider of the allocation."`
	Class    string   `json:"class" doc:"Resource class of the allocation."`
	Amount   int64    `json:"amount" doc:"Allocated amount."`
}

// MarshalJSON returns the set, or null.
func (f FreedBy) MarshalJSON() ([]byte, error) { return json.Marshal(f.FreedSet) }

// UnmarshalJSON reads a set, or null.
func (f *FreedBy) UnmarshalJSON(text []byte) error {
	f.IsKnown = true
	return json.Unmarshal(text, &f.FreedSet)
}

// IsZero reports whether the member is missing.
func (f FreedBy) IsZero() bool { return !f.IsKnown }

// Schema implements huma.SchemaProvider.
func (FreedBy) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{r.Schema(reflect.TypeFor[FreedSet](), true, ""), {Type: "null"}}}
}
