package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// prose are the keywords that may change. They are keywords only where OpenAPI and JSON
// Schema have them, and not among names: a property may be called "description".
var prose = map[string]bool{
	"description": true, "summary": true, "example": true, "examples": true, "externalDocs": true, "$comment": true,
	"x-codeSamples": true,
}

// named are the keywords whose members have names of the API.
var named = map[string]bool{
	"properties": true, "patternProperties": true, "dependentSchemas": true, "$defs": true,
	"paths": true, "responses": true, "headers": true, "content": true, "mapping": true,
	"schemas": true, "parameters": true, "requestBodies": true, "securitySchemes": true, "callbacks": true, "links": true,
	"pathItems": true, "webhooks": true, "scopes": true, "variables": true, "encoding": true,
}

// unordered are the keywords whose lists are sets: they have no order, and repeated items have no meaning.
var unordered = map[string]bool{"required": true, "enum": true, "type": true, "tags": true, "x-error-codes": true}

// verbatim are the keywords whose values are data.
var verbatim = map[string]bool{"const": true, "default": true, "enum": true}

// withoutProse returns the value of a keyword without prose, in a fixed order. A list of parameters becomes an object,
// because names identify parameters.
func withoutProse(keyword string, value any) any {
	switch value := value.(type) {
	case map[string]any:
		if verbatim[keyword] {
			return value
		}
		kept := make(map[string]any, len(value))
		for name, child := range value {
			switch {
			case named[keyword]:
				// The members below a name are keywords, whatever the name is.
				kept[name] = withoutProse("", child)
			case !prose[name]:
				kept[name] = withoutProse(name, child)
			}
		}
		return kept
	case []any:
		if keyword == "parameters" {
			return withoutProse(keyword, byName(value))
		}
		kept := slices.Clone(value)
		if !verbatim[keyword] {
			for i := range kept {
				kept[i] = withoutProse("", kept[i])
			}
		}
		return inOrder(keyword, kept)
	}
	return value
}

// inOrder sorts a list without order and removes repeated items. A list with a single item becomes that item.
func inOrder(keyword string, list []any) any {
	if !unordered[keyword] {
		return list
	}
	slices.SortFunc(list, func(a, b any) int { return bytes.Compare(encode(a), encode(b)) })
	list = slices.CompactFunc(list, func(a, b any) bool { return bytes.Equal(encode(a), encode(b)) })
	if len(list) == 1 {
		return list[0]
	}
	return list
}

// byName converts a list of parameters to an object.
func byName(parameters []any) map[string]any {
	found := make(map[string]any, len(parameters))
	for _, parameter := range parameters {
		fields, _ := parameter.(map[string]any)
		name := fmt.Sprintf("%v %v", fields["in"], fields["name"])
		if reference, ok := fields["$ref"].(string); ok {
			name = reference
		}
		found[name] = parameter
	}
	return found
}

// encode returns a value as JSON, which orders the members of objects.
func encode(value any) []byte {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // the value was decoded from JSON
	}
	return bytes.TrimSuffix(encoded.Bytes(), []byte("\n"))
}
