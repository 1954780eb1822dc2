package querystring

import (
	"encoding/json"
	"fmt"

	"github.com/berthd/berth/server/jsonbody"
	"github.com/berthd/berth/server/uuidlike"
)

// Param is a parameter that an endpoint knows, or, where NamePattern stands in
// the place of Name, all parameters of a kind. A constraint that is left zero does
// not apply.
type Param struct {
	Name string
	// NamePattern is a regular expression that matches the names of a family of
	// parameters. It is told to clients as it stands.
	NamePattern string
	// Required makes the parameter's absence an error.
	Required bool
	// First makes the first value of a repeated parameter be checked beside the
	// last. It is for parameters of which the first counts.
	First bool
	// Enum lists the values that are allowed.
	Enum []string
	// Pattern is a regular expression that must match somewhere in the value.
	Pattern string
	// MinLength and MaxLength count code points.
	MinLength, MaxLength int
	// UUID asks for a UUID with its hyphens, see uuidlike.ParseHyphenated.
	UUID bool
}

// Schema is the set of parameters of an endpoint at some microversion. It is
// safe for concurrent use.
type Schema struct {
	validator *jsonbody.Validator
	// first are the names of the parameters of which the first value counts.
	first []string
}

// NewSchema makes a schema of exactly these parameters. It fails only for
// parameters that make no sense, such as one with a broken pattern.
//
// Inside, it is a JSON Schema of an object with a string for each parameter:
// queries and bodies are told what is wrong in the same words.
func NewSchema(params ...Param) (*Schema, error) {
	made := &Schema{}
	properties, families := map[string]any{}, map[string]any{}
	var required []string
	for _, param := range params {
		name, into := param.Name, properties
		if param.NamePattern != "" {
			name, into = param.NamePattern, families
		}
		if _, again := into[name]; again {
			return nil, fmt.Errorf("query schema: parameter %s is listed twice", name)
		}
		into[name] = param.schema()
		if param.Required {
			required = append(required, name)
		}
		if param.First {
			made.first = append(made.first, name)
		}
	}
	object := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(families) > 0 {
		object["patternProperties"] = families
	}
	if required != nil {
		object["required"] = required
	}
	var err error
	made.validator, err = compile(object)
	return made, err
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

// MustSchema is NewSchema for variables of a package, where a mistake is one of
// the programmer's and shows in every test.
func MustSchema(params ...Param) *Schema {
	schema, err := NewSchema(params...)
	if err != nil {
		panic(err)
	}
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

// Check holds a query against a schema. Of a repeated parameter it sees the last
// value only, unless the parameter says that the first counts: then it looks at
// both. The error's text is what follows "Invalid query string parameters: " in the
// answer.
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
	if !again {
		return nil
	}
	return schema.validator.Validate(object)
}
