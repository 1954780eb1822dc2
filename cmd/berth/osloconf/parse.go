package osloconf

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Entry is one assignment of a file.
type Entry struct {
	// Group is spelled as in the file; SameGroup compares groups.
	Group, Option string
	// Text is the value: its lines, joined by \n, without surrounding spaces, and
	// without the quotes around the first line. It may contain references.
	Text string
	// Path is the file. Line is the line with the option's name, counted from 1.
	Path string
	Line int
}

// SyntaxError is an error in one line.
type SyntaxError struct {
	Path string
	Line int
	// Broken is the problem, Remedy the text to write instead.
	Broken, Remedy string
}

// Error returns the file, the line, the problem and the remedy.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s:%d: %s; %s", e.Path, e.Line, e.Broken, e.Remedy)
}

// Parse parses the content of a file. The error joins a *SyntaxError for each invalid
// line; the entries are those of the valid lines.
func Parse(path string, content []byte) ([]Entry, error) {
	p := parser{path: path}
	if !utf8.Valid(content) {
		p.addError(lineOfBadByte(content), "the file contains bytes that are not valid UTF-8", "save it as UTF-8")
		return nil, errors.Join(p.errs...)
	}
	// Windows ends lines with \r\n.
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(content))
	for line := range strings.SplitSeq(text, "\n") {
		p.line++
		p.read(line)
	}
	p.flush()
	return p.entries, errors.Join(p.errs...)
}

// trim removes leading and trailing white space and, like Python, the four ASCII
// separators.
func trim(text string) string {
	return strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f })
}

// lineOfBadByte returns the line of the first byte that is not valid UTF-8.
func lineOfBadByte(content []byte) int {
	valid := 0
	for valid < len(content) {
		r, size := utf8.DecodeRune(content[valid:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		valid += size
	}
	return 1 + bytes.Count(content[:valid], []byte("\n"))
}

type parser struct {
	path  string
	line  int
	group string
	// open is the assignment that an indented line continues; nil: none.
	open    *Entry
	lines   []string
	entries []Entry
	errs    []error
}

func (p *parser) addError(line int, broken, remedy string) {
	p.errs = append(p.errs, &SyntaxError{p.path, line, broken, remedy})
}

func (p *parser) read(line string) {
	trimmed := trim(line)
	switch {
	case trimmed == "":
		p.flush()
	case line[0] == ' ', line[0] == '\t':
		p.continueWith(trimmed)
	case line[0] == '#', line[0] == ';':
		p.flush()
	case line[0] == '[':
		p.flush()
		p.section(trimmed)
	default:
		p.flush()
		p.assignment(trimmed)
	}
}

func (p *parser) continueWith(trimmed string) {
	if p.open == nil {
		p.addError(p.line, "an indented line continues a value, but no value precedes this line",
			"remove the indentation, or the empty line or comment that ends the value above it")
		return
	}
	p.lines = append(p.lines, trimmed)
}

func (p *parser) section(trimmed string) {
	name, closed := strings.CutSuffix(trimmed[1:], "]")
	switch {
	case !closed:
		p.addError(p.line, fmt.Sprintf("the group header %q does not end with ]", trimmed), "write only [name] on the line")
	case name == "":
		p.addError(p.line, "the group header has no name", "write [name], for example [placement]")
	default:
		p.group = name
	}
}

func (p *parser) assignment(trimmed string) {
	at := strings.IndexAny(trimmed, ":=")
	if at < 0 {
		p.addError(p.line, "the line contains neither = nor :", "write option = value, or # before a comment")
		return
	}
	option := trim(trimmed[:at])
	if option == "" {
		p.addError(p.line, "the line has no option name before "+trimmed[at:at+1], "write option = value")
		return
	}
	if p.group == "" {
		p.addError(p.line, "the option "+option+" precedes the first group header", "write a group header, for example [DEFAULT], above it")
		return
	}
	p.open = &Entry{Group: p.group, Option: option, Path: p.path, Line: p.line}
	p.lines = []string{unquote(trim(trimmed[at+1:]))}
}

// flush adds the open assignment to the entries.
func (p *parser) flush() {
	if p.open == nil {
		return
	}
	p.open.Text = strings.Join(p.lines, "\n")
	p.entries = append(p.entries, *p.open)
	p.open = nil
}

// unquote removes the quotes around a value. A single quote character is an empty value.
func unquote(text string) string {
	if text == `"` || text == "'" {
		return ""
	}
	if len(text) > 1 && (text[0] == '"' || text[0] == '\'') && text[len(text)-1] == text[0] {
		return text[1 : len(text)-1]
	}
	return text
}

// SameGroup reports whether two names denote one group. It ignores case, except for
// DEFAULT.
func SameGroup(a, b string) bool {
	if a == "DEFAULT" || b == "DEFAULT" {
		return a == b
	}
	return strings.EqualFold(a, b)
}

// Last returns the last entry of an option, which takes precedence.
func Last(entries []Entry, group, option string) (Entry, bool) {
	for _, entry := range slices.Backward(entries) {
		if entry.Option == option && SameGroup(entry.Group, group) {
			return entry, true
		}
	}
	return Entry{}, false
}

// Every returns all entries of a repeatable option in order.
func Every(entries []Entry, group, option string) []Entry {
	var found []Entry
	for _, entry := range entries {
		if entry.Option == option && SameGroup(entry.Group, group) {
			found = append(found, entry)
		}
	}
	return found
}
