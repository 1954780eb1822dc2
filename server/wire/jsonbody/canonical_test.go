package jsonbody

import (
	"bytes"
	"encoding/json"
	"math/big"
	"reflect"
	"strings"
	"testing"
)

func TestJSON_Canonical_OneFormPerValue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{` { "b" : [ 1 , true , null ] , "a" : { } } `, `{"a":{},"b":[1,true,null]}`},
		{`{"b":{"d":2,"c":1},"a":3}`, `{"a":3,"b":{"c":1,"d":2}}`},
		{`{"a":1,"b":2}`, `{"a":1,"b":2}`},
		{`"\u0041\/\u00e9"`, `"A/é"`},
		{`"A/é"`, `"A/é"`},
		{`"\b\n\u001f"`, `"\b\n\u001f"`},
		{`[10, 10.0, 1e1, 100e-1, 0.10E+2]`, `[10,10,10,10,10]`},
		{`[0, -0, 0.0, 0e9]`, `[0,0,0,0]`},
		{`[1.5, 1.50, 15e-1, -0.15E1]`, `[15e-1,15e-1,15e-1,-15e-1]`},
		{`[1e24, 1e25, 9223372036854775808]`, `[1000000000000000000000000,1e25,9223372036854775808]`},
		{`[1e99999999999999999999]`, `[1e99999999999999999999]`},
	} {
		got, err := Canonical([]byte(c.text))
		if err != nil || string(got) != c.want {
			t.Errorf("Canonical(%s) = %s, %v, want %s", c.text, got, err, c.want)
		}
	}
}

func TestJSON_CanonicalInvalid_ReturnsReason(t *testing.T) {
	t.Parallel()
	for _, text := range []string{``, `{`, `{"a":1,"a":2}`, `{"b":1,"a":2,"\u0062":3}`, `[1,]`, `01`, "\"\xff\"", `{} x`, strings.Repeat("[", maxDepth+1)} {
		if got, err := Canonical([]byte(text)); err == nil {
			t.Errorf("Canonical(%s) = %s, want an error", text, got)
		}
	}
}

// FuzzCanonical compares with Decode: both accept the same texts, the form decodes to the same value, and it is a fixed
// point. Another notation of the same value has the same form.
func FuzzCanonical(f *testing.F) {
	for _, text := range []string{`{"b":[1,2.50,"x"],"a":{"c":null,"\u0064":"\ud83d\ude00"}}`, `[-0.0, 1E+2, 12e-3]`, `{"a":1,"a":1}`, `"<&>\u2028"`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		value, wrong := Decode(raw)
		form, err := Canonical(raw)
		if (wrong == nil) != (err == nil) {
			t.Fatalf("Canonical(%q) = %v, Decode = %v", raw, err, wrong)
		}
		if err != nil {
			return
		}
		again, err := Decode(form)
		if err != nil || !reflect.DeepEqual(value, again) {
			t.Fatalf("Canonical(%q) = %s, which decodes to %v, %v, want %v", raw, form, again, err, value)
		}
		for _, other := range [][]byte{form, indented(t, raw)} {
			if second, err := Canonical(other); err != nil || !bytes.Equal(second, form) {
				t.Fatalf("Canonical(%s) = %s, %v, want %s", other, second, err, form)
			}
		}
	})
}

// indented returns a text with other white space, order of members and escapes, by way of encoding/json.
func indented(t *testing.T, raw []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	made, err := json.MarshalIndent(value, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// FuzzCanonicalNumber compares the forms of two numbers with their exact values.
func FuzzCanonicalNumber(f *testing.F) {
	f.Add("10.0", "1e1")
	f.Add("1e-400", "0")
	f.Add("9223372036854775807", "9223372036854775808")
	f.Fuzz(func(t *testing.T, one, other string) {
		if len(one)+len(other) > 60 || strings.ContainsAny(one+other, "eE") && len(one)+len(other) > 12 {
			t.Skip("exact values of large exponents take long")
		}
		if !json.Valid([]byte(one)) || !json.Valid([]byte(other)) {
			t.Skip("Canonical takes valid JSON only")
		}
		first, ok := new(big.Rat).SetString(one)
		second, too := new(big.Rat).SetString(other)
		if !ok || !too {
			t.Skip("only numbers have an exact value to compare")
		}
		a, errA := Canonical([]byte(one))
		b, errB := Canonical([]byte(other))
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if same := first.Cmp(second) == 0; same != bytes.Equal(a, b) {
			t.Errorf("Canonical(%s) = %s and Canonical(%s) = %s, equal values: %v", one, a, other, b, same)
		}
	})
}
