package jsonbody

import (
	"cmp"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// refSegment is a part of the path to a schema, between two references. Both ends are locations in the format of the
// library, a URL with a JSON pointer.
type refSegment struct {
	base, location string
}

// refTrail is the whole path. Its last segment is open while errors are collected: its location is set at an error.
type refTrail []refSegment

// at closes the trail at a location below its last base.
func (t refTrail) at(location string) refTrail {
	ended := slices.Clone(t)
	ended[len(ended)-1].location = location
	return ended
}

// follow closes the last segment at a location and opens one at the target of its reference.
func (t refTrail) follow(location, target string) refTrail {
	return append(t.at(location), refSegment{base: target})
}

func (t refTrail) end() string { return t[len(t)-1].location }

// violation is one violation of a schema.
type violation struct {
	keyword  string
	kind     jsonschema.ErrorKind
	refTrail refTrail
	instance []string // the steps from the root of the value to the invalid part

	// alternatives are the locations of schemas whose types the instance does not have; only set for keywords that
	// offer a choice.
	alternatives []string
}

// keywordRank orders violations of values at the same depth. The contract does not define this order; violations that
// make others irrelevant come first.
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

// compare returns a negative number if v is reported rather than other: the violation with the shortest path in the
// instance takes precedence. The order does not depend on the iteration order of maps, so equal requests get equal
// responses.
func (v violation) compare(other violation) int {
	return cmp.Or(
		cmp.Compare(len(v.instance), len(other.instance)),
		cmp.Compare(v.rank(), other.rank()),
		slices.CompareFunc(v.instance, other.instance, compareSteps),
		cmp.Compare(v.refTrail.end(), other.refTrail.end()),
		cmp.Compare(v.keyword, other.keyword),
	)
}

// compareSteps compares array indexes numerically.
func compareSteps(a, b string) int {
	m, errM := strconv.Atoi(a)
	n, errN := strconv.Atoi(b)
	if errM == nil && errN == nil {
		return cmp.Or(cmp.Compare(m, n), cmp.Compare(a, b))
	}
	return cmp.Compare(a, b)
}

// collect appends the violations in a tree of the library's errors. Inner nodes of the tree only represent the
// composition of the schema.
func collect(found []violation, failure *jsonschema.ValidationError, t refTrail) []violation {
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

func collectCauses(found []violation, failure *jsonschema.ValidationError, t refTrail) []violation {
	for _, cause := range failure.Causes {
		found = collect(found, cause, t)
	}
	return found
}

// collectChoice inspects the branches of an anyOf or oneOf that all failed. It ignores branches for other types of
// values. If all branches are, the violation is that the value has none of their types. Of the others it returns the
// violations of those branches whose members the value has: an object that meant one branch is not told what others lack.
func collectChoice(failure *jsonschema.ValidationError, t refTrail) []violation {
	var found []violation
	var mismatched []string
	closest := math.MaxInt
	for _, cause := range failure.Causes {
		branch := collect(nil, cause, t)
		if len(branch) == 1 && branch[0].keyword == "type" && len(branch[0].instance) == len(failure.InstanceLocation) {
			mismatched = append(mismatched, branch[0].refTrail.end())
			continue
		}
		if distance := memberMismatches(branch, len(failure.InstanceLocation)); distance < closest {
			found, closest = branch, distance
		} else if distance == closest {
			found = append(found, branch...)
		}
	}
	if len(found) > 0 {
		return found
	}
	choice := newViolation(failure, t)
	choice.alternatives = mismatched
	return []violation{choice}
}

// memberMismatches returns how many members of an object a branch lacks or does not know. Depth is the number of steps to
// the object.
func memberMismatches(branch []violation, depth int) (count int) {
	for _, found := range branch {
		if len(found.instance) != depth {
			continue
		}
		switch k := found.kind.(type) {
		case *kind.Required:
			count += len(k.Missing)
		case *kind.AdditionalProperties:
			count += len(k.Properties)
		}
	}
	return count
}

func newViolation(failure *jsonschema.ValidationError, t refTrail) violation {
	keyword := "schema" // the schema false has no keyword
	if _, excluded := failure.ErrorKind.(*kind.Not); excluded {
		keyword = "not" // the library returns no path of it
	} else if path := failure.ErrorKind.KeywordPath(); len(path) > 0 {
		keyword = path[0]
	}
	return violation{
		keyword:  keyword,
		kind:     failure.ErrorKind,
		refTrail: t.at(failure.SchemaURL),
		instance: failure.InstanceLocation,
	}
}

// pointerSteps splits the JSON pointer of a location into unescaped steps. The library escapes it for URLs in addition.
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
