package policy

import "github.com/berthd/berth/server/identity/auth"

// Parsed is a check for tests: its text, the findings of the parser, and its decisions.
type Parsed struct {
	check    *check
	findings []finding
}

// ParseText parses a check.
func ParseText(text string) *Parsed {
	made, findings := parseText(text)
	return &Parsed{made, findings}
}

// ParseFile parses a file and returns its checks.
func ParseFile(data []byte) (map[string]*Parsed, error) {
	entries, err := parseFile("f", data)
	all := map[string]*Parsed{}
	for _, e := range entries {
		all[e.name] = &Parsed{e.check, e.findings}
	}
	return all, err
}

func (p *Parsed) String() string { return p.check.String() }

// Odd returns the findings: the character, and the text.
func (p *Parsed) Odd() (all []Problem) {
	for _, found := range p.findings {
		all = append(all, Problem{At: found.at, Text: found.text})
	}
	return all
}

// Link links the references of a check to the given rules.
func (p *Parsed) Link(rules map[string]*Parsed) {
	p.check.eachRule(func(c *check) {
		if found := rules[c.name]; found != nil {
			c.found = &rule{name: c.name, check: found.check}
		}
	})
}

// Allows returns the decision, and reports whether the explanation decides the same.
func (p *Parsed) Allows(caller auth.Caller, target Target) (allowed, same bool) {
	allowed = p.check.allows(&caller, target)
	e := &evaluation{caller: &caller, target: target}
	explained, _ := e.explainCheck(p.check, nil)
	return allowed, allowed == (explained && !e.broken)
}
