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
	// Group is written as in the file. Groups are compared without case, except
	// that DEFAULT is written so.
	Group, Option string
	// Text is the value without the blanks around its lines and without the quotes
	// that enclose the first of them. The lines are joined by \n. It may still hold
	// references.
	Text string
	// Path is the file, Line the line of the option's name, counted from 1.
	Path string
	Line int
}

// SyntaxError is a line that cannot be read.
type SyntaxError struct {
	Path string
	Line int
	// Broken says what is wrong, Remedy what to write.
	Broken, Remedy string
}

// Error names file and line.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s:%d: %s; %s", e.Path, e.Line, e.Broken, e.Remedy)
}

// Parse reads a file. The error joins a *SyntaxError for each line that cannot be
// read; the entries are those of the others.
func Parse(path string, content []byte) ([]Entry, error) {
	p := parser{path: path}
	if !utf8.Valid(content) {
		p.refuse(lineOfBadByte(content), "the file is not text in UTF-8 from here on", "save it as UTF-8")
		return nil, errors.Join(p.wrong...)
	}
	// Files of other systems end their lines with \r\n or \r.
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(content))
	for line := range strings.SplitSeq(text, "\n") {
		p.line++
		p.read(line)
	}
	p.flush()
	return p.entries, errors.Join(p.wrong...)
}

// trim takes the blanks off both ends, the four separators of ASCII among them.
func trim(text string) string {
	return strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f })
}

func lineOfBadByte(content []byte) int {
	good := 0
	for good < len(content) {
		r, size := utf8.DecodeRune(content[good:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		good += size
	}
	return 1 + bytes.Count(content[:good], []byte("\n"))
}

type parser struct {
	path  string
	line  int
	group string
	// open is the assignment that an indented line would continue.
	open    *Entry
	lines   []string
	entries []Entry
	wrong   []error
}

func (p *parser) refuse(line int, broken, remedy string) {
	p.wrong = append(p.wrong, &SyntaxError{p.path, line, broken, remedy})
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
		p.refuse(p.line, "the line begins with a blank, which continues the value of the line before, and there is none",
			"remove the blanks before it, or what separates it from its option: empty lines and comments end a value")
		return
	}
	p.lines = append(p.lines, trimmed)
}

func (p *parser) section(trimmed string) {
	name, closed := strings.CutSuffix(trimmed[1:], "]")
	switch {
	case !closed:
		p.refuse(p.line, fmt.Sprintf("the group %q does not end with ]", trimmed), "write [name] and nothing after it")
	case name == "":
		p.refuse(p.line, "the group has no name", "write [name], such as [placement]")
	default:
		p.group = name
	}
}

func (p *parser) assignment(trimmed string) {
	at := strings.IndexAny(trimmed, ":=")
	if at < 0 {
		p.refuse(p.line, "there is neither = nor :", "write option = value, or # before a comment")
		return
	}
	option := trim(trimmed[:at])
	if option == "" {
		p.refuse(p.line, "there is no option before the "+trimmed[at:at+1], "write option = value")
		return
	}
	if p.group == "" {
		p.refuse(p.line, "the option "+option+" stands before the first group", "write a group such as [DEFAULT] above it")
		return
	}
	p.open = &Entry{Group: p.group, Option: option, Path: p.path, Line: p.line}
	p.lines = []string{unquote(trim(trimmed[at+1:]))}
}

// flush ends the assignment that is open.
func (p *parser) flush() {
	if p.open == nil {
		return
	}
	p.open.Text = strings.Join(p.lines, "\n")
	p.entries = append(p.entries, *p.open)
	p.open = nil
}

// unquote takes off the quotes around a value. A value of one quote is empty.
func unquote(text string) string {
	if text == `"` || text == "'" {
		return ""
	}
	if len(text) > 1 && (text[0] == '"' || text[0] == '\'') && text[len(text)-1] == text[0] {
		return text[1 : len(text)-1]
	}
	return text
}

// SameGroup says whether two names are of one group.
func SameGroup(a, b string) bool {
	if a == "DEFAULT" || b == "DEFAULT" {
		return a == b
	}
	return strings.EqualFold(a, b)
}

// Last finds the entry that counts: the last of the last file.
func Last(entries []Entry, group, option string) (Entry, bool) {
	for _, entry := range slices.Backward(entries) {
		if entry.Option == option && SameGroup(entry.Group, group) {
			return entry, true
		}
	}
	return Entry{}, false
}

// Every finds the entries of an option that may be given more than once, in their
// order.
func Every(entries []Entry, group, option string) []Entry {
	var found []Entry
	for _, entry := range entries {
		if entry.Option == option && SameGroup(entry.Group, group) {
			found = append(found, entry)
		}
	}
	return found
}
