package badinput

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/wire/microversion"
)

// operation is one operation of one document.
type operation struct {
	api     string // placement or request.Baremetal
	version string
	method  string
	path    string
	params  []*openapi3.Parameter
	// body is nil if the document has none.
	body    *openapi3.Schema
	example any
	// statuses are the documented statuses.
	statuses map[string]bool
}

// name returns the name, which is the same in every document.
func (o *operation) name() string { return o.method + " " + o.path }

// byName groups the operations of all documents by name, so that operations in few documents are as
// frequent as others.
func byName(all []operation) (grouped [][]operation) {
	places := map[string]int{}
	for _, one := range all {
		at, there := places[one.name()]
		if !there {
			at = len(grouped)
			places[one.name()], grouped = at, append(grouped, nil)
		}
		grouped[at] = append(grouped[at], one)
	}
	return grouped
}

// readOnce reads the documents once for all tests, because they share the compiled patterns.
var readOnce = sync.OnceValues(func() ([]operation, error) {
	type name struct {
		api     string
		table   *route.Table
		version microversion.Version
	}
	var names []name
	for _, table := range []*route.Table{server.Table(server.Options{}), server.BaremetalTable(server.Options{})} {
		for _, version := range slices.Concat(table.API().Versions(), table.API().Extensions) {
			names = append(names, name{cmp.Or(table.API().Service, "placement"), table, version})
		}
	}
	read, failed := make([][]operation, len(names)), make([]error, len(names))
	var all sync.WaitGroup
	for i, one := range names {
		all.Go(func() {
			text, err := one.table.Document(one.version)
			if err != nil {
				failed[i] = err
				return
			}
			document, err := openapi3.NewLoader().LoadFromData(text)
			if err != nil {
				failed[i] = fmt.Errorf("%s %s: %w", one.api, one.version.Label(), err)
				return
			}
			read[i] = operationsOf(one.api, one.version.Label(), document)
		})
	}
	all.Wait()
	found := slices.Concat(read...)
	for _, one := range found {
		compilePatterns(one.body, map[*openapi3.Schema]bool{})
		for _, param := range one.params {
			compilePatterns(valueOf(param.Schema), map[*openapi3.Schema]bool{})
		}
	}
	return found, errors.Join(failed...)
})

func operationsOf(api string, version string, document *openapi3.T) (made []operation) {
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
