package osloconf

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// reference matches an escaped dollar sign, $name, $group.name, ${name} and
// ${group.name}. Any other dollar sign is an ordinary character.
var reference = regexp.MustCompile(`\$\$|\\\$|\$[A-Za-z_][A-Za-z0-9_.]*|\$\{[A-Za-z_][A-Za-z0-9_.]*\}`)

// maxReferences is the maximum number of references in the expansion of one value,
// including nested ones. It ends the expansion of reference cycles, and of nested
// references whose number grows exponentially.
const maxReferences = 1000

// Expand replaces the references in a value of a group. It looks up a name without a dot
// in the group itself, then in DEFAULT. The values that lookup returns may contain
// references; if lookup returns false, Expand returns an error and the original text.
func Expand(group, text string, lookup func(group, option string) (string, bool)) (string, error) {
	e := expansion{lookup: lookup, left: maxReferences}
	expanded := e.expand(group, text)
	if e.err != nil {
		return text, e.err
	}
	return expanded, nil
}

// expansion is the state of one Expand call.
type expansion struct {
	lookup func(group, option string) (string, bool)
	left   int
	err    error // the first one
}

func (e *expansion) expand(group, text string) string {
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		if found == "$$" || found == `\$` {
			return "$"
		}
		if e.err != nil {
			return ""
		}
		if e.left--; e.left < 0 {
			e.err = errors.New("refers to itself, directly or through other options")
			return ""
		}
		valueGroup, value, ok := e.find(group, strings.Trim(found, "${}"))
		if !ok {
			e.err = fmt.Errorf("refers to %s, which is not a known option", found)
			return ""
		}
		return e.expand(valueGroup, value)
	})
}

// find returns the value of a name, and the group to which the references in the value
// are relative.
func (e *expansion) find(group, name string) (valueGroup, value string, ok bool) {
	if before, after, dotted := strings.Cut(name, "."); dotted {
		value, ok = e.lookup(before, after)
		return before, value, ok
	}
	if value, ok = e.lookup(group, name); ok {
		return group, value, true
	}
	value, ok = e.lookup("DEFAULT", name)
	return "DEFAULT", value, ok
}

// Bool parses a boolean of oslo.config; ok is false for any other text.
func Bool(text string) (value, ok bool) {
	switch strings.ToLower(text) {
	case "true", "1", "on", "yes":
		return true, true
	case "false", "0", "off", "no":
		return false, true
	}
	return false, false
}
