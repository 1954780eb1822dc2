package policy

import (
	"fmt"
	"strings"

	"github.com/berthd/berth/server/auth"
)

// Decision is an answer with what led to it.
type Decision struct {
	Allowed bool
	Rule    Rule
	// Scope says that the token is of the wrong kind, and the check was not looked at.
	Scope bool
	// Reasons are the parts of the check that decided: where one is enough it is that
	// one, else all of them.
	Reasons []Reason
}

// Reason is a part of a check that decided.
type Reason struct {
	// Check is the part, and Rules are those that led to it, the asked one first.
	Check string
	Rules []string
	Holds bool
	// Why is a clause for people.
	Why string
}

// Explain decides as Check does and says why. It fails as Check does for a rule that
// is not registered.
func (p *Policy) Explain(caller auth.Caller, name string, target Target) (*Decision, error) {
	found, err := p.current.Load().find(name)
	if err != nil {
		return nil, err
	}
	decided := &Decision{Rule: found.describe()}
	if p.outOfScope(&caller, found) {
		decided.Scope = true
		return decided, nil
	}
	e := &evaluation{caller: &caller, target: target}
	decided.Allowed, decided.Reasons = e.why(found.check, []string{name})
	decided.Allowed = decided.Allowed && !e.broken
	return decided, nil
}

// why is holds with the reasons.
func (e *evaluation) why(c *check, rules []string) (bool, []Reason) {
	switch c.op {
	case opAnd, opOr:
		// A single part decides if it is what the whole then is.
		decisive := c.op == opOr
		var all []Reason
		for _, part := range c.parts {
			holds, reasons := e.why(part, rules)
			if holds == decisive || e.broken {
				return holds && !e.broken, reasons
			}
			all = append(all, reasons...)
		}
		return !decisive, all
	case opNot:
		holds, reasons := e.why(c.parts[0], rules)
		return !holds && !e.broken, reasons
	case opRule:
		if c.found != nil && e.steps < maxExplained {
			e.steps++
			return e.why(c.found.check, append(rules[:len(rules):len(rules)], c.found.name))
		}
		e.broken = c.found != nil
	}
	holds := c.op != opRule && e.holds(c)
	return holds, []Reason{{Check: c.text, Rules: rules, Holds: holds, Why: e.clause(c)}}
}

// maxExplained ends the explanation of rules that go in circles.
const maxExplained = 500

// clause says of a leaf what was compared.
func (e *evaluation) clause(c *check) string {
	switch c.op {
	case opAlways:
		return "everybody is allowed"
	case opRule:
		if c.found == nil {
			return "there is no such rule"
		}
		return "the rules go in a circle"
	case opRole:
		wanted, _, ok := c.right.fill(e.target)
		if !ok {
			return "the target has no such attribute"
		}
		roles := strings.Join(e.caller.Roles, ", ")
		if roles == "" {
			roles = "none"
		}
		return fmt.Sprintf("asked for is %s, the caller's roles are %s", wanted, roles)
	case opCredential, opLiteral:
		if !c.deeper {
			return e.comparison(c)
		}
	case opNever:
		if c.text == never.text {
			return "nobody is allowed"
		}
		return "it never matches"
	}
	return "it cannot be evaluated, so nobody passes"
}

func (e *evaluation) comparison(c *check) string {
	wanted, _, ok := c.right.fill(e.target)
	if !ok {
		return "the target has no such attribute"
	}
	if c.op == opLiteral {
		return fmt.Sprintf("%q against %q", c.name, wanted)
	}
	have := noValue
	if list, ok := c.from.list(e.caller); ok {
		have = strings.Join(list, ", ")
	} else if value, _ := c.from.value(e.caller); value != "" {
		have = value
	}
	return fmt.Sprintf("the caller's %s is %s, asked for is %s", credentialNames[c.from], have, wanted)
}
