package baremetal

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/request"
	"github.com/berthd/berth/server/wire/uuidlike"
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

// Time is encoded with microseconds and with its offset, because some clients cannot parse it without.
type Time time.Time

const timeFormat = "2006-01-02T15:04:05.000000-07:00"

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Time(t).UTC().Format(timeFormat))
}

// Schema implements huma.SchemaProvider.
func (Time) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "date-time", Examples: []any{"2026-11-20T15:08:01.836794+00:00"}}
}

// maybe converts a time that may be nil.
func maybe(at *time.Time) *Time { return (*Time)(at) }

// Link is a link to a resource.
type Link struct {
	Href string `json:"href" doc:"URL of the linked resource." example:"http://baremetal.example.org/v1/nodes/c0ffee00-5ca1-4b1e-8000-000000000001"`
	Rel  string `json:"rel" doc:"Relation of the linked resource." example:"self"`
	Type string `json:"type,omitempty" doc:"Media type if it is not JSON." example:"text/html"`
}

// url returns the absolute URL of a path such as "/v1/nodes".
func url(ctx context.Context, path string) string {
	info := request.From(ctx)
	return info.Base + info.Prefix + path
}

// links returns the links of a resource: itself, and a bookmark link that old clients expect.
func links(ctx context.Context, path string) []Link {
	return []Link{{Href: url(ctx, "/v1/"+path), Rel: "self"}, {Href: url(ctx, "/"+path), Rel: "bookmark"}}
}

// namePattern is the pattern of node and allocation names, also for the tag pattern.
const namePattern = `^[A-Za-z0-9-._~]+$`

var nameForm = regexp.MustCompile(namePattern)

const maxName = 255

// ident parses the identifier of a resource in a path or a filter. It returns a UUID in its canonical form, or a name.
// A name cannot have the form of a UUID.
func ident(sent string) (string, error) {
	if id, ok := asUUID(sent); ok {
		return id.String(), nil
	}
	if len(sent) <= maxName && nameForm.MatchString(sent) {
		return sent, nil
	}
	return "", fault.New(fault.Invalid, "Expected a logical name or UUID but received %s.", sent)
}

func asUUID(sent string) (uuid.UUID, bool) { return uuidlike.Parse(sent) }
