package placement

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/observe/auditlog"
	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/search/claims"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/jsonbody"
	"github.com/berthd/berth/server/wire/querystring"
)

// The values of existing.
const (
	existingRefuse   = "refuse"
	existingReplace  = "replace"
	existingHandOver = "hand_over"
)

// ClaimCreate is the request to find a place for consumers and to claim it.
type ClaimCreate struct {
	Consumers  []ClaimConsumer    `json:"consumers" minItems:"1" maxItems:"100" doc:"Who claims. Each gets all resources of the question; all succeed or none."`
	Queries    []ClaimQuery       `json:"queries,omitempty" nullable:"false" minItems:"1" maxItems:"8" doc:"Alternatives in the order of preference. The first one by which all consumers can be placed is used."`
	Candidates []ClaimedCandidate `json:"candidates,omitempty" nullable:"false" minItems:"1" maxItems:"1000" doc:"Instead of queries: elements of allocation_requests. The first one that fits is claimed."`
	Existing   string             `json:"existing,omitempty" enum:"refuse,replace,hand_over" doc:"What becomes of the consumer's allocations. refuse: it must not exist. replace: they are given back, and count as free. hand_over: hand_over_to gets them. Default: refuse."`
	HandOverTo *ClaimConsumer     `json:"hand_over_to,omitempty" nullable:"false" doc:"With hand_over: the consumer that gets the previous allocations. It must not exist."`
	Relation   *ClaimRelation     `json:"relation,omitempty" nullable:"false" doc:"How the places of several consumers relate."`
}

// ClaimConsumer is a consumer of a ClaimCreate.
type ClaimConsumer struct {
	UUID string `json:"uuid" format:"uuid" doc:"The consumer." example:"1d5ecafe-0000-4000-8000-000000000001"`
	Owner
	Type       string        `json:"consumer_type" minLength:"1" maxLength:"255" pattern:"^[A-Z0-9_]+$" doc:"The consumer's type." example:"INSTANCE"`
	Generation nullableInt   `json:"consumer_generation" doc:"The consumer generation that the client read; null for a new consumer."`
	Lease      receivedLease `json:"lease,omitempty" since:"berth 6" doc:"The consumer's lease, whose time starts again; null takes it away. Default: a new consumer has none, and others keep theirs."`

	CreatedAt      ignored `json:"created_at,omitempty" doc:"Ignored."`
	UpdatedAt      ignored `json:"updated_at,omitempty" doc:"Ignored."`
	SharingOnly    ignored `json:"sharing_only,omitempty" doc:"Ignored."`
	NodeAllocation ignored `json:"node_allocation,omitempty" doc:"Ignored."`
	Mappings       ignored `json:"mappings,omitempty" doc:"Ignored."`
}

// ClaimQuery is a query of a ClaimCreate.
type ClaimQuery struct {
	CandidateQuery
	Order *string `json:"order,omitempty" nullable:"false" doc:"Order of the trees: id, pack:CLASS, spread:CLASS or random. Default: random." example:"pack:VCPU"`
}

// ClaimedCandidate is a candidate of the client.
type ClaimedCandidate struct {
	Allocations keyedNonEmpty[ClaimedOnProvider] `json:"allocations" doc:"Allocations by provider UUID."`
	Mappings    receivedMappings                 `json:"mappings,omitempty" doc:"Providers by the suffix of the group that they serve. Returned if the candidate is claimed."`
}

// ClaimedOnProvider is the allocations of a candidate on one provider.
type ClaimedOnProvider struct {
	Resources  claimedResources `json:"resources" doc:"Amounts by resource class."`
	Generation ignored          `json:"generation,omitempty" doc:"Ignored; accepted because responses contain it."`
	Name       ignored          `json:"name,omitempty" doc:"Ignored."`
	Root       ignored          `json:"root_provider_uuid,omitempty" doc:"Ignored."`
	CreatedAt  ignored          `json:"created_at,omitempty" doc:"Ignored."`
}

// receivedMappings are mappings as the client sent them.
type receivedMappings json.RawMessage

// UnmarshalJSON implements json.Unmarshaler. The schema has validated the value.
func (m *receivedMappings) UnmarshalJSON(raw []byte) error {
	*m = append(receivedMappings{}, raw...)
	return nil
}

// Schema implements huma.SchemaProvider.
func (receivedMappings) Schema(r huma.Registry) *huma.Schema { return mappings{}.Schema(r) }

// ClaimRelation relates the places of consumers: the roots of the trees that their candidates belong to.
type ClaimRelation struct {
	Apart    string `json:"apart,omitempty" enum:"root" doc:"No two consumers have the same root."`
	Together string `json:"together,omitempty" enum:"root" doc:"All consumers have the same root."`
}

// ClaimsMade is the response with what was claimed.
type ClaimsMade struct {
	Claims    []ClaimMade `json:"claims" doc:"All allocations of the consumers, in the order of the request; then those of hand_over_to."`
	Query     *int        `json:"query" nullable:"true" doc:"Index of the query that was used; null with candidates." example:"0"`
	Candidate *int        `json:"candidate,omitempty" nullable:"false" doc:"Index of the candidate that was claimed; only with candidates." example:"0"`
	Effort    ClaimEffort `json:"effort" doc:"What it took."`
}

// ClaimMade is the allocations of one consumer after a claim.
type ClaimMade struct {
	Consumer    uuid.UUID                               `json:"consumer_uuid" format:"uuid" doc:"The consumer."`
	Generation  int64                                   `json:"consumer_generation" doc:"Its generation." example:"1"`
	ProjectID   string                                  `json:"project_id" doc:"Its project."`
	UserID      string                                  `json:"user_id" doc:"Its user."`
	Type        string                                  `json:"consumer_type" doc:"Its type." example:"INSTANCE"`
	Allocations jsonbody.Ordered[AllocationsOnProvider] `json:"allocations" doc:"All its allocations, by provider UUID."`
	Mappings    madeMappings                            `json:"mappings" doc:"UUIDs of the providers that serve each group, by group suffix; null if there are none."`
	Root        *uuid.UUID                              `json:"root_provider_uuid" nullable:"true" format:"uuid" doc:"Root of the tree that the candidate belongs to; null with candidates."`
	Lease       shownLease                              `json:"lease,omitempty" since:"berth 6" doc:"How long the consumer keeps what it has; null: until it is deleted."`
}

// madeMappings is the JSON of mappings in a response; empty: null.
type madeMappings json.RawMessage

// MarshalJSON implements json.Marshaler.
func (m madeMappings) MarshalJSON() ([]byte, error) { return json.RawMessage(m).MarshalJSON() }

// Schema implements huma.SchemaProvider.
func (madeMappings) Schema(r huma.Registry) *huma.Schema {
	schema := *huma.SchemaFromType(r, reflect.TypeFor[jsonbody.Ordered[uuids]]())
	schema.Nullable = true
	return &schema
}

// ClaimEffort counts the steps of a claim.
type ClaimEffort struct {
	Searches   int `json:"searches" doc:"Number of searches." example:"1"`
	Candidates int `json:"candidates" doc:"Number of candidates whose providers were locked." example:"1"`
	Full       int `json:"full" doc:"How many of them were found used up." example:"0"`
	Stale      int `json:"stale" doc:"How many of them had a provider that had changed since the search." example:"0"`
	Held       int `json:"held" doc:"Number of candidates that were passed over because another request was writing to one of their providers." example:"0"`
}

// claimCreateOperation returns the row of the table.
func (o *operations) claimCreateOperation() *route.Operation {
	return &route.Operation{
		ID: "claim-create", Method: http.MethodPost, Path: "/claims", Tag: tagAllocations, Rule: policy.ClaimsCreate,
		Further: explainsFurther, Body: route.BodyLarge, Checks: searches, Keyed: true,
		Summary: "Find a place for consumers and claim it",
		Description: "Searches allocation candidates and claims one of them, as if both happened at one moment. " +
			"With `candidates` it claims the first of them that fits.",
		Fails: claimCreateFailures,
		Variants: []route.Variant{route.Write(berth13, route.Body[none]{Example: map[string]any{
			"consumers": []any{map[string]any{
				"uuid": exampleInstance, "project_id": exampleProject, "user_id": exampleUser,
				"consumer_type": instanceType, "consumer_generation": nil,
			}},
			"queries": []any{map[string]any{"groups": map[string]any{"": map[string]any{"resources": exampleRequest()}}, "order": "pack:VCPU"}},
		}}, o.claimCreate, route.Example(exampleClaims))},
	}
}

// exampleClaims returns the response of the documents.
func exampleClaims(ctx context.Context) any {
	query := 0
	return ClaimsMade{
		Claims: []ClaimMade{{
			Consumer: uuid.MustParse(exampleInstance), Generation: 1, ProjectID: exampleProject, UserID: exampleUser, Type: instanceType,
			Allocations: allocationsOf(instanceRow).Allocations, Mappings: madeMappings(`{"": ["` + exampleHost + `"]}`), Root: &exampleHostID,
			Lease: leaseOf(ctx, nil),
		}},
		Query: &query, Effort: ClaimEffort{Searches: 1, Candidates: 1},
	}
}

// claimCreateRequest is a ClaimCreate that has passed its checks.
type claimCreateRequest struct {
	// consumers are those of the request; heir is hand_over_to, nil for none.
	consumers []store.Claim
	heir      *store.Claim
	// values and queries are the queries.
	values   []querystring.Values
	queries  []candidates.Query
	relation candidates.Relation
	// listed are the candidates; sent are the UUIDs of providers as the client wrote them.
	listed [][]store.Allocation
	sent   receivedUUIDs
}

// all returns the consumers of the request, then the heir.
func (c *claimCreateRequest) all() []store.Claim {
	if c.heir == nil {
		return c.consumers
	}
	return append(c.consumers[:len(c.consumers):len(c.consumers)], *c.heir)
}

func (o *operations) claimCreate(ctx context.Context, _ *none, body *ClaimCreate) (*cached[ClaimsMade], error) {
	request, err := o.checkClaim(ctx, body)
	if err != nil {
		return nil, err
	}
	var result *ClaimsMade
	switch {
	case request.listed != nil:
		result, err = o.claimListed(ctx, request, body.Candidates)
	case len(request.consumers) > 1:
		result, err = o.claimSeveral(ctx, request)
	default:
		result, err = o.claimFound(ctx, request)
	}
	recordClaimed(ctx, request, result)
	if err != nil {
		return nil, err
	}
	return answer(ctx, *result, writtenAt(ctx)), nil
}

// recordClaimed adds the consumers to the audit record.
func recordClaimed(ctx context.Context, request *claimCreateRequest, result *ClaimsMade) {
	record, all := auditlog.From(ctx), request.all()
	for i := range all {
		if result == nil {
			record.Consumer(auditlog.Generation{UUID: all[i].Consumer, Sent: all[i].Generation})
			continue
		}
		record.Consumer(auditlog.Generation{UUID: all[i].Consumer, Before: all[i].Generation, After: &result.Claims[i].Generation})
	}
}

// claimListed claims a candidate of the client.
func (o *operations) claimListed(ctx context.Context, request *claimCreateRequest, sent []ClaimedCandidate) (*ClaimsMade, error) {
	claimed, err := o.claims.CreateNamed(ctx, route.IdempotencyKey(ctx), request.consumers[0], request.heir, request.listed)
	if err != nil {
		return nil, request.listedError(err)
	}
	result := claimsMade(ctx, &claimed, 0)
	result.Candidate = &claimed.Candidate
	result.Claims[0].Mappings = madeMappings(sent[claimed.Candidate].Mappings)
	return result, nil
}

// listedError returns the error of a claim of candidates.
func (c *claimCreateRequest) listedError(err error) error {
	faults := claimFaults(c.sent, replacingConsumer(c.consumers[0].Consumer.String())).With(leaseFaults)
	refused := store.AsRuleViolation(err)
	if refused == nil || refused.Rule != store.ClaimNoneLeft {
		return faults.With(claimContendedFaults).Translate(err)
	}
	unfit := &fault.Unfit{}
	for _, candidate := range refused.Values.Refused {
		reason := faults[candidate.Rule](store.Values{Provider: candidate.Provider, Class: candidate.Class})
		unfit.Refused = append(unfit.Refused, fault.RefusedCandidate{Candidate: candidate.Candidate, Detail: reason.Detail})
	}
	summary := fmt.Sprintf("None of the %d candidates does.", len(c.listed))
	if len(c.listed) == 1 {
		summary = "The candidate does not."
	}
	return claimNothingFits.Of(summary).WithUnfit(unfit)
}

// claimsMade converts the result of a claim. The response with a query has one element for each consumer.
func claimsMade(ctx context.Context, claimed *store.Claimed, searches int) *ClaimsMade {
	effort := claimed.Effort
	result := &ClaimsMade{Effort: ClaimEffort{
		Searches: searches, Candidates: effort.Full + effort.Stale + 1, Full: effort.Full, Stale: effort.Stale, Held: effort.Held,
	}}
	for i := range claimed.Consumers {
		of := &claimed.Consumers[i]
		result.Claims = append(result.Claims, ClaimMade{
			Consumer: of.Rows[0].Consumer, Generation: of.Generation, ProjectID: of.ProjectID, UserID: of.UserID, Type: *of.Type,
			Allocations: allocationsOf(*of).Allocations, Lease: leaseOf(ctx, of.Lease),
		})
	}
	return result
}

var claimContendedFaults = route.RuleFaults{store.ClaimContended: func(store.Values) *fault.Error { return contendedClaim() }}

// contendedClaim returns the error of a claim that lost all candidates of each search.
func contendedClaim() *fault.Error { return claimContended.Of().WithRetryAfter(time.Second) }

// relation returns the relation of the search; that of nil is none.
func (r *ClaimRelation) relation() candidates.Relation {
	switch {
	case r == nil:
		return candidates.RelationNone
	case r.Apart != "":
		return candidates.RelationApart
	case r.Together != "":
		return candidates.RelationTogether
	}
	return candidates.RelationNone
}

// isConflict reports whether a relation has both members. nil has none.
func (r *ClaimRelation) isConflict() bool { return r != nil && r.Apart != "" && r.Together != "" }

// claimSeveral searches candidates for several consumers and claims them, all or none.
func (o *operations) claimSeveral(ctx context.Context, request *claimCreateRequest) (*ClaimsMade, error) {
	var found *candidates.PlacementSearch
	var refusal *claimRefusal
	claimed, err := o.claims.CreateSeveral(ctx, &claims.SeveralRequest{
		Consumers: request.consumers, Relation: request.relation, Queries: request.queries,
		Key: route.IdempotencyKey(ctx),
		Refuse: func(ctx context.Context, in *postgres.Snapshot, of *candidates.PlacementSearch) error {
			found, refusal = of, nil
			if of.Reason != "" {
				refusal = &claimRefusal{of.Query, o.explainUnplaced(ctx, in, request, of.Query, of.Reason)}
			}
			return nil
		},
	})
	if errors.Is(err, claims.ErrNothingFits) || errors.Is(err, claims.ErrUndecided) {
		return nil, o.unplacedSeveralError(ctx, request, found, refusal)
	}
	if err != nil {
		return nil, o.foundError(ctx, request, err)
	}
	result := claimsMade(ctx, &claimed.Claimed, claimed.Searches)
	result.Query = &claimed.Query
	for i := range result.Claims {
		result.Claims[i].choose(&claimed.Members[i])
	}
	return result, nil
}

// The relations in the texts of refusals.
var textsOfRelations = map[candidates.Relation]string{
	candidates.RelationApart: " that are apart by root", candidates.RelationTogether: " that are together by root",
}

// unplacedSeveralError returns the error of a claim that found no place for all consumers. It has an explanation if the last
// query has no candidate even for one of them: refusal is nil if it has.
func (o *operations) unplacedSeveralError(
	ctx context.Context, request *claimCreateRequest, found *candidates.PlacementSearch, refusal *claimRefusal,
) error {
	summary := fmt.Sprintf("%d of %d consumers%s can be placed.", found.Fit, len(request.consumers), textsOfRelations[request.relation])
	failure := &claimNothingFits
	if !found.IsExact {
		failure = &claimUndecided
	}
	unfit := failure.Of(summary).WithUnfit(&fault.Unfit{Fit: &found.Fit, Exact: &found.IsExact})
	if refusal == nil {
		return unfit
	}
	o.recordUnplaced(ctx, request, refusal)
	if explainsErrors(ctx) {
		unfit = unfit.WithExplanation(refusal.explanation)
	}
	return unfit
}
