package route

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// Downgrade returns an OpenAPI 3.1 document of this package as OpenAPI 3.0, for client generators that do not read 3.1.
// Null becomes nullable and a constant an enumeration of one value. The rules of names of members, which 3.0 cannot
// express, are missing. It returns an error for a keyword of 3.1 that it does not know.
func Downgrade(document []byte) ([]byte, error) {
	var root map[string]any
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber() // keeps the last digits of bounds
	if err := decoder.Decode(&root); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	root["openapi"] = "3.0.3"
	if info, ok := root["info"].(map[string]any); ok {
		if license, ok := info["license"].(map[string]any); ok {
			delete(license, "identifier")
		}
	}
	if components, ok := root["components"].(map[string]any); ok {
		if err := downgradeEach(components["schemas"]); err != nil {
			return nil, err
		}
	}
	if err := downgradeSchemas(root); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	err := encoder.Encode(root)
	return text.Bytes(), err
}

// downgradeSchemas converts the schemas of parameters, headers and bodies below a node. Examples are data.
func downgradeSchemas(node any) error {
	switch node := node.(type) {
	case map[string]any:
		for name, child := range node {
			var err error
			switch name {
			case "example", "examples", "schemas":
				continue
			case "schema":
				err = downgradeSchema(child)
			default:
				err = downgradeSchemas(child)
			}
			if err != nil {
				return err
			}
		}
	case []any:
		for _, child := range node {
			if err := downgradeSchemas(child); err != nil {
				return err
			}
		}
	}
	return nil
}

// keptKeywords are the keywords of schemas without schemas in their values that 3.0 and 3.1 share.
var keptKeywords = []string{
	"$ref", "title", "description", "default", "format", "enum", "required", "nullable", "example", "readOnly", "writeOnly", "deprecated",
	"multipleOf", "minimum", "maximum", "minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties",
}

// downgradeSchema converts a schema and those in it.
func downgradeSchema(node any) error {
	schema, ok := node.(map[string]any)
	if !ok {
		return nil // true or false
	}
	for keyword, value := range schema {
		var err error
		switch keyword {
		case "type":
			downgradeType(schema, value)
		case "const":
			delete(schema, keyword)
			schema["enum"] = []any{value}
		case "examples":
			delete(schema, keyword)
			if list, ok := value.([]any); ok && len(list) > 0 {
				schema["example"] = list[0]
			}
		case "propertyNames", "patternProperties":
			delete(schema, keyword)
		case "items", "not", "additionalProperties":
			err = downgradeSchema(value)
		case "properties", "oneOf", "anyOf", "allOf":
			err = downgradeEach(value)
		default:
			if !slices.Contains(keptKeywords, keyword) {
				err = fmt.Errorf("the keyword %s has no form in OpenAPI 3.0", keyword)
			}
		}
		if err != nil {
			return err
		}
	}
	downgradeReference(schema)
	downgradeNull(schema)
	return nil
}

// downgradeNull replaces the alternative null of a schema. A single other alternative becomes allOf.
func downgradeNull(schema map[string]any) {
	for _, keyword := range []string{"oneOf", "anyOf"} {
		alternatives, _ := schema[keyword].([]any)
		others := slices.DeleteFunc(slices.Clone(alternatives), func(item any) bool {
			alternative, _ := item.(map[string]any)
			return alternative["type"] == "null"
		})
		if len(others) == len(alternatives) {
			continue
		}
		schema["nullable"] = true
		if len(others) == 1 {
			delete(schema, keyword)
			keyword = "allOf"
		}
		schema[keyword] = others
	}
}

// downgradeType replaces a list of a type and null.
func downgradeType(schema map[string]any, value any) {
	types, ok := value.([]any)
	if !ok {
		return
	}
	for _, item := range types {
		if item == "null" {
			schema["nullable"] = true
		} else {
			schema["type"] = item
		}
	}
}

// downgradeReference moves a reference with other keywords, which 3.0 ignores, into allOf.
func downgradeReference(schema map[string]any) {
	reference, ok := schema["$ref"]
	if !ok || len(schema) == 1 {
		return
	}
	delete(schema, "$ref")
	schema["allOf"] = []any{map[string]any{"$ref": reference}}
}

// downgradeEach converts the schemas of an object or a list.
func downgradeEach(node any) error {
	switch node := node.(type) {
	case map[string]any:
		for name, schema := range node {
			if err := downgradeSchema(schema); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	case []any:
		for _, schema := range node {
			if err := downgradeSchema(schema); err != nil {
				return err
			}
		}
	}
	return nil
}
