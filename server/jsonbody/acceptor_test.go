package jsonbody

import (
	"testing"
)

// described is a schema with all keywords that acceptors know.
const described = `{
	"components": {"schemas": {
		"Amounts": {"type": "object", "additionalProperties": false, "minProperties": 1,
			"patternProperties": {"^[A-Z]+$": {"type": "integer", "minimum": 1, "maximum": 5}}},
		"Body": {"type": "object", "additionalProperties": false, "required": ["amounts"], "properties": {
			"amounts": {"$ref": "#/components/schemas/Amounts"},
			"name": {"type": "string", "minLength": 1, "maxLength": 3, "pattern": "^[a-zä]+$"},
			"id": {"type": ["string", "null"], "format": "uuid"},
			"ratio": {"type": "number", "minimum": -1e40, "maximum": 3.40282e38},
			"flag": {"type": "boolean"},
			"anything": {},
			"list": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "integer"}},
			"more": {"type": "object", "patternProperties": {"a": {"type": "string"}}},
			"nested": {"$ref": "#/components/schemas/Body"}}},
		"Rare": {"type": "object", "properties": {"few": {"type": "array", "uniqueItems": true}}},
		"Half": {"type": "number", "minimum": 0.5}
	}}
}`

// bodies are good and bad ones, each with a keyword that decides.
var bodies = []string{
	`{"amounts": {"A": 1}}`,
	`{"amounts": {"A": 1, "B": 5}, "name": "ä", "id": null, "ratio": 1, "flag": true, "anything": [{}], "list": [1], "more": {"b": 1}}`,
	`{"amounts": {"A": 1}, "id": "4e8e5957-649f-477b-9e5b-f1f75b21c03c", "nested": {"amounts": {"Z": 2}, "nested": {"amounts": {"Y": 3}}}}`,
	`{"amounts": {"A": 1}, "name": "äää", "list": [1, 2], "more": {"a": "b"}}`,
	`{}`, `[]`, `null`, `1`, `"x"`, `{"amounts": {}}`, `{"amounts": null}`, `{"amounts": {"a": 1}}`, `{"amounts": {"A": 0}}`,
	`{"amounts": {"A": 6}}`, `{"amounts": {"A": 1.5}}`, `{"amounts": {"A": 2.0}}`, `{"amounts": {"A": "1"}}`, `{"amounts": {"A": 1e40}}`,
	`{"amounts": {"A": 1}, "name": ""}`, `{"amounts": {"A": 1}, "name": "aaaa"}`, `{"amounts": {"A": 1}, "name": "B"}`,
	`{"amounts": {"A": 1}, "id": "x"}`, `{"amounts": {"A": 1}, "id": 1}`, `{"amounts": {"A": 1}, "ratio": 3.5e38}`,
	`{"amounts": {"A": 1}, "ratio": 0.5}`, `{"amounts": {"A": 1}, "flag": 0}`, `{"amounts": {"A": 1}, "list": []}`,
	`{"amounts": {"A": 1}, "list": [1, 2, 3]}`, `{"amounts": {"A": 1}, "list": [null]}`, `{"amounts": {"A": 1}, "more": {"xax": 1}}`,
	`{"amounts": {"A": 1}, "nested": {}}`, `{"amounts": {"A": 1}, "other": 1}`,
}

func compileDescribed(t testing.TB, name string) *Validator {
	t.Helper()
	made, err := Compile([]byte(described), "#/components/schemas/"+name)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestOrdinaryBodiesAreAcceptedWithoutTheLibrary(t *testing.T) {
	t.Parallel()
	validator := compileDescribed(t, "Body")
	for _, text := range bodies[:4] {
		value, err := Decode([]byte(text))
		if err != nil || !validator.quick.accepts(value) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestUnusualSchemasAreLeftToTheLibrary(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Rare", "Half"} {
		if compileDescribed(t, name).quick != nil {
			t.Errorf("%s has an acceptor", name)
		}
	}
}

// FuzzAcceptor asks both: nothing is accepted that the library refuses.
func FuzzAcceptor(f *testing.F) {
	for _, text := range bodies {
		f.Add([]byte(text))
	}
	validator := compileDescribed(f, "Body")
	f.Fuzz(func(t *testing.T, raw []byte) {
		value, err := Decode(raw)
		if err != nil {
			return
		}
		if err := validator.schema.Validate(value); err != nil && validator.quick.accepts(value) {
			t.Errorf("%s is accepted, and wrong: %v", raw, err)
		}
	})
}
