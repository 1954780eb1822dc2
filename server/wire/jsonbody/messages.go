package jsonbody

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// message formats a violation. The phrases are those of the contract; clients and their tests match parts of them.
func (v *Validator) message(found violation, schema map[string]any, instance any) string {
	switch k := found.kind.(type) {
	case *kind.Type:
		return repr(instance) + " is not of type " + typeNames(schema)
	case *kind.AnyOf, *kind.OneOf:
		return v.choiceMessage(found, instance)
	case *kind.Required:
		return repr(k.Missing[0]) + " is a required property"
	case *kind.AdditionalProperties:
		return unexpectedKeys(k.Properties, schema)
	case *kind.Enum:
		return repr(instance) + " is not one of " + repr(schema["enum"])
	case *kind.Const:
		return repr(schema["const"]) + " was expected"
	case *kind.Minimum:
		return repr(instance) + " is less than the minimum of " + repr(schema["minimum"])
	case *kind.Maximum:
		return repr(instance) + " is greater than the maximum of " + repr(schema["maximum"])
	case *kind.Pattern:
		return repr(instance) + " does not match " + repr(schema["pattern"])
	case *kind.Format:
		return repr(instance) + " is not a " + repr(schema["format"])
	case *kind.MinLength, *kind.MinItems:
		return repr(instance) + " is too short"
	case *kind.MaxLength, *kind.MaxItems:
		return repr(instance) + " is too long"
	case *kind.MinProperties:
		return repr(instance) + " does not have enough properties"
	case *kind.MaxProperties:
		return repr(instance) + " has too many properties"
	case *kind.UniqueItems:
		return repr(instance) + " has non-unique elements"
	case *kind.Not:
		return repr(instance) + " should not be valid under " + repr(schema["not"])
	}
	// Keywords that no published schema uses today have the library's texts.
	return repr(instance) + ": " + found.kind.LocalizedString(message.NewPrinter(language.English))
}

// choiceMessage returns the text for a value that matches none, or too many, of several schemas.
func (v *Validator) choiceMessage(found violation, instance any) string {
	if len(found.alternatives) == 0 {
		return repr(instance) + " is not valid under exactly one of the given schemas"
	}
	var names []string
	for _, location := range found.alternatives {
		names = append(names, typeNames(v.schemaAt(location)))
	}
	return repr(instance) + " is not of type " + strings.Join(names, ", ")
}

// typeNames returns the types that a schema allows, in its order.
func typeNames(schema map[string]any) string {
	union, ok := schema["type"].([]any)
	if !ok {
		return repr(schema["type"])
	}
	names := make([]string, len(union))
	for i, name := range union {
		names[i] = repr(name)
	}
	return strings.Join(names, ", ")
}

// unexpectedKeys formats a violation of additionalProperties, which has two forms: the schema lists its keys only by
// name, or also by pattern.
func unexpectedKeys(keys []string, schema map[string]any) string {
	slices.Sort(keys)
	patterns, ok := schema["patternProperties"].(map[string]any)
	if !ok {
		verb := "were"
		if len(keys) == 1 {
			verb = "was"
		}
		return fmt.Sprintf("Additional properties are not allowed (%s %s unexpected)", quotedList(keys), verb)
	}
	verb := "do"
	if len(keys) == 1 {
		verb = "does"
	}
	return fmt.Sprintf("%s %s not match any of the regexes: %s", quotedList(keys), verb, quotedList(sortedKeys(patterns)))
}

// quotedList formats a list with the same bound as a single value.
func quotedList(words []string) string {
	var e excerpt
	e.list("", "", len(words), func(i int) { e.str(words[i]) })
	return e.String()
}

// compact encodes a schema as JSON in one line.
func compact(schema map[string]any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(schema); err != nil {
		return repr(schema)
	}
	var e excerpt
	e.write(strings.TrimSuffix(b.String(), "\n"))
	return e.String()
}
