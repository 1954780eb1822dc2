package openapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/berthd/berth/openapi"
)

// everyDocument runs a check on each document, in parallel.
func everyDocument(t *testing.T, check func(t *testing.T, document []byte)) {
	t.Helper()
	for api, want := range map[openapi.API]int{openapi.Placement: 40, openapi.Baremetal: 53} {
		versions := api.Versions()
		if len(versions) != want {
			t.Errorf("there are %d documents of %s: %v", len(versions), api, versions)
		}
		for _, version := range versions {
			t.Run(string(api)+" "+version, func(t *testing.T) {
				t.Parallel()
				document, ok := api.Document(version)
				if !ok {
					t.Fatal("there is no such document")
				}
				check(t, document)
			})
		}
	}
}

func TestEveryDocumentIsValidOpenAPI(t *testing.T) {
	t.Parallel()
	everyDocument(t, func(t *testing.T, document []byte) {
		loaded, err := openapi3.NewLoader().LoadFromData(document)
		if err != nil {
			t.Fatal(err)
		}
		err = loaded.Validate(t.Context(), openapi3.IsOpenAPI31OrLater(),
			openapi3.EnableSchemaPatternValidation(), openapi3.DisableExamplesValidation())
		if err != nil {
			t.Error(err)
		}
	})
}

func TestEverySchemaCompilesAndEveryExampleFitsItsSchema(t *testing.T) {
	t.Parallel()
	everyDocument(t, func(t *testing.T, document []byte) {
		book := newBook(t, document)
		book.walk("#", book.root)
		if book.schemas == 0 || book.examples == 0 {
			t.Errorf("%d schemas and %d examples were looked at", book.schemas, book.examples)
		}
	})
}

// book is a document with the compiler for its schemas.
type book struct {
	t                 *testing.T
	root              any
	compiler          *jsonschema.Compiler
	schemas, examples int
}

const bookURL = "memory:///document.json"

func newBook(t *testing.T, document []byte) *book {
	t.Helper()
	root, err := jsonschema.UnmarshalJSON(strings.NewReader(string(document)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	if err := compiler.AddResource(bookURL, root); err != nil {
		t.Fatal(err)
	}
	return &book{t: t, root: root, compiler: compiler}
}

// walk looks at every object of the document: those that are schemas or have one
// must have examples that fit.
func (b *book) walk(pointer string, value any) {
	switch node := value.(type) {
	case map[string]any:
		if _, ok := node["schema"].(map[string]any); ok {
			b.check(pointer, pointer+"/schema", node)
		}
		if isSchema(pointer) {
			b.check(pointer, pointer, map[string]any{"examples": node["examples"]})
		}
		for name, child := range node {
			if name != "example" && name != "examples" {
				b.walk(pointer+"/"+escape(name), child)
			}
		}
	case []any:
		for i, child := range node {
			b.walk(fmt.Sprintf("%s/%d", pointer, i), child)
		}
	}
}

// isSchema is true for the components and for the properties below them.
func isSchema(pointer string) bool {
	steps := strings.Split(pointer, "/")
	if len(steps) < 4 || steps[1] != "components" || steps[2] != "schemas" {
		return false
	}
	return len(steps) == 4 || len(steps)%2 == 0 && steps[len(steps)-2] == "properties"
}

func (b *book) check(place, schemaPointer string, holder map[string]any) {
	b.schemas++
	schema, err := b.compiler.Compile(bookURL + schemaPointer)
	if err != nil {
		b.t.Errorf("%s: %v", schemaPointer, err)
		return
	}
	for name, example := range b.examplesOf(holder) {
		b.examples++
		if err := schema.Validate(example); err != nil {
			b.t.Errorf("%s: example %s: %v", place, name, err)
		}
	}
}

// examplesOf are the examples of a media type, a parameter or a schema, which
// spell them differently.
func (b *book) examplesOf(holder map[string]any) map[string]any {
	found := map[string]any{}
	if example, ok := holder["example"]; ok {
		found["example"] = example
	}
	switch examples := holder["examples"].(type) {
	case []any:
		for i, example := range examples {
			found[fmt.Sprint(i)] = example
		}
	case map[string]any:
		for name, example := range examples {
			found[name] = b.resolve(example.(map[string]any))["value"]
		}
	}
	return found
}

// resolve follows a reference, if it is one.
func (b *book) resolve(node map[string]any) map[string]any {
	target, ok := node["$ref"].(string)
	if !ok {
		return node
	}
	found := b.root
	for _, step := range strings.Split(target, "/")[1:] {
		found = found.(map[string]any)[step]
	}
	return found.(map[string]any)
}

// document is as much of a document as the tests below look at.
type document struct {
	Paths map[string]map[string]struct {
		OperationID string   `json:"operationId"`
		Summary     string   `json:"summary"`
		Rule        string   `json:"x-policy-rule"`
		Tags        []string `json:"tags"`
		Parameters  []struct {
			Name, In string
		} `json:"parameters"`
		RequestBody *struct {
			Content map[string]map[string]any `json:"content"`
		} `json:"requestBody"`
		Responses map[string]struct {
			Ref     string                    `json:"$ref"`
			Content map[string]map[string]any `json:"content"`
			Headers map[string]any            `json:"headers"`
		} `json:"responses"`
	} `json:"paths"`
	Components map[string]map[string]any `json:"components"`
}

func read(t *testing.T, raw []byte) document {
	t.Helper()
	var read document
	if err := json.Unmarshal(raw, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

func TestEveryComponentIsUsedAndHasACleanName(t *testing.T) {
	t.Parallel()
	everyDocument(t, func(t *testing.T, raw []byte) {
		for kind, components := range read(t, raw).Components {
			for name := range components {
				if kind != "securitySchemes" && !strings.Contains(string(raw), `"#/components/`+kind+"/"+name+`"`) {
					t.Errorf("nothing refers to %s/%s", kind, name)
				}
				if kind == "schemas" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") != "" {
					t.Errorf("the schema's name %q is not one for clients", name)
				}
			}
		}
	})
}

func TestEveryOperationSaysWhatItNeedsAndReturns(t *testing.T) {
	t.Parallel()
	everyDocument(t, func(t *testing.T, raw []byte) {
		for path, methods := range read(t, raw).Paths {
			for _, op := range methods {
				var declared []string
				for _, parameter := range op.Parameters {
					if parameter.In == "path" {
						declared = append(declared, "{"+parameter.Name+"}")
					}
				}
				var needed []string
				for step := range strings.SplitSeq(path, "/") {
					if strings.HasPrefix(step, "{") {
						needed = append(needed, step)
					}
				}
				slices.Sort(declared)
				slices.Sort(needed)
				if !slices.Equal(declared, needed) {
					t.Errorf("%s: path variables %v are documented as %v", op.OperationID, needed, declared)
				}
				if op.Summary == "" || len(op.Tags) != 1 || op.Rule == "" && path != "/" && path != "/v1" {
					t.Errorf("%s lacks a summary, a tag or a rule", op.OperationID)
				}
				if (op.RequestBody != nil) && op.RequestBody.Content["application/json"]["example"] == nil {
					t.Errorf("%s: the body has no example", op.OperationID)
				}
				for status, response := range op.Responses {
					body := response.Content["application/json"]
					if strings.HasPrefix(status, "2") && body != nil && body["example"] == nil {
						t.Errorf("%s: the answer %s has no example", op.OperationID, status)
					}
					if status == "204" && body != nil {
						t.Errorf("%s: a body with status 204", op.OperationID)
					}
					if strings.HasPrefix(status, "2") && !tells(response.Headers) {
						t.Errorf("%s: the answer %s lacks headers: %v", op.OperationID, status, slices.Collect(maps.Keys(response.Headers)))
					}
				}
				for _, status := range []string{"400", "406", "500"} {
					if _, ok := op.Responses[status]; !ok {
						t.Errorf("%s: status %s is missing", op.OperationID, status)
					}
				}
			}
		}
	})
}

// tells says whether an answer has the headers of its API.
func tells(headers map[string]any) bool {
	return headers["OpenStack-API-Version"] != nil && headers["X-Openstack-Request-Id"] != nil ||
		headers["X-OpenStack-Ironic-API-Version"] != nil && headers["Openstack-Request-Id"] != nil
}

func TestErrorsHaveACodeFrom1_23On(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{"1.0": false, "1.22": false, "1.23": true, "1.39": true} {
		raw, _ := openapi.Placement.Document(version)
		found := read(t, raw).Components["schemas"]["Error"].(map[string]any)["properties"].(map[string]any)
		if _, has := found["code"]; has != want {
			t.Errorf("%s: code is documented: %v", version, has)
		}
		if has := strings.Contains(string(raw), `"x-error-codes"`); has != want {
			t.Errorf("%s: codes are listed: %v", version, has)
		}
		for _, name := range []string{"max_version", "min_version"} {
			if found[name].(map[string]any)["description"] == "" {
				t.Errorf("%s: %s is not described", version, name)
			}
		}
	}
}

func TestNullIsATypeOfItsOwn(t *testing.T) {
	t.Parallel()
	raw, _ := openapi.Placement.Document("1.39")
	schemas := read(t, raw).Components["schemas"]
	for place, want := range map[[2]string]any{
		{"Provider", "parent_provider_uuid"}:       []any{"string", "null"},
		{"ProviderCreate", "parent_provider_uuid"}: []any{"string", "null"},
		{"ProviderUpdate", "parent_provider_uuid"}: []any{"string", "null"},
		{"Claim", "consumer_generation"}:           []any{"integer", "null"},
		{"Provider", "root_provider_uuid"}:         "string",
	} {
		properties := schemas[place[0]].(map[string]any)["properties"].(map[string]any)
		got := properties[place[1]].(map[string]any)["type"]
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: type %v, want %v", place, got, want)
		}
	}
}

func TestAnUnknownMicroversionHasNoDocument(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"1.83", "2.0", "", ".", "..", "../placement/1.39", "latest", "1.0.json"} {
		for _, api := range []openapi.API{openapi.Placement, openapi.Baremetal} {
			if document, ok := api.Document(version); ok || document != nil {
				t.Errorf("there is a document of %s of %q", api, version)
			}
		}
	}
	for api, version := range map[openapi.API]string{openapi.Placement: "1.40", openapi.Baremetal: "1.0"} {
		if document, ok := api.Document(version); ok || document != nil {
			t.Errorf("there is a document of %s of %q", api, version)
		}
	}
}

// escape makes a step of a pointer that stands in a URL.
func escape(step string) string { return escaper.Replace(step) }

var escaper = strings.NewReplacer("~", "~0", "/", "~1", "%", "%25", "{", "%7B", "}", "%7D", "^", "%5E")
