package jsonbody_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/berthd/berth/server/wire/jsonbody"
)

// schemas has the structure of the documents that the server publishes: bodies refer to shared parts of the same
// document.
const schemas = `{
	"openapi": "3.1.0", "info": {"title": "x", "version": "1"}, "paths": {},
	"components": {"schemas": {
		"Record": {"type": "object", "additionalProperties": false, "required": ["total"], "properties": {
			"total": {"type": "integer", "format": "int64", "minimum": 1, "maximum": 2147483647},
			"allocation_ratio": {"type": "number", "maximum": 3.40282e+38}}},
		"PutInventories": {"type": "object", "additionalProperties": false,
			"required": ["resource_provider_generation", "inventories"], "properties": {
			"resource_provider_generation": {"type": "integer"},
			"inventories": {"type": "object", "additionalProperties": false,
				"patternProperties": {"^[A-Z0-9_]+$": {"$ref": "#/components/schemas/Record"}}}}},
		"Text": {"type": "object", "additionalProperties": false, "properties": {
			"name": {"type": "string", "minLength": 1, "maxLength": 5},
			"class": {"type": "string", "pattern": "^CUSTOM_[A-Z0-9_]+$", "maxLength": 255},
			"policy": {"type": "string", "enum": ["none", "isolate"]},
			"uuid": {"type": "string", "format": "uuid"},
			"parent": {"type": ["string", "null"], "format": "uuid"},
			"generation": {"type": ["integer", "null"]},
			"choice": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
			"nullable": {"oneOf": [{"$ref": "#/components/schemas/Record"}, {"type": "null"}]},
			"a/b~c": {"type": "boolean"},
			"never": false,
			"fixed": {"const": 1},
			"few": {"type": "object", "maxProperties": 1},
			"even": {"multipleOf": 2}}},
		"Aggregates": {"type": "array", "uniqueItems": true, "items": {"type": "string", "format": "uuid"}},
		"Mappings": {"type": "object", "minProperties": 1,
			"patternProperties": {"^[a-z]+$": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string", "format": "uuid"}}},
			"additionalProperties": true},
		"Amounts": {"type": "object", "minProperties": 1, "additionalProperties": false,
			"patternProperties": {"^b$": {"type": "integer", "minimum": 1}, "^a$": {"type": "integer"}}},
		"Combined": {"allOf": [{"$ref": "#/components/schemas/Aggregates"}, {"minItems": 1}]},
		"Pair": {"prefixItems": [{"type": "string"}, {"$ref": "#/components/schemas/Record"}]},
		"Change": {"oneOf": [
			{"type": "object", "additionalProperties": false, "required": ["like", "count"], "properties": {
				"like": {"type": "string"}, "count": {"type": "integer", "minimum": 1}}},
			{"type": "object", "additionalProperties": false, "required": ["class"], "properties": {
				"class": {"type": "string"}, "ratio": {"type": "number", "maximum": 3.40282e+38}, "reserved": {"type": "integer"},
				"tree": {"type": "string"}, "aggregate": {"type": "string"}},
				"anyOf": [{"required": ["ratio"]}, {"required": ["reserved"]}], "not": {"required": ["tree", "aggregate"]}}]},
		"Empty": {}
	}}
}`

const (
	uuidA = "4e8e5957-649f-477b-9e5b-f1f75b21c03c"
	uuidB = "be8b9cba-e7db-4a12-a386-99b4242167fe"
)

func compile(t *testing.T, name string) *jsonbody.Validator {
	t.Helper()
	v, err := jsonbody.Compile([]byte(schemas), "#/components/schemas/"+name)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func validate(t *testing.T, name, body string) error {
	t.Helper()
	value, err := jsonbody.Decode([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return compile(t, name).Validate(value)
}

func TestJSON_SchemaViolation_WordedPerKeyword(t *testing.T) {
	t.Parallel()

	for _, test := range []struct{ name, schema, body, keyword, want string }{
		{"required", "Record", `{}`, "required", `'total' is a required property`},
		{"required reports the first key of the schema's list", "PutInventories", `{}`, "required", `'resource_provider_generation' is a required property`},
		{"an unknown key", "Record", `{"total": 1, "foo": 2}`, "additionalProperties", `Additional properties are not allowed ('foo' was unexpected)`},
		{"unknown keys", "Record", `{"total": 1, "b": 2, "a": 3}`, "additionalProperties", `Additional properties are not allowed ('a', 'b' were unexpected)`},
		{"a key that matches no pattern", "Amounts", `{"foo": 1}`, "additionalProperties", `'foo' does not match any of the regexes: '^a$', '^b$'`},
		{"keys that match no pattern", "Amounts", `{"y": 1, "x": 1}`, "additionalProperties", `'x', 'y' do not match any of the regexes: '^a$', '^b$'`},
		{"a key with a newline after a match", "Amounts", `{"a\n": 1}`, "additionalProperties", `'a\n' does not match any of the regexes: '^a$', '^b$'`},
		{"a string for an integer", "Record", `{"total": "x"}`, "type", `'x' is not of type 'integer'`},
		{"a boolean for an integer", "Record", `{"total": true}`, "type", `True is not of type 'integer'`},
		{"a fraction for an integer", "Record", `{"total": 1.5}`, "type", `1.5 is not of type 'integer'`},
		{"a string for an array", "Mappings", `{"alpha": "beta"}`, "type", `'beta' is not of type 'array'`},
		{"a list for an object", "Record", `[1, null, {"b": false, "a": [1.0, 1e17]}]`, "type", `[1, None, {'a': [1, 100000000000000000], 'b': False}] is not of type 'object'`},
		{"a union of types in the schema's order", "Text", `{"generation": "x"}`, "type", `'x' is not of type 'integer', 'null'`},
		{"a choice between types", "Text", `{"choice": "x"}`, "anyOf", `'x' is not of type 'integer', 'null'`},
		{"a choice between a reference and null", "Text", `{"nullable": "x"}`, "oneOf", `'x' is not of type 'object', 'null'`},
		{"a violation inside the matching branch", "Text", `{"nullable": {}}`, "required", `'total' is a required property`},
		{"a value of the second of two objects", "Change", `{"class": "VCPU", "ratio": 1e39}`, "maximum", `1e+39 is greater than the maximum of 3.40282e+38`},
		{"a value of the first of two objects", "Change", `{"like": "x", "count": 0}`, "minimum", `0 is less than the minimum of 1`},
		{"a missing member of the first of two objects", "Change", `{"like": "x"}`, "required", `'count' is a required property`},
		{"a missing member of the second of two objects", "Change", `{"class": "VCPU"}`, "required", `'ratio' is a required property`},
		{"a member of the second of two objects in the first", "Change", `{"like": "x", "count": 1, "reserved": 1}`, "additionalProperties",
			`Additional properties are not allowed ('reserved' was unexpected)`},
		{"members that exclude each other", "Change", `{"class": "VCPU", "ratio": 1, "tree": "a", "aggregate": "b"}`, "not",
			`{'aggregate': 'b', 'class': 'VCPU', 'ratio': 1, 'tree': 'a'} should not be valid under {'required': ['tree', 'aggregate']}`},
		{"another type than two objects", "Change", `1`, "oneOf", `1 is not of type 'object', 'object'`},
		{"pattern", "Text", `{"class": "x"}`, "pattern", `'x' does not match '^CUSTOM_[A-Z0-9_]+$'`},
		{"pattern with a newline at the end", "Text", `{"class": "CUSTOM_A\n"}`, "pattern", `'CUSTOM_A\n' does not match '^CUSTOM_[A-Z0-9_]+$'`},
		{"enum", "Text", `{"policy": "bogus"}`, "enum", `'bogus' is not one of ['none', 'isolate']`},
		{"minimum", "Record", `{"total": 0}`, "minimum", `0 is less than the minimum of 1`},
		{"maximum", "Record", `{"total": 2147483648}`, "maximum", `2147483648 is greater than the maximum of 2147483647`},
		{"maximum beyond int64", "Record", `{"total": 1e400}`, "maximum", `1.7976931348623157e+308 is greater than the maximum of 2147483647`},
		{"maximum of a float", "Record", `{"total": 1, "allocation_ratio": 1e39}`, "maximum", `1e+39 is greater than the maximum of 3.40282e+38`},
		{"minLength", "Text", `{"name": ""}`, "minLength", `'' is too short`},
		{"maxLength", "Text", `{"name": "123456"}`, "maxLength", `'123456' is too long`},
		{"minItems", "Mappings", `{"alpha": []}`, "minItems", `[] is too short`},
		{"maxItems", "Mappings", `{"alpha": ["` + uuidA + `", "` + uuidA + `", "` + uuidA + `"]}`, "maxItems", `['` + uuidA + `', '` + uuidA + `', '` + uuidA + `'] is too long`},
		{"minProperties", "Mappings", `{}`, "minProperties", `{} does not have enough properties`},
		{"maxProperties", "Text", `{"few": {"a": 1, "b": 2}}`, "maxProperties", `{'a': 1, 'b': 2} has too many properties`},
		{"uniqueItems", "Aggregates", `["` + uuidA + `", "` + uuidA + `"]`, "uniqueItems", `['` + uuidA + `', '` + uuidA + `'] has non-unique elements`},
		{"format", "Text", `{"uuid": "x"}`, "format", `'x' is not a 'uuid'`},
		{"format beside null", "Text", `{"parent": ""}`, "format", `'' is not a 'uuid'`},
		{"const", "Text", `{"fixed": 2}`, "const", `1 was expected`},
		{"a schema that is false", "Text", `{"never": 2}`, "schema", `2: false schema`},
		{"a keyword without its own phrase", "Text", `{"even": 3}`, "multipleOf", `3: multipleOf: got 3, want 2`},
		{"all of several schemas", "Combined", `[]`, "minItems", `[] is too short`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var failure *jsonbody.Error
			if err := validate(t, test.schema, test.body); !errors.As(err, &failure) {
				t.Fatalf("got %v; want an *Error", err)
			}
			if failure.Keyword != test.keyword || failure.Message != test.want {
				t.Errorf("got %s: %s; want %s: %s", failure.Keyword, failure.Message, test.keyword, test.want)
			}
		})
	}
}

func TestJSON_SchemaViolation_ShowsSchemaAndInstance(t *testing.T) {
	t.Parallel()

	for _, test := range []struct{ name, schema, body, want string }{
		{
			"at the root", "Amounts", `{}`,
			`{} does not have enough properties Failed validating 'minProperties' in schema:  ` +
				`{"additionalProperties":false,"minProperties":1,"patternProperties":{"^a$":{"type":"integer"},"^b$":{"minimum":1,"type":"integer"}},"type":"object"}` +
				`  On instance:  {}`,
		},
		{
			"in a property", "Text", `{"name": ""}`,
			`'' is too short Failed validating 'minLength' in schema['properties']['name']:  {"maxLength":5,"minLength":1,"type":"string"}  On instance['name']:  ''`,
		},
		{
			"below a pattern and a reference", "PutInventories", `{"resource_provider_generation": 1, "inventories": {"VCPU": {"total": 0}}}`,
			`0 is less than the minimum of 1 Failed validating 'minimum' in schema['properties']['inventories']['patternProperties']['^[A-Z0-9_]+$']['properties']['total']:` +
				`  {"format":"int64","maximum":2147483647,"minimum":1,"type":"integer"}  On instance['inventories']['VCPU']['total']:  0`,
		},
		{
			"in an array", "Aggregates", `["` + uuidA + `", "x"]`,
			`'x' is not a 'uuid' Failed validating 'format' in schema['items']:  {"format":"uuid","type":"string"}  On instance[1]:  'x'`,
		},
		{
			"in a list of schemas", "Pair", `["x", {}]`,
			`'total' is a required property Failed validating 'required' in schema['prefixItems'][1]:  ` +
				`{"additionalProperties":false,"properties":{"allocation_ratio":{"maximum":3.40282e+38,"type":"number"},` +
				`"total":{"format":"int64","maximum":2147483647,"minimum":1,"type":"integer"}},"required":["total"],"type":"object"}  On instance[1]:  {}`,
		},
		{
			"under a key that a pointer escapes", "Text", `{"a/b~c": 1}`,
			`1 is not of type 'boolean' Failed validating 'type' in schema['properties']['a/b~c']:  {"type":"boolean"}  On instance['a/b~c']:  1`,
		},
		{
			"in the branch of a choice", "Text", `{"nullable": {"total": "x"}}`,
			`'x' is not of type 'integer' Failed validating 'type' in schema['properties']['nullable']['oneOf'][0]['properties']['total']:` +
				`  {"format":"int64","maximum":2147483647,"minimum":1,"type":"integer"}  On instance['nullable']['total']:  'x'`,
		},
		{
			"in a choice as a whole", "Text", `{"choice": []}`,
			`[] is not of type 'integer', 'null' Failed validating 'anyOf' in schema['properties']['choice']:  {"anyOf":[{"type":"integer"},{"type":"null"}]}  On instance['choice']:  []`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := validate(t, test.schema, test.body)
			if err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestJSON_SeveralViolations_ReportsShallowest(t *testing.T) {
	t.Parallel()

	for _, test := range []struct{ name, schema, body, want string }{
		{"a missing key before a bad value", "Record", `{"allocation_ratio": "x"}`, `'total' is a required property`},
		{"an unknown key before a bad value", "Text", `{"name": "", "x": 1}`, `Additional properties are not allowed ('x' was unexpected)`},
		{"a missing key before an unknown one", "Record", `{"x": 1}`, `'total' is a required property`},
		{"types before lengths", "Text", `{"class": 1, "name": ""}`, `1 is not of type 'string'`},
		{"enums before lengths", "Text", `{"policy": "x", "name": ""}`, `'x' is not one of ['none', 'isolate']`},
		{"lengths before patterns", "Text", `{"class": "x", "name": ""}`, `'' is too short`},
		{"patterns before formats", "Text", `{"uuid": "x", "class": "y"}`, `'y' does not match '^CUSTOM_[A-Z0-9_]+$'`},
		{"equal kinds by path", "Text", `{"uuid": "x", "parent": "y"}`, `'y' is not a 'uuid'`},
		{"a list before its items", "Aggregates", `["x", "x"]`, `['x', 'x'] has non-unique elements`},
		{"indexes within paths", "Mappings", `{"b": [2, 1], "a": ["` + uuidA + `", 0]}`, `0 is not of type 'string'`},
		{"one part of several", "Combined", `["x"]`, `'x' is not a 'uuid'`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var failure *jsonbody.Error
			// The iteration order of maps varies; the error must not.
			for range 20 {
				if err := validate(t, test.schema, test.body); !errors.As(err, &failure) {
					t.Fatalf("got %v; want an *Error", err)
				}
				if failure.Message != test.want {
					t.Fatalf("got %s; want %s", failure.Message, test.want)
				}
			}
		})
	}
}

func TestJSON_ViolationsInArray_OrderedByIndex(t *testing.T) {
	t.Parallel()

	items := make([]any, 11)
	for i := range items {
		items[i] = fmt.Sprintf("%08x-0000-0000-0000-000000000000", i)
	}
	items[2], items[10] = "second", "tenth"
	err := compile(t, "Aggregates").Validate(items)
	if err == nil || !strings.HasPrefix(err.Error(), "'second' is not a 'uuid'") {
		t.Errorf("got %v; want the error at position 2", err)
	}
}

func TestJSON_ValidBodies_Accepted(t *testing.T) {
	t.Parallel()

	for _, test := range []struct{ name, schema, body string }{
		{"an integral float", "Record", `{"total": 10.0}`},
		{"an integer for a number", "Record", `{"total": 1, "allocation_ratio": 0}`},
		{"an amount beyond int64 without maximum", "Amounts", `{"b": 1e30}`},
		{"the largest ratio", "Record", `{"total": 1, "allocation_ratio": 3.40282e+38}`},
		{"null in a union", "Text", `{"generation": null, "parent": null, "choice": null, "nullable": null}`},
		{"UUIDs in any notation", "Aggregates", `["` + uuidA + `", "` + strings.ToUpper(uuidA) + `", "{urn:uuid:` + strings.ReplaceAll(uuidB, "-", "") + `}"]`},
		{"lengths counted in code points", "Text", `{"name": "日本日本日"}`},
		{"keys outside of the patterns where they are free", "Mappings", `{"": 1}`},
		{"anything for an empty schema", "Empty", `{"x": [1]}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if err := validate(t, test.schema, test.body); err != nil {
				t.Errorf("got %v; want no error", err)
			}
		})
	}
}

func TestJSON_SchemaViolationText_Truncated(t *testing.T) {
	t.Parallel()

	long := strings.Repeat("é", 100000)
	err := validate(t, "Text", `{"name": "`+long+`"}`)
	cut := `'` + strings.Repeat("é", 499) + `...`
	want := cut + ` is too long Failed validating 'maxLength' in schema['properties']['name']:  {"maxLength":5,"minLength":1,"type":"string"}  On instance['name']:  ` + cut
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}

	var keys []string
	for i := range 10000 {
		keys = append(keys, fmt.Sprintf(`"%s%d": 1`, long[:100], i))
	}
	err = validate(t, "Record", `{"total": 1, `+strings.Join(keys, ",")+`}`)
	if err == nil || len([]rune(err.Error())) > 2500 {
		t.Errorf("error about 10000 unknown keys = %d code points", len([]rune(err.Error())))
	}
}

func TestJSON_CompiledDocument_ConcurrencySafe(t *testing.T) {
	t.Parallel()

	document, err := jsonbody.NewDocument([]byte(schemas), jsonbody.LenientUUID)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, name := range []string{"PutInventories", "Record", "Text"} {
				v, err := document.Compile("#/components/schemas/" + name)
				if err != nil {
					t.Error(err)
					return
				}
				if v.Validate(map[string]any{"foo": int64(1)}) == nil {
					t.Errorf("%s accepts an unknown key", name)
				}
			}
		})
	}
	wg.Wait()
}

func TestJSON_InvalidDocument_CompileReturnsError(t *testing.T) {
	t.Parallel()

	for _, test := range []struct{ name, doc, pointer string }{
		{"no JSON", `{`, "#"},
		{"a pointer to a missing schema", schemas, "#/components/schemas/Missing"},
		{"an invalid schema", `{"a": {"type": 1}}`, "#/a"},
		{"an invalid pattern", `{"a": {"pattern": "("}}`, "#/a"},
		{"a reference to a missing schema", `{"a": {"properties": {"x": {"$ref": "#/b"}}}}`, "#/a"},
		{"a reference to a file", `{"a": {"properties": {"x": {"$ref": "file:///etc/hostname"}}}}`, "#/a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if v, err := jsonbody.Compile([]byte(test.doc), test.pointer); err == nil {
				t.Errorf("got %v; want an error", v)
			}
		})
	}
}

// BenchmarkValidate decodes and validates an inventory of 10,000 classes.
func BenchmarkValidate(b *testing.B) {
	v, err := jsonbody.Compile([]byte(schemas), "#/components/schemas/PutInventories")
	if err != nil {
		b.Fatal(err)
	}
	raw := benchmarkInventories()
	for b.Loop() {
		value, err := jsonbody.Decode(raw)
		if err != nil {
			b.Fatal(err)
		}
		if err := v.Validate(value); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmarkInventories() []byte {
	var b strings.Builder
	b.WriteString(`{"resource_provider_generation": 1, "inventories": {"VCPU": {"total": 1}`)
	for i := range 10000 {
		fmt.Fprintf(&b, `, "CUSTOM_%d": {"total": %d, "allocation_ratio": 1.5}`, i, i+1)
	}
	b.WriteString(`}}`)
	return []byte(b.String())
}
