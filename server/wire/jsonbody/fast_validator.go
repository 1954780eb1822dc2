package jsonbody

import (
	"math"
	"math/big"
	"slices"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// fastValidator checks whether a value matches a schema. It either accepts a value or does not decide. It produces no
// error texts and avoids the library's rational numbers, and so takes a tenth of the library's time. The library
// decides about all values that it does not accept.
type fastValidator struct {
	null, boolean, number, integer, text, array, object bool

	ref    *fastValidator
	oneOf  []*fastValidator // exactly one of them must accept; nil: no such keyword
	bare   bool             // ref and oneOf are the only keywords
	format func(any) error
	enum   []string // nil: no such keyword

	properties map[string]*fastValidator
	patterns   []patternAcceptor
	others     *fastValidator // schema of members that are not described; nil: see open
	open       bool           // members that are not described may have any value
	required   []string
	fewest     int

	items              *fastValidator
	leastItems, atMost int
	unique             bool // only texts are compared

	shortest, longest int
	pattern           jsonschema.Regexp

	least, most           int64
	leastFloat, mostFloat float64
}

type patternAcceptor struct {
	key   jsonschema.Regexp
	value *fastValidator
}

// unbounded is the maximum of a schema without one.
const unbounded = math.MaxInt

// newAcceptor returns the fast validator of a schema, or nil if the schema or a part of it has an uncommon keyword.
func newAcceptor(s *jsonschema.Schema) *fastValidator {
	validators := map[*jsonschema.Schema]*fastValidator{}
	built := buildAcceptor(s, validators)
	for _, part := range validators {
		if part == nil {
			return nil
		}
	}
	return built
}

// buildAcceptor stores each schema's validator in made, because schemas can be recursive.
func buildAcceptor(s *jsonschema.Schema, validators map[*jsonschema.Schema]*fastValidator) *fastValidator {
	if s == nil {
		return nil
	}
	if known, ok := validators[s]; ok {
		return known
	}
	if isUncommon(s) {
		validators[s] = nil
		return nil
	}
	a := &fastValidator{atMost: unbounded, longest: unbounded, least: math.MinInt64, most: math.MaxInt64, leastFloat: math.Inf(-1), mostFloat: math.Inf(1)}
	validators[s] = a
	a.takeTypes(s.Types)
	a.ref = buildAcceptor(s.Ref, validators)
	for _, branch := range s.OneOf {
		a.oneOf = append(a.oneOf, buildAcceptor(branch, validators))
	}
	if !a.takeEnum(s.Enum) {
		validators[s] = nil
		return nil
	}
	if s.Format != nil {
		a.format = s.Format.Validate
	}
	a.required, a.open = s.Required, s.AdditionalProperties != false
	a.properties = make(map[string]*fastValidator, len(s.Properties))
	for name, property := range s.Properties {
		a.properties[name] = buildAcceptor(property, validators)
	}
	for key, value := range s.PatternProperties {
		a.patterns = append(a.patterns, patternAcceptor{key, buildAcceptor(value, validators)})
	}
	if others, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
		a.others = buildAcceptor(others, validators)
	}
	a.unique = s.UniqueItems
	a.items, a.pattern = buildAcceptor(s.Items2020, validators), s.Pattern
	a.fewest, a.leastItems, a.shortest = atLeast(s.MinProperties), atLeast(s.MinItems), atLeast(s.MinLength)
	if s.MaxItems != nil {
		a.atMost = *s.MaxItems
	}
	if s.MaxLength != nil {
		a.longest = *s.MaxLength
	}
	if !limit(s.Minimum, -1, &a.least) || !limit(s.Maximum, 1, &a.most) {
		validators[s] = nil
		return nil
	}
	limitFloat(s.Minimum, 1, &a.leastFloat)
	limitFloat(s.Maximum, -1, &a.mostFloat)
	a.bare = (a.ref != nil || a.oneOf != nil) && isBare(s)
	return a
}

// isBare reports whether a schema has no keyword except for a reference and a choice.
func isBare(s *jsonschema.Schema) bool {
	return (s.Types == nil || s.Types.IsEmpty()) && s.Format == nil && s.Enum == nil && len(s.Required)+len(s.Properties)+len(s.PatternProperties) == 0 &&
		s.AdditionalProperties == nil && s.MinProperties == nil && s.Items2020 == nil && !s.UniqueItems && s.MinItems == nil && s.MaxItems == nil &&
		s.MinLength == nil && s.MaxLength == nil && s.Pattern == nil && s.Minimum == nil && s.Maximum == nil
}

// takeEnum returns false for an enumeration of values other than texts.
func (a *fastValidator) takeEnum(enum *jsonschema.Enum) bool {
	if enum == nil {
		return true
	}
	a.enum = []string{}
	for _, value := range enum.Values {
		text, ok := value.(string)
		if !ok {
			return false
		}
		a.enum = append(a.enum, text)
	}
	return true
}

// isUncommon reports whether a schema has a keyword that fast validators do not support.
func isUncommon(s *jsonschema.Schema) bool {
	return s.Bool != nil && !*s.Bool || s.RecursiveRef != nil || s.DynamicRef != nil || s.Const != nil || s.Not != nil ||
		len(s.AllOf)+len(s.AnyOf) > 0 || s.If != nil || s.Then != nil || s.Else != nil ||
		s.MaxProperties != nil || s.PropertyNames != nil ||
		len(s.Dependencies)+len(s.DependentRequired)+len(s.DependentSchemas) > 0 || s.UnevaluatedProperties != nil ||
		s.Contains != nil || s.MinContains != nil || s.MaxContains != nil || s.Items != nil ||
		s.AdditionalItems != nil || len(s.PrefixItems) > 0 || s.UnevaluatedItems != nil ||
		s.ContentEncoding != nil || s.ContentMediaType != nil || s.ContentSchema != nil ||
		s.ExclusiveMaximum != nil || s.ExclusiveMinimum != nil || s.MultipleOf != nil || len(s.Extensions) > 0
}

func (a *fastValidator) takeTypes(types *jsonschema.Types) {
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

// limit sets a bound of integers, which are the only values compared with it. Without a bound, or with one beyond
// int64, it changes nothing.
func limit(bound *big.Rat, beyond int, into *int64) bool {
	switch {
	case bound == nil:
		return true
	case !bound.IsInt(): // the integers within the bound start at the next one
		floor := new(big.Int).Div(bound.Num(), bound.Denom())
		if beyond < 0 {
			floor.Add(floor, big.NewInt(1))
		}
		return limit(new(big.Rat).SetInt(floor), beyond, into)
	case bound.Num().IsInt64():
		*into = bound.Num().Int64()
		return true
	}
	return bound.Sign() == beyond
}

// limitFloat sets a bound of floats: the bound itself, or if no float64 has its value, the next one within it.
func limitFloat(bound *big.Rat, within int, into *float64) {
	if bound == nil {
		return
	}
	nearest, exact := bound.Float64()
	if !exact {
		nearest = math.Nextafter(nearest, math.Inf(within))
	}
	*into = nearest
}

// accepts returns true only for values that match.
func (a *fastValidator) accepts(value any) bool {
	if a.ref != nil && !a.ref.accepts(value) || a.oneOf != nil && !a.acceptsOne(func(b *fastValidator) bool { return b.accepts(value) }) {
		return false
	}
	return a.acceptsOwn(value)
}

// acceptsOwn is accepts without the reference and the choice.
func (a *fastValidator) acceptsOwn(value any) bool {
	if a.format != nil && a.format(value) != nil {
		return false
	}
	if text, ok := value.(string); a.enum != nil && (!ok || !slices.Contains(a.enum, text)) {
		return false
	}
	switch value := value.(type) {
	case nil:
		return a.null
	case bool:
		return a.boolean
	case int64:
		return (a.integer || a.number) && a.least <= value && value <= a.most
	case float64: // its value is not an int64; see parseNumber
		return (a.number || a.integer && value == math.Trunc(value)) && a.leastFloat <= value && value <= a.mostFloat
	case string:
		return a.text && a.acceptsText(value)
	case []any:
		return a.array && a.acceptsItems(value)
	case map[string]any:
		return a.object && a.acceptsMembers(value)
	}
	return false
}

// acceptsOne reports whether exactly one branch of the choice accepts.
func (a *fastValidator) acceptsOne(accepts func(*fastValidator) bool) bool {
	count := 0
	for _, branch := range a.oneOf {
		if accepts(branch) {
			count++
		}
	}
	return count == 1
}

func (a *fastValidator) acceptsText(text string) bool {
	if a.shortest > 0 || a.longest < len(text) {
		if count := utf8.RuneCountInString(text); count < a.shortest || count > a.longest {
			return false
		}
	}
	return a.pattern == nil || a.pattern.MatchString(text)
}

func (a *fastValidator) acceptsItems(items []any) bool {
	if len(items) < a.leastItems || len(items) > a.atMost {
		return false
	}
	if a.unique && !areDistinctTexts(items) {
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

func areDistinctTexts(items []any) bool {
	var seen keySet
	for _, item := range items {
		if text, ok := item.(string); !ok || !seen.add(text) {
			return false
		}
	}
	return true
}

func (a *fastValidator) acceptsMembers(members map[string]any) bool {
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
		if !described && (!a.open || a.others != nil && !a.others.accepts(value)) {
			return false
		}
	}
	return true
}
