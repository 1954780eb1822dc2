package openapi

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

const (
	versionFact       = "version"
	versionHeaderFact = "version in the header"
	// microversionSchema is the schema whose only value is the version of the document.
	microversionSchema = "Microversion"
)

// walk collects the facts of a document. Each part of the document is in exactly one of
// them, so that equal facts mean equal structure.
type walk struct {
	facts []fact
}

// add appends a fact. Its place is the group, which sorts related facts together, and its
// name.
func (w *walk) add(group, name string, value any) {
	w.facts = append(w.facts, fact{place: group + "\x00" + name, name: name, value: render(value)})
}

func (w *walk) document(root map[string]any) {
	for path, item := range take(root, "paths") {
		operations, ok := item.(map[string]any)
		if !ok || len(operations) == 0 {
			w.add(path, "path "+plain(path), item)
		}
		for method, operation := range operations {
			w.operation(path, strings.ToUpper(method)+" "+plain(path), operation)
		}
	}
	for kind, value := range take(root, "components") {
		components, ok := value.(map[string]any)
		if !ok || len(components) == 0 {
			w.add("~"+kind, "components "+plain(kind), value)
		}
		for name, component := range components {
			w.component(kind, name, component)
		}
	}
	if info := take(root, "info"); info != nil {
		w.add("", versionFact, info["version"])
	}
	w.add("", "document", root)
}

func (w *walk) operation(path, name string, value any) {
	operation, ok := value.(map[string]any)
	if !ok {
		w.add(path, name, value)
		return
	}
	for parameter, described := range take(operation, "parameters") {
		if fields, ok := described.(map[string]any); ok {
			delete(fields, "in") // parameter starts with it and ends with its name
			delete(fields, "name")
		}
		w.add(path, name+" "+parameterName(parameter), described)
	}
	if body, ok := operation["requestBody"]; ok {
		delete(operation, "requestBody")
		w.add(path, name+" body", body)
	}
	for status, response := range take(operation, "responses") {
		w.response(path, name+" "+plain(status), response)
	}
	w.add(path, name, operation)
}

// parameterName returns "query limit" or, of a shared parameter, "parameter X-Version".
func parameterName(key string) string {
	if shared, ok := strings.CutPrefix(key, "#/components/parameters/"); ok {
		return "parameter " + plain(shared)
	}
	in, name, _ := strings.Cut(key, " ")
	return in + " " + plain(name)
}

func (w *walk) response(group, name string, value any) {
	if response, ok := value.(map[string]any); ok {
		for header, described := range take(response, "headers") {
			w.add(group, name+" header "+plain(header), described)
		}
		for mediaType, described := range take(response, "content") {
			w.add(group, name+" body "+plain(mediaType), described)
		}
	}
	w.add(group, name, value)
}

func (w *walk) component(kind, name string, value any) {
	group := "~" + kind // after all paths
	switch kind {
	case "schemas":
		schema, _ := value.(map[string]any)
		if version, ok := schema["const"]; ok && name == microversionSchema {
			delete(schema, "const")
			w.add("", versionHeaderFact, version)
		}
		w.schema("schema "+plain(name), "", value)
	case "responses":
		w.response(group, "response "+plain(name), value)
	default:
		w.add(group, strings.TrimSuffix(kind, "s")+" "+plain(name), value)
	}
}

// schema adds a schema and each of its properties. note is "required " for a property that
// its object requires.
func (w *walk) schema(name, note string, value any) {
	schema, ok := value.(map[string]any)
	if !ok {
		w.addSchema(name, note, value)
		return
	}
	properties := take(schema, "properties")
	required := list(schema["required"])
	for property, described := range properties {
		note := ""
		if at := slices.Index(required, any(property)); at >= 0 {
			note = "required "
			required = slices.Delete(required, at, at+1)
		}
		w.schema(name+"."+plain(property), note, described)
	}
	switch all := len(list(schema["required"])); {
	case len(required) > 0:
		schema["required"] = required
	case all > 0:
		delete(schema, "required")
	}
	w.addSchema(name, note, schema)
}

func (w *walk) addSchema(name, note string, value any) {
	w.add("~schemas", name, value)
	added := &w.facts[len(w.facts)-1]
	added.value = note + added.value
}

// take removes a member that is an object and returns it. It keeps an empty object and any other value, which have no
// facts.
func take(from map[string]any, name string) map[string]any {
	taken, _ := from[name].(map[string]any)
	if len(taken) == 0 {
		return nil
	}
	delete(from, name)
	return taken
}

// list returns a copy of a list. A single item, which stands for a list with that item, becomes a list.
func list(value any) []any {
	switch value := value.(type) {
	case nil:
		return nil
	case []any:
		return slices.Clone(value)
	}
	return []any{value}
}

var isPlain = regexp.MustCompile(`^[A-Za-z0-9_$/{}*-]+$`)

// plain returns a name, with quotes if it has unusual characters.
func plain(name string) string {
	if isPlain.MatchString(name) {
		return name
	}
	return string(encode(name))
}

const referencePrefix = "#/components/"

// render formats a value on one line: JSON without the quotes of plain names, and with references in angle brackets.
func render(value any) string {
	switch value := value.(type) {
	case map[string]any:
		reference, _ := value["$ref"].(string)
		if target, ok := strings.CutPrefix(reference, referencePrefix); ok && len(value) == 1 {
			return "<" + target + ">"
		}
		var members []string
		for _, name := range slices.Sorted(maps.Keys(value)) {
			members = append(members, plain(name)+": "+render(value[name]))
		}
		return "{" + strings.Join(members, ", ") + "}"
	case []any:
		items := make([]string, 0, len(value))
		for _, item := range value {
			items = append(items, render(item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return string(encode(value))
}
