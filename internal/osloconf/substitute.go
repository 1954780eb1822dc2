package osloconf

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// reference finds what stands for something else: an escaped dollar sign, $name,
// $group.name and both between braces. Any other dollar sign is an ordinary character.
var reference = regexp.MustCompile(`\$\$|\\\$|\$[A-Za-z_][A-Za-z0-9_.]*|\$\{[A-Za-z_][A-Za-z0-9_.]*\}`)

// mostReferences is how many references one value may need in all: those that refer to
// two others each would otherwise never end.
const mostReferences = 1000

// Expand replaces the references in the text of a group. A name without a dot is
// looked for in the group itself, then in DEFAULT. What known returns may hold
// references in turn; false means that there is no such option, which is an error.
func Expand(group, text string, known func(group, option string) (string, bool)) (string, error) {
	e := expansion{known: known, left: mostReferences}
	replaced := e.expand(group, text)
	if e.wrong != nil {
		return text, e.wrong
	}
	return replaced, nil
}

type expansion struct {
	known func(group, option string) (string, bool)
	left  int
	// wrong is the first error.
	wrong error
}

func (e *expansion) expand(group, text string) string {
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		if found == "$$" || found == `\$` {
			return "$"
		}
		if e.wrong != nil {
			return ""
		}
		if e.left--; e.left < 0 {
			e.wrong = errors.New("refers to itself, directly or through others")
			return ""
		}
		of, value, ok := e.find(group, strings.Trim(found, "${}"))
		if !ok {
			e.wrong = fmt.Errorf("refers to %s, and there is no such option", found)
			return ""
		}
		return e.expand(of, value)
	})
}

// find looks a name up, and says in which group its own references are looked for.
func (e *expansion) find(group, name string) (of, value string, ok bool) {
	if before, after, dotted := strings.Cut(name, "."); dotted {
		value, ok = e.known(before, after)
		return before, value, ok
	}
	if value, ok = e.known(group, name); ok {
		return group, value, true
	}
	value, ok = e.known("DEFAULT", name)
	return "DEFAULT", value, ok
}

// Bool reads a boolean; ok is false for any other text.
func Bool(text string) (value, ok bool) {
	switch strings.ToLower(text) {
	case "true", "1", "on", "yes":
		return true, true
	case "false", "0", "off", "no":
		return false, true
	}
	return false, false
}
