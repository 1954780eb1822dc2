package policy

import (
	"slices"
	"strings"
)

// template is the right operand of a check: text with placeholders such as %(project_id)s for attributes
// of the target.
type template struct {
	segments []segment
	// broken is the reason why the template is invalid; empty: it is valid.
	broken string
}

// segment is a piece of text, or the attribute of the target named by key.
type segment struct {
	text, key string
	isKey     bool
}

// right parses the part after the colon.
func (p *parser) right(result *check, text string, at int) {
	result.rightOperand = parseTemplate(text)
	if result.rightOperand.broken != "" {
		result.op = opBroken
		p.warn(at, "%s %s, so it denies every caller that reaches it", result.text, result.rightOperand.broken)
		return
	}
	for _, s := range result.rightOperand.segments {
		if s.isKey && !slices.Contains(targetNames, s.key) {
			p.warn(at, "no operation has a target with %s, so it never matches; there are %%(%s)s and %%(%s)s, and in the Bare Metal API "+
				"%%(%s)s, %%(%s)s and %%(%s)s", s.key, targetProject, targetUser, targetNodeOwner, targetNodeLessee, targetAllocationOwner)
		}
	}
}

// parseTemplate supports only %(name)s and %%; rules have no use for the other formats of Python.
func parseTemplate(text string) template {
	var result template
	var plain strings.Builder
	flush := func() {
		if plain.Len() > 0 {
			result.segments = append(result.segments, segment{text: plain.String()})
			plain.Reset()
		}
	}
	for text != "" {
		before, rest, found := strings.Cut(text, "%")
		plain.WriteString(before)
		if !found {
			break
		}
		if after, ok := strings.CutPrefix(rest, "%"); ok {
			plain.WriteString("%")
			text = after
			continue
		}
		key, after, ok := placeholder(rest)
		if !ok {
			return template{broken: "has a % that starts no %(name)s; write %% for a %"}
		}
		flush()
		result.segments = append(result.segments, segment{key: key, isKey: true})
		text = after
	}
	flush()
	return result
}

// placeholder parses (name)s; parentheses in the name are balanced.
func placeholder(text string) (key, rest string, ok bool) {
	if !strings.HasPrefix(text, "(") {
		return "", "", false
	}
	open := 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			open++
		case ')':
			open--
		}
		if open == 0 {
			rest, ok = strings.CutPrefix(text[i+1:], "s")
			return text[1:i], rest, ok
		}
	}
	return "", "", false
}

// fill returns the text for a target. nothing reports that an attribute in it is present and empty; ok is
// false if the target lacks an attribute.
func (t *template) fill(target Target) (text string, nothing, ok bool) {
	if len(t.segments) == 1 {
		return t.segments[0].fill(target)
	}
	var all strings.Builder
	for i := range t.segments {
		part, none, found := t.segments[i].fill(target)
		if !found {
			return "", false, false
		}
		nothing = nothing || none
		all.WriteString(part)
	}
	return all.String(), nothing, true
}

// unread reports whether a placeholder is for an attribute that is not loaded yet.
func (t *template) unread(target Target) bool {
	return slices.ContainsFunc(t.segments, func(s segment) bool { return s.isKey && target.unread(s.key) })
}

func (s *segment) fill(target Target) (text string, nothing, ok bool) {
	if !s.isKey {
		return s.text, false, true
	}
	value, ok := target.value(s.key)
	if ok && value == "" {
		return noValue, true, true
	}
	return value, false, ok
}
