package route

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/microversion"
)

// Field is a member of a JSON object, as a field of a struct declares it.
type Field struct {
	Name string
	// Since is the first version that has the member, by the tag `since:"21"`.
	Since microversion.Version
	// Unknown marks that below that version the member is unknown, by the tag
	// `since:"58,unknown"`. One without that mark is known and cannot be had.
	Unknown bool
	// Index is where the field is in its struct.
	Index []int
}

// FieldsOf lists the members of the objects that a struct type stands for, in
// the order of the fields, with those of embedded structs in their places.
func FieldsOf(t reflect.Type) []Field {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	var fields []Field
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "" || name == "-" {
			continue
		}
		number, mark, _ := strings.Cut(field.Tag.Get("since"), ",")
		fields = append(fields, Field{
			Name: name, Since: sinceOf(number), Unknown: mark == "unknown", Index: field.Index,
		})
	}
	return fields
}

// sinceOf reads the number of a tag. A wrong one is a mistake of the programmer and
// shows in every test.
func sinceOf(number string) microversion.Version {
	if number == "" {
		return 0
	}
	minor, err := strconv.ParseUint(number, 10, 8)
	if err != nil {
		panic("the tag since: " + err.Error())
	}
	return microversion.V(uint8(minor))
}

// prune takes what a version does not have out of the schemas of its document.
func prune(at microversion.Version, schemas huma.Registry) {
	for name, schema := range schemas.Map() {
		t := schemas.TypeFromRef("#/components/schemas/" + name)
		if t == nil {
			continue
		}
		for _, field := range FieldsOf(t) {
			if field.Since <= at {
				continue
			}
			delete(schema.Properties, field.Name)
			kept := schema.Required[:0]
			for _, required := range schema.Required {
				if required != field.Name {
					kept = append(kept, required)
				}
			}
			schema.Required = kept
		}
	}
}

// laterMembers lists the members that not all versions have, and that those which
// don't have them know. Looking them up takes longer than reading a body.
func laterMembers(t reflect.Type) []Field {
	return slices.DeleteFunc(FieldsOf(t), func(field Field) bool { return field.Since == 0 || field.Unknown })
}

// checkMembers refuses what a body has, of such members, that only later versions have.
func checkMembers(later []Field, body any, at microversion.Version) error {
	if len(later) == 0 {
		return nil
	}
	object, ok := body.(map[string]any)
	if !ok {
		return nil
	}
	for _, field := range later {
		if _, sent := object[field.Name]; sent && field.Since > at {
			return fault.New(fault.NotAcceptable, "The field %s can be sent from version %s on; this request is of version %s.",
				field.Name, field.Since, at)
		}
	}
	return nil
}
