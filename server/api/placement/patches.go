package placement

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/jsonbody"
	"github.com/berthd/berth/server/wire/uuidlike"
)

// A merge patch (RFC 7396) replaces the members that it has, removes those that are null, and keeps the others. A set is
// an object whose members are the elements, because a merge patch cannot name an element of an array.

// orNull is a member of a merge patch that null removes. The zero value is null.
type orNull[T any] struct{ value *T }

// UnmarshalJSON implements json.Unmarshaler.
func (o *orNull[T]) UnmarshalJSON(raw []byte) error { return json.Unmarshal(raw, &o.value) }

// Schema implements huma.SchemaProvider.
func (orNull[T]) Schema(r huma.Registry) *huma.Schema {
	schema := *huma.SchemaFromType(r, reflect.TypeFor[T]())
	schema.Nullable = true
	return &schema
}

// receivedInt is an integer member of a merge patch that can be left out.
type receivedInt struct {
	isSent bool
	orNull[jsonbody.Int]
}

// UnmarshalJSON implements json.Unmarshaler. encoding/json calls it only for a member that was sent.
func (s *receivedInt) UnmarshalJSON(raw []byte) error {
	s.isSent = true
	return s.orNull.UnmarshalJSON(raw)
}

// receivedNumber is a number member of a merge patch that can be left out.
type receivedNumber struct {
	isSent bool
	orNull[float64]
}

// UnmarshalJSON implements json.Unmarshaler. encoding/json calls it only for a member that was sent.
func (s *receivedNumber) UnmarshalJSON(raw []byte) error {
	s.isSent = true
	return s.orNull.UnmarshalJSON(raw)
}

// element is a member of a patched set: true adds it, null removes it, and false is invalid.
type element struct{ isAdded, isInvalid bool }

// UnmarshalJSON implements json.Unmarshaler. The schema has validated the type of the value. It does not list the two
// values, because client generators do not support null in a list of booleans.
func (e *element) UnmarshalJSON(raw []byte) error {
	e.isAdded, e.isInvalid = string(raw) == "true", string(raw) == "false"
	return nil
}

// errFalse is the error of a false element.
func errFalse() error { return route.InvalidBody.Of("False is not one of [True, None]") }

// Schema implements huma.SchemaProvider.
func (element) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeBoolean, Nullable: true}
}

// elements is a patched set with any names.
type elements struct{ jsonbody.Ordered[element] }

// Schema implements huma.SchemaProvider.
func (elements) Schema(r huma.Registry) *huma.Schema {
	return jsonbody.MapSchema(element{}.Schema(r), "", 0)
}

// names returns the elements to add and to remove.
func (e elements) names() (added, removed []string, err error) {
	for _, entry := range e.Ordered {
		switch {
		case entry.Value.isInvalid:
			return nil, nil, errFalse()
		case entry.Value.isAdded:
			added = append(added, entry.Key)
		default:
			removed = append(removed, entry.Key)
		}
	}
	return added, removed, nil
}

// ignored is a member that responses have and that requests may repeat.
type ignored struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (*ignored) UnmarshalJSON([]byte) error { return nil }

// Schema implements huma.SchemaProvider.
func (ignored) Schema(huma.Registry) *huma.Schema { return &huma.Schema{} }

// ProviderTraitsPatch is the merge patch of a provider's traits.
type ProviderTraitsPatch struct {
	Traits     elements      `json:"traits" doc:"Traits by name: true adds the trait, null removes it."`
	Generation *jsonbody.Int `json:"resource_provider_generation,omitempty" nullable:"false" doc:"The provider generation that the client read. Default: not compared." example:"4"`
}

// uuidElements is a patched set of UUIDs in any notation.
type uuidElements struct{ elements }

// Schema implements huma.SchemaProvider.
func (uuidElements) Schema(r huma.Registry) *huma.Schema {
	return jsonbody.MapSchema(element{}.Schema(r), uuidKeyPattern, 0)
}

// AggregatesPatch is the merge patch of a provider's aggregates.
type AggregatesPatch struct {
	Aggregates uuidElements  `json:"aggregates" doc:"Aggregates by UUID: true adds the provider to the aggregate, null removes it. New UUIDs create aggregates."`
	Generation *jsonbody.Int `json:"resource_provider_generation,omitempty" nullable:"false" doc:"The provider generation that the client read. Default: not compared." example:"4"`
}

const setPatchDescription = "A JSON merge patch (RFC 7396); the set is an object whose members are the elements. " +
	"A patch that changes nothing does not increment the generation."

func (o *operations) providerTraitPatchOperation(path string, example route.Doc) *route.Operation {
	body := route.Body[providerPath]{Example: map[string]any{"traits": map[string]any{"HW_CPU_X86_AVX2": true, exampleTrait: nil}}}
	return &route.Operation{
		ID: "provider-trait-patch", Method: http.MethodPatch, Path: path, Tag: tagTraits, Rule: policy.ProviderTraitsUpdate,
		Summary: "Add and remove traits of a provider", Checks: patches, Description: setPatchDescription,
		Fails:    []route.Failure{providerNotFound, staleProviderNow, unknownTraits},
		Variants: []route.Variant{route.Write(berth13, body, o.providerTraitPatch, example)},
	}
}

func (o *operations) providerAggregatePatchOperation(path string, example route.Doc) *route.Operation {
	body := route.Body[providerPath]{LookFirst: o.exists, Example: map[string]any{"aggregates": map[string]any{exampleGroup: true}}}
	return &route.Operation{
		ID: "provider-aggregate-patch", Method: http.MethodPatch, Path: path, Tag: tagAggregates, Rule: policy.ProviderAggregatesUpdate,
		Summary: "Add a provider to aggregates and remove it from others", Checks: patches, Description: setPatchDescription,
		Fails:    []route.Failure{providerNotFound, staleProviderNow},
		Variants: []route.Variant{route.Write(berth13, body, o.providerAggregatePatch, example)},
	}
}

// setPatchFaults returns the errors of patches of traits and aggregates.
func setPatchFaults(in *providerPath) route.RuleFaults {
	return route.RuleFaults{
		store.ProviderNotFound:           providerNotFound.Fixed(in.UUID),
		store.ProviderGenerationConflict: providerConflict(in.UUID),
		store.TraitNotFound:              func(values store.Values) *fault.Error { return unknownTraits.Of(values.Traits) },
	}
}

func (o *operations) providerTraitPatch(
	ctx context.Context, in *providerPath, body *ProviderTraitsPatch,
) (*cached[ProviderTraits], error) {
	added, removed, err := body.Traits.names()
	if err != nil {
		return nil, err
	}
	sent := generationOf(body.Generation)
	generation, names, err := o.store.ProviderTraitPatch(ctx, in.id(), sent, added, removed)
	recordProvider(ctx, in.id(), sent, &generation, err)
	if err != nil {
		return nil, setPatchFaults(in).Translate(err)
	}
	return answer(ctx, ProviderTraits{Traits: Traits{Traits: names}, Generation: generation}, now()), nil
}

// ids returns the UUIDs to add and to remove. It returns an error for a key that is no UUID, or a UUID in two notations.
func (e uuidElements) ids() (added, removed []uuid.UUID, err error) {
	seen := map[uuid.UUID]bool{}
	for _, entry := range e.Ordered {
		id, ok := uuidlike.Parse(entry.Key)
		switch {
		case entry.Value.isInvalid:
			return nil, nil, errFalse()
		case !ok:
			return nil, nil, route.InvalidBody.Of("'" + entry.Key + "' is not a 'uuid'")
		case seen[id]:
			return nil, nil, route.InvalidBody.Of("aggregate " + entry.Key + " is named twice")
		case entry.Value.isAdded:
			added = append(added, id)
		default:
			removed = append(removed, id)
		}
		seen[id] = true
	}
	return added, removed, nil
}

func (o *operations) providerAggregatePatch(
	ctx context.Context, in *providerPath, body *AggregatesPatch,
) (*cached[AggregatesV19], error) {
	added, removed, err := body.Aggregates.ids()
	if err != nil {
		return nil, err
	}
	sent := generationOf(body.Generation)
	generation, aggregates, err := o.store.ProviderAggregatePatch(ctx, in.id(), sent, added, removed)
	recordProvider(ctx, in.id(), sent, &generation, err)
	if err != nil {
		return nil, setPatchFaults(in).Translate(err)
	}
	return answer(ctx, AggregatesV19{AggregatesV1: AggregatesV1{Aggregates: aggregates}, Generation: generation}, now()), nil
}
