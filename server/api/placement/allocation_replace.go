package placement

import (
	"context"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/explain"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/jsonbody"
	"github.com/berthd/berth/server/wire/uuidlike"
)

// claimedAmount is the requested amount of a resource class. It has no upper bound: an amount above the capacity fails
// the capacity check.
type claimedAmount struct{ jsonbody.Int }

// Schema implements huma.SchemaProvider.
func (claimedAmount) Schema(huma.Registry) *huma.Schema {
	least := 1.0
	return &huma.Schema{Type: huma.TypeInteger, Format: "int64", Minimum: &least, Examples: []any{2}}
}

// claimedResources are amounts by resource class, at least one.
type claimedResources struct {
	jsonbody.Ordered[claimedAmount]
}

// Schema implements huma.SchemaProvider.
func (claimedResources) Schema(r huma.Registry) *huma.Schema {
	return jsonbody.MapSchema(claimedAmount{}.Schema(r), classPattern, 1)
}

// ProviderReference names a provider.
type ProviderReference struct {
	UUID string `json:"uuid" format:"uuid" doc:"The provider." example:"c0ffee00-5ca1-4b1e-8000-000000000001"`
}

// ListedAllocation is the requested set of allocations on one provider, up to 1.11.
type ListedAllocation struct {
	Provider  ProviderReference `json:"resource_provider" doc:"The provider of the allocations."`
	Resources claimedResources  `json:"resources" doc:"Amounts by resource class."`
}

// ClaimV0 is the request for all allocations of a consumer, up to 1.7.
type ClaimV0 struct {
	Allocations []ListedAllocation `json:"allocations" minItems:"1" doc:"Allocations by provider; the last entry of a repeated provider applies."`
}

// ClaimV8 adds project and user.
type ClaimV8 struct {
	ClaimV0
	Owner
}

// Owner is the project and user of a consumer.
type Owner struct {
	ProjectID string `json:"project_id" minLength:"1" maxLength:"255" doc:"The consumer's project."`
	UserID    string `json:"user_id" minLength:"1" maxLength:"255" doc:"The consumer's user."`
}

// ClaimedOfProvider is the requested set of allocations on one provider.
type ClaimedOfProvider struct {
	Resources  claimedResources `json:"resources" doc:"Amounts by resource class."`
	Generation *jsonbody.Int    `json:"generation,omitempty" nullable:"false" doc:"Ignored; accepted because responses contain it."`
}

// ClaimV12 has the provider UUIDs as keys.
type ClaimV12 struct {
	Allocations keyedNonEmpty[ClaimedOfProvider] `json:"allocations" doc:"Allocations by provider UUID."`
	Owner
}

// ClaimManyV13 is one claim of several in a request. It can remove all allocations.
type ClaimManyV13 struct {
	Allocations keyed[ClaimedOfProvider] `json:"allocations" doc:"Allocations by provider UUID. Empty removes all allocations of the consumer."`
	Owner
}

// ClaimV28 adds the consumer generation.
type ClaimV28 struct {
	ClaimManyV13
	Generation nullableInt `json:"consumer_generation" doc:"The consumer generation that the client read; null for a new consumer."`
}

// ClaimV34 adds the mappings of request groups to providers.
type ClaimV34 struct {
	ClaimV28
	Mappings *mappings `json:"mappings,omitempty" nullable:"false" doc:"Ignored; accepted because allocation candidates contain it."`
}

// ClaimV38 adds the consumer type.
type ClaimV38 struct {
	ClaimV34
	Type  string        `json:"consumer_type" minLength:"1" maxLength:"255" pattern:"^[A-Z0-9_]+$" doc:"The consumer's type." example:"INSTANCE"`
	Lease receivedLease `json:"lease,omitempty" since:"berth 6" doc:"The consumer's lease, whose time starts again; null takes it away. Default: a new consumer has none, and others keep theirs."`
}

// nullableInt is an integer or null.
type nullableInt struct{ value *int64 }

// UnmarshalJSON implements json.Unmarshaler.
func (n *nullableInt) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		return nil
	}
	var given jsonbody.Int
	if err := given.UnmarshalJSON(raw); err != nil {
		return err
	}
	value := int64(given)
	n.value = &value
	return nil
}

// Schema implements huma.SchemaProvider.
func (nullableInt) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeInteger, Format: "int64", Nullable: true, Examples: []any{1}}
}

// mappings maps suffixes of request groups to provider UUIDs.
type mappings struct{}

// UnmarshalJSON implements json.Unmarshaler. The schema has validated the value.
func (*mappings) UnmarshalJSON([]byte) error { return nil }

// Schema implements huma.SchemaProvider. A key of any other format is accepted with any value, because clients send the
// empty key. The document requires lists under all keys.
func (mappings) Schema(huma.Registry) *huma.Schema {
	least := 1
	return &huma.Schema{
		Type: huma.TypeObject, MinProperties: &least, AdditionalProperties: true,
		Extensions: map[string]any{"patternProperties": map[string]*huma.Schema{
			"[a-zA-Z0-9_-]{1,64}": {
				Type: huma.TypeArray, MinItems: &least, Items: &huma.Schema{Type: huma.TypeString, Format: "uuid"},
			},
		}},
	}
}

// claimsByConsumer are the claims of several consumers, by their uuids.
type claimsByConsumer[C claimRequest] struct{ keyedNonEmpty[C] }

// Schema implements huma.SchemaProvider. The schema has a name: each client generator would invent a different one.
func (claimsByConsumer[C]) Schema(r huma.Registry) *huma.Schema {
	r.Map()["Claims"] = keyedNonEmpty[C]{}.Schema(r)
	return &huma.Schema{Ref: "#/components/schemas/Claims"}
}

// claimRequest is a claim of any version.
type claimRequest interface {
	claim() (store.Claim, receivedUUIDs, error)
}

// receivedUUIDs maps provider UUIDs to the text in the request, for error texts. It contains those that were not in the
// canonical form.
type receivedUUIDs map[string]string

// add records the text unless it is the canonical form.
func (s receivedUUIDs) add(id uuid.UUID, sent string) {
	if canonical := id.String(); canonical != sent {
		s[canonical] = sent
	}
}

// of returns a provider UUID as it was sent.
func (s receivedUUIDs) of(canonical string) string {
	if sent, ok := s[canonical]; ok {
		return sent
	}
	return canonical
}

func (c ClaimV0) claim() (store.Claim, receivedUUIDs, error) {
	last := map[uuid.UUID]int{}
	for place, listed := range c.Allocations {
		id, _ := uuidlike.Parse(listed.Provider.UUID)
		last[id] = place
	}
	result, sent := store.Claim{}, receivedUUIDs{}
	for place, listed := range c.Allocations {
		id, _ := uuidlike.Parse(listed.Provider.UUID)
		if last[id] != place {
			continue
		}
		sent.add(id, listed.Provider.UUID)
		for _, resource := range listed.Resources.Ordered {
			result.Allocations = append(result.Allocations, store.Allocation{
				Provider: id, Class: resource.Key, Amount: int64(resource.Value.Int),
			})
		}
	}
	return result, sent, nil
}

func (c ClaimV8) claim() (store.Claim, receivedUUIDs, error) {
	result, sent, err := c.ClaimV0.claim()
	result.ProjectID, result.UserID = c.ProjectID, c.UserID
	return result, sent, err
}

func (c ClaimV12) claim() (store.Claim, receivedUUIDs, error) {
	return claimOf(c.Allocations.Ordered, c.Owner)
}

func (c ClaimManyV13) claim() (store.Claim, receivedUUIDs, error) {
	return claimOf(c.Allocations.Ordered, c.Owner)
}

func (c ClaimV28) claim() (store.Claim, receivedUUIDs, error) {
	result, sent, err := c.ClaimManyV13.claim()
	result.Generation = c.Generation.value
	return result, sent, err
}

func (c ClaimV38) claim() (store.Claim, receivedUUIDs, error) {
	result, sent, err := c.ClaimV34.claim()
	result.Type = c.Type
	if err == nil {
		result.Lease, err = c.Lease.terms()
	}
	return result, sent, err
}

// claimOf converts allocations by provider to a claim. A key that is not a UUID counts as a provider that does not
// exist. It returns an error if two keys are the same UUID.
func claimOf(allocations jsonbody.Ordered[ClaimedOfProvider], of Owner) (store.Claim, receivedUUIDs, error) {
	claim, sent := store.Claim{ProjectID: of.ProjectID, UserID: of.UserID}, receivedUUIDs{}
	amounts := 0
	for i := range allocations {
		amounts += len(allocations[i].Value.Resources.Ordered)
	}
	claim.Allocations = make([]store.Allocation, 0, amounts)
	seen := make(map[uuid.UUID]struct{}, len(allocations))
	for _, entry := range allocations {
		id, ok := uuidlike.Parse(entry.Key)
		if !ok {
			return claim, sent, claimProviderUnknown.Of(entry.Key)
		}
		if _, twice := seen[id]; twice {
			return claim, sent, route.InvalidBody.Of("resource provider " + entry.Key + " is named twice")
		}
		seen[id] = struct{}{}
		sent.add(id, entry.Key)
		for _, resource := range entry.Value.Resources.Ordered {
			claim.Allocations = append(claim.Allocations, store.Allocation{
				Provider: id, Class: resource.Key, Amount: int64(resource.Value.Int),
			})
		}
	}
	return claim, sent, nil
}

// claimsOf converts the claims of several consumers.
func claimsOf[C claimRequest](byConsumer jsonbody.Ordered[C]) ([]store.Claim, receivedUUIDs, error) {
	all, sent := make([]store.Claim, 0, len(byConsumer)), receivedUUIDs{}
	seen := make(map[uuid.UUID]struct{}, len(byConsumer))
	for _, entry := range byConsumer {
		consumer, ok := uuidlike.Parse(entry.Key)
		if !ok {
			return nil, nil, route.InvalidBody.Of("'" + entry.Key + "' is not a 'uuid'")
		}
		if _, twice := seen[consumer]; twice {
			return nil, nil, route.InvalidBody.Of("consumer " + entry.Key + " is named twice")
		}
		seen[consumer] = struct{}{}
		claim, spelled, err := entry.Value.claim()
		if err != nil {
			return nil, nil, err
		}
		claim.Consumer = consumer
		all = append(all, claim)
		for canonical, text := range spelled {
			sent[canonical] = text
		}
	}
	return all, sent, nil
}

// claimFaults returns the errors of all writes of allocations. unknownClass precedes the error for a class that does
// not exist.
func claimFaults(sent receivedUUIDs, unknownClass string) route.RuleFaults {
	onInventory := func(failure *route.Failure) func(store.Values) *fault.Error {
		return func(values store.Values) *fault.Error { return failure.Of(values.Class, sent.of(values.Provider)) }
	}
	return route.RuleFaults{
		store.ConsumerGenerationConflict: consumerConflict,
		store.AllocationProviderNotFound: func(values store.Values) *fault.Error {
			return claimProviderUnknown.Of(sent.of(values.Provider))
		},
		store.ClassNotFound: func(values store.Values) *fault.Error {
			return claimClassUnknown.Of(unknownClass, values.Class)
		},
		store.AllocationNoInventory:     onInventory(&claimInventoryMissing),
		store.AllocationViolatesUnits:   onInventory(&amountViolatesUnits),
		store.AllocationExceedsCapacity: onInventory(&amountExceedsCapacity),
	}
}

// consumerConflict returns the error whose phrase makes clients read the consumer again.
func consumerConflict(values store.Values) *fault.Error {
	expected, given := "null", "None"
	if values.Actual != nil {
		expected = strconv.FormatInt(*values.Actual, 10)
	}
	if values.Given != nil {
		given = strconv.FormatInt(*values.Given, 10)
	}
	return staleConsumer.Of(expected, given)
}

func (o *operations) allocationReplaceVariants() []route.Variant {
	listed := map[string]any{"allocations": []any{map[string]any{
		"resource_provider": map[string]any{"uuid": exampleHost}, "resources": exampleRequest(),
	}}}
	owned := map[string]any{"allocations": listed["allocations"], "project_id": exampleProject, "user_id": exampleUser}
	body := func(example any) route.Body[consumerPath] {
		return route.Body[consumerPath]{LookFirst: checkConsumer, Example: example}
	}
	return []route.Variant{
		route.Write(v(0), body(listed), allocationReplace[ClaimV0](o)),
		route.Write(v(8), body(owned), allocationReplace[ClaimV8](o)),
		route.Write(v(12), body(exampleClaim(12)), allocationReplace[ClaimV12](o)),
		route.Write(v(28), body(exampleClaim(28)), allocationReplace[ClaimV28](o)),
		route.Write(v(34), body(exampleClaim(34)), allocationReplace[ClaimV34](o)),
		route.Write(v(38), body(exampleClaim(38)), allocationReplace[ClaimV38](o)),
	}
}

// checkConsumer validates the consumer in the path before the body is validated.
func checkConsumer(_ context.Context, in *consumerPath) error {
	if _, ok := uuidlike.Parse(in.Consumer); !ok {
		return malformedConsumer.Of(in.Consumer)
	}
	return nil
}

func allocationReplace[C claimRequest](o *operations) func(context.Context, *consumerPath, *C) (*empty, error) {
	return func(ctx context.Context, in *consumerPath, body *C) (*empty, error) {
		if err := checkConsumer(ctx, in); err != nil {
			return nil, err
		}
		claim, sent, err := (*body).claim()
		if err != nil {
			return nil, err
		}
		if err := o.checkLease(claim.Lease); err != nil {
			return nil, err
		}
		claim.Consumer, _ = uuidlike.Parse(in.Consumer)
		if claim.ProjectID == "" {
			claim.ProjectID, claim.UserID = o.incompleteProject, o.incompleteUser
		}
		err = o.store.AllocationReplace(ctx, []store.Claim{claim}, checksConsumers(ctx))
		recordClaims(ctx, []store.Claim{claim}, checksConsumers(ctx), err)
		return nil, o.claimError(ctx, explain.Claim{Claims: []store.Claim{claim}}, err,
			claimFaults(sent, replacingConsumer(claim.Consumer.String())).With(leaseFaults))
	}
}

func (o *operations) allocationReplaceManyVariants() []route.Variant {
	body := func(since uint8) route.Body[none] {
		return route.Body[none]{Example: map[string]any{exampleInstance: exampleClaim(since)}}
	}
	return []route.Variant{
		route.Write(v(13), body(13), allocationReplaceMany[ClaimManyV13](o)),
		route.Write(v(28), body(28), allocationReplaceMany[ClaimV28](o)),
		route.Write(v(34), body(34), allocationReplaceMany[ClaimV34](o)),
		route.Write(v(38), body(38), allocationReplaceMany[ClaimV38](o)),
	}
}

func allocationReplaceMany[C claimRequest](o *operations) func(context.Context, *none, *claimsByConsumer[C]) (*empty, error) {
	return func(ctx context.Context, _ *none, body *claimsByConsumer[C]) (*empty, error) {
		all, sent, err := claimsOf(body.Ordered)
		if err == nil {
			err = o.checkLeases(all)
		}
		if err != nil {
			return nil, err
		}
		err = o.store.Keyed(route.IdempotencyKey(ctx)).AllocationReplace(ctx, all, checksConsumers(ctx))
		recordClaims(ctx, all, checksConsumers(ctx), err)
		return nil, o.claimError(ctx, explain.Claim{Claims: all}, err, claimFaults(sent, textReplaceMany).With(leaseFaults))
	}
}
