package server_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/api/route"
)

// TestOpenAPI_SchemasAndMembers_HaveDistinctNames checks the names that client generators make for members of schemas:
// the name of the schema, followed by that of the member in camel case. Two members with one name do not compile.
func TestOpenAPI_SchemasAndMembers_HaveDistinctNames(t *testing.T) {
	t.Parallel()
	check := func(name string, document []byte, err error) {
		if err != nil {
			t.Fatal(err)
		}
		for made, members := range memberNames(t, document) {
			if len(members) > 1 {
				t.Errorf("%s: %q are all called %s", name, members, made)
			}
		}
	}
	for _, table := range []*route.Table{server.Table(server.Options{}), server.BaremetalTable(server.Options{})} {
		for _, version := range table.API().Versions() {
			document, err := table.Document(version)
			check(table.API().VersionValue(version), document, err)
		}
	}
	for _, document := range server.ExtensionDocuments() {
		content, err := document.Build()
		check(document.Title(), content, err)
	}
}

var wordStart = regexp.MustCompile(`(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])`)

// memberNames returns the members of each name that a generator makes.
func memberNames(t *testing.T, document []byte) map[string][]string {
	t.Helper()
	type schema struct{ Properties map[string]any }
	var described struct {
		Components struct{ Schemas map[string]schema }
	}
	if err := json.Unmarshal(document, &described); err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for name, schema := range described.Components.Schemas {
		for member := range schema.Properties {
			made := name + wordStart.ReplaceAllStringFunc(member, func(start string) string {
				return strings.ToUpper(start[len(start)-1:])
			})
			found[made] = append(found[made], name+"."+member)
		}
	}
	return found
}

// TestOpenAPI_Enumerations_HaveDistinctValues checks that no enumeration has a value twice, which generators copy into
// code that does not compile.
func TestOpenAPI_Enumerations_HaveDistinctValues(t *testing.T) {
	t.Parallel()
	for _, document := range server.ExtensionDocuments() {
		content, err := document.Build()
		if err != nil {
			t.Fatal(err)
		}
		var root any
		if err := json.Unmarshal(content, &root); err != nil {
			t.Fatal(err)
		}
		checkEnumerations(t, document.Title(), root)
	}
}

func checkEnumerations(t *testing.T, name string, node any) {
	t.Helper()
	switch node := node.(type) {
	case map[string]any:
		values, _ := node["enum"].([]any)
		seen := map[any]bool{}
		for _, value := range values {
			if seen[value] {
				t.Errorf("%s: an enumeration has %v twice", name, value)
			}
			seen[value] = true
		}
		for _, child := range node {
			checkEnumerations(t, name, child)
		}
	case []any:
		for _, child := range node {
			checkEnumerations(t, name, child)
		}
	}
}
