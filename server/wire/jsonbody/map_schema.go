package jsonbody

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// Schema implements huma.SchemaProvider: an object with values of V and any keys. A wire type that restricts its keys
// embeds Ordered and defines its own Schema method with MapSchema.
func (o Ordered[V]) Schema(r huma.Registry) *huma.Schema {
	value := reflect.TypeFor[V]()
	return MapSchema(r.Schema(value, true, value.Name()+"Value"), "", 0)
}

// MapSchema returns the schema of an object whose keys are data. All keys must match keyPattern; an empty pattern
// allows all keys. The object must have at least minProperties keys.
//
// The schema publishes the pattern as propertyNames, from which client generators make a map of values. From the
// equivalent patternProperties they make an object of anything. huma.Schema has neither keyword, so propertyNames is an
// extension, which huma itself does not check.
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

// patternsFromNames rewrites, in place, every schema of MapSchema in a document: propertyNames become
// patternProperties, with additionalProperties forbidden. The set of valid values does not change. Errors in keys are
// then reported for additionalProperties, with the phrase that clients match, "does not match any of the regexes".
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

// namePattern recognizes a schema of MapSchema and returns its pattern.
func namePattern(node map[string]any) (pattern string, ok bool) {
	names, _ := node["propertyNames"].(map[string]any)
	pattern, ok = names["pattern"].(string)
	_, hasValues := node["additionalProperties"].(map[string]any)
	return pattern, ok && hasValues && len(names) == 1 && node["patternProperties"] == nil
}
