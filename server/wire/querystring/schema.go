package querystring

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/berthd/berth/server/wire/jsonbody"
	"github.com/berthd/berth/server/wire/uuidlike"
)

// Param is a parameter of an endpoint, or with NamePattern instead of Name a family of parameters. A constraint with
// its zero value does not apply.
type Param struct {
	Name string
	// NamePattern is a regular expression that matches the names of a family of parameters. Error texts contain it
	// unchanged.
	NamePattern string
	// Required makes a missing parameter an error.
	Required bool
	// First validates the first value of a repeated parameter in addition to the last. It is for parameters whose first
	// value applies.
	First bool
	// Every validates all values of a repeated parameter. A schema with it has no Required parameters.
	Every bool
	// Enum lists the allowed values.
	Enum []string
	// Pattern is a regular expression that must match somewhere in the value.
	Pattern string
	// MinLength and MaxLength are in code points.
	MinLength, MaxLength int
	// UUID requires a UUID with its hyphens, see uuidlike.ParseHyphenated.
	UUID bool
}

// Schema is the set of parameters of an endpoint at some microversion. It is
// safe for concurrent use.
type Schema struct {
	validator *jsonbody.Validator
	// first are the names of the parameters whose first value applies, every those whose values must all be valid.
	first, every []string
}

// NewSchema returns a schema of exactly these parameters. It returns an error only for an invalid definition, such as
// an invalid pattern.
//
// Internally it is a JSON Schema of an object with a string for each parameter, so that errors in queries and bodies
// have the same texts.
func NewSchema(params ...Param) (*Schema, error) {
	schema := &Schema{}
	properties, families := map[string]any{}, map[string]any{}
	var required []string
	for _, param := range params {
		name, into := param.Name, properties
		if param.NamePattern != "" {
			name, into = param.NamePattern, families
		}
		if _, again := into[name]; again {
			return nil, fmt.Errorf("query schema: parameter %s is declared twice", name)
		}
		into[name] = param.schema()
		if param.Required {
			required = append(required, name)
		}
		if param.First {
			schema.first = append(schema.first, name)
		}
		if param.Every {
			schema.every = append(schema.every, name)
		}
	}
	object := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(families) > 0 {
		object["patternProperties"] = families
	}
	if required != nil {
		object["required"] = required
	}
	if required != nil && schema.every != nil {
		return nil, fmt.Errorf("query schema: %s has Every, and %s is required", schema.every[0], required[0])
	}
	var err error
	schema.validator, err = compile(object)
	return schema, err
}

func compile(object map[string]any) (*jsonbody.Validator, error) {
	doc, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("query schema: %w", err)
	}
	document, err := jsonbody.NewDocument(doc, hyphenatedUUID)
	if err != nil {
		return nil, fmt.Errorf("query schema: %w", err)
	}
	validator, err := document.Compile("#")
	if err != nil {
		return nil, fmt.Errorf("query schema: %w", err)
	}
	return validator, nil
}

// compiled are the schemas of MustSchema by their parameters. There are as many as the code defines.
var compiled sync.Map

// MustSchema is NewSchema for the definitions of endpoints, and compiles equal ones once. It panics on an invalid
// definition, which is a programming error that every test reveals.
func MustSchema(params ...Param) *Schema {
	definition := fmt.Sprintf("%#v", params)
	if known, isCompiled := compiled.Load(definition); isCompiled {
		return known.(*Schema)
	}
	schema, err := NewSchema(params...)
	if err != nil {
		panic(err)
	}
	compiled.Store(definition, schema)
	return schema
}

func (p Param) schema() map[string]any {
	schema := map[string]any{"type": "string"}
	if len(p.Enum) > 0 {
		schema["enum"] = p.Enum
	}
	if p.Pattern != "" {
		schema["pattern"] = p.Pattern
	}
	if p.MinLength > 0 {
		schema["minLength"] = p.MinLength
	}
	if p.MaxLength > 0 {
		schema["maxLength"] = p.MaxLength
	}
	if p.UUID {
		schema["format"] = "uuid"
	}
	return schema
}

func hyphenatedUUID(s string) bool {
	_, ok := uuidlike.ParseHyphenated(s)
	return ok
}

// Check validates a query. It checks only the last value of a repeated parameter, or the first and the last value if
// the parameter has First, or all values if it has Every. In the response, the text of the error follows "Invalid query string parameters: ".
func Check(schema *Schema, values Values) error {
	object := make(map[string]any, len(values.pairs))
	for _, pair := range values.pairs {
		object[pair.Name] = pair.Value
	}
	if err := schema.validator.Validate(object); err != nil {
		return err
	}
	again := false
	for _, name := range schema.first {
		if value, sent := values.First(name); sent && value != object[name] {
			object[name], again = value, true
		}
	}
	if again {
		if err := schema.validator.Validate(object); err != nil {
			return err
		}
	}
	for _, name := range schema.every {
		for _, value := range values.All(name) {
			// Alone, so that many values beside many other parameters take linear time.
			if err := schema.validator.Validate(map[string]any{name: value}); err != nil {
				return err
			}
		}
	}
	return nil
}
