package jsonbody_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/berthd/berth/server/wire/jsonbody"
)

func TestJSON_Decode_ReadsValues(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name, in string
		want     any
	}{
		{"null", ` null `, nil},
		{"true", `true`, true},
		{"false", `false`, false},
		{"an empty object", "\t{\r\n }", map[string]any{}},
		{"an empty array", `[ ]`, []any{}},
		{
			"nested values", `{"a": [1, {"b": null}], "": "x"}`,
			map[string]any{"a": []any{int64(1), map[string]any{"b": nil}}, "": "x"},
		},
		{"an integer", `10`, int64(10)},
		{"an integer with a fraction of zero", `10.0`, int64(10)},
		{"an integer with an exponent", `1e3`, int64(1000)},
		{"an integer from a fraction and an exponent", `1.25E+2`, int64(125)},
		{"minus zero", `-0`, int64(0)},
		{"the largest int64", `9223372036854775807`, int64(math.MaxInt64)},
		{"the smallest int64", `-9223372036854775808`, int64(math.MinInt64)},
		{"an integer beyond int64 as a float", `9223372036854775808`, float64(1 << 63)},
		{"a huge integral float unchanged", `3.40282e+38`, 3.40282e+38},
		{"a number beyond float64 as its largest", `1e1000000000`, math.MaxFloat64},
		{"a number below float64 as its smallest", `-1e400`, -math.MaxFloat64},
		{"a number next to zero as zero", `1e-1000000000`, int64(0)},
		{"a fraction", `-1.5`, -1.5},
		{"long digits", strings.Repeat("9", 1000), math.MaxFloat64},
		{"escapes", `"\"\\\/\b\f\n\r\t\u00e9"`, "\"\\/\b\f\n\r\té"},
		{"a surrogate pair", `"a\ud83d\ude00b"`, "a😀b"},
		{"text beyond ASCII", `"日本"`, "日本"},
		{"a key that only looks the same in another object", `[{"a":1},{"a":2}]`, []any{map[string]any{"a": int64(1)}, map[string]any{"a": int64(2)}}},
		{"a hundred levels", strings.Repeat("[", 100) + strings.Repeat("]", 100), nested(100)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := jsonbody.Decode([]byte(test.in))
			if err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("Decode(%.60q) = %#v, %v; want %#v", test.in, got, err, test.want)
			}
		})
	}
}

// nested returns arrays nested to the given depth.
func nested(levels int) any {
	value := []any{}
	for range levels - 1 {
		value = []any{value}
	}
	return value
}

func TestJSON_DecodeInvalid_ReturnsReason(t *testing.T) {
	t.Parallel()

	for _, test := range []struct{ name, in, want string }{
		{"an empty text", "", "the body is empty"},
		{"only space", " \n", "the body is empty"},
		{"a byte order mark", "\ufeff{}", "the body starts with a byte order mark"},
		{"bytes that are not UTF-8", "{\"a\": \"\xff\"}", "the body is not UTF-8: invalid byte at position 7"},
		{"an encoded surrogate", "\"\xed\xa0\x80\"", "the body is not UTF-8: invalid byte at position 1"},
		{"NaN", `{"a": NaN}`, "unexpected character 'N' where a value should be: line 1 column 7"},
		{"Infinity", `Infinity`, "unexpected character 'I' where a value should be: line 1 column 1"},
		{"minus infinity", `-Infinity`, "unexpected character 'I' in a number: line 1 column 2"},
		{"a second document", `{} {}`, "unexpected character '{' after the end of the document: line 1 column 4"},
		{"a literal with a suffix", `truex`, "unexpected character 'x' after the end of the document: line 1 column 5"},
		{"a truncated literal", `tru`, "unexpected character 't' where a value should be: line 1 column 1"},
		{"a truncated object", "{\"a\":\n  1", "unexpected end where a comma or '}' should be: line 2 column 4"},
		{"a truncated string", `"a`, "unexpected end in a string: line 1 column 3"},
		{"a truncated escape", `"\u00`, "unexpected end in a string: line 1 column 6"},
		{"a missing comma", `[1 2]`, "unexpected character '2' where a comma or ']' should be: line 1 column 4"},
		{"a missing colon", `{"a" 1}`, "unexpected character '1' where a colon should be: line 1 column 6"},
		{"a trailing comma in an object", `{"a": 1,}`, "unexpected character '}' where a quoted key should be: line 1 column 9"},
		{"a trailing comma in an array", `[1,]`, "unexpected character ']' where a value should be: line 1 column 4"},
		{"a key without quotes", `{a: 1}`, "unexpected character 'a' where a quoted key should be: line 1 column 2"},
		{"single quotes", `{'a': 1}`, `unexpected character "'" where a quoted key should be: line 1 column 2`},
		{"a newline in a string", "\"a\nb\"", `unexpected character '\n' in a string: line 1 column 3`},
		{"a newline after an escape", "\"\\t\nb\"", `unexpected character '\n' in a string: line 1 column 4`},
		{"an unknown escape", `"\x41"`, "unexpected character 'x' after a backslash: line 1 column 3"},
		{"an escape with a bad digit", `"\u00g0"`, "unexpected character 'g' in an escape: line 1 column 6"},
		{"a leading zero", `01`, "unexpected character '1' after the end of the document: line 1 column 2"},
		{"a plus sign", `+1`, "unexpected character '+' where a value should be: line 1 column 1"},
		{"a point without digits", `1.`, "unexpected end in a number: line 1 column 3"},
		{"an exponent without digits", `1e+`, "unexpected end in a number: line 1 column 4"},
		{"a column counted in code points", `"日本" x`, "unexpected character 'x' after the end of the document: line 1 column 6"},
		{"a duplicate key", `{"a": 1, "a": 1}`, "duplicate key 'a'"},
		{"a nested duplicate key", `{"x": [{"b'": 1, "b\u0027": 2}]}`, `duplicate key "b'"`},
		{"a raw NUL byte", "\"a\x00\"", `unexpected character '\x00' in a string: line 1 column 3`},
		{"an escaped NUL", `{"a": "\u0000"}`, `a string contains the NUL character (\u0000), which cannot be stored`},
		{"an escaped NUL in a key", `{"\u0000": 1}`, `a string contains the NUL character (\u0000), which cannot be stored`},
		{"a high surrogate alone", `"\ud83dx"`, `a string contains half of a surrogate pair (\ud83d), which cannot be stored`},
		{"a low surrogate first", `"\ude00\ud83d"`, `a string contains half of a surrogate pair (\ude00), which cannot be stored`},
		{"a hundred and one levels", strings.Repeat(`[`, 101), "nested deeper than 100 levels"},
		{"a million levels", strings.Repeat(`{"a":`, 1000000), "nested deeper than 100 levels"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := jsonbody.Decode([]byte(test.in))
			if got != nil || err == nil || err.Error() != test.want {
				t.Errorf("Decode(%.60q) = %#v, %v; want the error %q", test.in, got, err, test.want)
			}
		})
	}
}

func TestJSON_DecodeLongReason_Truncated(t *testing.T) {
	t.Parallel()

	key := strings.Repeat("k", 100000)
	_, err := jsonbody.Decode([]byte(`{"` + key + `":1,"` + key + `":1}`))
	if want := "duplicate key '" + strings.Repeat("k", 499) + "..."; err == nil || err.Error() != want {
		t.Errorf("error = %.60v..., want %.60s...", err, want)
	}
}

// ownReasons are parts of the errors of Decode for documents that encoding/json accepts.
var ownReasons = []string{"duplicate key", "byte order mark", "not UTF-8", "NUL character", "surrogate pair", "nested deeper"}

// FuzzDecode compares Decode with encoding/json: both accept the same texts and return the same values, except for the
// types of numbers.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		``, ` `, `null`, `{"a":[1,-2.5e3,"x\u00e9\ud83d\ude00\n",true,false,null,{}]}`, `[1,]`, `{"a":1,"a":2}`,
		`01`, `-`, `1e400`, `-1.0E-5`, `"\u0000"`, `"\ud800"`, "\"\xff\"", "\ufeff1", `{"a" : [ ] , "b":{ }}`, "[\t\r\n]", `"\q"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := jsonbody.Decode(raw)
		var want any
		wantErr := json.Unmarshal(raw, &want)
		if err != nil {
			for _, own := range ownReasons {
				if strings.Contains(err.Error(), own) {
					return
				}
			}
			if wantErr == nil {
				t.Fatalf("Decode(%q) = %v, but the text is valid JSON", raw, err)
			}
			return
		}
		// encoding/json rejects numbers beyond float64, which saturate here.
		if wantErr != nil && strings.Contains(wantErr.Error(), "cannot unmarshal number") {
			return
		}
		if wantErr != nil {
			t.Fatalf("Decode(%q) succeeded, but the text is not JSON: %v", raw, wantErr)
		}
		if got := floats(got); !reflect.DeepEqual(got, want) {
			t.Fatalf("Decode(%q) = %#v, want %#v", raw, got, want)
		}
	})
}

// floats converts integers to floats, as encoding/json decodes them.
func floats(value any) any {
	switch value := value.(type) {
	case int64:
		return float64(value)
	case []any:
		for i := range value {
			value[i] = floats(value[i])
		}
	case map[string]any:
		for key := range value {
			value[key] = floats(value[key])
		}
	}
	return value
}
