package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

// ClaimConsumer is a consumer of a claim. All fields but Generation are required.
type ClaimConsumer struct {
	UUID      uuid.UUID `json:"uuid"`
	ProjectID string    `json:"project_id"`
	UserID    string    `json:"user_id"`
	Type      string    `json:"consumer_type"`
	// Generation is nil for a consumer that does not exist.
	Generation *int64 `json:"consumer_generation"`
	// Lease needs berth 1.6; nil: a new consumer has none, and others keep theirs.
	Lease *LeaseTerms `json:"lease,omitempty"`
}

// ClaimCandidate is a candidate of a claim: allocations by provider, and the providers by request group.
type ClaimCandidate struct {
	Allocations map[uuid.UUID]Resources
	Mappings    map[string][]uuid.UUID
}

// MarshalJSON implements json.Marshaler.
func (c ClaimCandidate) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Allocations map[uuid.UUID]taken    `json:"allocations"`
		Mappings    map[string][]uuid.UUID `json:"mappings,omitempty"`
	}{takenOf(c.Allocations), c.Mappings})
}

// ExistingAllocations is what becomes of the allocations that the consumer of a claim has.
type ExistingAllocations string

// The consumer must not exist (default); its allocations are deleted, and count as free; HandOverTo gets them.
const (
	ExistingRefuse   ExistingAllocations = "refuse"
	ExistingReplace  ExistingAllocations = "replace"
	ExistingHandOver ExistingAllocations = "hand_over"
)

// ClaimSearch is a request to find a place for consumers and to claim it. It has either Queries or Candidates.
type ClaimSearch struct {
	// Consumers are 1 to 100. Each gets all resources of the query; all succeed or none.
	Consumers []ClaimConsumer
	// Queries are alternatives, the preferred one first. The service ignores their limits. The order of a query
	// without Order is random.
	Queries []CandidateQuery
	// Candidates are tried in their order. They are for one consumer.
	Candidates []ClaimCandidate
	// Existing other than "" or ExistingRefuse is for one consumer. HandOverTo, which must not exist, is for
	// ExistingHandOver.
	Existing   ExistingAllocations
	HandOverTo *ClaimConsumer
	// Apart and Together are relations of the places of several consumers: "root", or "" for none.
	Apart, Together string
	// Key is the Idempotency-Key. "": a new one, so that retries of this client are safe.
	Key string
}

// MarshalJSON implements json.Marshaler.
func (s ClaimSearch) MarshalJSON() ([]byte, error) {
	type relation struct {
		Apart    string `json:"apart,omitempty"`
		Together string `json:"together,omitempty"`
	}
	result := struct {
		Consumers  []ClaimConsumer     `json:"consumers"`
		Queries    []json.RawMessage   `json:"queries,omitempty"`
		Candidates []ClaimCandidate    `json:"candidates,omitempty"`
		Existing   ExistingAllocations `json:"existing,omitempty"`
		HandOverTo *ClaimConsumer      `json:"hand_over_to,omitempty"`
		Relation   *relation           `json:"relation,omitempty"`
	}{Consumers: s.Consumers, Candidates: s.Candidates, Existing: s.Existing, HandOverTo: s.HandOverTo}
	for i, query := range s.Queries {
		body := query.withoutLimits().body("")
		if body == nil {
			return nil, fmt.Errorf("queries[%d]: invalid suffixes or resources", i)
		}
		result.Queries = append(result.Queries, body)
	}
	if s.Apart+s.Together != "" {
		result.Relation = &relation{s.Apart, s.Together}
	}
	return json.Marshal(result)
}

// ClaimedPlaces is the result of ClaimCreate.
type ClaimedPlaces struct {
	// Claims are in the order of the consumers; the last one is that of HandOverTo, if there is one.
	Claims []ClaimedPlace `json:"claims"`
	// Query is the index of the query that was used; nil with candidates. Candidate is the index of the candidate; nil
	// with queries.
	Query     *int `json:"query"`
	Candidate *int `json:"candidate"`
	// Effort is what the claim took: how many searches there were, and how many candidates were tried. Of these, Full did
	// not fit, Stale had a provider that had changed, and Held were being written by another request.
	Effort api.ClaimEffort `json:"effort"`
}

// ClaimedPlace is all that a consumer has after a claim.
type ClaimedPlace struct {
	Consumer    uuid.UUID
	Generation  int64
	ProjectID   string
	UserID      string
	Type        string
	Allocations map[uuid.UUID]Resources
	// Generations are the new generations of the providers.
	Generations map[uuid.UUID]int64
	// Mappings are the providers by request group; nil for the consumer that gets the previous allocations.
	Mappings map[string][]uuid.UUID
	// Root is the root of the tree of the candidate; nil with candidates.
	Root *uuid.UUID
	// Lease is nil for a consumer without one, and below berth 1.6.
	Lease *Lease
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *ClaimedPlace) UnmarshalJSON(text []byte) error {
	var read struct {
		Consumer    uuid.UUID                      `json:"consumer_uuid"`
		Generation  int64                          `json:"consumer_generation"`
		ProjectID   string                         `json:"project_id"`
		UserID      string                         `json:"user_id"`
		Type        string                         `json:"consumer_type"`
		Allocations map[uuid.UUID]allocationRecord `json:"allocations"`
		Mappings    map[string][]uuid.UUID         `json:"mappings"`
		Root        *uuid.UUID                     `json:"root_provider_uuid"`
		Lease       *Lease                         `json:"lease"`
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	*p = ClaimedPlace{
		Consumer: read.Consumer, Generation: read.Generation, ProjectID: read.ProjectID, UserID: read.UserID, Type: read.Type,
		Allocations: map[uuid.UUID]Resources{}, Generations: map[uuid.UUID]int64{}, Mappings: read.Mappings, Root: read.Root,
		Lease: read.Lease,
	}
	for provider, record := range read.Allocations {
		p.Allocations[provider], p.Generations[provider] = record.Resources, record.Generation
	}
	return nil
}

// allocationRecord is what a response has for one provider of a consumer.
type allocationRecord struct {
	Resources  Resources `json:"resources"`
	Generation int64     `json:"generation"`
}

// ClaimCreate finds a place for consumers and claims it, in one request that no other write can come between. It needs
// berth 1.3: the error of a service without it is an ErrExtensions, and nothing was sent.
//
// ErrNothingFits: there is no place; Error.Explanation, Refused, Fit and Exact have the reasons. ErrContended: other
// clients took every place that was found. ErrUndecided: the search for several consumers ended without a decision.
// ErrConsumerGeneration: a consumer exists, or has another generation.
func (c *Client) ClaimCreate(ctx context.Context, wanted ClaimSearch) (ClaimedPlaces, error) {
	var places ClaimedPlaces
	return places, c.doKeyed(ctx, &places, wanted.Key, request{method: http.MethodPost, path: "claims", body: wanted, needs: wanted.needs()})
}

// needs returns the version of the extensions with the members of the request.
func (s *ClaimSearch) needs() string {
	leased := func(consumer ClaimConsumer) bool { return consumer.Lease != nil }
	if slices.ContainsFunc(s.Consumers, leased) || s.HandOverTo != nil && leased(*s.HandOverTo) {
		return berth16
	}
	return berth13
}
