package route

import (
	"context"
	"embed"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/wire/microversion"
)

// Doc adds information that the types of a variant do not contain to the document of one microversion.
type Doc func(at microversion.Version, api huma.API, op *huma.Operation)

// Status sets the status of success if it differs from 200 with a body and 204 without.
func Status(code int) Doc {
	return func(_ microversion.Version, _ huma.API, op *huma.Operation) { op.DefaultStatus = code }
}

// DescribedFrom replaces the description of the operation from a version on.
func DescribedFrom(since microversion.Version, description string) Doc {
	return func(at microversion.Version, _ huma.API, op *huma.Operation) {
		if at >= since {
			op.Description = draftOf(op).row.withRule(description)
		}
	}
}

// Query documents the parameters of the query string. huma neither parses nor validates them: their format and the
// order of errors belong to the operation.
func Query(params func(microversion.Version) []*huma.Param) Doc {
	return func(at microversion.Version, _ huma.API, op *huma.Operation) {
		op.Parameters = append(op.Parameters, params(at)...)
	}
}

// SecondStatus documents a second status of success with the headers of the first one and without a body.
func SecondStatus(code string, description string) Doc {
	return func(_ microversion.Version, _ huma.API, op *huma.Operation) {
		response(op, code).Description = description
	}
}

// Returns documents the body of a streamed response.
func Returns[T any]() Doc {
	return func(_ microversion.Version, api huma.API, op *huma.Operation) {
		found := response(op, "200")
		found.Description = http.StatusText(http.StatusOK)
		found.Content = map[string]*huma.MediaType{jsonType: {Schema: schemaOf[T](api)}}
	}
}

// ReturnsStream documents a streamed response: its lines as NDJSON, and as the data of server-sent events.
func ReturnsStream[Line any](description string, events string) Doc {
	return func(_ microversion.Version, api huma.API, op *huma.Operation) {
		found := response(op, "200")
		found.Description = description
		found.Content = map[string]*huma.MediaType{
			NDJSON:      {Schema: schemaOf[Line](api)},
			EventStream: {Schema: &huma.Schema{Type: huma.TypeString, Description: events}},
		}
	}
}

// Example sets the body of a response. It is created in the context of a request at the microversion of the document,
// so that the functions that convert responses can create examples.
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

// operationDocs is the documentation of an operation that huma does not derive from its types. For example, huma would
// read and validate every body that it knew of.
type operationDocs struct {
	api     *API
	row     *Operation
	body    *huma.RequestBody
	example any
}

const draftKey = "berth-draft"

func draftOf(op *huma.Operation) *operationDocs {
	found, _ := op.Metadata[draftKey].(*operationDocs)
	return found
}

// sampleFiles are the programs that the documents show for the main operations, by operation id and language. Tests run
// them against a server at another address.
//
//go:embed _samples
var sampleFiles embed.FS

// sample is one element of x-codeSamples, which Redoc and other tools show.
type sample struct {
	Language string `json:"lang"`
	Label    string `json:"label"`
	Source   string `json:"source"`
}

// sampleLanguages are the languages in the order of the documents.
var sampleLanguages = []struct{ extension, language, label string }{
	{"sh", "Shell", "curl"},
	{"py", "Python", "Python (openstacksdk)"},
	{"go", "Go", "Go"},
	{"ts", "TypeScript", "TypeScript (openapi-fetch)"},
}

// publishSamples adds the samples of an operation. They are written for the newest microversion of the API, so that only
// its documents have them.
func (p *publisher) publishSamples(op *huma.Operation) {
	if p.at < p.api.Max {
		return
	}
	var samples []sample
	for _, of := range sampleLanguages {
		source, err := sampleFiles.ReadFile("_samples/" + op.OperationID + "." + of.extension)
		if err != nil {
			continue // the operation has no samples
		}
		samples = append(samples, sample{of.language, of.label, strings.TrimSpace(string(source))})
	}
	if len(samples) == 0 {
		return
	}
	if op.Extensions == nil {
		op.Extensions = map[string]any{}
	}
	op.Extensions["x-codeSamples"] = samples
}
