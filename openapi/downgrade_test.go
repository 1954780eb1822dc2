package openapi_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/berthd/berth/server/api/route"
)

// TestOpenAPI_Downgraded_IsValid30 converts every document. The result is a valid document of OpenAPI 3.0 with the same
// operations, statuses and schemas.
func TestOpenAPI_Downgraded_IsValid30(t *testing.T) {
	t.Parallel()
	everyDocument(t, func(t *testing.T, document []byte) {
		converted, err := route.Downgrade(document)
		if err != nil {
			t.Fatal(err)
		}
		loaded, err := openapi3.NewLoader().LoadFromData(converted)
		if err != nil {
			t.Fatal(err)
		}
		if loaded.OpenAPI != "3.0.3" {
			t.Errorf("openapi = %s, want 3.0.3", loaded.OpenAPI)
		}
		if err := loaded.Validate(t.Context(), openapi3.EnableExamplesValidation()); err != nil {
			t.Error(err)
		}
		if before, after := outline(t, document), outline(t, converted); !maps.Equal(before, after) {
			t.Errorf("operations and schemas differ:\n%v\n%v", before, after)
		}
	})
}

// outline returns the names of the operations with their statuses, and of the schemas with their members.
func outline(t *testing.T, document []byte) map[string]bool {
	t.Helper()
	var read struct {
		Paths      map[string]map[string]struct{ Responses map[string]any }
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal(document, &read); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for path, operations := range read.Paths {
		for method, operation := range operations {
			for status := range operation.Responses {
				names[method+" "+path+" "+status] = true
			}
		}
	}
	for name, schema := range read.Components.Schemas {
		names[name] = true
		for member := range schema.Properties {
			names[name+"."+member] = true
		}
	}
	return names
}

func TestOpenAPI_Downgrade_ReplacesKeywords(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ before, after string }{
		"null":                 {`{"type": ["string", "null"], "maxLength": 255}`, `{"type": "string", "nullable": true, "maxLength": 255}`},
		"constant":             {`{"type": "string", "const": "placement 1.39"}`, `{"type": "string", "enum": ["placement 1.39"]}`},
		"examples":             {`{"type": "string", "examples": ["a", "b"]}`, `{"type": "string", "example": "a"}`},
		"reference":            {`{"$ref": "#/components/schemas/A", "description": "One."}`, `{"allOf": [{"$ref": "#/components/schemas/A"}], "description": "One."}`},
		"alternative null":     {`{"oneOf": [{"$ref": "#/components/schemas/A"}, {"type": "null"}]}`, `{"allOf": [{"$ref": "#/components/schemas/A"}], "nullable": true}`},
		"names of members":     {`{"type": "object", "propertyNames": {"pattern": "^A"}}`, `{"type": "object"}`},
		"members of keywords":  {`{"type": "object", "properties": {"const": {"type": "string"}, "type": {"const": 1}}}`, `{"type": "object", "properties": {"const": {"type": "string"}, "type": {"enum": [1]}}}`},
		"the default is data":  {`{"type": "object", "default": {"const": 1}}`, `{"type": "object", "default": {"const": 1}}`},
		"nested":               {`{"type": "array", "items": {"type": ["integer", "null"]}}`, `{"type": "array", "items": {"type": "integer", "nullable": true}}`},
		"any additional value": {`{"type": "object", "additionalProperties": true}`, `{"type": "object", "additionalProperties": true}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			document := `{"openapi": "3.1.0", "components": {"schemas": {"Tested": ` + test.before + `}}}`
			converted, err := route.Downgrade([]byte(document))
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Components struct{ Schemas map[string]any }
			}
			var want any
			if err := json.Unmarshal(converted, &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(test.after), &want); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got.Components.Schemas["Tested"], want) {
				t.Errorf("schema = %v, want %v", got.Components.Schemas["Tested"], want)
			}
		})
	}
}

func TestOpenAPI_DowngradeUnknownKeyword_Fails(t *testing.T) {
	t.Parallel()
	_, err := route.Downgrade([]byte(`{"components": {"schemas": {"A": {"type": "object", "dependentRequired": {}}}}}`))
	if err == nil || !strings.Contains(err.Error(), "A: the keyword dependentRequired has no form in OpenAPI 3.0") {
		t.Errorf("err = %v", err)
	}
}
