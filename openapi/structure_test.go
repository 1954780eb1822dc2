package openapi_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/openapi"
)

const small = `{
	"openapi": "3.1.0",
	"info": {"title": "Placement API", "version": "1.0", "description": "Old."},
	"tags": [{"name": "Traits", "description": "Old."}],
	"paths": {"/traits": {"get": {
		"operationId": "trait-list", "summary": "Old.",
		"parameters": [
			{"in": "query", "name": "name", "schema": {"type": "string"}, "example": "a"},
			{"$ref": "#/components/parameters/Version"}
		],
		"responses": {"200": {"description": "OK", "headers": {"Vary": {"schema": {"type": "string"}}},
			"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Traits"}, "example": {"traits": []}}}}}
	}}},
	"components": {"schemas": {"Traits": {
		"type": ["object", "null"], "required": ["traits", "description"], "description": "Old.",
		"properties": {
			"traits": {"type": "array", "items": {"type": "string", "maxLength": 255}, "description": "Old."},
			"description": {"type": "string", "examples": ["old"]}
		}
	}}}
}`

func TestMicroversion_ProseChanged_KeepsStructure(t *testing.T) {
	t.Parallel()
	for name, change := range map[string][2]string{
		"descriptions":                  {`"Old."`, `"New."`},
		"the example of a parameter":    {`"example": "a"`, `"example": "b"`},
		"the example of a response":     {`"example": {"traits": []}`, `"examples": {"one": {"value": {}}}`},
		"the examples of a property":    {`"examples": ["old"]`, `"examples": ["new", "newer"]`},
		"the order of required members": {`["traits", "description"]`, `["description", "traits"]`},
		"samples of code":               {`"summary": "Old."`, `"x-codeSamples": [{"lang": "Go", "source": "package main"}]`},
		"repeated required members":     {`["traits", "description"]`, `["traits", "description", "traits"]`},
		"the order of types":            {`["object", "null"]`, `["null", "object"]`},
		"the order of parameters": {
			`{"in": "query", "name": "name", "schema": {"type": "string"}, "example": "a"},
			{"$ref": "#/components/parameters/Version"}`,
			`{"$ref": "#/components/parameters/Version"},
			{"in": "query", "name": "name", "schema": {"type": "string"}, "example": "a"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if changes := changesOf(t, change); len(changes) > 0 {
				t.Errorf("refused: %q", changes)
			}
		})
	}
}

func TestMicroversion_StructureChanged_IsReported(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change [2]string
		want   []string
	}{
		"a bound of a schema": {[2]string{`255`, `256`}, []string{
			`- schema Traits.traits required {items: {maxLength: 255, type: "string"}, type: "array"}`,
			`+ schema Traits.traits required {items: {maxLength: 256, type: "string"}, type: "array"}`}},
		"a property that is called description": {[2]string{
			`"description": {"type": "string"`, `"description": {"type": "integer"`,
		}, []string{
			`- schema Traits.description required {type: "string"}`,
			`+ schema Traits.description required {type: "integer"}`}},
		"a required member": {[2]string{`["traits", "description"]`, `["traits"]`}, []string{
			`- schema Traits.description required {type: "string"}`,
			`+ schema Traits.description {type: "string"}`}},
		"a required member that is not a property": {[2]string{
			`["traits", "description"]`, `["traits", "description", "other"]`,
		}, []string{
			`- schema Traits {type: ["null", "object"]}`,
			`+ schema Traits {required: ["other"], type: ["null", "object"]}`}},
		"a status": {[2]string{`"responses": {"200"`, `"responses": {"204"`}, []string{
			`- GET /traits 200`,
			`- GET /traits 200 body application/json {schema: <schemas/Traits>}`,
			`- GET /traits 200 header Vary {schema: {type: "string"}}`,
			`+ GET /traits 204`,
			`+ GET /traits 204 body application/json {schema: <schemas/Traits>}`,
			`+ GET /traits 204 header Vary {schema: {type: "string"}}`}},
		"a header": {[2]string{`{"Vary": {"schema": {"type": "string"}}}`, `{}`}, []string{
			`- GET /traits 200`,
			`+ GET /traits 200 {headers: {}}`,
			`- GET /traits 200 header Vary {schema: {type: "string"}}`}},
		"a method": {[2]string{`{"get": {`, `{"put": {}, "get": {`}, []string{`+ PUT /traits`}},
		"a path": {[2]string{
			`"/traits": {"get": {`, `"/trait": {"get": {}}, "/traits": {"get": {`,
		}, []string{`+ GET /trait`}},
		"the name of a parameter": {[2]string{`"name": "name"`, `"name": "names"`}, []string{
			`- GET /traits query name {schema: {type: "string"}}`,
			`+ GET /traits query names {schema: {type: "string"}}`}},
		"the place of a parameter": {[2]string{`"in": "query"`, `"in": "header"`}, []string{
			`+ GET /traits header name {schema: {type: "string"}}`,
			`- GET /traits query name {schema: {type: "string"}}`}},
		"the name of an operation": {[2]string{`"trait-list"`, `"traits-list"`}, []string{
			`- GET /traits {operationId: "trait-list"}`,
			`+ GET /traits {operationId: "traits-list"}`}},
		"a type": {[2]string{`["object", "null"]`, `"object"`}, []string{
			`- schema Traits {type: ["null", "object"]}`,
			`+ schema Traits {type: "object"}`}},
		"the version": {[2]string{`"version": "1.0"`, `"version": "1.1"`}, []string{`- version "1.0"`, `+ version "1.1"`}},
		"the version of OpenAPI": {[2]string{`"openapi": "3.1.0"`, `"openapi": "3.1.1"`}, []string{
			`- document {openapi: "3.1.0"}`, `+ document {openapi: "3.1.1"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if changes := changesOf(t, test.change); !slices.Equal(changes, test.want) {
				t.Errorf("got %q, want %q", changes, test.want)
			}
		})
	}
}

func changesOf(t *testing.T, change [2]string) []string {
	t.Helper()
	now := strings.ReplaceAll(small, change[0], change[1])
	if now == small {
		t.Fatalf("%s is not in the document", change[0])
	}
	before, after := structureOf(t, small), structureOf(t, now)
	changes := openapi.Changes(before, after)
	if same := before.Hash() == after.Hash(); same != (len(changes) == 0) {
		t.Errorf("equal hashes = %v, changes = %q", same, changes)
	}
	return changes
}

func structureOf(t *testing.T, document string) openapi.Structure {
	t.Helper()
	structure, err := openapi.Read([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	return structure
}
