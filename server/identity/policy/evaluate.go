package policy

import (
	"slices"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"github.com/berthd/berth/server/identity/auth"
)

// maxSteps bounds how many rules one decision may follow, for rules that form a cycle or fan out
// exponentially. The longest chain of the defaults is 3.
const maxSteps = 10000

// evaluation is the state of one decision.
type evaluation struct {
	caller *auth.Caller
	target Target
	steps  int
	// broken reports that the evaluation reached a check that cannot be evaluated, or whose attributes are
	// not loaded yet. The decision is then a denial, even below a not.
	broken bool
}

// allows evaluates a check for a caller.
func (c *check) allows(caller *auth.Caller, target Target) bool {
	e := evaluation{caller: caller, target: target}
	return e.holds(c) && !e.broken
}

func (e *evaluation) holds(c *check) bool {
	switch c.op {
	case opAlways:
		return true
	case opAnd:
		for _, part := range c.parts {
			if !e.holds(part) {
				return false
			}
		}
		return true
	case opOr:
		for _, part := range c.parts {
			if e.holds(part) {
				return true
			}
			if e.broken {
				return false
			}
		}
		return false
	case opNot:
		return !e.holds(c.parts[0]) && !e.broken
	case opRule:
		return e.follow(c.found)
	case opRole, opCredential, opLiteral:
		return e.matches(c)
	case opBroken:
		e.broken = true
	}
	return false
}

// follow evaluates the rule that a check refers to. An undefined rule denies.
func (e *evaluation) follow(found *rule) bool {
	if found == nil {
		return false
	}
	if e.steps++; e.steps > maxSteps {
		e.broken = true
		return false
	}
	return e.holds(found.check)
}

// matches compares the two sides of a leaf.
func (e *evaluation) matches(c *check) bool {
	if e.target.Unread && c.rightOperand.unread(e.target) {
		e.broken = true
		return false
	}
	wanted, nothing, ok := c.rightOperand.fill(e.target)
	if !ok {
		return false
	}
	switch c.op {
	case opRole:
		return hasRole(e.caller.Roles, wanted)
	case opLiteral:
		return c.name == wanted
	}
	if list, ok := c.from.list(e.caller); ok {
		e.broken = e.broken || c.deeper && len(list) > 0
		return !c.deeper && slices.Contains(list, wanted)
	}
	value, ok := c.from.value(e.caller)
	switch {
	case !ok:
		return false
	case c.deeper:
		e.broken = true
		return false
	case value == "":
		// A caller without a project never matches a target without a project.
		return !nothing && wanted == noValue
	}
	return value == wanted
}

// hasRole reports whether roles contain wanted, ignoring case.
func hasRole(roles []string, wanted string) bool {
	for i := range roles {
		if sameRole(roles[i], wanted) {
			return true
		}
	}
	return false
}

// sameRole compares the lower-case forms. It does not use case folding, which would also equate letters
// that only look alike, such as the long s in "ſervice".
func sameRole(a, b string) bool {
	if !isASCII(a) || !isASCII(b) {
		// Unlike strings.ToLower, cases.Lower does not map İ to i.
		return cases.Lower(language.Und).String(a) == cases.Lower(language.Und).String(b)
	}
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
