package policy

import (
	"encoding/json"
	"strings"
)

// operator is the kind of a check.
type operator int

const (
	opAlways operator = iota
	opNever
	// opBroken cannot be evaluated: a decision that reaches it is a denial, even below a not.
	opBroken
	opAnd
	opOr
	opNot
	opRule
	opRole
	// opCredential compares an attribute of the caller with the right operand, opLiteral a text.
	opCredential
	opLiteral
)

// check is a condition: a node of a tree. It is immutable after link.
type check struct {
	op operator
	// text is the source text of a leaf.
	text  string
	parts []*check

	// name is the rule of opRule or the text of opLiteral.
	name string
	// found is the rule that opRule refers to; nil: it is not defined. link sets it.
	found *rule
	// from is the credential of opCredential. deeper reports that a path continues below it, where no
	// credential has a value.
	from   credential
	deeper bool
	// rightOperand is the text to compare with, for opRole, opCredential and opLiteral.
	rightOperand template
}

// String returns the check in the language of oslo.policy. Parsing it yields an equivalent check.
func (c *check) String() string {
	if tokens := tokenize(c.text); c.op == opBroken && len(tokens) == 1 && tokens[0].kind != tokenCheck {
		return c.text
	}
	if lists, needed := c.asLists(); needed {
		return lists
	}
	return c.print(opOr)
}

// print returns the check, in parentheses if around has a higher precedence.
func (c *check) print(around operator) string {
	switch c.op {
	case opAnd:
		return enclosed(c.join(" and ", opAnd), around == opNot || around == opAnd)
	case opOr:
		return enclosed(c.join(" or ", opOr), around != opOr)
	case opNot:
		return "not " + c.parts[0].print(opNot)
	}
	return c.text
}

func (c *check) join(between string, around operator) string {
	parts := make([]string, len(c.parts))
	for i, part := range c.parts {
		parts[i] = part.print(around)
	}
	return strings.Join(parts, between)
}

func enclosed(text string, needed bool) string {
	if needed {
		return "(" + text + ")"
	}
	return text
}

// asLists prints a check that was read as lists and contains text that the language cannot express, such
// as a blank in a role name.
func (c *check) asLists() (printed string, needed bool) {
	sets := []*check{c}
	if c.op == opOr {
		sets = c.parts
	}
	var outer []string
	for _, set := range sets {
		leaves := []*check{set}
		if set.op == opAnd {
			leaves = set.parts
		}
		var inner []string
		for _, leaf := range leaves {
			if leaf.op == opAnd || leaf.op == opOr || leaf.op == opNot {
				return "", false
			}
			needed = needed || !isExpressible(leaf.text)
			inner = append(inner, Quote(leaf.text))
		}
		outer = append(outer, "["+strings.Join(inner, ", ")+"]")
	}
	return "[" + strings.Join(outer, ", ") + "]", needed
}

// isExpressible reports whether a leaf is one word of the language and does not look like a list.
func isExpressible(text string) bool {
	tokens := tokenize(text)
	return len(tokens) == 1 && tokens[0].kind == tokenCheck && tokens[0].text == text && text[0] != '['
}

// InFile returns a printed check as a value for a policy file: lists unchanged, all other checks as quoted
// text.
func InFile(printed string) string {
	if strings.HasPrefix(printed, "[") && json.Valid([]byte(printed)) {
		return printed
	}
	return Quote(printed)
}

// Quote quotes a text so that it is valid in both JSON and YAML.
func Quote(text string) string {
	var quoted strings.Builder
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false)
	// Encoding a string cannot fail.
	_ = encoder.Encode(text)
	return strings.TrimSuffix(quoted.String(), "\n")
}
