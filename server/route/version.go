package route

import (
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/apierr"
	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/jsonbody"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/querystring"
)

// versionAPI is all operations as they are at one microversion.
type versionAPI struct {
	api        huma.API
	handlers   map[string]func(huma.Context)
	operations map[string]*registered

	document func() ([]byte, error)
	schemas  func() (*jsonbody.Document, error)

	mutex      sync.Mutex
	validators map[string]*jsonbody.Validator
}

// Handle keeps the handler that huma made for an operation; the table finds and
// calls it. With ServeHTTP it makes versionAPI a huma.Adapter.
func (v *versionAPI) Handle(op *huma.Operation, handler func(huma.Context)) {
	v.handlers[op.OperationID] = handler
	v.operations[op.OperationID] = &registered{op}
}

// ServeHTTP is not used: requests come through the table.
func (v *versionAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }

// build makes the API of one microversion from the table's variants.
func (t *Table) build(at microversion.Version) *versionAPI {
	built := &versionAPI{
		handlers:   map[string]func(huma.Context){},
		operations: map[string]*registered{},
		validators: map[string]*jsonbody.Validator{},
	}
	built.api = huma.NewAPI(t.config(at), built)
	for _, op := range t.operations {
		if variant := op.variant(at); variant != nil {
			variant.register(t, at, built.api, op.describe(t.api))
		}
	}
	t.finish(at, built.api.OpenAPI())
	built.document = sync.OnceValues(func() ([]byte, error) { return marshalDocument(built.api.OpenAPI()) })
	built.schemas = sync.OnceValues(func() (*jsonbody.Document, error) {
		document, err := built.api.OpenAPI().MarshalJSON()
		if err != nil {
			return nil, err
		}
		return jsonbody.NewDocument(document, jsonbody.LenientUUID)
	})
	return built
}

// checkQuery refuses parameters that an operation does not document; those that
// it documents at the newest version with another error.
func (t *Table) checkQuery(operation, rawQuery string, at microversion.Version) error {
	if rawQuery == "" {
		return nil
	}
	values, err := querystring.Parse(rawQuery)
	if err != nil {
		return fault.New(fault.Invalid, "Invalid query string: %s", err)
	}
	unexpected := slices.DeleteFunc(values.Names(), t.at(at).operations[operation].documents)
	if len(unexpected) == 0 {
		return nil
	}
	slices.Sort(unexpected)
	newest := t.at(t.api.Max).operations[operation]
	for _, name := range unexpected {
		if newest == nil || !newest.documents(name) {
			return fault.New(fault.Invalid, "Unexpected arguments: %s", strings.Join(unexpected, ", "))
		}
	}
	return fault.New(fault.NotAcceptable, "Only later versions than %s have the arguments: %s", at, strings.Join(unexpected, ", "))
}

// registered is an operation as huma knows it.
type registered struct{ *huma.Operation }

// documents says whether there is a parameter of the query string with that name.
func (r *registered) documents(name string) bool {
	return slices.ContainsFunc(r.Parameters, func(known *huma.Param) bool {
		return known.In == "query" && known.Name == name
	})
}

// validator is the compiled schema of an operation's body: as it is published,
// but for what nameMembers adds.
func (v *versionAPI) validator(operation string) (*jsonbody.Validator, error) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if found := v.validators[operation]; found != nil {
		return found, nil
	}
	schemas, err := v.schemas()
	if err != nil {
		return nil, err
	}
	op := v.operations[operation]
	made, err := schemas.Compile(fmt.Sprintf("#/paths/%s/%s/requestBody/content/application~1json/schema",
		strings.NewReplacer("~", "~0", "/", "~1").Replace(op.Path), strings.ToLower(op.Method)))
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", operation, err)
	}
	v.validators[operation] = made
	return made, nil
}

// config is huma's, by hand: none of its own routes, formats or decorations.
func (t *Table) config(at microversion.Version) huma.Config {
	publisher := &publisher{
		api: t.api, at: at, schemas: huma.NewMapRegistry("#/components/schemas/", schemaName), examples: map[string]*huma.Example{},
	}
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:       t.api.Title,
				Version:     at.String(),
				Description: t.api.Description(at),
				License:     &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
			},
			Servers: []*huma.Server{{URL: "/", Description: "Where this document was read."}},
			Tags:    t.tags,
			Components: &huma.Components{
				Schemas:    publisher.schemas,
				Examples:   publisher.examples,
				Responses:  publisher.sharedFailures(),
				Headers:    t.api.headers(at),
				Parameters: map[string]*huma.Param{t.api.VersionHeader: publisher.versionParameter()},
				SecuritySchemes: map[string]*huma.SecurityScheme{"token": {
					Type: "apiKey", In: "header", Name: "X-Auth-Token",
					Description: "A token of the identity service. Where the server runs with noauth2, `USER:PROJECT`; " +
						"`admin` is an administrator.",
				}},
			},
			Security:       []map[string][]string{{"token": {}}},
			OnAddOperation: []huma.AddOpFunc{publisher.publish},
		},
		Formats:       apierr.Formats(),
		DefaultFormat: apierr.FormatJSON,
	}
}

// versionSuffix ends the names of types that stand for one shape of several:
// ProviderV14 is the Provider of documents from 1.14 on.
var versionSuffix = regexp.MustCompile(`V\d+$`)

// published are the names, in documents, of types whose own names are made for
// their packages: apierr.Response is a good name there and none here.
var published = map[reflect.Type]string{
	reflect.TypeFor[apierr.Response]():              "Errors",
	reflect.TypeFor[apierr.Item]():                  "Error",
	reflect.TypeFor[apierr.Baremetal]():             "Failure",
	reflect.TypeFor[apierr.Denial]():                "Unauthorized",
	reflect.TypeFor[microversion.Document]():        "Versions",
	reflect.TypeFor[microversion.DocumentVersion](): "Version",
	reflect.TypeFor[microversion.DocumentLink]():    "VersionLink",
}

// described say what the schemas of this package are.
var described = map[string]string{
	"Errors":       "What all operations answer when they fail, but for status 401.",
	"Error":        "One reason for a failure.",
	"ErrorCode":    "What went wrong, for programs: they compare it, and show the detail.",
	"Unauthorized": "The answer to a request without a valid token.",
	"Versions":     "What GET / answers.",
	"Version":      "A major version of the API.",
	"VersionLink":  "Where a major version is found.",
}

func schemaName(t reflect.Type, hint string) string {
	if name, ok := published[t]; ok {
		return name
	}
	return versionSuffix.ReplaceAllString(huma.DefaultSchemaNamer(t, hint), "")
}

func init() {
	// Switches of huma that exist only for the whole process.
	huma.DefaultArrayNullable = false
	huma.NewError = func(status int, message string, _ ...error) huma.StatusError {
		return apierr.Plain(status, message)
	}
	huma.NewErrorWithContext = func(ctx huma.Context, status int, message string, causes ...error) huma.StatusError {
		return apierr.FromHuma(ctx.Context(), status, message, causes...)
	}
}
