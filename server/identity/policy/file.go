package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// entry is a rule as written in a file.
type entry struct {
	name     string
	file     string
	line     int
	check    *check
	findings []finding
}

func (e *entry) problem(found finding) Problem {
	return Problem{File: e.file, Line: e.line, Rule: e.name, At: found.at, Text: found.text}
}

// parseFile parses the rules of one file, JSON or YAML.
func parseFile(file string, data []byte) ([]entry, error) {
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("%s is not UTF-8", file)
	}
	if json.Valid(data) {
		return parseJSON(file, data)
	}
	return parseYAML(file, data)
}

// newEntry returns the entry for a value: a text, nil, or lists.
func newEntry(file string, line int, name string, value any) (entry, error) {
	e := entry{name: name, file: file, line: line}
	switch value := value.(type) {
	case string:
		e.check, e.findings = parseText(value)
	case nil:
		e.check = always
		e.findings = []finding{{text: "it has no value, which permits every caller; write \"@\" to permit all callers, \"!\" to deny them"}}
	case []any:
		lists, err := asLists(value)
		if err != nil {
			return e, fmt.Errorf("%s:%d: rule %q: %w", file, line, name, err)
		}
		e.check, e.findings = parseLists(lists)
	default:
		return e, fmt.Errorf("%s:%d: rule %q: %w", file, line, name, errNoCheck)
	}
	return e, nil
}

var errNoCheck = errors.New("invalid check; write a text in quotes, such as \"role:admin\", or a list of such texts")

// asLists parses the old form. A text in the outer list is a list of one; empty texts are ignored.
func asLists(outer []any) ([][]string, error) {
	var lists [][]string
	for _, element := range outer {
		list := []string{}
		switch element := element.(type) {
		case string:
			if element != "" {
				list = append(list, element)
			}
		case []any:
			for _, inner := range element {
				text, ok := inner.(string)
				if !ok {
					return nil, errNoCheck
				}
				list = append(list, text)
			}
		default:
			return nil, errNoCheck
		}
		lists = append(lists, list)
	}
	return lists, nil
}

func parseJSON(file string, data []byte) ([]entry, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	switch first, _ := decoder.Token(); first {
	case json.Delim('{'):
	case json.Delim('['), nil:
		if !decoder.More() {
			return nil, nil
		}
		fallthrough
	default:
		return nil, errNoRules(file)
	}
	var entries []entry
	for decoder.More() {
		name, _ := decoder.Token()
		line := 1 + bytes.Count(data[:decoder.InputOffset()], []byte("\n"))
		var value any
		if err := decoder.Decode(&value); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, line, err)
		}
		entry, err := newEntry(file, line, name.(string), value)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

func errNoRules(file string) error {
	return fmt.Errorf("%s has no rules; write name: \"check\" on each line", file)
}

func parseYAML(file string, data []byte) ([]entry, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, second yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("%s: %s", file, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s has more than one YAML document", file)
	}
	y := &yamlFile{file: file, lines: strings.Split(strings.TrimPrefix(string(data), "\ufeff"), "\n")}
	root := document.Content[0]
	switch {
	case root.Tag == "!!null", root.Kind == yaml.SequenceNode && len(root.Content) == 0:
		return nil, nil
	case root.Kind != yaml.MappingNode:
		return nil, errNoRules(file)
	}
	return y.entries(root, 0)
}

// yamlFile reads the nodes of a YAML document by the rules of YAML 1.1, for which policy files are
// written.
type yamlFile struct {
	file  string
	lines []string
}

// notText matches plain scalars that YAML 1.1 does not read as text: booleans and, among numbers,
// sexagesimal and octal ones that later versions read as text.
var notText = regexp.MustCompile(`^(?:yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?|[-+]?0[0-7_]+)$`)

// entries reads a map. Keys that are merged into it come first, so that its own keys override them.
func (y *yamlFile) entries(node *yaml.Node, depth int) ([]entry, error) {
	var merged, own []entry
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.Tag == "!!merge" {
			more, err := y.merge(value, depth)
			if err != nil {
				return nil, err
			}
			merged = append(merged, more...)
			continue
		}
		if key.Kind != yaml.ScalarNode || !isText(key) {
			return nil, fmt.Errorf("%s:%d: the name of a rule is not a text; put it in quotes", y.file, key.Line)
		}
		read, err := y.value(value, 0)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: rule %q: %w", y.file, value.Line, key.Value, err)
		}
		entry, err := newEntry(y.file, key.Line, key.Value, read)
		if err != nil {
			return nil, err
		}
		own = append(own, entry)
	}
	return append(merged, own...), nil
}

// merge reads the value of <<: a map, or a list of maps of which the first with a name applies.
func (y *yamlFile) merge(node *yaml.Node, depth int) ([]entry, error) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch {
	case depth < 3 && node.Kind == yaml.MappingNode:
		return y.entries(node, depth+1)
	case depth < 3 && node.Kind == yaml.SequenceNode:
		var all []entry
		for _, part := range node.Content {
			more, err := y.merge(part, depth+1)
			if err != nil {
				return nil, err
			}
			all = append(more, all...)
		}
		return all, nil
	}
	return nil, fmt.Errorf("%s:%d: << merges maps of rules only", y.file, node.Line)
}

// value returns a text, nil, or lists of texts. It rejects lists deeper than two levels, because no check
// has them.
func (y *yamlFile) value(node *yaml.Node, depth int) (any, error) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch {
	case node.Kind == yaml.ScalarNode && node.Tag == "!!null":
		if y.isBang(node) {
			return nil, errors.New("a ! without quotes is a YAML tag and means an empty text, which would permit every caller; " +
				"write \"!\" to deny all callers")
		}
		return nil, nil
	case node.Kind == yaml.ScalarNode && isText(node):
		return node.Value, nil
	case node.Kind == yaml.SequenceNode && depth < 2:
		list := []any{}
		for _, element := range node.Content {
			item, err := y.value(element, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		return list, nil
	}
	return nil, errNoCheck
}

func isText(node *yaml.Node) bool {
	plain := node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) == 0
	return node.Tag == "!!str" && !(plain && notText.MatchString(node.Value))
}

// isBang reports whether an empty value was written as an exclamation mark, with or without an anchor.
func (y *yamlFile) isBang(node *yaml.Node) bool {
	if node.Line < 1 || node.Line > len(y.lines) {
		return false
	}
	line := []rune(y.lines[node.Line-1])
	if node.Column < 1 || node.Column > len(line) {
		return false
	}
	written := string(line[node.Column-1:])
	if strings.HasPrefix(written, "&") {
		_, written, _ = strings.Cut(written, " ")
	}
	return strings.HasPrefix(strings.TrimLeft(written, " \t"), "!")
}
