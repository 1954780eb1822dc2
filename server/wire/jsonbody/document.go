package jsonbody

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/berthd/berth/server/wire/uuidlike"
)

// documentURL is the URL of the document inside the library. Nothing is fetched from it.
const documentURL = "berth:///document.json"

// UUIDCheck reports whether a string satisfies "format": "uuid". The API has two definitions of it, one for bodies and
// one for some query parameters.
type UUIDCheck func(s string) bool

// LenientUUID is the check for bodies. It equals that of uuidlike.Parse.
func LenientUUID(s string) bool {
	_, ok := uuidlike.Parse(s)
	return ok
}

// Document is a JSON document that contains schemas, such as an OpenAPI 3.1 document with its components. It is safe
// for concurrent use.
type Document struct {
	root any

	mu       sync.Mutex // guards compiler, which is not safe for concurrent use
	compiler *jsonschema.Compiler
}

// NewDocument parses a document with schemas of JSON Schema 2020-12, the dialect of OpenAPI 3.1. References must stay
// inside the document.
func NewDocument(doc []byte, isUUID UUIDCheck) (*Document, error) {
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return nil, fmt.Errorf("read schema document: %w", err)
	}
	patternsFromNames(root)
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(closedLoader{})
	compiler.RegisterFormat(&jsonschema.Format{Name: "uuid", Validate: formatUUID(isUUID)})
	// In 2020-12 a format is only an annotation unless assertion is enabled.
	compiler.AssertFormat()
	if err := compiler.AddResource(documentURL, root); err != nil {
		return nil, fmt.Errorf("read schema document: %w", err)
	}
	return &Document{root: root, compiler: compiler}, nil
}

// Compile returns the validator of one schema of the document, named by a pointer like
// "#/components/schemas/PutAllocationsRequest"; "#" is the whole document.
func (d *Document) Compile(pointer string) (*Validator, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	schema, err := d.compiler.Compile(documentURL + pointer)
	if err != nil {
		return nil, fmt.Errorf("compile schema %s: %w", pointer, err)
	}
	return &Validator{schema: schema, quick: newAcceptor(schema), root: d.root}, nil
}

// Compile returns the validator of a single schema in a document of bodies. For several schemas, use a Document, which
// parses the document once.
func Compile(doc []byte, pointer string) (*Validator, error) {
	d, err := NewDocument(doc, LenientUUID)
	if err != nil {
		return nil, err
	}
	return d.Compile(pointer)
}

// closedLoader prevents the library from opening files.
type closedLoader struct{}

func (closedLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("the reference %s points outside of the document", url)
}

func formatUUID(isUUID UUIDCheck) func(any) error {
	notUUID := errors.New("not a UUID")
	return func(value any) error {
		// A format does not apply to values of other types.
		if s, ok := value.(string); ok && !isUUID(s) {
			return notUUID
		}
		return nil
	}
}

// lookUp follows the steps of a path from a value downwards. It also returns which steps are array indexes, whose
// notation differs.
func lookUp(value any, steps []string) (found any, indexes []bool) {
	indexes = make([]bool, len(steps))
	for i, step := range steps {
		switch container := value.(type) {
		case map[string]any:
			value = container[step]
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 || n >= len(container) {
				return nil, indexes
			}
			value, indexes[i] = container[n], true
		default:
			return nil, indexes
		}
	}
	return value, indexes
}

// bracketed formats a path as an index expression: ['resources'][0].
func bracketed(steps []string, indexes []bool) string {
	var b strings.Builder
	for i, step := range steps {
		if !indexes[i] {
			step = repr(step)
		}
		b.WriteString("[" + step + "]")
	}
	return b.String()
}
