package policy

import (
	"fmt"
	"slices"
	"strings"
)

// rule is a named check.
type rule struct {
	name  string
	check *check
	// registered is nil for rules that only files know.
	registered *registered
	// file and line are the source of the rule; empty: it is the default.
	file string
	line int
	// used reports that an operation or another rule refers to it.
	used bool
}

// ruleSet is the linked set of all rules. It is immutable.
type ruleSet struct {
	rules map[string]*rule
}

// Problem is a finding in a policy file, for its author.
type Problem struct {
	File string
	Line int
	Rule string
	// At is the character of the check, from 1; 0: the whole check.
	At   int
	Text string
}

// String returns the problem as one line.
func (p Problem) String() string {
	var place strings.Builder
	if p.File != "" {
		fmt.Fprintf(&place, "%s:%d: ", p.File, p.Line)
	}
	if p.Rule != "" {
		fmt.Fprintf(&place, "rule %q", p.Rule)
		if p.At > 0 {
			fmt.Fprintf(&place, ", character %d", p.At)
		}
		place.WriteString(": ")
	}
	return place.String() + p.Text
}

// LoadErrors lists the problems that prevent policy files from being loaded.
type LoadErrors []Problem

// Error returns one line for each problem.
func (r LoadErrors) Error() string {
	lines := make([]string, len(r))
	for i, problem := range r {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// makeRuleSet merges the rules of files with the defaults. A rule in a file replaces the whole default,
// including its deprecated check; of several rules with one name the last applies.
func makeRuleSet(options Options, entries []entry) (*ruleSet, []Problem, error) {
	set := &ruleSet{rules: map[string]*rule{}}
	var problems []Problem
	var refused LoadErrors
	for _, e := range entries {
		if before := set.rules[e.name]; before != nil && before.file == e.file {
			problems = append(problems, e.problem(finding{
				text: fmt.Sprintf("it is also in line %d; this definition applies", before.line)}))
		}
		set.rules[e.name] = &rule{name: e.name, check: e.check, file: e.file, line: e.line}
		for _, found := range e.findings {
			if found.fatal {
				refused = append(refused, e.problem(found))
			} else {
				problems = append(problems, e.problem(found))
			}
		}
	}
	if len(refused) > 0 {
		return nil, problems, refused
	}
	for i := range defaults {
		set.register(&defaults[i], options.EnforceNewDefaults)
	}
	if old := set.rules[deprecatedName]; old != nil {
		problems = append(problems, old.problem("it replaces all defaults with a deprecated check, because oslo.policy gives that check this name; "+
			"name the intended rules instead"))
	}
	return set, append(problems, set.link(options.DefaultRule)...), nil
}

// deprecatedName is the name that oslo.policy gives to the deprecated check of the defaults. It looks like
// a reference, but it is a name: a file that defines it replaces those defaults.
const deprecatedName = "rule:" + AdminAPI

// register adds a rule of the table unless a file defines it.
func (s *ruleSet) register(known *registered, enforceNewDefaults bool) {
	found := s.rules[known.name]
	if found == nil {
		found = &rule{name: known.name, check: known.parsed(enforceNewDefaults)}
		if old := s.rules[deprecatedName]; old != nil && known.deprecated != "" && !known.baremetal() && old.check.text != "rule:"+known.name {
			found.check, found.file, found.line = old.check, old.file, old.line
			old.used = true
		}
		s.rules[known.name] = found
	}
	found.registered, found.used = known, true
}

// link links the references between rules and returns the problems it finds.
func (s *ruleSet) link(defaultRule string) []Problem {
	var problems []Problem
	var fallback *rule
	if defaultRule != "" {
		fallback = s.rules[defaultRule]
	}
	ordered := s.ordered()
	for _, r := range ordered {
		r.check.eachRule(func(c *check) {
			c.found = s.rules[c.name]
			if c.found == nil {
				problems = append(problems, r.undefined(c.name, defaultRule, fallback))
				c.found = fallback
			}
			if c.found != nil {
				c.found.used = true
			}
		})
	}
	for _, r := range ordered {
		switch {
		case r.check.reaches(r, map[*rule]bool{}):
			problems = append(problems, r.problem("it refers to itself, and a decision that follows the cycle is a denial"))
		case !r.used && r.name != defaultRule:
			problems = append(problems, r.problem("no operation and no other rule uses it, so it has no effect"))
		}
	}
	return problems
}

func (r *rule) undefined(name, defaultRule string, fallback *rule) Problem {
	if fallback == nil {
		return r.problem(fmt.Sprintf("it refers to rule:%s, which is not defined, so it denies every caller", name))
	}
	return r.problem(fmt.Sprintf("it refers to rule:%s, which is not defined; the rule %q applies instead", name, defaultRule))
}

func (r *rule) problem(text string) Problem {
	return Problem{File: r.file, Line: r.line, Rule: r.name, Text: text}
}

// ordered returns the rules in the order of their source lines, so that problems are reported in that
// order.
func (s *ruleSet) ordered() []*rule {
	var all []*rule
	for _, r := range s.rules {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *rule) int {
		if order := strings.Compare(a.file, b.file); order != 0 {
			return order
		}
		if a.line != b.line {
			return a.line - b.line
		}
		return strings.Compare(a.name, b.name)
	})
	return all
}

// eachRule calls visit for each reference to a rule in a check.
func (c *check) eachRule(visit func(*check)) {
	if c.op == opRule {
		visit(c)
	}
	for _, part := range c.parts {
		part.eachRule(visit)
	}
}

// reaches reports whether the references of a check lead to a rule.
func (c *check) reaches(wanted *rule, seen map[*rule]bool) bool {
	reached := false
	c.eachRule(func(reference *check) {
		next := reference.found
		if reached || next == nil {
			return
		}
		if next == wanted {
			reached = true
			return
		}
		if !seen[next] {
			seen[next] = true
			reached = next.check.reaches(wanted, seen)
		}
	})
	return reached
}
