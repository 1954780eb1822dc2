package policy

import (
	"fmt"
	"slices"
	"strings"
)

// rule is a named check in force.
type rule struct {
	name  string
	check *check
	// registered is nil for rules that only files know.
	registered *registered
	// file and line say where it was read; empty: it is the default.
	file string
	line int
	// used says that an operation or another rule asks for it.
	used bool
}

// ruleSet is all rules, tied together. It does not change.
type ruleSet struct {
	rules map[string]*rule
}

// Problem is something odd in a policy file, for the person who wrote it.
type Problem struct {
	File string
	Line int
	Rule string
	// At is the character of the check, from 1; 0: all of it.
	At   int
	Text string
}

// String is one line.
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

// Refused lists what keeps policy files from being used.
type Refused []Problem

// Error is one line for each.
func (r Refused) Error() string {
	lines := make([]string, len(r))
	for i, problem := range r {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// makeRuleSet puts the rules of files over the defaults. A rule that stands in a file
// replaces the default whole, its deprecated check included; of several with one
// name the last holds.
func makeRuleSet(options Options, entries []entry) (*ruleSet, []Problem, error) {
	set := &ruleSet{rules: map[string]*rule{}}
	var problems []Problem
	var refused Refused
	for _, e := range entries {
		if before := set.rules[e.name]; before != nil && before.file == e.file {
			problems = append(problems, e.problem(finding{
				text: fmt.Sprintf("it stands in line %d already; this one holds", before.line)}))
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
		problems = append(problems, old.problem("it replaces the defaults that have a deprecated half, which bears this odd name; "+
			"name the rules that are meant instead"))
	}
	return set, append(problems, set.link(options.DefaultRule)...), nil
}

// deprecatedName is how the reference calls the deprecated half of its defaults. It looks
// like a reference and is a name: who defines it replaces those defaults.
const deprecatedName = "rule:" + AdminAPI

// register sees to it that a rule of the table is there.
func (s *ruleSet) register(known *registered, enforceNewDefaults bool) {
	found := s.rules[known.name]
	if found == nil {
		found = &rule{name: known.name, check: known.parsed(enforceNewDefaults)}
		if old := s.rules[deprecatedName]; old != nil && known.deprecated != "" && old.check.text != "rule:"+known.name {
			found.check, found.file, found.line = old.check, old.file, old.line
			old.used = true
		}
		s.rules[known.name] = found
	}
	found.registered, found.used = known, true
}

// link ties the rules together and tells what leads nowhere.
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
			problems = append(problems, r.problem("it refers to itself, and whoever gets round the circle is denied"))
		case !r.used && r.name != defaultRule:
			problems = append(problems, r.problem("no operation and no other rule asks for it, so it has no effect"))
		}
	}
	return problems
}

func (r *rule) undefined(name, defaultRule string, fallback *rule) Problem {
	if fallback == nil {
		return r.problem(fmt.Sprintf("it refers to rule:%s, which is not defined and allows nobody", name))
	}
	return r.problem(fmt.Sprintf("it refers to rule:%s, which is not defined; the rule %q is asked instead", name, defaultRule))
}

func (r *rule) problem(text string) Problem {
	return Problem{File: r.file, Line: r.line, Rule: r.name, Text: text}
}

// ordered lists the rules in the order of their places, so that problems are told in
// the order in which they are mended.
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

// eachRule visits the references to rules in a check.
func (c *check) eachRule(visit func(*check)) {
	if c.op == opRule {
		visit(c)
	}
	for _, part := range c.parts {
		part.eachRule(visit)
	}
}

// reaches says whether following the references of a check leads to a rule.
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
