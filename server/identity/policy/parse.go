package policy

import (
	"fmt"
	"strings"
)

// maxDepth bounds the nesting of parentheses and negations. Real files have three levels.
const maxDepth = 200

// finding is a problem in a check, at a character counted from 1; 0: in the whole check.
type finding struct {
	at   int
	text string
	// fatal findings reject the file.
	fatal bool
}

// parser parses one check.
type parser struct {
	tokens   []token
	findings []finding
	depth    int
}

func (p *parser) warn(at int, format string, arguments ...any) {
	p.findings = append(p.findings, finding{at: at, text: fmt.Sprintf(format, arguments...)})
}

func (p *parser) refuse(at int, format string, arguments ...any) {
	p.findings = append(p.findings, finding{at: at, text: fmt.Sprintf(format, arguments...), fatal: true})
}

var (
	always = &check{op: opAlways, text: "@"}
	never  = &check{op: opNever, text: "!"}
)

// parseText parses a check. If it is invalid, it returns a check that never matches.
func parseText(text string) (*check, []finding) {
	if text == "" {
		return always, nil
	}
	p := &parser{tokens: tokenize(text)}
	if len(p.tokens) == 1 && p.tokens[0].kind != tokenCheck {
		// oslo.policy fails whenever it evaluates such a rule.
		p.warn(1, "%q alone is no check, so it denies every caller", text)
		return &check{op: opBroken, text: strings.TrimFunc(text, isBlank)}, p.findings
	}
	result, ok := p.either()
	if ok && len(p.tokens) > 0 {
		p.unexpected("and, or, or the end")
		ok = false
	}
	if !ok {
		result = never
	}
	return result, p.findings
}

// parseLists parses the old form: a list of lists, an "or" of lists whose members are joined by "and".
func parseLists(lists [][]string) (*check, []finding) {
	if len(lists) == 0 {
		return always, nil
	}
	p := &parser{}
	var outer []*check
	for _, list := range lists {
		var inner []*check
		for _, text := range list {
			inner = append(inner, p.leaf(token{tokenCheck, text, 0}))
		}
		if len(inner) > 0 {
			outer = append(outer, joined(opAnd, inner))
		}
	}
	if len(outer) == 0 {
		p.warn(0, "the lists are empty, so it denies every caller; write [] or \"@\" to permit all callers")
		return never, p.findings
	}
	return joined(opOr, outer), p.findings
}

func joined(op operator, parts []*check) *check {
	if len(parts) == 1 {
		return parts[0]
	}
	return &check{op: op, parts: parts}
}

// either parses checks joined by or, the operator with the lowest precedence.
func (p *parser) either() (*check, bool) { return p.chain(opOr, tokenOr, p.all) }

// all parses checks joined by and.
func (p *parser) all() (*check, bool) { return p.chain(opAnd, tokenAnd, p.one) }

func (p *parser) chain(op operator, between tokenKind, next func() (*check, bool)) (*check, bool) {
	var parts []*check
	for {
		part, ok := next()
		if !ok {
			return nil, false
		}
		parts = append(parts, part)
		if len(p.tokens) == 0 || p.tokens[0].kind != between {
			return joined(op, parts), true
		}
		p.tokens = p.tokens[1:]
	}
}

// one parses a negation, a parenthesis or a leaf.
func (p *parser) one() (*check, bool) {
	if p.depth++; p.depth > maxDepth {
		p.warn(0, "it is nested more than %d deep, so it denies every caller", maxDepth)
		return nil, false
	}
	defer func() { p.depth-- }()
	if len(p.tokens) == 0 {
		p.warn(0, "it ends where a check is missing, so it denies every caller")
		return nil, false
	}
	first := p.tokens[0]
	switch first.kind {
	case tokenCheck:
		p.tokens = p.tokens[1:]
		return p.leaf(first), true
	case tokenNot:
		p.tokens = p.tokens[1:]
		part, ok := p.one()
		return &check{op: opNot, parts: []*check{part}}, ok
	case tokenOpen:
		p.tokens = p.tokens[1:]
		inner, ok := p.either()
		if ok && (len(p.tokens) == 0 || p.tokens[0].kind != tokenClose) {
			p.unexpected("and, or, or a closing parenthesis")
			return nil, false
		}
		if ok {
			p.tokens = p.tokens[1:]
		}
		return inner, ok
	}
	p.unexpected("a check")
	return nil, false
}

func (p *parser) unexpected(wanted string) {
	if len(p.tokens) == 0 {
		p.warn(0, "it ends where %s is missing, so it denies every caller", wanted)
		return
	}
	found := p.tokens[0]
	if found.kind == tokenQuoted {
		p.warn(found.at, "%s is a quoted word, which is not a check, so it denies every caller; write attribute:value", found.text)
		return
	}
	p.warn(found.at, "found %q instead of %s, so it denies every caller", found.text, wanted)
}

// leaf parses a single check, such as role:admin.
func (p *parser) leaf(word token) *check {
	switch word.text {
	case "@":
		return always
	case "!":
		return never
	}
	left, right, ok := strings.Cut(word.text, ":")
	if !ok {
		p.warn(word.at, "%q has no colon, so it never matches; write role:%[1]s or rule:%[1]s", word.text)
		return &check{op: opNever, text: word.text}
	}
	result := &check{text: word.text}
	switch left {
	case "http", "https":
		p.refuse(word.at, "%s queries another server, which is not supported; express the condition with role:, rule: "+
			"or an attribute of the caller, such as role:admin or project_id:%%(project_id)s", word.text)
		result.op = opBroken
		return result
	case "rule":
		result.op, result.name = opRule, right
		return result
	case "role":
		result.op = opRole
	default:
		p.leftOperand(result, left, word.at)
	}
	p.right(result, right, word.at)
	return result
}
