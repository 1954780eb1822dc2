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

	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/microversion"
)

const (
	jsonType        = "application/json"
	requestIDHeader = "X-Openstack-Request-Id"
	cacheHeader     = "Cache-Control"
	modifiedHeader  = "Last-Modified"
)

func documentDescription(at microversion.Version) string {
	return fmt.Sprintf("Inventories, traits and allocations of resource providers, at microversion %[1]s. "+
		"Send the header `OpenStack-API-Version: placement %[1]s` with every request: without it, "+
		"the server speaks 1.0.\n\n"+
		"Errors are JSON, or HTML where the header `Accept` prefers that, or plain text where it excludes both. "+
		"They carry the id of the request, under which the server's log has more. "+
		"A method that a path does not have is answered 405, with the header `Allow`.", at)
}

// describe is the part of an operation that is the same in all its variants.
func (op *Operation) describe() huma.Operation {
	described := huma.Operation{
		OperationID: op.ID,
		Method:      op.Method,
		Path:        op.Path,
		Summary:     op.Summary,
		Description: op.Description,
		Metadata:    map[string]any{draftKey: &draft{row: op}},
	}
	if op.Tag != "" {
		described.Tags = []string{op.Tag}
	}
	if op.Rule == "" {
		described.Security = []map[string][]string{{}}
		return described
	}
	described.Description = strings.TrimSpace(fmt.Sprintf("%s\n\nPolicy rule: `%s`.", op.Description, op.Rule))
	described.Extensions = map[string]any{"x-policy-rule": op.Rule}
	return described
}

// publisher completes what huma generates of the operations of one microversion.
type publisher struct {
	at       microversion.Version
	schemas  huma.Registry
	examples map[string]*huma.Example
}

// publish is called by huma for each operation.
func (p *publisher) publish(_ *huma.OpenAPI, op *huma.Operation) {
	drafted := draftOf(op)
	op.RequestBody = drafted.body
	for _, param := range op.Parameters {
		lift(param)
	}
	p.publishVersion(drafted.row, op)
	p.publishFailures(drafted.row, op)
	p.publishSuccess(drafted, op)
}

// microversionSchema has a name, so that generators of clients make one type of
// it and not one for each operation.
const microversionSchema = "Microversion"

// versionParameter is the header that asks for the document's version. Without
// it a request gets 1.0, so it is optional there only.
func (p *publisher) versionParameter() *huma.Param {
	p.schemas.Map()[microversionSchema] = &huma.Schema{
		Type: huma.TypeString, Description: "Service and microversion, as they stand in the header " + microversion.Header + ".",
		Extensions: map[string]any{"const": p.at.HeaderValue()},
	}
	return &huma.Param{
		Name: microversion.Header, In: "header", Required: p.at != microversion.Min,
		Description: "The microversion that this document describes.",
		Schema:      &huma.Schema{Ref: "#/components/schemas/" + microversionSchema},
		Example:     p.at.HeaderValue(),
	}
}

func (p *publisher) publishVersion(row *Operation, op *huma.Operation) {
	if row.Rule != "" {
		op.Parameters = append(op.Parameters, &huma.Param{Ref: "#/components/parameters/" + microversion.Header})
		return
	}
	// What needs no token is asked before the versions are known.
	open := p.versionParameter()
	open.Required = false
	op.Parameters = append(op.Parameters, open)
}

// sharedHeaders are those of more than one response that mean the same everywhere.
func sharedHeaders(at microversion.Version) map[string]*huma.Header {
	text := &huma.Schema{Type: huma.TypeString}
	headers := map[string]*huma.Header{
		requestIDHeader: {
			Description: "The id of the request in the server's log.",
			Schema:      text, Example: exampleRequestID,
		},
		microversion.Header: {
			Description: "The microversion of the answer; missing where none could be agreed on.",
			Schema:      text, Example: at.HeaderValue(),
		},
		"Vary": {Description: "Caches keep answers of different microversions apart.", Schema: text, Example: "openstack-api-version"},
	}
	if at.HasCacheHeaders() {
		headers[cacheHeader] = &huma.Header{Description: "Always `no-cache`.", Schema: text, Example: "no-cache"}
	}
	return headers
}

func headerRef(name string) *huma.Header {
	return &huma.Header{Ref: "#/components/headers/" + name}
}

// publishSuccess puts the headers and the example into the answers of success.
func (p *publisher) publishSuccess(drafted *draft, op *huma.Operation) {
	usual := op.Responses[fmt.Sprint(op.DefaultStatus)]
	for status, response := range op.Responses {
		if !strings.HasPrefix(status, "2") {
			continue
		}
		if response.Headers == nil {
			response.Headers = maps.Clone(usual.Headers)
		}
		p.publishHeaders(response)
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
		lift(header)
		switch name {
		case cacheHeader:
			response.Headers[name] = headerRef(name)
		case modifiedHeader:
			header.Example = "Thu, 02 Jul 2026 10:15:30 GMT"
		}
	}
	for _, name := range []string{requestIDHeader, microversion.Header, "Vary"} {
		response.Headers[name] = headerRef(name)
	}
}

// lift moves what huma says of the schema of a parameter or header, or says twice,
// to where readers look for it.
func lift(param *huma.Param) {
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

// finish removes from a document what its microversion does not have, and says
// what the schemas are for.
func finish(at microversion.Version, document *huma.OpenAPI, descriptions map[string]string) {
	schemas := document.Components.Schemas.Map()
	nameErrorCodes(at, schemas)
	for name, schema := range schemas {
		for _, known := range []map[string]string{described, descriptions} {
			if description := known[name]; description != "" {
				schema.Description = description
			}
		}
	}
	used := map[string]bool{}
	for _, item := range document.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Delete} {
			if op != nil {
				for _, tag := range op.Tags {
					used[tag] = true
				}
			}
		}
	}
	document.Tags = slices.DeleteFunc(slices.Clone(document.Tags), func(tag *huma.Tag) bool { return !used[tag.Name] })
}

// nameErrorCodes lists the codes of errors, from the microversion on that has
// them: a generator makes constants of what a client would have to spell.
func nameErrorCodes(at microversion.Version, schemas map[string]*huma.Schema) {
	item := schemas["Error"]
	if item == nil {
		return
	}
	if !at.HasErrorCode() {
		delete(item.Properties, "code")
		return
	}
	const name = "ErrorCode"
	schemas[name] = &huma.Schema{Type: huma.TypeString, Enum: []any{
		fault.CodeUndefined, fault.CodeInventoryInUse, fault.CodeConcurrentUpdate, fault.CodeDuplicateName,
		fault.CodeProviderInUse, fault.CodeCannotDeleteParent, fault.CodeProviderNotFound,
		fault.CodeDuplicateKey, fault.CodeBadValue, fault.CodeMissingValue,
	}}
	code := item.Properties["code"]
	item.Properties["code"] = &huma.Schema{
		Ref: "#/components/schemas/" + name, Description: code.Description, Examples: code.Examples,
	}
}

func schemaOf[T any](api huma.API) *huma.Schema { return schemaIn[T](api.OpenAPI().Components.Schemas) }

func schemaIn[T any](schemas huma.Registry) *huma.Schema {
	return schemas.Schema(reflect.TypeFor[T](), true, "")
}

// nameMembers says of each object whose members are checked only where their
// names fit a pattern that the others are of the same form. The server takes those
// in any form; a generator of clients that is told so makes a map of anything.
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

// marshalDocument writes a document the same way each time.
func marshalDocument(document *huma.OpenAPI) ([]byte, error) {
	compact, err := document.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(compact))
	// Numbers stay as they are spelled: a bound must not lose its last digit.
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
