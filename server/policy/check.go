package policy

import (
	"encoding/json"
	"strings"
)

// operator says what a check does.
type operator int

const (
	opAlways operator = iota
	opNever
	// opBroken is what cannot be evaluated: whoever gets there is denied, whatever
	// stands around it.
	opBroken
	opAnd
	opOr
	opNot
	opRule
	opRole
	// opCredential compares something of the caller with the right side, opLiteral a
	// text.
	opCredential
	opLiteral
)

// check is a condition: a node of a tree. It does not change once it is linked.
type check struct {
	op operator
	// text is a leaf as it was written.
	text  string
	parts []*check

	// name is the rule of opRule and the text of opLiteral.
	name string
	// found is the check of that rule; nil: there is none. It is filled by link.
	found *rule
	// from is the credential of opCredential; deeper says that a path goes on below
	// it, where no credential has anything.
	from   credential
	deeper bool
	// right is what is compared, of opRole, opCredential and opLiteral.
	right template
}

// String is the check in the language. Parsed again it decides the same.
func (c *check) String() string {
	if tokens := tokenize(c.text); c.op == opBroken && len(tokens) == 1 && tokens[0].kind != tokenCheck {
		return c.text
	}
	if lists, needed := c.asLists(); needed {
		return lists
	}
	return c.print(opOr)
}

// print puts parentheses where the check binds less than what is around it.
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

// asLists prints a check that came as lists and holds something that the language
// cannot say in one text, such as a blank in the name of a role.
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
			needed = needed || !sayable(leaf.text)
			inner = append(inner, Quote(leaf.text))
		}
		outer = append(outer, "["+strings.Join(inner, ", ")+"]")
	}
	return "[" + strings.Join(outer, ", ") + "]", needed
}

// sayable says whether a leaf is one word of the language, and looks like no list.
func sayable(text string) bool {
	tokens := tokenize(text)
	return len(tokens) == 1 && tokens[0].kind == tokenCheck && tokens[0].text == text && text[0] != '['
}

// InFile is a printed check as the value of a policy file: lists are written as they
// are, all else is a text.
func InFile(printed string) string {
	if strings.HasPrefix(printed, "[") && json.Valid([]byte(printed)) {
		return printed
	}
	return Quote(printed)
}

// Quote writes a text so that both JSON and YAML read it.
func Quote(text string) string {
	var quoted strings.Builder
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false)
	// A string can always be encoded.
	_ = encoder.Encode(text)
	return strings.TrimSuffix(quoted.String(), "\n")
}
