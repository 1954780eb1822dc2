package jsonbody

import (
	"math"
	"math/big"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// acceptor is a schema for those values that match it, which are nearly all: it says
// yes or doesn't know, without words for what is wrong and without the rational
// numbers of the library, in a tenth of the time. The library has the last word on
// whatever it does not accept.
type acceptor struct {
	null, boolean, number, integer, text, array, object bool

	ref    *acceptor
	format func(any) error

	properties map[string]*acceptor
	patterns   []patternAcceptor
	open       bool // members that are not described may have any value
	required   []string
	fewest     int

	items              *acceptor
	leastItems, atMost int

	shortest, longest int
	pattern           jsonschema.Regexp

	least, most int64
}

type patternAcceptor struct {
	key   jsonschema.Regexp
	value *acceptor
}

// unbounded is a maximum that is none.
const unbounded = math.MaxInt

// newAcceptor is nil for a schema with a keyword that is not among the common ones,
// and where such a schema is a part.
func newAcceptor(s *jsonschema.Schema) *acceptor {
	made := map[*jsonschema.Schema]*acceptor{}
	built := buildAcceptor(s, made)
	for _, part := range made {
		if part == nil {
			return nil
		}
	}
	return built
}

// buildAcceptor keeps each schema's acceptor in made: schemas may be recursive.
func buildAcceptor(s *jsonschema.Schema, made map[*jsonschema.Schema]*acceptor) *acceptor {
	if s == nil {
		return nil
	}
	if known, ok := made[s]; ok {
		return known
	}
	if isUncommon(s) {
		made[s] = nil
		return nil
	}
	a := &acceptor{atMost: unbounded, longest: unbounded, least: math.MinInt64, most: math.MaxInt64}
	made[s] = a
	a.takeTypes(s.Types)
	a.ref = buildAcceptor(s.Ref, made)
	if s.Format != nil {
		a.format = s.Format.Validate
	}
	a.required, a.open = s.Required, s.AdditionalProperties != false
	a.properties = make(map[string]*acceptor, len(s.Properties))
	for name, property := range s.Properties {
		a.properties[name] = buildAcceptor(property, made)
	}
	for key, value := range s.PatternProperties {
		a.patterns = append(a.patterns, patternAcceptor{key, buildAcceptor(value, made)})
	}
	a.items, a.pattern = buildAcceptor(s.Items2020, made), s.Pattern
	a.fewest, a.leastItems, a.shortest = atLeast(s.MinProperties), atLeast(s.MinItems), atLeast(s.MinLength)
	if s.MaxItems != nil {
		a.atMost = *s.MaxItems
	}
	if s.MaxLength != nil {
		a.longest = *s.MaxLength
	}
	if !limit(s.Minimum, -1, &a.least) || !limit(s.Maximum, 1, &a.most) {
		made[s] = nil
		return nil
	}
	return a
}

// isUncommon says that a schema has a keyword that acceptors don't know.
func isUncommon(s *jsonschema.Schema) bool {
	additional, described := s.AdditionalProperties.(bool)
	return s.Bool != nil && !*s.Bool || s.RecursiveRef != nil || s.DynamicRef != nil || s.Enum != nil || s.Const != nil || s.Not != nil ||
		len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) > 0 || s.If != nil || s.Then != nil || s.Else != nil ||
		s.MaxProperties != nil || s.PropertyNames != nil || s.AdditionalProperties != nil && !described && !additional ||
		len(s.Dependencies)+len(s.DependentRequired)+len(s.DependentSchemas) > 0 || s.UnevaluatedProperties != nil ||
		s.UniqueItems || s.Contains != nil || s.MinContains != nil || s.MaxContains != nil || s.Items != nil ||
		s.AdditionalItems != nil || len(s.PrefixItems) > 0 || s.UnevaluatedItems != nil ||
		s.ContentEncoding != nil || s.ContentMediaType != nil || s.ContentSchema != nil ||
		s.ExclusiveMaximum != nil || s.ExclusiveMinimum != nil || s.MultipleOf != nil || len(s.Extensions) > 0
}

func (a *acceptor) takeTypes(types *jsonschema.Types) {
	names := []string{"null", "boolean", "number", "integer", "string", "array", "object"}
	if types != nil && !types.IsEmpty() {
		names = types.ToStrings()
	}
	for _, name := range names {
		*map[string]*bool{
			"null": &a.null, "boolean": &a.boolean, "number": &a.number, "integer": &a.integer,
			"string": &a.text, "array": &a.array, "object": &a.object,
		}[name] = true
	}
}

func atLeast(bound *int) int {
	if bound == nil {
		return 0
	}
	return *bound
}

// limit sets a bound for integers, which are all that is compared with it; without
// one, or with one that no int64 reaches, it stays as it is. Fractions are left to
// the library.
func limit(bound *big.Rat, beyond int, into *int64) bool {
	switch {
	case bound == nil:
		return true
	case !bound.IsInt():
		return false
	case bound.Num().IsInt64():
		*into = bound.Num().Int64()
		return true
	}
	return bound.Sign() == beyond
}

// accepts is true only for values that match.
func (a *acceptor) accepts(value any) bool {
	if a.ref != nil && !a.ref.accepts(value) || a.format != nil && a.format(value) != nil {
		return false
	}
	switch value := value.(type) {
	case nil:
		return a.null
	case bool:
		return a.boolean
	case int64:
		return (a.integer || a.number) && a.least <= value && value <= a.most
	case string:
		return a.text && a.acceptsText(value)
	case []any:
		return a.array && a.acceptsItems(value)
	case map[string]any:
		return a.object && a.acceptsMembers(value)
	}
	return false
}

func (a *acceptor) acceptsText(text string) bool {
	if a.shortest > 0 || a.longest < len(text) {
		if count := utf8.RuneCountInString(text); count < a.shortest || count > a.longest {
			return false
		}
	}
	return a.pattern == nil || a.pattern.MatchString(text)
}

func (a *acceptor) acceptsItems(items []any) bool {
	if len(items) < a.leastItems || len(items) > a.atMost {
		return false
	}
	if a.items == nil {
		return true
	}
	for _, item := range items {
		if !a.items.accepts(item) {
			return false
		}
	}
	return true
}

func (a *acceptor) acceptsMembers(members map[string]any) bool {
	if len(members) < a.fewest {
		return false
	}
	for _, name := range a.required {
		if _, sent := members[name]; !sent {
			return false
		}
	}
	for name, value := range members {
		property, described := a.properties[name]
		if described && !property.accepts(value) {
			return false
		}
		for _, pattern := range a.patterns {
			if !pattern.key.MatchString(name) {
				continue
			}
			if described = true; !pattern.value.accepts(value) {
				return false
			}
		}
		if !described && !a.open {
			return false
		}
	}
	return true
}
