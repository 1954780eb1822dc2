package baremetal

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/route"
)

// alwaysShown is in every representation, whatever fields are asked for.
const alwaysShown = "links"

// shape knows the members of a representation, and which version has which.
type shape[T any] struct {
	fields []route.Field
}

func newShape[T any]() *shape[T] { return &shape[T]{fields: route.FieldsOf(reflect.TypeFor[T]())} }

// chosen are the members to show, in the order of the representation.
type chosen []route.Field

// all chooses what the version has.
func (s *shape[T]) all(ctx context.Context) chosen {
	at := microversion.From(ctx)
	return slices.DeleteFunc(slices.Clone(s.fields), func(field route.Field) bool { return field.Since > at })
}

// only chooses what the version has of the names.
func (s *shape[T]) only(ctx context.Context, names ...string) chosen {
	return slices.DeleteFunc(s.all(ctx), func(field route.Field) bool {
		return field.Name != alwaysShown && !slices.Contains(names, field.Name)
	})
}

// asked chooses what the argument fields asks for, or what is shown otherwise.
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
			unknown = append(unknown, `"`+name+`"`)
		}
		names = append(names, name)
	}
	if len(unknown) > 0 {
		return nil, fault.New(fault.Invalid, "Field(s) %s are not valid", strings.Join(unknown, ", "))
	}
	return s.only(ctx, names...), nil
}

// known looks a member up; one that only later versions have is an error.
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

// show is what goes out.
func (s *shape[T]) show(fields chosen, value *T) view[T] {
	return view[T]{fields: fields, value: value}
}

// view is a representation with some of its members.
type view[T any] struct {
	fields chosen
	value  *T
}

// MarshalJSON implements json.Marshaler. What is chosen is written even if it is
// empty.
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

// Schema implements huma.SchemaProvider: it is that of the representation.
func (view[T]) Schema(r huma.Registry) *huma.Schema { return r.Schema(reflect.TypeFor[T](), true, "") }
