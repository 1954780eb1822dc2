package jsonbody_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/berthd/berth/server/wire/jsonbody"
)

// FuzzValidate checks that a decoded value is accepted by a schema, or rejected with a text in UTF-8 whose length is
// bounded by a small multiple of the input.
func FuzzValidate(f *testing.F) {
	names := []string{"PutInventories", "Text", "Aggregates", "Mappings", "Amounts", "Combined", "Pair", "Empty", "Change"}
	var validators []*jsonbody.Validator
	for _, name := range names {
		made, err := jsonbody.Compile([]byte(schemas), "#/components/schemas/"+name)
		if err != nil {
			f.Fatal(err)
		}
		validators = append(validators, made)
	}
	for i, seed := range []string{
		`{"resource_provider_generation": 1, "inventories": {"VCPU": {"total": 1, "allocation_ratio": 1e400}}}`,
		`{"name": "\u0000\ud83d\ude00", "uuid": "x", "a/b~c": 1, "never": null, "few": {"a": 1, "b": 2}, "even": 0.5}`,
		`["` + uuidA + `", "` + uuidA + `"]`, `{"a": [], "B": 1}`, `{"b": 0.0, "a": 99999999999999999999}`, `[]`, `["a", {"total": {}}]`, `null`,
		`{"class": "VCPU", "ratio": 1e39, "tree": "a", "aggregate": "b"}`,
	} {
		f.Add(uint8(i), []byte(seed))
	}
	f.Fuzz(func(t *testing.T, which uint8, raw []byte) {
		value, err := jsonbody.Decode(raw)
		if err != nil {
			return
		}
		err = validators[int(which)%len(validators)].Validate(value)
		if err == nil {
			return
		}
		var refused *jsonbody.Error
		if !errors.As(err, &refused) {
			t.Fatalf("%q: unexpected type of error: %v", raw, err)
		}
		if said := err.Error(); !utf8.ValidString(said) || strings.TrimSpace(said) == "" || len(said) > 4000+20*len(raw) {
			t.Errorf("%q: error text of %d bytes: %.200q", raw, len(said), said)
		}
	})
}
