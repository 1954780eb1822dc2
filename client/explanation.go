package client

import (
	"encoding/json"
	"slices"

	api "github.com/berthd/berth/gen/client"
)

// Explanation is why a candidate query found nothing, or why a claim was rejected. The format is that of
// docs/contract/berth/explain.md. Members that do not apply are empty.
//
// Kind is "candidates", "claim" or "names"; the last one is in the error of a query with an unknown name. Reason is
// "fits" if there are candidates. FreedBy of a tree is null if the query does not fit even when the tree is empty, and
// missing below berth 1.6, for callers who may not see allocations, and if the service did not find out in time. FitsAt is
// missing then, too; it is null if the query does not fit even when all consumers with an end are gone.
type Explanation struct {
	api.Explanation
	received json.RawMessage
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *Explanation) UnmarshalJSON(text []byte) error {
	*e = Explanation{received: slices.Clone(text)}
	return json.Unmarshal(text, &e.Explanation)
}

// MarshalJSON implements json.Marshaler. It returns the JSON of the service, with members that this package does not
// know.
func (e *Explanation) MarshalJSON() ([]byte, error) {
	if e.received != nil {
		return e.received, nil
	}
	return json.Marshal(e.Explanation)
}
