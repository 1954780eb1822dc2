package querytext

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Shape is a query with a name, such as that of a flavor. Query is a query string.
type Shape struct{ Name, Query string }

// ReadShapes reads the file of --shapes: a list in YAML whose elements have a name and a query, which is either a query
// string of GET /allocation_candidates or a body of POST. Its errors name the line.
func ReadShapes(from io.Reader) ([]Shape, error) {
	var elements []struct {
		Name  string
		Query yaml.Node
	}
	decoder := yaml.NewDecoder(from)
	decoder.KnownFields(true)
	if err := decoder.Decode(&elements); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var found []Shape
	for i, element := range elements {
		parameters, err := parametersOf(&element.Query)
		asked := New(parameters)
		switch {
		case element.Name == "":
			err = errors.New("it has no name")
		case slices.ContainsFunc(found, func(s Shape) bool { return s.Name == element.Name }):
			err = errors.New("another shape has its name")
		case element.Query.IsZero():
			err = errors.New("it has no query")
		}
		if err := cmp.Or(err, asked.Check()); err != nil {
			return nil, fmt.Errorf("line %d: invalid shape %d, %q: %w", element.Query.Line, i+1, element.Name, err)
		}
		found = append(found, Shape{element.Name, Encode(asked.Ordered())})
	}
	return found, nil
}

// parametersOf returns the parameters of a query string or a body.
func parametersOf(node *yaml.Node) (all []Parameter, err error) {
	if node.Kind == yaml.ScalarNode {
		return Parse(strings.TrimPrefix(node.Value, "?")), nil
	}
	var body struct {
		Groups map[string]map[string]any
		Others map[string]any `yaml:",inline"`
	}
	if err := node.Decode(&body); err != nil {
		return nil, err
	}
	add := func(members map[string]any, suffix string) {
		for _, name := range slices.Sorted(maps.Keys(members)) {
			for _, value := range valuesOf(name, members[name]) {
				all = append(all, Parameter{name + suffix, value})
			}
		}
	}
	for _, suffix := range slices.Sorted(maps.Keys(body.Groups)) {
		add(body.Groups[suffix], suffix)
	}
	add(body.Others, "")
	return all, nil
}

// valuesOf returns the values of a parameter from a member of a body. Lists are a value for each element, except those of
// traits of the root, of classes and of trees.
func valuesOf(name string, member any) (values []string) {
	switch member := member.(type) {
	case map[string]any:
		for _, class := range slices.Sorted(maps.Keys(member)) {
			values = append(values, fmt.Sprint(class, ":", member[class]))
		}
	case []any:
		for _, element := range member {
			values = append(values, strings.Join(valuesOf("", element), ","))
		}
		if d := defined(name); name != "" && (d == nil || !d.isList && !(d.IsSingle() && d.Values == Traits)) {
			return values
		}
	default:
		return []string{fmt.Sprint(member)}
	}
	return []string{strings.Join(values, ",")}
}
