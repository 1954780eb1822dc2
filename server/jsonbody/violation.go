package jsonbody

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// leg is a stretch of the way to a schema, between two references. Both ends
// are locations as the library writes them, a URL with a JSON pointer.
type leg struct {
	base, location string
}

// trail is the whole way. Its last leg is open while errors are collected: its
// location is set where an error is met.
type trail []leg

// at ends the trail at a location below its last base.
func (t trail) at(location string) trail {
	ended := slices.Clone(t)
	ended[len(ended)-1].location = location
	return ended
}

// follow ends the trail at a location and goes on where its reference points.
func (t trail) follow(location, target string) trail {
	return append(t.at(location), leg{base: target})
}

func (t trail) end() string { return t[len(t)-1].location }

// violation is one thing wrong with a value.
type violation struct {
	keyword  string
	kind     jsonschema.ErrorKind
	trail    trail
	instance []string // the steps from the value's root to the part in question

	// alternatives are the locations of schemas of which the type of the
	// instance fits none; only set for keywords that offer a choice.
	alternatives []string
}

// keywordRank orders violations of values at the same depth. The contract
// leaves it open; kinds that make others pointless come first.
var keywordRank = map[string]int{
	"type": 1, "anyOf": 1, "oneOf": 1, "enum": 2, "const": 2,
	"minimum": 3, "maximum": 3, "exclusiveMinimum": 3, "exclusiveMaximum": 3, "multipleOf": 3,
	"minLength": 4, "maxLength": 4, "minItems": 4, "maxItems": 4,
	"pattern": 5, "format": 6, "uniqueItems": 7, "minProperties": 8, "maxProperties": 8,
	"required": 9, "additionalProperties": 10,
}

const lastRank = 11

func (v violation) rank() int {
	if rank, ok := keywordRank[v.keyword]; ok {
		return rank
	}
	return lastRank
}

// compare is negative if v is to be reported rather than other: the violation
// with the shallowest path in the instance wins. Nothing in the order depends
// on how a Go map is walked, so equal requests get equal answers.
func (v violation) compare(other violation) int {
	return cmp.Or(
		cmp.Compare(len(v.instance), len(other.instance)),
		cmp.Compare(v.rank(), other.rank()),
		slices.CompareFunc(v.instance, other.instance, compareSteps),
		cmp.Compare(v.trail.end(), other.trail.end()),
		cmp.Compare(v.keyword, other.keyword),
	)
}

// compareSteps puts positions in an array into numerical order.
func compareSteps(a, b string) int {
	m, errM := strconv.Atoi(a)
	n, errN := strconv.Atoi(b)
	if errM == nil && errN == nil {
		return cmp.Or(cmp.Compare(m, n), cmp.Compare(a, b))
	}
	return cmp.Compare(a, b)
}

// collect appends the violations that a tree of the library's errors consists
// of. Inner nodes of the tree only say how the schema is composed.
func collect(found []violation, failure *jsonschema.ValidationError, t trail) []violation {
	switch k := failure.ErrorKind.(type) {
	case *kind.Reference:
		return collectCauses(found, failure, t.follow(failure.SchemaURL, k.URL))
	case *kind.Schema, *kind.Group, *kind.AllOf:
		return collectCauses(found, failure, t)
	case *kind.AnyOf, *kind.OneOf:
		if len(failure.Causes) > 0 {
			return append(found, collectChoice(failure, t)...)
		}
	}
	return append(found, newViolation(failure, t))
}

func collectCauses(found []violation, failure *jsonschema.ValidationError, t trail) []violation {
	for _, cause := range failure.Causes {
		found = collect(found, cause, t)
	}
	return found
}

// collectChoice looks into the branches of an anyOf or oneOf of which none
// fits. Branches meant for another type of value say nothing about this one. If
// all are, the violation is that the value has none of their types.
func collectChoice(failure *jsonschema.ValidationError, t trail) []violation {
	var found []violation
	var mismatched []string
	for _, cause := range failure.Causes {
		branch := collect(nil, cause, t)
		if len(branch) == 1 && branch[0].keyword == "type" && len(branch[0].instance) == len(failure.InstanceLocation) {
			mismatched = append(mismatched, branch[0].trail.end())
			continue
		}
		found = append(found, branch...)
	}
	if len(found) > 0 {
		return found
	}
	choice := newViolation(failure, t)
	choice.alternatives = mismatched
	return []violation{choice}
}

func newViolation(failure *jsonschema.ValidationError, t trail) violation {
	keyword := "schema" // a schema that is just false has no keyword
	if path := failure.ErrorKind.KeywordPath(); len(path) > 0 {
		keyword = path[0]
	}
	return violation{
		keyword:  keyword,
		kind:     failure.ErrorKind,
		trail:    t.at(failure.SchemaURL),
		instance: failure.InstanceLocation,
	}
}

// pointerSteps splits the JSON pointer of a location into unescaped steps. The
// library escapes it for URLs on top.
func pointerSteps(location string) []string {
	_, pointer, _ := strings.Cut(location, "#")
	if pointer == "" {
		return nil
	}
	steps := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, step := range steps {
		if plain, err := url.PathUnescape(step); err == nil {
			step = plain
		}
		steps[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
	}
	return steps
}
