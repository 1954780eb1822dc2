package route

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/microversion"
)

// Field is a member of a JSON object, declared as a field of a struct.
type Field struct {
	Name string
	// Since is the first version that has the member, from the tag `since:"21"`, or `since:"berth 1"` for version 1.1 of
	// the extensions, below which it is Unknown.
	Since microversion.Version
	// Unknown means that below Since the member counts as unknown (400), from the tag `since:"58,unknown"`. Otherwise
	// the server rejects it as a member of a later version (406).
	Unknown bool
	// NullableSince is the first version at which the member can be null, from the tag `nullableSince:"berth 7"`; 0: as in the tag nullable.
	NullableSince microversion.Version
	// Index is the index of the field for reflect.Value.FieldByIndex.
	Index []int
}

// FieldsOf returns the members of the JSON object of a struct type, in the order of its fields. The members of embedded
// structs are at the positions of those structs.
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
		since := sinceOf(number)
		fields = append(fields, Field{
			Name: name, Since: since, Unknown: mark == "unknown" || since.Extension() > 0,
			NullableSince: sinceOf(field.Tag.Get("nullableSince")), Index: field.Index,
		})
	}
	return fields
}

// sinceOf parses the number of a tag. It panics on an invalid number, which is a programming error that every test
// reveals.
func sinceOf(number string) microversion.Version {
	if number == "" {
		return 0
	}
	number, extended := strings.CutPrefix(number, microversion.ExtensionService+" ")
	minor, err := strconv.ParseUint(number, 10, 8)
	if err != nil {
		panic("invalid tag since: " + err.Error())
	}
	if extended {
		return microversion.Berth(uint8(minor))
	}
	return microversion.V(uint8(minor))
}

// prune removes members and nulls that a version does not have from the schemas of its document.
func prune(at microversion.Version, schemas huma.Registry) {
	for name, schema := range schemas.Map() {
		t := schemas.TypeFromRef("#/components/schemas/" + name)
		if t == nil {
			continue
		}
		for _, field := range FieldsOf(t) {
			if member := schema.Properties[field.Name]; member != nil && field.NullableSince > at {
				member.Nullable = false
			}
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

// membersSince returns the members that only later versions have and that earlier versions reject with 406. Callers
// store the result, because its computation takes longer than reading a body.
func membersSince(t reflect.Type) []Field {
	return slices.DeleteFunc(FieldsOf(t), func(field Field) bool { return field.Since == 0 || field.Unknown })
}

// rejectLaterMembers returns an error if a body contains one of these members below its version.
func rejectLaterMembers(later []Field, body any, at microversion.Version) error {
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
