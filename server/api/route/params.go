package route

import (
	"cmp"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/querystring"
)

// Param is a parameter of a query string, declared once for its check and its documents. The operation reads the value.
type Param struct {
	Name string
	// Check is the format of its value. Its Name is set from that of the parameter.
	Check querystring.Param
	// Since is the first version that has the parameter.
	Since microversion.Version
	// Repeats is the first version at which all of repeated values apply; 0: none.
	Repeats microversion.Version
	// Doc describes it; DocAt does where the text depends on the version.
	Doc   string
	DocAt func(microversion.Version) string
	// Type is the documented type of the value; empty: a text. Schema is its whole schema; nil: of Type, with the values or in the
	// format of Check.
	Type    string
	Schema  *huma.Schema
	Example any
}

// Params are the parameters of an operation, in the order of its documents.
type Params []Param

// at returns the parameters that a version has.
func (p Params) at(version microversion.Version) Params {
	return slices.DeleteFunc(slices.Clone(p), func(param Param) bool { return param.Since > version })
}

// Names returns the names of all parameters.
func (p Params) Names() []string {
	names := make([]string, 0, len(p))
	for i := range p {
		names = append(names, p[i].Name)
	}
	return names
}

// Once returns the names of the parameters that never repeat.
func (p Params) Once() []string {
	return slices.DeleteFunc(slices.Clone(p), func(param Param) bool { return param.Repeats != 0 }).Names()
}

// Checks returns the formats of the parameters that a version has.
func (p Params) Checks(at microversion.Version) []querystring.Param {
	var checks []querystring.Param
	for _, param := range p.at(at) {
		param.Check.Name = param.Name
		checks = append(checks, param.Check)
	}
	return checks
}

// Schema returns the schema of query strings at a version.
func (p Params) Schema(at microversion.Version) *querystring.Schema {
	return querystring.MustSchema(p.Checks(at)...)
}

// Docs returns the documents of the parameters that a version has.
func (p Params) Docs(at microversion.Version) []*huma.Param {
	var docs []*huma.Param
	for _, param := range p.at(at) {
		docs = append(docs, param.document(at))
	}
	return docs
}

// document returns the documentation of a parameter at a version.
func (p *Param) document(at microversion.Version) *huma.Param {
	doc := &huma.Param{Name: p.Name, In: "query", Required: p.Check.Required, Description: p.Doc, Schema: p.valueSchema(), Example: p.Example}
	if p.DocAt != nil {
		doc.Description = p.DocAt(at)
	}
	if p.Repeats != 0 && p.Repeats <= at {
		doc.Schema, doc.Example = &huma.Schema{Type: huma.TypeArray, Items: doc.Schema}, []any{p.Example}
	}
	return doc
}

func (p *Param) valueSchema() *huma.Schema {
	if p.Schema != nil {
		schema := *p.Schema
		return &schema
	}
	schema := &huma.Schema{Type: cmp.Or(p.Type, huma.TypeString)}
	if p.Check.UUID {
		schema.Format = "uuid"
	}
	for _, value := range p.Check.Enum {
		schema.Enum = append(schema.Enum, value)
	}
	return schema
}

// QueryOf documents the parameters of an operation.
func QueryOf(lists ...Params) Doc { return Query(slices.Concat(lists...).Docs) }
