package baremetal

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/wire/fault"
)

// object is any JSON object in the notation of the client. The zero value is an empty object.
type object json.RawMessage

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	if len(o) == 0 || bytes.Equal(o, []byte("null")) {
		return []byte("{}"), nil
	}
	return o, nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *object) UnmarshalJSON(raw []byte) error {
	*o = slices.Clone(raw)
	return nil
}

// Schema implements huma.SchemaProvider.
func (object) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

// objectOrNull is an object in a request; null equals an empty object.
type objectOrNull struct{ object }

// Schema implements huma.SchemaProvider.
func (objectOrNull) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, Nullable: true, AdditionalProperties: true}
}

// flagOrText is a boolean in a request, which clients also send as a text.
type flagOrText struct{ value any }

// UnmarshalJSON implements json.Unmarshaler.
func (f *flagOrText) UnmarshalJSON(raw []byte) error { return json.Unmarshal(raw, &f.value) }

// MarshalJSON implements json.Marshaler.
func (f flagOrText) MarshalJSON() ([]byte, error) { return json.Marshal(f.value) }

// Schema implements huma.SchemaProvider.
func (flagOrText) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{{Type: huma.TypeBoolean, Nullable: true}, {Type: huma.TypeString}}}
}

// detail returns a member of details, or the zero value if it is missing.
func detail[T any](details map[string]json.RawMessage, name string) T {
	var value, none T
	if raw, there := details[name]; there {
		if err := json.Unmarshal(raw, &value); err != nil {
			return none // not of the type that was checked when it was written
		}
	}
	return value
}

const mask = "******"

// masked replaces the values of secret members: those with the given names, and at any depth those whose names contain
// "password".
func masked(raw json.RawMessage, names ...string) object {
	if len(raw) == 0 {
		return nil
	}
	members, err := decoded(raw)
	if err != nil {
		return nil
	}
	top, isObject := members.(map[string]any)
	if !isObject {
		return nil
	}
	for _, name := range names {
		if _, there := top[name]; there {
			top[name] = mask
		}
	}
	hidePasswords(top)
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(top) != nil {
		return nil
	}
	return object(bytes.TrimSpace(out.Bytes()))
}

func hidePasswords(in any) {
	switch in := in.(type) {
	case map[string]any:
		for name, value := range in {
			if strings.Contains(strings.ToLower(name), "password") {
				in[name] = mask
			} else {
				hidePasswords(value)
			}
		}
	case []any:
		for _, value := range in {
			hidePasswords(value)
		}
	}
}

// decoded decodes any JSON and keeps the notation of numbers.
func decoded(raw json.RawMessage) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	err := decoder.Decode(&value)
	return value, err
}

// maxNumber is the maximum length of a stored number.
const maxNumber = 1000

// checkNumbers returns an error for numbers that the database cannot store, or only with thousands of digits.
func checkNumbers(name string, in any) error {
	switch in := in.(type) {
	case json.Number:
		value, err := in.Float64()
		mantissa, _, _ := strings.Cut(strings.ToLower(in.String()), "e")
		if err != nil || len(in) > maxNumber || value == 0 && strings.ContainsAny(mantissa, "123456789") {
			return fault.New(fault.Invalid, "Invalid value for /%s: the number %.50s cannot be kept.", name, in)
		}
	case map[string]any:
		for _, value := range in {
			if err := checkNumbers(name, value); err != nil {
				return err
			}
		}
	case []any:
		for _, value := range in {
			if err := checkNumbers(name, value); err != nil {
				return err
			}
		}
	}
	return nil
}
