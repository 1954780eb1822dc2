package route

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/api/apierr"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/jsonbody"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/querystring"
)

// versionAPI is a set of operations at one microversion: all operations for a document, or one to serve it.
type versionAPI struct {
	api        huma.API
	handlers   map[string]func(huma.Context)
	operations map[string]*registered
	validator  func() (*jsonbody.Validator, error)
}

// Handle stores the handler that huma created for an operation; the table finds and calls it. With ServeHTTP it makes
// versionAPI a huma.Adapter.
func (v *versionAPI) Handle(op *huma.Operation, handler func(huma.Context)) {
	v.handlers[op.OperationID] = handler
	v.operations[op.OperationID] = &registered{Operation: op}
}

// ServeHTTP is unused: the table serves requests.
func (v *versionAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }

// build registers the variants of operations at one microversion with huma.
func (t *Table) build(at microversion.Version, operations []*Operation) *versionAPI {
	built := &versionAPI{handlers: map[string]func(huma.Context){}, operations: map[string]*registered{}}
	built.api = huma.NewAPI(t.config(at), built)
	for _, op := range operations {
		if variant := op.variant(at); variant != nil {
			described := op.describe(t.api)
			op.documentQuery(t.api, at, &described)
			op.documentKey(t.api, at, &described)
			variant.register(t, at, built.api, described)
		}
	}
	t.finish(at, built.api.OpenAPI())
	return built
}

// servedKey identifies an operation at a microversion.
type servedKey struct {
	version   microversion.Version
	operation string
}

// maxServed is the maximum number of built operations that a table stores, at 10 to 60 KB each. An API has up to 50
// operations, and the services of a cloud use each at a few microversions. For a client that uses all of them, the
// table rebuilds operations in a few milliseconds each, and its memory does not grow.
const maxServed = 128

// served returns an operation at a microversion that has it. It builds the operation at its first request, one at a
// time.
func (t *Table) served(op *Operation, version microversion.Version) *registered {
	key := servedKey{t.api.Nearest(version), op.ID}
	if found, ok := t.built.Get(key); ok {
		return found
	}
	t.building.Lock()
	defer t.building.Unlock()
	if found, ok := t.built.Get(key); ok {
		return found
	}
	versionAPI := t.build(key.version, []*Operation{op})
	found := versionAPI.operations[op.ID]
	// Discard most of the document, which serving does not need.
	document := versionAPI.api.OpenAPI()
	document.Paths, document.Components.Responses, document.Components.Headers = nil, nil, nil
	document.Components.Examples, document.Components.Parameters, found.Responses = nil, nil, nil
	found.handler = versionAPI.handlers[op.ID]
	found.query = sync.OnceValues(func() (*querystring.Schema, error) { return op.querySchema(t.api, key.version) })
	versionAPI.validator = sync.OnceValues(func() (*jsonbody.Validator, error) { return versionAPI.compile(found.Operation) })
	t.built.Add(key, found)
	return found
}

// checkQuery rejects parameters that an operation does not document. The error differs for parameters that it documents
// at the newest version.
func (t *Table) checkQuery(op *Operation, rawQuery string, at microversion.Version) error {
	if rawQuery == "" {
		return nil
	}
	values, err := querystring.Parse(rawQuery)
	if err != nil {
		return fault.New(fault.Invalid, "Invalid query string: %s", err)
	}
	unexpected := slices.DeleteFunc(values.Names(), t.served(op, at).documents)
	if len(unexpected) == 0 {
		return nil
	}
	slices.Sort(unexpected)
	var newest *registered
	if op.variant(t.api.Max) != nil {
		newest = t.served(op, t.api.Max)
	}
	for _, name := range unexpected {
		if newest == nil || !newest.documents(name) {
			return fault.New(fault.Invalid, "Unexpected arguments: %s", strings.Join(unexpected, ", "))
		}
	}
	return fault.New(fault.NotAcceptable, "Only later versions than %s have the arguments: %s", at, strings.Join(unexpected, ", "))
}

// registered is an operation after its registration with huma.
type registered struct {
	*huma.Operation
	handler func(huma.Context)
	query   func() (*querystring.Schema, error)
}

// documents reports whether the query string has a documented parameter with that name.
func (r *registered) documents(name string) bool {
	return slices.ContainsFunc(r.Parameters, func(known *huma.Param) bool {
		return known.In == "query" && known.Name == name
	})
}

// compile compiles the published schema of an operation's body, without the additions of nameMembers. Schemas refer
// only to the components of the document.
func (v *versionAPI) compile(op *huma.Operation) (*jsonbody.Validator, error) {
	const body = "body"
	var published *huma.MediaType
	for _, published = range op.RequestBody.Content { // there is one
	}
	document, err := json.Marshal(map[string]any{
		body:         published.Schema,
		"components": map[string]any{"schemas": v.api.OpenAPI().Components.Schemas},
	})
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", op.OperationID, err)
	}
	schemas, err := jsonbody.NewDocument(document, jsonbody.LenientUUID)
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", op.OperationID, err)
	}
	validator, err := schemas.Compile("#/" + body)
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", op.OperationID, err)
	}
	return validator, nil
}

// config returns huma's configuration without its own routes, formats and transformers.
func (t *Table) config(at microversion.Version) huma.Config {
	publisher := &publisher{
		api: t.api, at: at, schemas: huma.NewMapRegistry("#/components/schemas/", SchemaName), examples: map[string]*huma.Example{},
	}
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:       t.api.Title,
				Version:     t.api.label(at),
				Description: t.api.Description(at),
				License:     &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
			},
			Servers: []*huma.Server{{URL: "/", Description: "The server of this document."}},
			Tags:    t.tags,
			Components: &huma.Components{
				Schemas:    publisher.schemas,
				Examples:   publisher.examples,
				Responses:  publisher.sharedFailures(),
				Headers:    t.api.headers(at),
				Parameters: map[string]*huma.Param{t.api.VersionHeader: publisher.versionParameter()},
				SecuritySchemes: map[string]*huma.SecurityScheme{"token": {
					Type: "apiKey", In: "header", Name: "X-Auth-Token",
					Description: "A Keystone token. With --auth noauth2 it is `USER:PROJECT`; " +
						"the user `admin` is an administrator.",
				}},
			},
			Security:       []map[string][]string{{"token": {}}},
			OnAddOperation: []huma.AddOpFunc{publisher.publish},
		},
		Formats:       apierr.Formats(),
		DefaultFormat: apierr.FormatJSON,
	}
}

// versionSuffix matches the end of type names of one format of several: ProviderV14 is the Provider of documents from
// 1.14 on.
var versionSuffix = regexp.MustCompile(`V\d+$`)

// published are the names in documents of types whose Go names depend on their packages: apierr.Response is not clear
// without its package.
var published = map[reflect.Type]string{
	reflect.TypeFor[apierr.Response]():              "Errors",
	reflect.TypeFor[apierr.Item]():                  "Error",
	reflect.TypeFor[apierr.Baremetal]():             "Failure",
	reflect.TypeFor[apierr.Denial]():                "Unauthorized",
	reflect.TypeFor[microversion.Document]():        "Versions",
	reflect.TypeFor[microversion.DocumentVersion](): "Version",
	reflect.TypeFor[microversion.DocumentLink]():    "VersionLink",
}

// described are the descriptions of this package's schemas.
var described = map[string]string{
	"Errors":       "The error response of all operations, except for status 401.",
	"Error":        "One error.",
	"ErrorCode":    "Machine-readable code of the error. The detail is the text for people.",
	"Unauthorized": "The response to a request without a valid token.",
	"Versions":     "What GET / answers.",
	"Version":      "A major version of the API.",
	"VersionLink":  "A link to a major version.",
}

// prefixed are the prefixes in documents of the types of a package, whose Go names are not clear without it.
var prefixed = map[string]string{"github.com/berthd/berth/server/search/explain": "Explanation"}

// SchemaName returns the name of a type in documents.
func SchemaName(t reflect.Type, hint string) string {
	if name, ok := published[t]; ok {
		return name
	}
	name := versionSuffix.ReplaceAllString(huma.DefaultSchemaNamer(t, hint), "")
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if prefix := prefixed[t.PkgPath()]; !strings.HasPrefix(name, prefix) {
		return prefix + name
	}
	return name
}

func init() {
	// These settings of huma are global.
	huma.DefaultArrayNullable = false
	huma.NewError = func(status int, message string, _ ...error) huma.StatusError {
		return apierr.Plain(status, message)
	}
	huma.NewErrorWithContext = func(ctx huma.Context, status int, message string, causes ...error) huma.StatusError {
		return apierr.FromHuma(ctx.Context(), status, message, causes...)
	}
}
