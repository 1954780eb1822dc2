package jsonbody_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/wire/jsonbody"
)

func TestJSON_Ordered_KeepsRequestOrder(t *testing.T) {
	t.Parallel()

	type allocation struct {
		Resources jsonbody.Ordered[jsonbody.Int] `json:"resources"`
		Mappings  jsonbody.Ordered[[]string]     `json:"mappings,omitempty"`
	}
	in := ` {"rp2": {"resources": { "VCPU" : 2.0 , "DISK_GB":1e1}, "mappings": {"_a,}": ["x\"]", "y"]}},
	         "rp1": {"resources": {}}} `
	var got jsonbody.Ordered[allocation]
	if err := json.Unmarshal([]byte(in), &got); err != nil {
		t.Fatal(err)
	}
	want := jsonbody.Ordered[allocation]{
		{"rp2", allocation{
			Resources: jsonbody.Ordered[jsonbody.Int]{{"VCPU", 2}, {"DISK_GB", 10}},
			Mappings:  jsonbody.Ordered[[]string]{{"_a,}", []string{`x"]`, "y"}}},
		}},
		{"rp1", allocation{Resources: jsonbody.Ordered[jsonbody.Int]{}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v; want %v", got, want)
	}
	out, err := json.Marshal(got)
	wantOut := `{"rp2":{"resources":{"VCPU":2,"DISK_GB":10},"mappings":{"_a,}":["x\"]","y"]}},"rp1":{"resources":{}}}`
	if err != nil || string(out) != wantOut {
		t.Errorf("encoded = %s, %v; want %s", out, err, wantOut)
	}
}

func TestJSON_OrderedEmpty_MarshaledAsObject(t *testing.T) {
	t.Parallel()

	var unset struct {
		Resources jsonbody.Ordered[int] `json:"resources"`
		Omitted   jsonbody.Ordered[int] `json:"omitted,omitempty"`
	}
	out, err := json.Marshal(unset)
	if want := `{"resources":{}}`; err != nil || string(out) != want {
		t.Errorf("got %s, %v; want %s", out, err, want)
	}
}

func TestJSON_OrderedFromNull_Unchanged(t *testing.T) {
	t.Parallel()

	got := jsonbody.Ordered[int]{{"a", 1}}
	if err := json.Unmarshal([]byte(" null "), &got); err != nil || len(got) != 1 {
		t.Errorf("got %v, %v; want the unchanged entry", got, err)
	}
}

func TestJSON_Ordered_LeavesHTMLEscapingToEncoder(t *testing.T) {
	t.Parallel()

	value := jsonbody.Ordered[string]{{"<", "&"}}
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil || b.String() != "{\"<\":\"&\"}\n" {
		t.Errorf("unescaped: got %s, %v", b.String(), err)
	}
	escaped, err := json.Marshal(value)
	if want := `{"\u003c":"\u0026"}`; err != nil || string(escaped) != want {
		t.Errorf("escaped: got %s, %v; want %s", escaped, err, want)
	}
}

func TestJSON_OrderedFromOtherValue_ReturnsError(t *testing.T) {
	t.Parallel()

	for _, test := range []struct{ name, in, want string }{
		{"an array", `[1]`, "an object was expected"},
		{"a number", `1`, "an object was expected"},
		{"an empty text", ``, "an object was expected"},
		{"a duplicate key", `{"a":1,"b":2,"a":3}`, "duplicate key 'a'"},
		{"a value of another type", `{"a":1,"b":"x"}`, `'b': '"x"' is not an integer`},
		{"a missing value", `{"a":}`, `'a': '' is not an integer`},
		{"a missing brace", `{"a":1`, "unexpected end where a comma or '}' should be: line 1 column 7"},
		{"trailing data", `{"a":1}}`, "unexpected character '}' after the end of the document: line 1 column 8"},
		{"a NUL in a key", `{"\u0000":1}`, `a string contains the NUL character (\u0000), which cannot be stored`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := jsonbody.Ordered[jsonbody.Int]{{"kept", 1}}
			err := got.UnmarshalJSON([]byte(test.in))
			if err == nil || err.Error() != test.want || len(got) != 1 {
				t.Errorf("got %v, %v; want error %q", got, err, test.want)
			}
		})
	}
}

// amounts restricts its keys like the wire types of the API.
type amounts struct{ jsonbody.Ordered[jsonbody.Int] }

func (amounts) Schema(huma.Registry) *huma.Schema {
	one := 1.0
	return jsonbody.MapSchema(&huma.Schema{Type: huma.TypeInteger, Minimum: &one}, "^[A-Z0-9_]+$", 1)
}

func TestJSON_Ordered_HasSchema(t *testing.T) {
	t.Parallel()

	type record struct {
		Total jsonbody.Int `json:"total" minimum:"1"`
	}
	type body struct {
		Amounts amounts                         `json:"amounts"`
		Free    jsonbody.Ordered[*jsonbody.Int] `json:"free,omitempty"`
		Records jsonbody.Ordered[record]        `json:"records"`
	}
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	registry.Schema(reflect.TypeFor[body](), true, "")
	got, err := json.Marshal(registry)
	if err != nil {
		t.Fatal(err)
	}
	assertJSON(t, got, `{
		"Record": {"type": "object", "additionalProperties": false, "required": ["total"],
			"properties": {"total": {"type": "integer", "format": "int64", "minimum": 1}}},
		"Body": {"type": "object", "additionalProperties": false, "required": ["amounts", "records"], "properties": {
			"amounts": {"type": "object", "minProperties": 1, "propertyNames": {"pattern": "^[A-Z0-9_]+$"},
				"additionalProperties": {"type": "integer", "minimum": 1}},
			"free": {"type": "object", "additionalProperties": {"type": ["integer", "null"], "format": "int64"}},
			"records": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Record"}}}}
	}`)
}

func TestJSON_OrderedSchema_Enforced(t *testing.T) {
	t.Parallel()

	type Body struct {
		Amounts amounts `json:"amounts"`
	}
	config := huma.DefaultConfig("x", "1")
	config.Components.Schemas.Schema(reflect.TypeFor[Body](), true, "")
	doc, err := json.Marshal(config.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonbody.Compile(doc, "#/components/schemas/Body")
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]string{
		`{"amounts": {"VCPU": 1e1}}`: "",
		`{"amounts": {"vcpu": 1}}`:   "'vcpu' does not match any of the regexes: '^[A-Z0-9_]+$'",
		`{"amounts": {"VCPU": 0}}`:   "0 is less than the minimum of 1",
		`{"amounts": {}}`:            "{} does not have enough properties",
	} {
		value, err := jsonbody.Decode([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		var failure *jsonbody.Error
		if errors.As(v.Validate(value), &failure) {
			got = failure.Message
		}
		if got != want {
			t.Errorf("%s: got %q; want %q", body, got, want)
		}
	}
}

func TestJSON_OrderedWrapped_RoundTrips(t *testing.T) {
	t.Parallel()

	var got struct {
		Amounts amounts `json:"amounts"`
	}
	const text = `{"amounts":{"VCPU":2,"DISK_GB":1}}`
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if out, err := json.Marshal(got); err != nil || string(out) != text {
		t.Errorf("encoded = %s, %v; want %s", out, err, text)
	}
}

func assertJSON(t *testing.T, got []byte, want string) {
	t.Helper()
	var gotValue, wantValue any
	if err := json.Unmarshal(got, &gotValue); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &wantValue); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(gotValue, wantValue) {
		t.Errorf("got %s; want %s", got, want)
	}
}

// FuzzOrdered compares Ordered with a map of encoding/json. Both accept the same documents, except for those that
// Decode rejects, and contain the same values. The encoded value decodes to the same order.
func FuzzOrdered(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `{"b":1,"a":2}`, `{"a":{"x":[1,"}"]},"b":"\\"}`, `{"a":1,"a":2}`, `{"a":}`, `{"a":1]`, `[`,
		`{"a":"\"`, ` { "k" : [ ] } `, `{"a":tru}`, `{"a":[}]}`, `{"\u0061":1}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var got jsonbody.Ordered[any]
		err := got.UnmarshalJSON(raw)
		var want map[string]any
		wantErr := json.Unmarshal(raw, &want)
		if _, decodeErr := jsonbody.Decode(raw); decodeErr != nil && wantErr == nil {
			return
		}
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: error = %v, of encoding/json = %v", raw, err, wantErr)
		}
		if err != nil || got == nil {
			return
		}
		held := map[string]any{}
		for _, entry := range got {
			held[entry.Key] = entry.Value
		}
		if len(held) != len(got) || !reflect.DeepEqual(held, want) {
			t.Fatalf("%q = %v, want %v", raw, got, want)
		}
		out, err := json.Marshal(got)
		var again jsonbody.Ordered[any]
		if err != nil || json.Unmarshal(out, &again) != nil || !reflect.DeepEqual(again, got) {
			t.Fatalf("%q: encoded = %s, %v; decoded again = %v", raw, out, err, again)
		}
	})
}

func manyEntries() []byte {
	var b strings.Builder
	for i := range 10000 {
		fmt.Fprintf(&b, `,"CUSTOM_CLASS_%d": %d`, i, i+1)
	}
	return []byte("{" + b.String()[1:] + "}")
}

// BenchmarkOrdered reads and writes a map of 10,000 entries.
func BenchmarkOrdered(b *testing.B) {
	raw := manyEntries()
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			var got jsonbody.Ordered[jsonbody.Int]
			if err := json.Unmarshal(raw, &got); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("write", func(b *testing.B) {
		var value jsonbody.Ordered[jsonbody.Int]
		if err := json.Unmarshal(raw, &value); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := json.Marshal(value); err != nil {
				b.Fatal(err)
			}
		}
	})
}
