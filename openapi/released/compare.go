package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// prose are the keywords that may change. They are looked for where OpenAPI and
// JSON Schema have keywords, and not among names: a property may well be called
// "description".
var prose = map[string]bool{
	"description": true, "summary": true, "example": true, "examples": true, "externalDocs": true, "$comment": true,
}

// named are the keywords whose members are named by the API.
var named = map[string]bool{
	"properties": true, "patternProperties": true, "dependentSchemas": true, "$defs": true,
	"paths": true, "responses": true, "headers": true, "content": true, "mapping": true,
	"schemas": true, "parameters": true, "requestBodies": true, "securitySchemes": true, "callbacks": true, "links": true,
	"pathItems": true, "webhooks": true, "scopes": true, "variables": true, "encoding": true,
}

// unordered are the keywords whose lists say the same in any order.
var unordered = map[string]bool{"required": true, "enum": true, "type": true, "tags": true, "x-error-codes": true}

// verbatim are the keywords whose values are data.
var verbatim = map[string]bool{"const": true, "default": true, "enum": true}

// compare tells what changed between two documents, apart from prose.
func compare(released, now []byte) ([]string, error) {
	var before, after any
	if err := json.Unmarshal(released, &before); err != nil {
		return nil, fmt.Errorf("read the released document: %w", err)
	}
	if err := json.Unmarshal(now, &after); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	c := &comparison{}
	c.values("", "", before, after)
	return c.changes, nil
}

// comparison collects differences, each with a JSON pointer to where it is.
type comparison struct {
	changes []string
}

func (c *comparison) report(pointer, format string, arguments ...any) {
	c.changes = append(c.changes, fmt.Sprintf("%s: %s", pointer, fmt.Sprintf(format, arguments...)))
}

// values compares what stands under a keyword.
func (c *comparison) values(pointer, keyword string, before, after any) {
	switch old := before.(type) {
	case map[string]any:
		if changed, ok := after.(map[string]any); ok && !verbatim[keyword] {
			c.objects(pointer, keyword, old, changed)
			return
		}
	case []any:
		if changed, ok := after.([]any); ok && !verbatim[keyword] {
			c.lists(pointer, keyword, old, changed)
			return
		}
	}
	if text(before) != text(after) && !sameSet(keyword, before, after) {
		c.report(pointer, "was %s, is %s", text(before), text(after))
	}
}

func (c *comparison) objects(pointer, keyword string, before, after map[string]any) {
	names := slices.Sorted(maps.Keys(before))
	for name := range after {
		if _, ok := before[name]; !ok {
			names = append(names, name)
		}
	}
	for _, name := range names {
		below, inside := pointer+"/"+escaper.Replace(name), name
		if named[keyword] {
			// Below a name stand keywords again, whatever the name is.
			inside = ""
		} else if prose[name] || pointer == "" && name == "tags" || pointer == "/info" && name != "version" {
			continue
		}
		old, was := before[name]
		changed, is := after[name]
		switch {
		case !is:
			c.report(below, "is gone")
		case !was:
			c.report(below, "is new")
		default:
			c.values(below, inside, old, changed)
		}
	}
}

// lists compares item by item. Parameters are known by their names, so that they
// may be listed in another order.
func (c *comparison) lists(pointer, keyword string, before, after []any) {
	if keyword == "parameters" {
		c.objects(pointer, "parameters", byName(before), byName(after))
		return
	}
	if sameSet(keyword, before, after) {
		return
	}
	if len(before) != len(after) {
		c.report(pointer, "was %s, is %s", text(before), text(after))
		return
	}
	for i := range before {
		c.values(fmt.Sprintf("%s/%d", pointer, i), "", before[i], after[i])
	}
}

// byName makes an object of a list of parameters.
func byName(parameters []any) map[string]any {
	found := map[string]any{}
	for _, parameter := range parameters {
		fields, _ := parameter.(map[string]any)
		name := fmt.Sprintf("%v %v", fields["in"], fields["name"])
		if reference, ok := fields["$ref"].(string); ok {
			name = reference
		}
		found[name] = parameter
	}
	return found
}

func sameSet(keyword string, before, after any) bool {
	if !unordered[keyword] {
		return false
	}
	return slices.Equal(sorted(before), sorted(after))
}

// sorted are the items of a list, or the one value that stands without a list.
func sorted(value any) []string {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	var texts []string
	for _, item := range list {
		texts = append(texts, text(item))
	}
	slices.Sort(texts)
	return texts
}

// text is a value as JSON, which orders the members of objects.
func text(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(encoded)
}

var escaper = strings.NewReplacer("~", "~0", "/", "~1")
