package policy

import "strings"

// template is the right side of a check: text, and placeholders such as
// %(project_id)s for what the operation is performed on.
type template struct {
	segments []segment
	// broken is why the template cannot be filled in.
	broken string
}

// segment is a piece of text, or where key is set the attribute of the target.
type segment struct {
	text, key string
	isKey     bool
}

// right reads the part behind the colon.
func (p *parser) right(made *check, text string, at int) {
	made.right = parseTemplate(text)
	if made.right.broken != "" {
		made.op = opBroken
		p.warn(at, "%s %s, so nobody passes here", made.text, made.right.broken)
		return
	}
	for _, s := range made.right.segments {
		if s.isKey && s.key != targetProject && s.key != targetUser {
			p.warn(at, "no operation has a target with %s, so it never matches; there are %%(%s)s and %%(%s)s",
				s.key, targetProject, targetUser)
		}
	}
}

// parseTemplate knows %(name)s and %% only: what else Python's formatting can do has no
// place in a rule.
func parseTemplate(text string) template {
	var made template
	var plain strings.Builder
	flush := func() {
		if plain.Len() > 0 {
			made.segments = append(made.segments, segment{text: plain.String()})
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
			return template{broken: "holds a % that begins no %(name)s; a % itself is written %%"}
		}
		flush()
		made.segments = append(made.segments, segment{key: key, isKey: true})
		text = after
	}
	flush()
	return made
}

// placeholder reads (name)s; parentheses in the name come in pairs.
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

// fill gives the text for a target. nothing says that a part of it is what the target
// has nothing for; ok is false where the target has no such attribute.
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
