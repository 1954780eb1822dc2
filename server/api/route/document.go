package route

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/wire/microversion"
)

const (
	jsonType       = "application/json"
	mergePatchType = "application/merge-patch+json"
	cacheHeader    = "Cache-Control"
	modifiedHeader = "Last-Modified"
)

// describe returns the parts of an operation that all its variants share.
func (op *Operation) describe(api *API) huma.Operation {
	described := huma.Operation{
		OperationID: op.ID,
		Method:      op.Method,
		Path:        op.Path,
		Summary:     op.Summary,
		Description: op.Description,
		Metadata:    map[string]any{draftKey: &operationDocs{api: api, row: op}},
	}
	if op.Tag != "" {
		described.Tags = []string{op.Tag}
	}
	if op.Rule == "" {
		described.Security = []map[string][]string{{}}
		return described
	}
	described.Description = op.withRule(op.Description)
	described.Extensions = map[string]any{"x-policy-rule": op.Rule}
	return described
}

// withRule returns a description with the policy rule of the operation.
func (op *Operation) withRule(description string) string {
	return strings.TrimSpace(fmt.Sprintf("%s\n\nPolicy rule: `%s`.", description, op.Rule))
}

// bodyType returns the media type of request bodies in documents.
func (op *Operation) bodyType() string {
	if slices.Contains(op.Checks, MergePatch) {
		return mergePatchType
	}
	return jsonType
}

// publisher completes the document that huma generates of one microversion.
type publisher struct {
	api      *API
	at       microversion.Version
	schemas  huma.Registry
	examples map[string]*huma.Example
}

// publish completes one operation. huma calls it for each.
func (p *publisher) publish(_ *huma.OpenAPI, op *huma.Operation) {
	drafted := draftOf(op)
	op.RequestBody = drafted.body
	for _, param := range op.Parameters {
		hoistSchemaDocs(param)
	}
	p.publishVersion(drafted.row, op)
	p.publishFailures(drafted.row, op)
	p.publishSuccess(drafted, op)
	p.publishDryRun(drafted.row, op)
	p.publishSamples(op)
}

// microversionSchema is a named schema, so that client generators make one type of it and not one for each operation.
const microversionSchema = "Microversion"

// versionParameter returns the header that selects the microversion. The default is the oldest one, so that the header
// is optional only there.
func (p *publisher) versionParameter() *huma.Param {
	value := p.api.VersionValue(p.at)
	p.schemas.Map()[microversionSchema] = &huma.Schema{
		Type: huma.TypeString, Description: p.api.VersionSchema, Extensions: map[string]any{"const": value},
	}
	return &huma.Param{
		Name: p.api.VersionHeader, In: "header", Required: p.at != p.api.Min,
		Description: "The microversion that this document describes.",
		Schema:      &huma.Schema{Ref: "#/components/schemas/" + microversionSchema},
		Example:     value,
	}
}

func (p *publisher) publishVersion(row *Operation, op *huma.Operation) {
	if row.Rule != "" {
		op.Parameters = append(op.Parameters, &huma.Param{Ref: "#/components/parameters/" + p.api.VersionHeader})
		return
	}
	// Requests without a token are served before the version is negotiated.
	open := p.versionParameter()
	open.Required = false
	op.Parameters = append(op.Parameters, open)
}

func headerRef(name string) *huma.Header {
	return &huma.Header{Ref: "#/components/headers/" + name}
}

// publishSuccess adds the headers and the example to successful responses.
func (p *publisher) publishSuccess(drafted *operationDocs, op *huma.Operation) {
	usual := op.Responses[fmt.Sprint(op.DefaultStatus)]
	for status, response := range op.Responses {
		if !strings.HasPrefix(status, "2") {
			continue
		}
		if response.Headers == nil {
			response.Headers = maps.Clone(usual.Headers)
		}
		p.publishHeaders(response)
		if drafted.row.Keyed && p.api.isStrict(p.at) {
			response.Headers[replayedHeader] = &huma.Header{
				Description: "The response is that of an earlier request with the same `Idempotency-Key`; missing otherwise.",
				Schema:      &huma.Schema{Type: huma.TypeString}, Example: "true",
			}
		}
		if body := response.Content[jsonType]; body != nil {
			body.Example = drafted.example
		}
	}
}

func (p *publisher) publishHeaders(response *huma.Response) {
	if response.Headers == nil {
		response.Headers = map[string]*huma.Header{}
	}
	if !p.at.HasCacheHeaders() {
		delete(response.Headers, modifiedHeader)
		delete(response.Headers, cacheHeader)
	}
	for name, header := range response.Headers {
		hoistSchemaDocs(header)
		switch name {
		case cacheHeader:
			response.Headers[name] = headerRef(name)
		case modifiedHeader:
			header.Example = "Thu, 02 Jul 2026 10:15:30 GMT"
		}
	}
	for _, name := range p.api.OnSuccess {
		response.Headers[name] = headerRef(name)
	}
}

// hoistSchemaDocs moves the description and the example of a parameter or header from its schema to the parameter, and
// removes duplicates.
func hoistSchemaDocs(param *huma.Param) {
	if param.Schema == nil {
		return
	}
	if param.Description == "" {
		param.Description = param.Schema.Description
	}
	if param.Example == nil && len(param.Schema.Examples) > 0 {
		param.Example = param.Schema.Examples[0]
	}
	param.Schema.Description, param.Schema.Examples = "", nil
}

// finish removes the parts of a document that its microversion does not have, and adds the descriptions of schemas.
func (t *Table) finish(at microversion.Version, document *huma.OpenAPI) {
	schemas := document.Components.Schemas.Map()
	prune(at, document.Components.Schemas)
	if t.api.Finish != nil {
		t.api.Finish(at, schemas)
	}
	for name, schema := range schemas {
		for _, known := range []map[string]string{described, t.schemas} {
			if description := known[name]; description != "" {
				schema.Description = description
			}
		}
	}
	tags, responses := map[string]bool{}, map[string]bool{}
	for _, item := range document.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Patch, item.Delete} {
			if op == nil {
				continue
			}
			for _, tag := range op.Tags {
				tags[tag] = true
			}
			for _, response := range op.Responses {
				responses[strings.TrimPrefix(response.Ref, sharedResponses)] = true
			}
		}
	}
	document.Tags = slices.DeleteFunc(slices.Clone(document.Tags), func(tag *huma.Tag) bool { return !tags[tag.Name] })
	maps.DeleteFunc(document.Components.Responses, func(name string, _ *huma.Response) bool { return !responses[name] })
}

func schemaOf[T any](api huma.API) *huma.Schema { return schemaIn[T](api.OpenAPI().Components.Schemas) }

func schemaIn[T any](schemas huma.Registry) *huma.Schema {
	return schemas.Schema(reflect.TypeFor[T](), true, "")
}

// nameMembers adds a schema for all other members to each object whose members are validated only if their names match
// a pattern. The server accepts other members in any form; without the addition, client generators make a map of
// anything.
func nameMembers(node any) {
	switch node := node.(type) {
	case map[string]any:
		patterns, _ := node["patternProperties"].(map[string]any)
		if node["additionalProperties"] == true && len(patterns) == 1 {
			for _, member := range patterns {
				node["additionalProperties"] = member
			}
		}
		for _, child := range node {
			nameMembers(child)
		}
	case []any:
		for _, child := range node {
			nameMembers(child)
		}
	}
}

// marshalDocument encodes a document deterministically.
func marshalDocument(document *huma.OpenAPI) ([]byte, error) {
	compact, err := document.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(compact))
	// Keep the notation of numbers: a bound must not lose its last digit.
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	nameMembers(value)
	var indented bytes.Buffer
	encoder := json.NewEncoder(&indented)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	err = encoder.Encode(value)
	return indented.Bytes(), err
}
