package placement

import (
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/wire/jsonbody"
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
