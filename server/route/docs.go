package route

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/microversion"
)

// Doc adds to what the types of a variant say about it, in the document of one
// microversion.
type Doc func(at microversion.Version, api huma.API, op *huma.Operation)

// Status sets the status of success, where it is not 200 with and 204 without a
// body.
func Status(code int) Doc {
	return func(_ microversion.Version, _ huma.API, op *huma.Operation) { op.DefaultStatus = code }
}

// Query documents the parameters of the query string. huma neither reads nor
// checks them: their grammar and order are the operation's business.
func Query(params func(microversion.Version) []*huma.Param) Doc {
	return func(at microversion.Version, _ huma.API, op *huma.Operation) {
		op.Parameters = append(op.Parameters, params(at)...)
	}
}

// Also documents a second status of success, with the headers of the first and
// without a body.
func Also(code string, description string) Doc {
	return func(_ microversion.Version, _ huma.API, op *huma.Operation) {
		response(op, code).Description = description
	}
}

// Returns documents the body of an answer that is streamed.
func Returns[T any]() Doc {
	return func(_ microversion.Version, api huma.API, op *huma.Operation) {
		found := response(op, "200")
		found.Description = http.StatusText(http.StatusOK)
		found.Content = map[string]*huma.MediaType{jsonType: {Schema: schemaOf[T](api)}}
	}
}

// Example gives the body of an answer. It is made in the context of a request at
// the microversion of the document, so that the functions that shape answers can
// make examples too.
func Example(show func(context.Context) any) Doc {
	return func(at microversion.Version, _ huma.API, op *huma.Operation) {
		drafted := draftOf(op)
		drafted.example = show(drafted.api.ExampleContext(at, op.Method))
	}
}

func response(op *huma.Operation, status string) *huma.Response {
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	if op.Responses[status] == nil {
		op.Responses[status] = &huma.Response{}
	}
	return op.Responses[status]
}

// draft is what an operation is to be published with beside what huma makes of
// its types. huma reads and checks every body that it knows of, for one.
type draft struct {
	api     *API
	row     *Operation
	body    *huma.RequestBody
	example any
}

const draftKey = "berth-draft"

func draftOf(op *huma.Operation) *draft {
	found, _ := op.Metadata[draftKey].(*draft)
	return found
}
