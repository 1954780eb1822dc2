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
// them.
//
// The pattern is published as propertyNames, which generators of clients take
// for a map of values. They take patternProperties, which says the same, for an
// object of anything. huma's Schema knows neither, so the keyword is an
// extension to it; huma itself would not check it.
func MapSchema(value *huma.Schema, keyPattern string, minProperties int) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeObject, AdditionalProperties: value}
	if keyPattern != "" {
		s.Extensions = map[string]any{
			"propertyNames": map[string]any{"pattern": keyPattern},
		}
	}
	if minProperties > 0 {
		s.MinProperties = &minProperties
	}
	return s
}

// patternsFromNames rewrites, in place, every schema in a document that MapSchema
// made: propertyNames become patternProperties with nothing else allowed. What is
// valid stays the same; what is wrong with a key is then told by
// additionalProperties, in the phrase that clients know, "does not match any of
// the regexes".
func patternsFromNames(document any) {
	switch node := document.(type) {
	case map[string]any:
		if pattern, ok := namePattern(node); ok {
			node["patternProperties"] = map[string]any{pattern: node["additionalProperties"]}
			node["additionalProperties"] = false
			delete(node, "propertyNames")
		}
		for _, child := range node {
			patternsFromNames(child)
		}
	case []any:
		for _, child := range node {
			patternsFromNames(child)
		}
	}
}

// namePattern recognises a schema that MapSchema made.
func namePattern(node map[string]any) (pattern string, ok bool) {
	names, _ := node["propertyNames"].(map[string]any)
	pattern, ok = names["pattern"].(string)
	_, hasValues := node["additionalProperties"].(map[string]any)
	return pattern, ok && hasValues && len(names) == 1 && node["patternProperties"] == nil
}
