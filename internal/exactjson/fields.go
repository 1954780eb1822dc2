package exactjson

import (
	"reflect"
	"strings"
)

// addFields adds the names of the members that decode into a struct, with their types. Fields of an embedded struct
// without a tag belong to the outer struct, whose own fields win.
func addFields(fields map[string]reflect.Type, t reflect.Type) {
	var embedded []reflect.Type
	for i := range t.NumField() {
		field := t.Field(i)
		tag := field.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case tag == "-":
		case field.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			embedded = append(embedded, inner)
		case !field.IsExported():
		case name == "":
			fields[field.Name] = field.Type
		default:
			fields[name] = field.Type
		}
	}
	for _, inner := range embedded {
		below := map[string]reflect.Type{}
		addFields(below, inner)
		for name, of := range below {
			if _, own := fields[name]; !own {
				fields[name] = of
			}
		}
	}
}
