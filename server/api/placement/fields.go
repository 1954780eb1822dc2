package placement

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/wire/querystring"
)

// selection is the set of members that the parameter fields selects.
type selection struct {
	// names are the members, and fields their fields in the struct of the items; nil: all.
	names  []string
	fields []route.Field
}

// selectFields reads the parameter fields of a list. T is the struct of its items; absent are members that this request
// does not include, which count as unknown.
func selectFields[T any](values querystring.Values, list *pagedList, absent ...string) (selection, error) {
	text, ok := values.First(fieldsParam)
	if !ok {
		return selection{}, nil
	}
	known := slices.DeleteFunc(route.FieldsOf(reflect.TypeFor[T]()), func(field route.Field) bool {
		return slices.Contains(absent, field.Name)
	})
	result := selection{names: append(strings.Split(text, ","), "uuid")}
	for _, name := range result.names {
		if !slices.ContainsFunc(known, func(field route.Field) bool { return field.Name == name }) {
			var all []string
			for _, field := range known {
				all = append(all, field.Name)
			}
			slices.Sort(all)
			return result, unknownFields.Of(name, strings.ReplaceAll(list.Name, "_", " "), strings.Join(all, ", "))
		}
	}
	result.fields = slices.DeleteFunc(known, func(field route.Field) bool { return !result.has(field.Name) })
	return result, nil
}

// has reports whether a member is selected.
func (s *selection) has(name string) bool { return s.names == nil || slices.Contains(s.names, name) }

// selected is an item of a list with the selected members only. Members with omitempty are left out as usual.
type selected[T any] struct {
	item   T
	fields []route.Field
}

// of returns the selected members of an item.
func of[T any](s *selection, item T) selected[T] { return selected[T]{item: item, fields: s.fields} }

// Schema implements huma.SchemaProvider.
func (selected[T]) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[T](), true, "")
}

// MarshalJSON implements json.Marshaler.
func (s selected[T]) MarshalJSON() ([]byte, error) {
	if s.fields == nil {
		return json.Marshal(s.item)
	}
	whole := reflect.ValueOf(s.item)
	var b bytes.Buffer
	separator := byte('{')
	for _, field := range s.fields {
		value := whole.FieldByIndex(field.Index)
		if omitted(whole.Type().FieldByIndex(field.Index), value) {
			continue
		}
		encoded, err := json.Marshal(value.Interface())
		if err != nil {
			return nil, err
		}
		b.WriteByte(separator)
		b.WriteString(`"` + field.Name + `": `)
		b.Write(encoded)
		separator = ','
	}
	if separator == '{' {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// omitted reports whether encoding/json would leave out a field.
func omitted(field reflect.StructField, value reflect.Value) bool {
	options := strings.Split(field.Tag.Get("json"), ",")
	if slices.Contains(options, "omitzero") && value.IsZero() {
		return true
	}
	if !slices.Contains(options, "omitempty") {
		return false
	}
	switch value.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return value.Len() == 0
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.Uint, reflect.Float64, reflect.Pointer, reflect.Interface:
		return value.IsZero()
	default:
		return false
	}
}
