package policy

import (
	"fmt"
	"strings"

	"github.com/berthd/berth/server/identity/auth"
)

// Decision is a decision with its reasons.
type Decision struct {
	Allowed bool
	Rule    Rule
	// Scope reports that the token has a scope that the rule does not accept, so that the check was not
	// evaluated.
	Scope bool
	// Reasons are the parts of the check that decided: one part if it suffices, otherwise all.
	Reasons []Reason
}

// Reason is a part of a check that decided.
type Reason struct {
	// Check is the part, and Rules is the path of rules that leads to it, starting with the rule of the
	// decision.
	Check string
	Rules []string
	Holds bool
	// Why is a clause for users.
	Why string
}

// Explain decides as Check does and returns the reasons. Like Check, it returns an error for a rule that
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
	decided.Allowed, decided.Reasons = e.explainCheck(found.check, []string{name})
	decided.Allowed = decided.Allowed && !e.broken
	return decided, nil
}

// explainCheck evaluates a check as holds does, and returns the reasons.
func (e *evaluation) explainCheck(c *check, rules []string) (bool, []Reason) {
	switch c.op {
	case opAnd, opOr:
		// A single part decides if its result is the result of the whole.
		decisive := c.op == opOr
		var all []Reason
		for _, part := range c.parts {
			holds, reasons := e.explainCheck(part, rules)
			if holds == decisive || e.broken {
				return holds && !e.broken, reasons
			}
			all = append(all, reasons...)
		}
		return !decisive, all
	case opNot:
		holds, reasons := e.explainCheck(c.parts[0], rules)
		return !holds && !e.broken, reasons
	case opRule:
		if c.found != nil && e.steps < maxExplained {
			e.steps++
			return e.explainCheck(c.found.check, append(rules[:len(rules):len(rules)], c.found.name))
		}
		e.broken = c.found != nil
	}
	holds := c.op != opRule && e.holds(c)
	return holds, []Reason{{Check: c.text, Rules: rules, Holds: holds, Why: e.clause(c)}}
}

// maxExplained ends the explanation of rules that form a cycle.
const maxExplained = 500

// clause describes the comparison of a leaf.
func (e *evaluation) clause(c *check) string {
	switch c.op {
	case opAlways:
		return "every caller is permitted"
	case opRule:
		if c.found == nil {
			return "the rule is not defined"
		}
		return "the rules form a cycle"
	case opRole:
		wanted, _, ok := c.rightOperand.fill(e.target)
		if !ok {
			return "the target has no such attribute"
		}
		roles := strings.Join(e.caller.Roles, ", ")
		if roles == "" {
			roles = "none"
		}
		return fmt.Sprintf("required is %s, the caller's roles are %s", wanted, roles)
	case opCredential, opLiteral:
		if !c.deeper {
			return e.comparison(c)
		}
	case opNever:
		if c.text == never.text {
			return "every caller is denied"
		}
		return "it never matches"
	}
	return "it cannot be evaluated, so the decision is a denial"
}

func (e *evaluation) comparison(c *check) string {
	wanted, _, ok := c.rightOperand.fill(e.target)
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
	return fmt.Sprintf("the caller's %s is %s, required is %s", credentialNames[c.from], have, wanted)
}
