package jsonbody

import (
	"bytes"
	"testing"
)

// described is a schema with all keywords that the fast validator supports.
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
			"unique": {"type": "array", "uniqueItems": true, "items": {"type": "string", "maxLength": 2}},
			"others": {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "array", "items": {"type": "string"}}},
			"word": {"type": "string", "enum": ["add", "remove"]},
			"half": {"type": "number", "minimum": 0.5, "maximum": 0.75},
			"choice": {"oneOf": [{"type": ["boolean", "null"]}, {"type": "string"}]},
			"anything": {},
			"list": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "integer"}},
			"more": {"type": "object", "patternProperties": {"a": {"type": "string"}}},
			"nested": {"$ref": "#/components/schemas/Body"}}},
		"Rare": {"type": "object", "properties": {"few": {"type": "array", "contains": {"type": "string"}}}},
		"Never": {"type": "object", "properties": {"a": {"enum": [1]}}}
	}}
}`

// bodies are valid and invalid bodies. In each one, one keyword decides.
var bodies = []string{
	`{"amounts": {"A": 1}}`,
	`{"amounts": {"A": 1, "B": 5}, "name": "ä", "id": null, "ratio": 1, "flag": true, "anything": [{}], "list": [1], "more": {"b": 1}}`,
	`{"amounts": {"A": 1}, "id": "4e8e5957-649f-477b-9e5b-f1f75b21c03c", "nested": {"amounts": {"Z": 2}, "nested": {"amounts": {"Y": 3}}}}`,
	`{"amounts": {"A": 1}, "name": "äää", "list": [1, 2], "more": {"a": "b"}}`,
	`{"amounts": {"A": 1e30}}`, `{"amounts": {"A": 1}, "ratio": 1.5, "word": "add", "half": 0.5, "choice": null}`,
	`{"amounts": {"A": 1}, "unique": ["a", "b"], "others": {"a": 1, "b": ["x"]}}`, `{"amounts": {"A": 1}, "unique": ["a", "a"]}`,
	`{"amounts": {"A": 1}, "unique": ["a", "b", "ccc", "ddd", 1]}`, `{"amounts": {"A": 1}, "others": {"b": 1, "c": 2, "d": [1, 2]}}`,
	`{"amounts": {"A": 1}, "unique": ["a", "\u0061"]}`,
	`{"amounts": {"A": 1}, "half": 0.4}`, `{"amounts": {"A": 1}, "choice": 1}`, `{"amounts": {"A": 1}, "word": "test"}`,
	`{"amounts": {"A": 1, "A": 1}}`, `{"amounts": {"A": 1}, "anything": [1, 2, {"a": [[]]}, "x", "y"], "list": ["a", "b", 3]}`,
	`{"amounts": {"A": 1, "B": 2, "C": 3, "D": 4, "E": 5, "F": 6, "G": 7, "H": 8, "I": 9, "I": 9}}`,
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

func TestJSON_CommonBodies_AcceptedByFastValidator(t *testing.T) {
	t.Parallel()
	validator := compileDescribed(t, "Body")
	for _, text := range bodies[:4] {
		value, err := Decode([]byte(text))
		if err != nil || !validator.quick.accepts(value) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestJSON_RareSchemas_ValidatedByLibrary(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Rare", "Never"} {
		if compileDescribed(t, name).quick != nil {
			t.Errorf("%s has a fast validator, want none", name)
		}
	}
}

// FuzzAcceptor compares AcceptsText, Decode and DecodeExcerpt with the library. The library accepts what they accept,
// and an excerpt has a violation if and only if the whole value has one.
func FuzzAcceptor(f *testing.F) {
	for _, text := range bodies {
		f.Add([]byte(text))
	}
	validator := compileDescribed(f, "Body")
	f.Fuzz(func(t *testing.T, raw []byte) {
		accepted := validator.AcceptsText(raw)
		value, err := Decode(raw)
		part, partErr := validator.excerpt(raw, excerptReader{maxMembers: 1, maxValues: 2})
		if (err == nil) != (partErr == nil) || err != nil && accepted {
			t.Fatalf("%q: Decode %v, excerpt %v, accepted as text: %v", raw, err, partErr, accepted)
		}
		if err != nil {
			return
		}
		if quick := validator.quick.accepts(value); quick != accepted && !bytes.Contains(raw, []byte("unique")) {
			t.Errorf("%q: accepted as value = %v, as text = %v", raw, quick, accepted)
		}
		if count := countValues(value); CountValues(raw) < count {
			t.Errorf("%q: CountValues = %d, want at least %d", raw, CountValues(raw), count)
		}
		err = validator.schema.Validate(value)
		if err != nil && accepted {
			t.Errorf("%q is accepted but invalid: %v", raw, err)
		}
		partErr = validator.schema.Validate(part)
		if err == nil && partErr != nil || err != nil && partErr == nil && !bytes.Contains(raw, []byte("unique")) {
			t.Errorf("%q: error of the whole = %v, of the excerpt %v = %v", raw, err, part, partErr)
		}
	})
}

// countValues returns the number of values in a value, including itself.
func countValues(value any) int {
	count := 1
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			count += countValues(element)
		}
	case map[string]any:
		for _, member := range value {
			count += countValues(member)
		}
	}
	return count
}

// BenchmarkAcceptor compares two ways to accept a valid body: from its text, and decoded and validated by the library.
func BenchmarkAcceptor(b *testing.B) {
	validator := compileDescribed(b, "Body")
	var raw []byte
	for _, text := range bodies {
		if validator.AcceptsText([]byte(text)) && len(text) > len(raw) {
			raw = []byte(text)
		}
	}
	if raw == nil {
		b.Fatal("the fast validator accepts no body")
	}
	b.Run("text", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if !validator.AcceptsText(raw) {
				b.Fatal("not accepted")
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			value, err := Decode(raw)
			if err != nil {
				b.Fatal(err)
			}
			if err := validator.schema.Validate(value); err != nil {
				b.Fatal(err)
			}
		}
	})
}
