package badinput

import (
	"cmp"
	"slices"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/berthd/berth/openapi"
)

// operation is one of the operations of one document.
type operation struct {
	api     openapi.API
	version string
	method  string
	path    string
	params  []*openapi3.Parameter
	// body is nil where none is documented.
	body    *openapi3.Schema
	example any
	// statuses are those documented.
	statuses map[string]bool
}

// operations are those of every document, in an order that is the same each time.
func operations(t testing.TB) []operation {
	t.Helper()
	type name struct {
		api     openapi.API
		version string
	}
	var names []name
	for _, api := range []openapi.API{openapi.Placement, openapi.Baremetal} {
		versions := api.Versions()
		slices.Sort(versions)
		for _, version := range versions {
			names = append(names, name{api, version})
		}
	}
	read := make([][]operation, len(names))
	var all sync.WaitGroup
	for i, one := range names {
		all.Go(func() {
			text, _ := one.api.Document(one.version)
			document, err := openapi3.NewLoader().LoadFromData(text)
			if err != nil {
				t.Errorf("%s %s: %v", one.api, one.version, err)
				return
			}
			read[i] = operationsOf(one.api, one.version, document)
		})
	}
	all.Wait()
	return slices.Concat(read...)
}

func operationsOf(api openapi.API, version string, document *openapi3.T) (made []operation) {
	for path, item := range document.Paths.Map() {
		for method, described := range item.Operations() {
			one := operation{api: api, version: version, method: method, path: path, statuses: map[string]bool{}}
			for _, param := range slices.Concat(item.Parameters, described.Parameters) {
				if param.Value.In != openapi3.ParameterInHeader {
					one.params = append(one.params, param.Value)
				}
			}
			for status := range described.Responses.Map() {
				one.statuses[status] = true
			}
			if described.RequestBody != nil {
				for _, media := range described.RequestBody.Value.Content {
					one.body, one.example = media.Schema.Value, media.Example
				}
			}
			made = append(made, one)
		}
	}
	slices.SortFunc(made, func(a, b operation) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.method, b.method))
	})
	return made
}
