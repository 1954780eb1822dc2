package openapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/api/route"
)

// documents are the documents of all microversions by names such as "placement 1.39".
var documents = sync.OnceValues(func() (map[string][]byte, error) {
	made := map[string][]byte{}
	for name, table := range map[string]*route.Table{
		"placement": server.Table(server.Options{}), "baremetal": server.BaremetalTable(server.Options{}),
	} {
		for _, version := range table.API().Versions() {
			document, err := table.Document(version)
			if err != nil {
				return nil, err
			}
			made[name+" "+version.String()] = document
		}
	}
	for _, extended := range server.ExtensionDocuments() {
		document, err := extended.Build()
		if err != nil {
			return nil, err
		}
		made["berth/"+extended.API+" "+extended.Extension.String()] = document
	}
	return made, nil
})

func all(t *testing.T) map[string][]byte {
	t.Helper()
	found, err := documents()
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// everyDocument runs a check on each document in parallel.
func everyDocument(t *testing.T, check func(t *testing.T, document []byte)) {
	t.Helper()
	want := 40 + 53 + len(server.ExtensionDocuments()) // Placement, Bare Metal, and both with extensions
	if got := len(all(t)); got != want {
		t.Errorf("documents = %d, want %d", got, want)
	}
	for name, document := range all(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, document)
		})
	}
}

func TestOpenAPI_Documents_AreValid(t *testing.T) {
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

func TestOpenAPI_Schemas_CompileAndMatchExamples(t *testing.T) {
	t.Parallel()
	everyDocument(t, func(t *testing.T, document []byte) {
		book := newBook(t, document)
		book.walk("#", book.root)
		if book.schemas == 0 || book.examples == 0 {
			t.Errorf("checked %d schemas and %d examples", book.schemas, book.examples)
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

// walk visits every object of the document. Schemas, and objects with a schema, must have valid examples.
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

// isSchema reports whether a pointer is a component schema or a property of one.
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

// examplesOf returns the examples of a media type, a parameter or a schema, which have different members for them.
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

// resolve returns the target of a reference, and any other object unchanged.
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

// document is the part of a document that the tests below need.
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

func TestOpenAPI_Components_UsedAndNamedCleanly(t *testing.T) {
	t.Parallel()
	everyDocument(t, func(t *testing.T, raw []byte) {
		for kind, components := range read(t, raw).Components {
			for name := range components {
				if kind != "securitySchemes" && !strings.Contains(string(raw), `"#/components/`+kind+"/"+name+`"`) {
					t.Errorf("%s/%s has no reference", kind, name)
				}
				if kind == "schemas" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") != "" {
					t.Errorf("invalid name of a schema for clients: %q", name)
				}
			}
		}
	})
}

func TestOpenAPI_Operations_DocumentParametersAndResponses(t *testing.T) {
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
					t.Errorf("%s: path variables = %v, documented = %v", op.OperationID, needed, declared)
				}
				if op.Summary == "" || len(op.Tags) != 1 || op.Rule == "" && path != "/" && path != "/v1" {
					t.Errorf("%s lacks a summary, a tag or a rule", op.OperationID)
				}
				if op.RequestBody != nil {
					for mediaType, content := range op.RequestBody.Content {
						if content["example"] == nil {
							t.Errorf("%s: the body of type %s has no example", op.OperationID, mediaType)
						}
					}
				}
				for status, response := range op.Responses {
					body := response.Content["application/json"]
					if strings.HasPrefix(status, "2") && body != nil && body["example"] == nil {
						t.Errorf("%s: the response %s has no example", op.OperationID, status)
					}
					if status == "204" && body != nil {
						t.Errorf("%s: a body with status 204", op.OperationID)
					}
					if strings.HasPrefix(status, "2") && !tells(response.Headers) {
						t.Errorf("%s: the response %s lacks headers: %v", op.OperationID, status, slices.Collect(maps.Keys(response.Headers)))
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

// tells reports whether a response has the headers of its API.
func tells(headers map[string]any) bool {
	return headers["OpenStack-API-Version"] != nil && headers["X-Openstack-Request-Id"] != nil ||
		headers["X-OpenStack-Ironic-API-Version"] != nil && headers["Openstack-Request-Id"] != nil
}

func TestOpenAPI_ErrorCodes_DocumentedSince123(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{"1.0": false, "1.22": false, "1.23": true, "1.39": true} {
		raw := all(t)["placement "+version]
		found := read(t, raw).Components["schemas"]["Error"].(map[string]any)["properties"].(map[string]any)
		if _, has := found["code"]; has != want {
			t.Errorf("%s: documents code = %v", version, has)
		}
		if has := strings.Contains(string(raw), `"x-error-codes"`); has != want {
			t.Errorf("%s: lists codes = %v", version, has)
		}
		for _, name := range []string{"max_version", "min_version"} {
			if found[name].(map[string]any)["description"] == "" {
				t.Errorf("%s: %s has no description", version, name)
			}
		}
	}
}

func TestOpenAPI_NullableMembers_UseNullType(t *testing.T) {
	t.Parallel()
	schemas := read(t, all(t)["placement 1.39"]).Components["schemas"]
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

// escape escapes a step of a JSON pointer in a URL.
func escape(step string) string { return escaper.Replace(step) }

var escaper = strings.NewReplacer("~", "~0", "/", "~1", "%", "%25", "{", "%7B", "}", "%7D", "^", "%5E")
