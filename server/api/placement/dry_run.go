package placement

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/microversion"
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
	Lease       shownLease                 `json:"lease,omitempty" since:"berth 6" doc:"The lease, if it differs; null: none."`
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
func dryRunAnswer(ctx context.Context, op *route.Operation, result route.DryRunResult) any {
	dryRun := DryRun{
		DryRun: true, Would: result.Status, Body: rawObject{result.Body}, Changes: stateChange(result.Before, result.After),
	}
	if microversion.From(ctx).HasLeases() {
		dryRun.Changes.addLeases(result.Before.Consumers, result.After.Consumers)
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

// stateChange returns the difference of two states: what exists in both without a difference is missing in it.
func stateChange(before, after store.State) StateChange {
	change := StateChange{
		Providers: map[string]ProviderChange{}, Consumers: map[string]ConsumerChange{},
		Classes: nameChanges(before.Classes, after.Classes), Traits: nameChanges(before.Traits, after.Traits),
	}
	for id := range either(before.Providers, after.Providers) {
		was, existed := before.Providers[id]
		is, exists := after.Providers[id]
		switch {
		case !existed:
			change.Providers[id.String()] = ProviderChange{After: stateOrNull[ProviderPart]{wholeProvider(is)}}
		case !exists:
			change.Providers[id.String()] = ProviderChange{Before: stateOrNull[ProviderPart]{wholeProvider(was)}}
		default:
			if old, changed := providerPart(was, is), providerPart(is, was); !old.isEmpty() || !changed.isEmpty() {
				change.Providers[id.String()] = ProviderChange{Before: stateOrNull[ProviderPart]{old}, After: stateOrNull[ProviderPart]{changed}}
			}
		}
	}
	for id := range either(before.Consumers, after.Consumers) {
		was, existed := before.Consumers[id]
		is, exists := after.Consumers[id]
		switch {
		case !existed:
			change.Consumers[id.String()] = ConsumerChange{After: stateOrNull[ConsumerPart]{wholeConsumer(is)}}
		case !exists:
			change.Consumers[id.String()] = ConsumerChange{Before: stateOrNull[ConsumerPart]{wholeConsumer(was)}}
		default:
			if old, changed := consumerPart(was, is), consumerPart(is, was); !old.isEmpty() || !changed.isEmpty() {
				change.Consumers[id.String()] = ConsumerChange{Before: stateOrNull[ConsumerPart]{old}, After: stateOrNull[ConsumerPart]{changed}}
			}
		}
	}
	return change
}

// addLeases adds the leases that differ, and those of consumers that only one state has.
func (c *StateChange) addLeases(before, after map[uuid.UUID]store.ConsumerState) {
	for id := range either(before, after) {
		was, existed := before[id]
		is, exists := after[id]
		if existed && exists && was.Lease.Equal(is.Lease) {
			continue
		}
		change := c.Consumers[id.String()]
		if existed {
			change.Before.value = withLease(change.Before.value, was.Lease)
		}
		if exists {
			change.After.value = withLease(change.After.value, is.Lease)
		}
		c.Consumers[id.String()] = change
	}
}

// withLease returns a part of a consumer, nil for nothing, with its lease.
func withLease(part *ConsumerPart, lease *store.Lease) *ConsumerPart {
	if part == nil {
		part = &ConsumerPart{}
	}
	part.Lease = leaseState(lease)
	return part
}

// isEmpty reports whether nothing changes.
func (c *StateChange) isEmpty() bool {
	return len(c.Providers)+len(c.Consumers)+len(c.Classes)+len(c.Traits) == 0
}

// either returns the keys of two maps.
func either[V any](item, other map[uuid.UUID]V) map[uuid.UUID]struct{} {
	keys := map[uuid.UUID]struct{}{}
	for key := range item {
		keys[key] = struct{}{}
	}
	for key := range other {
		keys[key] = struct{}{}
	}
	return keys
}

// nameChanges returns the created and deleted names.
func nameChanges(before, after []string) map[string]NameChange {
	changes := map[string]NameChange{}
	for _, name := range without(before, after) {
		changes[name] = NameChange{Before: stateOrNull[NamePart]{&NamePart{}}}
	}
	for _, name := range without(after, before) {
		changes[name] = NameChange{After: stateOrNull[NamePart]{&NamePart{}}}
	}
	return changes
}

// without returns the elements of one list that another does not have; nil for none.
func without[T cmp.Ordered](list, other []T) []T {
	known := make(map[T]struct{}, len(other))
	for _, element := range other {
		known[element] = struct{}{}
	}
	var left []T
	for _, element := range list {
		if _, found := known[element]; !found {
			left = append(left, element)
		}
	}
	return left
}

// wholeProvider returns all members of a provider.
func wholeProvider(of store.ProviderState) *ProviderPart {
	part := &ProviderPart{
		Name: &of.Name, Parent: &uuidOrNull{of.Parent}, Generation: &of.Generation, Inventories: map[string]Inventory{},
		Usages: map[string]int64{}, Traits: append(namesChanged{}, of.Traits...), Aggregates: append(uuids{}, of.Aggregates...),
	}
	maps.Copy(part.Usages, of.Usages)
	for class, record := range of.Inventories {
		part.Inventories[class] = inventoryOf(record)
	}
	return part
}

// providerPart returns the members of a provider that differ from another state of it.
func providerPart(of, other store.ProviderState) *ProviderPart {
	part := &ProviderPart{Generation: differing(of.Generation, other.Generation), Name: differing(of.Name, other.Name)}
	if !isSame(of.Parent, other.Parent) {
		part.Parent = &uuidOrNull{of.Parent}
	}
	for class, record := range differences(of.Inventories, other.Inventories) {
		if part.Inventories == nil {
			part.Inventories = map[string]Inventory{}
		}
		part.Inventories[class] = inventoryOf(record)
	}
	part.Usages = differences(of.Usages, other.Usages)
	part.Traits = without(of.Traits, other.Traits)
	for _, aggregate := range of.Aggregates {
		if !slices.Contains(other.Aggregates, aggregate) {
			part.Aggregates = append(part.Aggregates, aggregate)
		}
	}
	return part
}

func (p *ProviderPart) isEmpty() bool {
	return p.Name == nil && p.Parent == nil && p.Generation == nil && p.Inventories == nil && p.Usages == nil &&
		p.Traits == nil && p.Aggregates == nil
}

// wholeConsumer returns all members of a consumer.
func wholeConsumer(of store.ConsumerState) *ConsumerPart {
	part := &ConsumerPart{
		Generation: &of.Generation, ProjectID: &of.ProjectID, UserID: &of.UserID, Type: new(string),
		Allocations: map[string]AllocationsPart{},
	}
	*part.Type = typeName(of.Type)
	for provider, amounts := range of.Allocations {
		part.Allocations[provider.String()] = AllocationsPart{Resources: amounts}
	}
	return part
}

// consumerPart returns the members of a consumer that differ from another state of it.
func consumerPart(of, other store.ConsumerState) *ConsumerPart {
	part := &ConsumerPart{
		Generation: differing(of.Generation, other.Generation), ProjectID: differing(of.ProjectID, other.ProjectID),
		UserID: differing(of.UserID, other.UserID), Type: differing(typeName(of.Type), typeName(other.Type)),
	}
	for provider, amounts := range of.Allocations {
		if changed := differences(amounts, other.Allocations[provider]); changed != nil {
			if part.Allocations == nil {
				part.Allocations = map[string]AllocationsPart{}
			}
			part.Allocations[provider.String()] = AllocationsPart{Resources: changed}
		}
	}
	return part
}

func (p *ConsumerPart) isEmpty() bool {
	return p.Generation == nil && p.ProjectID == nil && p.UserID == nil && p.Type == nil && p.Allocations == nil
}

// typeName returns the consumer type as responses have it.
func typeName(of *string) string {
	if of == nil {
		return "unknown"
	}
	return *of
}

// differing returns a value if it differs from another, else nil.
func differing[T comparable](value, other T) *T {
	if value == other {
		return nil
	}
	return &value
}

func isSame(id, other *uuid.UUID) bool {
	return id == other || id != nil && other != nil && *id == *other
}

// differences returns the members of a map that another does not have, or has with another value; nil for none.
func differences[V comparable](members, other map[string]V) map[string]V {
	var found map[string]V
	for key, value := range members {
		if known, ok := other[key]; ok && known == value {
			continue
		}
		if found == nil {
			found = map[string]V{}
		}
		found[key] = value
	}
	return found
}

// inventoryOf returns an inventory as responses have it.
func inventoryOf(record store.InventoryState) Inventory {
	return Inventory{
		Total: record.Total, Reserved: record.Reserved, MinUnit: record.MinUnit, MaxUnit: record.MaxUnit,
		StepSize: record.StepSize, AllocationRatio: ratio(record.AllocationRatio),
	}
}
