package placement

import (
	"encoding/json"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
)

// DryRun is the response to a dry run.
type DryRun struct {
	DryRun bool `json:"dry_run" doc:"Always true." example:"true"`
	// Would is the status of the response that the write would have had, Body its body.
	Would   int         `json:"would" format:"int32" doc:"Status that the response to the write would have." example:"204"`
	Body    rawObject   `json:"body" doc:"Body that the response to the write would have; null without one."`
	Changes StateChange `json:"changes" doc:"What the write would change; empty if it would fail."`
	Inverse rawObject   `json:"inverse" doc:"Body of a request that reverses the write, for reshapes and trees; null for other writes, or if there is none."`
	// IrreversibleReason is empty if Inverse is not null, or if nothing changes.
	IrreversibleReason string `json:"inverse_obstacle,omitempty" doc:"Reason why the write cannot be reversed." example:"Provider c0ffee00-5ca1-4b1e-8000-000000000001 was over its capacity."`
}

// rawObject is the JSON text of an object, or null.
type rawObject struct{ json.RawMessage }

// Schema implements huma.SchemaProvider.
func (rawObject) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, Nullable: true, AdditionalProperties: true}
}

// StateChange is what a write would change. Each of two states has only the members that differ.
type StateChange struct {
	Providers map[string]ProviderChange `json:"resource_providers" doc:"Changes of providers by UUID."`
	Consumers map[string]ConsumerChange `json:"consumers" doc:"Changes of consumers by UUID."`
	Classes   map[string]NameChange     `json:"resource_classes" doc:"Created and deleted resource classes by name."`
	Traits    map[string]NameChange     `json:"traits" doc:"Created and deleted traits by name."`
}

// ProviderChange is the change of a provider.
type ProviderChange struct {
	Before stateOrNull[ProviderPart] `json:"before" doc:"The provider before the write; null: it did not exist."`
	After  stateOrNull[ProviderPart] `json:"after" doc:"The provider after the write; null: it would not exist."`
}

// ProviderPart is a provider, or the members of it that differ from another state. A nil member is omitted.
type ProviderPart struct {
	Name        *string              `json:"name,omitempty" doc:"Unique name." example:"compute-17"`
	Parent      *uuidOrNull          `json:"parent_provider_uuid,omitempty" doc:"UUID of the parent provider; null for a root."`
	Generation  *int64               `json:"generation,omitempty" doc:"The provider generation." example:"4"`
	Inventories map[string]Inventory `json:"inventories,omitzero" doc:"Inventories by resource class that differ."`
	Usages      map[string]int64     `json:"usages,omitzero" doc:"Usages by resource class that differ."`
	Traits      namesChanged         `json:"traits,omitzero" doc:"Traits that only this state has."`
	Aggregates  uuids                `json:"aggregates,omitzero" doc:"Aggregates that only this state has."`
}

// ConsumerChange is the change of a consumer.
type ConsumerChange struct {
	Before stateOrNull[ConsumerPart] `json:"before" doc:"The consumer before the write; null: it did not exist."`
	After  stateOrNull[ConsumerPart] `json:"after" doc:"The consumer after the write; null: it would not exist."`
}

// ConsumerPart is a consumer, or the members of it that differ from another state. A nil member is omitted.
type ConsumerPart struct {
	Generation  *int64                     `json:"consumer_generation,omitempty" doc:"The consumer generation." example:"1"`
	ProjectID   *string                    `json:"project_id,omitempty" doc:"The consumer's project."`
	UserID      *string                    `json:"user_id,omitempty" doc:"The consumer's user."`
	Type        *string                    `json:"consumer_type,omitempty" doc:"The consumer type; unknown for a consumer without one." example:"INSTANCE"`
	Allocations map[string]AllocationsPart `json:"allocations,omitzero" doc:"Allocations by provider UUID that differ."`
}

// AllocationsPart are the allocations of a consumer on one provider, or those that differ from another state.
type AllocationsPart struct {
	Resources map[string]int64 `json:"resources" doc:"Amounts by resource class."`
}

// NameChange is the creation or deletion of a name.
type NameChange struct {
	Before stateOrNull[NamePart] `json:"before" doc:"null: the name did not exist."`
	After  stateOrNull[NamePart] `json:"after" doc:"null: the name would not exist."`
}

// NamePart is a name that exists.
type NamePart struct{}

// stateOrNull is the state of a resource; the zero value is encoded as null.
type stateOrNull[T any] struct{ value *T }

// MarshalJSON implements json.Marshaler.
func (s stateOrNull[T]) MarshalJSON() ([]byte, error) { return json.Marshal(s.value) }

// Schema implements huma.SchemaProvider.
func (stateOrNull[T]) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{schemaOf[T](r), {Type: "null"}}}
}

// uuidOrNull is a UUID; the zero value is encoded as null.
type uuidOrNull struct{ value *uuid.UUID }

// MarshalJSON implements json.Marshaler.
func (u uuidOrNull) MarshalJSON() ([]byte, error) { return json.Marshal(u.value) }

// Schema implements huma.SchemaProvider.
func (uuidOrNull) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "uuid", Nullable: true}
}

// namesChanged are names in a response.
type namesChanged []string

// Schema implements huma.SchemaProvider.
func (namesChanged) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}}
}

// dryRuns returns how the API answers dry runs.
func dryRuns() *route.DryRuns {
	return &route.DryRuns{
		Since: berth13, Answer: dryRunAnswer, Body: reflect.TypeFor[DryRun](),
		Example: DryRun{DryRun: true, Would: http.StatusNoContent, Changes: stateChange(store.State{}, store.State{})},
	}
}

// dryRunAnswer returns the response to a dry run of an operation.
func dryRunAnswer(op *route.Operation, result route.DryRunResult) any {
	dryRun := DryRun{
		DryRun: true, Would: result.Status, Body: rawObject{result.Body}, Changes: stateChange(result.Before, result.After),
	}
	if op.Inverse != nil && result.Status < http.StatusMultipleChoices && !dryRun.Changes.isEmpty() {
		body, reason := op.Inverse(result.Before, result.After)
		dryRun.IrreversibleReason = reason
		if body != nil {
			dryRun.Inverse.RawMessage = encodeInverse(body)
		}
	}
	return dryRun
}

// encodeInverse encodes a body of plain data, which cannot fail.
func encodeInverse(body any) json.RawMessage {
	encoded, err := json.Marshal(body)
	if err != nil {
		panic("cannot marshal plain data: " + err.Error())
	}
	return encoded
}
