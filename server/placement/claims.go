package placement

import (
	"context"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/jsonbody"
	"github.com/berthd/berth/server/route"
	"github.com/berthd/berth/server/store"
	"github.com/berthd/berth/server/uuidlike"
)

// claimedAmount is what a request takes of a class. It has no upper bound: what
// is too much does not fit.
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

// ListedAllocation is what to take of one provider, up to 1.11.
type ListedAllocation struct {
	Provider  ProviderReference `json:"resource_provider" doc:"The provider to take it from."`
	Resources claimedResources  `json:"resources" doc:"Amounts by resource class."`
}

// ClaimV0 is all that a consumer is to have, up to 1.7.
type ClaimV0 struct {
	Allocations []ListedAllocation `json:"allocations" minItems:"1" doc:"Of a provider that is named twice, the last counts."`
}

// ClaimV8 says whose it is.
type ClaimV8 struct {
	ClaimV0
	Owner
}

// Owner is whose a consumer is.
type Owner struct {
	ProjectID string `json:"project_id" minLength:"1" maxLength:"255" doc:"The consumer's project."`
	UserID    string `json:"user_id" minLength:"1" maxLength:"255" doc:"The consumer's user."`
}

// ClaimedOfProvider is what to take of one provider.
type ClaimedOfProvider struct {
	Resources  claimedResources `json:"resources" doc:"Amounts by resource class."`
	Generation *jsonbody.Int    `json:"generation,omitempty" nullable:"false" doc:"Ignored; it is in what clients read and send back."`
}

// ClaimV12 names providers by key.
type ClaimV12 struct {
	Allocations keyedNonEmpty[ClaimedOfProvider] `json:"allocations" doc:"By the provider's uuid."`
	Owner
}

// ClaimManyV13 is a claim among others, which may also take everything away.
type ClaimManyV13 struct {
	Allocations keyed[ClaimedOfProvider] `json:"allocations" doc:"By the provider's uuid. Empty: the consumer loses what it has."`
	Owner
}

// ClaimV28 says which generation the consumer has.
type ClaimV28 struct {
	ClaimManyV13
	Generation nullableInt `json:"consumer_generation" doc:"The consumer's generation as the client knows it; null: it does not exist yet."`
}

// ClaimV34 may say which group of a request each provider was found for.
type ClaimV34 struct {
	ClaimV28
	Mappings *mappings `json:"mappings,omitempty" nullable:"false" doc:"Ignored; it is in the candidates that clients send back."`
}

// ClaimV38 says what kind of consumer it is.
type ClaimV38 struct {
	ClaimV34
	Type string `json:"consumer_type" minLength:"1" maxLength:"255" pattern:"^[A-Z0-9_]+$" doc:"The consumer's type." example:"INSTANCE"`
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

// mappings are providers by the suffix of the request group.
type mappings struct{}

// UnmarshalJSON implements json.Unmarshaler; the schema has seen to the form.
func (*mappings) UnmarshalJSON([]byte) error { return nil }

// Schema implements huma.SchemaProvider. Keys of any other form are accepted with
// any value, as clients send the empty one. The document asks for lists under all
// keys.
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

// claims are the claims of several consumers, by their uuids.
type claims[C claimant] struct{ keyedNonEmpty[C] }

// Schema implements huma.SchemaProvider. It has a name: a body without one gets
// another from each generator of clients.
func (claims[C]) Schema(r huma.Registry) *huma.Schema {
	r.Map()["Claims"] = keyedNonEmpty[C]{}.Schema(r)
	return &huma.Schema{Ref: "#/components/schemas/Claims"}
}

// claimant is a claim of any version.
type claimant interface {
	claim() (store.Claim, spelling, error)
}

// spelling is how a request wrote the providers it names, for error texts.
type spelling map[string]string

// of is a provider as it was sent.
func (s spelling) of(canonical string) string {
	if sent, ok := s[canonical]; ok {
		return sent
	}
	return canonical
}

func (c ClaimV0) claim() (store.Claim, spelling, error) {
	last := map[string]int{}
	for place, listed := range c.Allocations {
		id, _ := uuidlike.Parse(listed.Provider.UUID)
		last[id.String()] = place
	}
	made, sent := store.Claim{}, spelling{}
	for place, listed := range c.Allocations {
		id, _ := uuidlike.Parse(listed.Provider.UUID)
		if last[id.String()] != place {
			continue
		}
		sent[id.String()] = listed.Provider.UUID
		for _, resource := range listed.Resources.Ordered {
			made.Allocations = append(made.Allocations, store.Allocation{
				Provider: id, Class: resource.Key, Amount: int64(resource.Value.Int),
			})
		}
	}
	return made, sent, nil
}

func (c ClaimV8) claim() (store.Claim, spelling, error) {
	made, sent, err := c.ClaimV0.claim()
	made.ProjectID, made.UserID = c.ProjectID, c.UserID
	return made, sent, err
}

func (c ClaimV12) claim() (store.Claim, spelling, error) {
	return claimOf(c.Allocations.Ordered, c.Owner)
}

func (c ClaimManyV13) claim() (store.Claim, spelling, error) {
	return claimOf(c.Allocations.Ordered, c.Owner)
}

func (c ClaimV28) claim() (store.Claim, spelling, error) {
	made, sent, err := c.ClaimManyV13.claim()
	made.Generation = c.Generation.value
	return made, sent, err
}

func (c ClaimV38) claim() (store.Claim, spelling, error) {
	made, sent, err := c.ClaimV34.claim()
	made.Type = c.Type
	return made, sent, err
}

// claimOf reads allocations by provider. A key that is no uuid names a provider
// that does not exist; one provider under two spellings is a contradiction.
func claimOf(allocations jsonbody.Ordered[ClaimedOfProvider], of Owner) (store.Claim, spelling, error) {
	made, sent := store.Claim{ProjectID: of.ProjectID, UserID: of.UserID}, spelling{}
	for _, entry := range allocations {
		id, ok := uuidlike.Parse(entry.Key)
		if !ok {
			return made, sent, fault.New(fault.Invalid, "Allocation for resource provider '%s' that does not exist.", entry.Key)
		}
		if _, twice := sent[id.String()]; twice {
			return made, sent, fault.New(fault.Invalid, "JSON does not validate: resource provider %s is named twice", entry.Key)
		}
		sent[id.String()] = entry.Key
		for _, resource := range entry.Value.Resources.Ordered {
			made.Allocations = append(made.Allocations, store.Allocation{
				Provider: id, Class: resource.Key, Amount: int64(resource.Value.Int),
			})
		}
	}
	return made, sent, nil
}

// claimsOf reads the claims of several consumers.
func claimsOf[C claimant](byConsumer jsonbody.Ordered[C]) ([]store.Claim, spelling, error) {
	all, sent := make([]store.Claim, 0, len(byConsumer)), spelling{}
	seen := map[string]bool{}
	for _, entry := range byConsumer {
		consumer, ok := uuidlike.Parse(entry.Key)
		if !ok {
			return nil, nil, fault.New(fault.Invalid, "JSON does not validate: '%s' is not a 'uuid'", entry.Key)
		}
		if seen[consumer.String()] {
			return nil, nil, fault.New(fault.Invalid, "JSON does not validate: consumer %s is named twice", entry.Key)
		}
		seen[consumer.String()] = true
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

// claimWords are what every write of allocations can be refused for. unknownClass
// introduces a class that does not exist; the rest has one form.
func claimWords(sent spelling, unknownClass string) words {
	refuse := func(format string) func(store.Values) *fault.Error {
		return func(values store.Values) *fault.Error {
			return fault.New(fault.Conflict, "Unable to allocate inventory: "+format, values.Class, sent.of(values.Provider))
		}
	}
	return words{
		store.ConsumerGeneration: consumerConflict,
		store.AllocationProviderUnknown: func(values store.Values) *fault.Error {
			return fault.New(fault.Invalid, "Allocation for resource provider '%s' that does not exist.", sent.of(values.Provider))
		},
		store.ClassUnknown: func(values store.Values) *fault.Error {
			return fault.New(fault.Invalid, "%sNo such resource class %s.", unknownClass, values.Class)
		},
		store.AllocationNoInventory: refuse("Inventory for '%s' on resource provider '%s' invalid."),
		store.AllocationUnits: refuse("Unable to create allocation for '%s' on resource provider '%s'. " +
			"The requested amount would violate inventory constraints."),
		store.AllocationCapacity: refuse("Unable to create allocation for '%s' on resource provider '%s'. " +
			"The requested amount would exceed the capacity."),
	}
}

// consumerConflict is the phrase by which clients know to read the consumer again.
func consumerConflict(values store.Values) *fault.Error {
	expected, given := "null", "None"
	if values.Actual != nil {
		expected = strconv.FormatInt(*values.Actual, 10)
	}
	if values.Given != nil {
		given = strconv.FormatInt(*values.Given, 10)
	}
	return fault.New(fault.Conflict, "consumer generation conflict - expected %s but got %s", expected, given).
		WithCode(fault.CodeConcurrentUpdate)
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

// checkConsumer says what is wrong with the path, before the body is looked at.
func checkConsumer(_ context.Context, in *consumerPath) error {
	if _, ok := uuidlike.Parse(in.Consumer); !ok {
		return fault.New(fault.Invalid, "Malformed consumer_uuid: %s", in.Consumer)
	}
	return nil
}

func allocationReplace[C claimant](o *operations) func(context.Context, *consumerPath, *C) (*empty, error) {
	return func(ctx context.Context, in *consumerPath, body *C) (*empty, error) {
		if err := checkConsumer(ctx, in); err != nil {
			return nil, err
		}
		claim, sent, err := (*body).claim()
		if err != nil {
			return nil, err
		}
		claim.Consumer, _ = uuidlike.Parse(in.Consumer)
		if claim.ProjectID == "" {
			claim.ProjectID, claim.UserID = o.incompleteProject, o.incompleteUser
		}
		err = o.store.AllocationReplace(ctx, []store.Claim{claim}, checksConsumers(ctx))
		return nil, claimWords(sent, "Unable to allocate inventory for consumer "+claim.Consumer.String()+": ").say(err)
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

func allocationReplaceMany[C claimant](o *operations) func(context.Context, *none, *claims[C]) (*empty, error) {
	return func(ctx context.Context, _ *none, body *claims[C]) (*empty, error) {
		all, sent, err := claimsOf(body.Ordered)
		if err != nil {
			return nil, err
		}
		err = o.store.AllocationReplace(ctx, all, checksConsumers(ctx))
		return nil, claimWords(sent, "Unable to allocate inventory ").say(err)
	}
}
