package client

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/google/uuid"
)

// AllocationChanges are changes of the allocations of a consumer. What they do not name stays.
type AllocationChanges struct {
	// Allocations are amounts by provider and class. A nil amount deletes the allocation of a class, nil amounts those of
	// a provider.
	Allocations map[uuid.UUID]map[string]*int64
	// Empty fields keep their value.
	ProjectID, UserID, Type string
	// Generation is the consumer generation to compare; nil: none. New, in a reshape only, is set for a consumer that does
	// not exist.
	Generation *int64
	New        bool
	// Lease needs berth 1.6, and is for AllocationPatch only; nil: the consumer keeps what it has.
	Lease *LeaseTerms
}

// allocationChanges is the body of a patch. Members that are nil are not sent.
type allocationChanges struct {
	Allocations map[uuid.UUID]*amountChanges `json:"allocations,omitempty"`
	ProjectID   string                       `json:"project_id,omitempty"`
	UserID      string                       `json:"user_id,omitempty"`
	Type        string                       `json:"consumer_type,omitempty"`
	Generation  json.RawMessage              `json:"consumer_generation,omitempty"`
	Lease       *LeaseTerms                  `json:"lease,omitempty"`
}

type amountChanges struct {
	Resources map[string]*int64 `json:"resources"`
}

// MarshalJSON implements json.Marshaler.
func (a AllocationChanges) MarshalJSON() ([]byte, error) {
	changes := allocationChanges{ProjectID: a.ProjectID, UserID: a.UserID, Type: a.Type, Lease: a.Lease}
	if a.Generation != nil || a.New {
		var err error
		if changes.Generation, err = json.Marshal(a.Generation); err != nil {
			return nil, err
		}
	}
	if len(a.Allocations) > 0 {
		changes.Allocations = make(map[uuid.UUID]*amountChanges, len(a.Allocations))
	}
	for provider, amounts := range a.Allocations {
		changes.Allocations[provider] = nil
		if amounts != nil {
			changes.Allocations[provider] = &amountChanges{amounts}
		}
	}
	return json.Marshal(changes)
}

// UnmarshalJSON implements json.Unmarshaler.
func (a *AllocationChanges) UnmarshalJSON(text []byte) error {
	var read allocationChanges
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	*a = AllocationChanges{ProjectID: read.ProjectID, UserID: read.UserID, Type: read.Type}
	a.New = string(read.Generation) == "null"
	if len(read.Generation) > 0 {
		if err := json.Unmarshal(read.Generation, &a.Generation); err != nil {
			return err
		}
	}
	if read.Allocations != nil {
		a.Allocations = make(map[uuid.UUID]map[string]*int64, len(read.Allocations))
	}
	for provider, amounts := range read.Allocations {
		a.Allocations[provider] = nil
		if amounts != nil {
			a.Allocations[provider] = amounts.Resources
		}
	}
	return nil
}

// AllocationPatch changes some allocations of a consumer that exists, and returns its record afterwards. A record without
// allocations and without a Generation: the last allocation was deleted. ErrNotFound: the consumer has none. It needs
// berth 1.3.
func (c *Client) AllocationPatch(ctx context.Context, consumer uuid.UUID, changes AllocationChanges) (*Consumer, error) {
	var answer struct {
		Allocations map[uuid.UUID]allocationRecord `json:"allocations"`
		Generation  *int64                         `json:"consumer_generation"`
		ProjectID   string                         `json:"project_id"`
		UserID      string                         `json:"user_id"`
		Type        string                         `json:"consumer_type"`
	}
	needs := berth13
	if changes.Lease != nil {
		needs = berth16
	}
	err := c.do(ctx, &answer, request{
		method: http.MethodPatch, path: "allocations/" + consumer.String(), body: changes, needs: needs, asksFirst: true,
	})
	if err != nil {
		return nil, err
	}
	changed := &Consumer{
		Allocations: make(map[uuid.UUID]Resources, len(answer.Allocations)), Generation: answer.Generation,
		ProjectID: answer.ProjectID, UserID: answer.UserID, Type: answer.Type,
	}
	for provider, record := range answer.Allocations {
		changed.Allocations[provider] = record.Resources
	}
	return changed, nil
}
