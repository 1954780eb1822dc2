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
	quick  *acceptor // nil: the schema is too unusual for one
	root   any       // the whole document, for the parts that an error text shows
}

// Error is what is wrong with a value that does not match its schema.
type Error struct {
	// Keyword is the keyword of the schema that failed, such as "required".
	Keyword string
	// Message is the phrase of the contract, such as
	// "'total' is a required property".
	Message string

	schemaPath, schema     string
	instancePath, instance string
}

// Error returns the message, followed by the part of the schema that failed and
// the part of the value that failed it, all in one line. Its length is bounded
// however large the value is.
func (e *Error) Error() string {
	return fmt.Sprintf("%s Failed validating %s in schema%s:  %s  On instance%s:  %s",
		e.Message, repr(e.Keyword), e.schemaPath, e.schema, e.instancePath, e.instance)
}

// Validate checks a value as Decode returns it. The error is an *Error about
// the one violation that clients are told; see violation.compare.
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
	all := collect(nil, failure, trail{{base: v.schema.Location}})
	return v.report(slices.MinFunc(all, violation.compare), value)
}

// report renders a violation.
func (v *Validator) report(found violation, value any) *Error {
	schema := v.schemaAt(found.trail.end())
	instance, indexes := lookUp(value, found.instance)
	return &Error{
		Keyword:      found.keyword,
		Message:      v.message(found, schema, instance),
		schemaPath:   v.schemaPath(found.trail),
		schema:       compact(schema),
		instancePath: bracketed(found.instance, indexes),
		instance:     repr(instance),
	}
}

// schemaAt returns the part of the document at a location, as it was read: the
// library's compiled form has lost the spelling of numbers and the order of
// lists.
func (v *Validator) schemaAt(location string) map[string]any {
	part, _ := lookUp(v.root, pointerSteps(location))
	schema, _ := part.(map[string]any)
	return schema
}

// schemaPath renders the way from the schema's root to the part that failed.
// References leave no trace in it: each leg contributes what lies below the
// schema it began at.
func (v *Validator) schemaPath(t trail) string {
	path := ""
	for _, leg := range t {
		steps, from := pointerSteps(leg.location), len(pointerSteps(leg.base))
		_, indexes := lookUp(v.root, steps)
		path += bracketed(steps[from:], indexes[from:])
	}
	return path
}
