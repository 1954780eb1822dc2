package baremetal

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/microversion"
)

// alwaysShown is the member that every representation contains, independent of fields.
const alwaysShown = "links"

// shape lists the members of a representation with their microversions.
type shape[T any] struct {
	fields []route.Field
}

func newShape[T any]() *shape[T] { return &shape[T]{fields: route.FieldsOf(reflect.TypeFor[T]())} }

// chosen are the selected members, in the order of the representation.
type chosen []route.Field

// all returns all members of the version.
func (s *shape[T]) all(ctx context.Context) chosen {
	at := microversion.From(ctx)
	return slices.DeleteFunc(slices.Clone(s.fields), func(field route.Field) bool { return field.Since > at })
}

// only returns the named members that the version has.
func (s *shape[T]) only(ctx context.Context, names ...string) chosen {
	return slices.DeleteFunc(s.all(ctx), func(field route.Field) bool {
		return field.Name != alwaysShown && !slices.Contains(names, field.Name)
	})
}

// asked returns the members in the argument fields, or otherwise without that argument.
func (s *shape[T]) asked(ctx context.Context, given args, otherwise chosen) (chosen, error) {
	list, sent := given.Last("fields")
	if !sent {
		return otherwise, nil
	}
	var names, unknown []string
	for name := range strings.SplitSeq(list, ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		known, err := s.known(ctx, name)
		if err != nil {
			return nil, err
		}
		if !known {
			unknown = append(unknown, name)
		}
		names = append(names, name)
	}
	if len(unknown) > 0 {
		return nil, unknownFields(unknown...)
	}
	return s.only(ctx, names...), nil
}

func unknownFields(names ...string) *fault.Error {
	return fault.New(fault.Invalid, `Field(s) "%s" are not valid`, strings.Join(names, `", "`))
}

// known reports whether a member exists. It returns an error for a member of later versions.
func (s *shape[T]) known(ctx context.Context, name string) (bool, error) {
	at := slices.IndexFunc(s.fields, func(field route.Field) bool { return field.Name == name })
	if at < 0 {
		return false, nil
	}
	if field := s.fields[at]; field.Since > microversion.From(ctx) {
		return true, fault.New(fault.NotAcceptable, "The field %s exists from version %s on; this request is of version %s.",
			name, field.Since, microversion.From(ctx))
	}
	return true, nil
}

// show returns a representation of the selected members.
func (s *shape[T]) show(fields chosen, value *T) view[T] {
	return view[T]{fields: fields, value: value}
}

// view is a representation with selected members.
type view[T any] struct {
	fields chosen
	value  *T
}

// MarshalJSON implements json.Marshaler. It encodes selected members even if they are empty.
func (w view[T]) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	from := reflect.ValueOf(w.value).Elem()
	out.WriteByte('{')
	for i, field := range w.fields {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(`"` + field.Name + `":`)
		if err := encoder.Encode(from.FieldByIndex(field.Index).Interface()); err != nil {
			return nil, err
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// Schema implements huma.SchemaProvider. It returns the schema of the representation.
func (view[T]) Schema(r huma.Registry) *huma.Schema { return r.Schema(reflect.TypeFor[T](), true, "") }
