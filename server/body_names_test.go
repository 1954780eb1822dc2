package server_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/server"
)

// TestMicroversion_RequestBodies_NamesComparedExactly checks the schemas of all request bodies. encoding/json decodes
// what they accept, and matches names without regard to case. So a schema with members must accept no others: an
// accepted member with a name in another case would replace one of them.
func TestMicroversion_RequestBodies_NamesComparedExactly(t *testing.T) {
	t.Parallel()
	type documented struct {
		name  string
		build func() ([]byte, error)
	}
	var documents []documented
	placement, baremetal := server.Table(server.Options{}), server.BaremetalTable(server.Options{})
	for _, version := range placement.API().Versions() {
		documents = append(documents, documented{placement.API().VersionValue(version), func() ([]byte, error) { return placement.Document(version) }})
	}
	for _, version := range baremetal.API().Versions() {
		documents = append(documents, documented{baremetal.API().VersionValue(version), func() ([]byte, error) { return baremetal.Document(version) }})
	}
	for _, extended := range server.ExtensionDocuments() {
		documents = append(documents, documented{extended.Title(), extended.Build})
	}
	for _, document := range documents {
		raw, err := document.build()
		if err != nil {
			t.Fatal(err)
		}
		var whole map[string]any
		if err := json.Unmarshal(raw, &whole); err != nil {
			t.Fatal(err)
		}
		walk := &schemaWalk{root: whole, seen: map[string]bool{}}
		operations := 0
		for path, methods := range whole["paths"].(map[string]any) {
			for method, operation := range methods.(map[string]any) {
				described, _ := operation.(map[string]any)
				body, hasBody := described["requestBody"].(map[string]any)
				if !hasBody {
					continue
				}
				operations++
				for _, content := range body["content"].(map[string]any) {
					walk.schema(method+" "+path, content.(map[string]any)["schema"])
				}
			}
		}
		if operations == 0 || walk.objects == 0 {
			t.Errorf("%s: %d operations with a body and %d schemas with members", document.name, operations, walk.objects)
		}
		slices.Sort(walk.open)
		for _, open := range walk.open {
			t.Errorf("%s: %s accepts members that it does not list", document.name, open)
		}
	}
}

// schemaWalk visits the schemas below a schema.
type schemaWalk struct {
	root    map[string]any
	seen    map[string]bool
	objects int
	// open are the places of schemas that list members and accept others.
	open []string
}

func (w *schemaWalk) schema(at string, value any) {
	schema, ok := value.(map[string]any)
	if !ok {
		return
	}
	if reference, ok := schema["$ref"].(string); ok {
		if w.seen[reference] {
			return
		}
		w.seen[reference] = true
		var found any = w.root
		for step := range strings.SplitSeq(strings.TrimPrefix(reference, "#/"), "/") {
			found = found.(map[string]any)[step]
		}
		w.schema(reference, found)
		return
	}
	members, _ := schema["properties"].(map[string]any)
	if len(members) > 0 {
		w.objects++
		_, hasPatterns := schema["patternProperties"]
		if schema["additionalProperties"] != false || hasPatterns {
			w.open = append(w.open, at)
		}
	}
	for name, member := range members {
		w.schema(at+"."+name, member)
	}
	for _, keyword := range []string{"items", "additionalProperties"} {
		w.schema(at+" "+keyword, schema[keyword])
	}
	if patterns, ok := schema["patternProperties"].(map[string]any); ok {
		for pattern, member := range patterns {
			w.schema(at+" "+pattern, member)
		}
	}
	for _, keyword := range []string{"oneOf", "anyOf", "allOf"} {
		alternatives, _ := schema[keyword].([]any)
		for _, alternative := range alternatives {
			w.schema(at+" "+keyword, alternative)
		}
	}
}
