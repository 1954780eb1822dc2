package jsonbody

import (
	"errors"
	"fmt"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Validator checks values against one schema. It is safe for concurrent use.
type Validator struct {
	schema *jsonschema.Schema
	quick  *fastValidator // nil: the schema has uncommon keywords
	root   any            // the whole document, for the parts in error texts
}

// Error is the violation of a schema by a value.
type Error struct {
	// Keyword is the violated keyword of the schema, such as "required".
	Keyword string
	// Message is the phrase of the contract, such as "'total' is a required property".
	Message string

	schemaPath, schema     string
	instancePath, instance string
}

// Error returns the message, the violated part of the schema and the invalid part of the value, in one line. Its length
// is bounded for values of any size.
func (e *Error) Error() string {
	return fmt.Sprintf("%s Failed validating %s in schema%s:  %s  On instance%s:  %s",
		e.Message, repr(e.Keyword), e.schemaPath, e.schema, e.instancePath, e.instance)
}

// Validate checks a decoded value. It returns an *Error about the one violation that clients get; see
// violation.compare.
func (v *Validator) Validate(value any) error {
	if v.quick != nil && v.quick.accepts(value) {
		return nil
	}
	err := v.schema.Validate(value)
	if err == nil {
		return nil
	}
	var failure *jsonschema.ValidationError
	if !errors.As(err, &failure) {
		return fmt.Errorf("validate against schema: %w", err)
	}
	all := collect(nil, failure, refTrail{{base: v.schema.Location}})
	return v.report(slices.MinFunc(all, violation.compare), value)
}

// report formats a violation.
func (v *Validator) report(found violation, value any) *Error {
	schema := v.schemaAt(found.refTrail.end())
	instance, indexes := lookUp(value, found.instance)
	return &Error{
		Keyword:      found.keyword,
		Message:      v.message(found, schema, instance),
		schemaPath:   v.schemaPath(found.refTrail),
		schema:       compact(schema),
		instancePath: bracketed(found.instance, indexes),
		instance:     repr(instance),
	}
}

// schemaAt returns the part of the document at a location in its original form: the library's compiled form lacks the
// notation of numbers and the order of lists.
func (v *Validator) schemaAt(location string) map[string]any {
	part, _ := lookUp(v.root, pointerSteps(location))
	schema, _ := part.(map[string]any)
	return schema
}

// schemaPath formats the path from the schema's root to the violated part. References do not appear in it: each segment
// contributes the path below the schema at which it starts.
func (v *Validator) schemaPath(t refTrail) string {
	path := ""
	for _, leg := range t {
		steps, from := pointerSteps(leg.location), len(pointerSteps(leg.base))
		_, indexes := lookUp(v.root, steps)
		path += bracketed(steps[from:], indexes[from:])
	}
	return path
}
