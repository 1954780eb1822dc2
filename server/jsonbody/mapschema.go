package jsonbody

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// Schema implements huma.SchemaProvider: an object with values of V and any
// keys. A wire type that restricts its keys embeds Ordered and brings a Schema
// method of its own, made with MapSchema.
func (o Ordered[V]) Schema(r huma.Registry) *huma.Schema {
	value := reflect.TypeFor[V]()
	return MapSchema(r.Schema(value, true, value.Name()+"Value"), "", 0)
}

// MapSchema is the schema of an object whose keys are data. All keys must match
// keyPattern, any will do if it is empty, and there must be minProperties of
// them. A key that does not match is refused by additionalProperties, which
// gives the phrase that clients know, "does not match any of the regexes".
//
// The pattern is published as patternProperties, which huma's Schema knows only
// as an extension: huma itself would not check it.
func MapSchema(value *huma.Schema, keyPattern string, minProperties int) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeObject, AdditionalProperties: value}
	if keyPattern != "" {
		s.AdditionalProperties = false
		s.Extensions = map[string]any{
			"patternProperties": map[string]*huma.Schema{keyPattern: value},
		}
	}
	if minProperties > 0 {
		s.MinProperties = &minProperties
	}
	return s
}
