package console

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"
	"go.yaml.in/yaml/v3"
)

// names are the names that the API does not have.
type names struct {
	aggregates map[uuid.UUID]string
	shapes     []Shape
}

// Reload replaces the names of aggregates and the shapes. It is safe for concurrent use.
func (c *Console) Reload(aggregates map[uuid.UUID]string, shapes []Shape) {
	c.names.Store(&names{aggregates, shapes})
}

// aggregateName returns the name of an aggregate, or else its UUID, shortened.
func (v *visit) aggregateName(id uuid.UUID) string {
	return cmp.Or(v.c.names.Load().aggregates[id], short(id.String()))
}

// ReadAggregateNames reads the file of --aggregate-names: a mapping of UUIDs to names in YAML. Its errors name the line.
func ReadAggregateNames(from io.Reader) (map[uuid.UUID]string, error) {
	var lines map[string]yaml.Node
	if err := yaml.NewDecoder(from).Decode(&lines); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	found := make(map[uuid.UUID]string, len(lines))
	for key, value := range lines {
		id, err := uuid.Parse(key)
		if err != nil || value.Kind != yaml.ScalarNode || value.Value == "" {
			return nil, fmt.Errorf("line %d: want the UUID of an aggregate, a colon and its name, not %q", value.Line, key)
		}
		found[id] = value.Value
	}
	return found, nil
}

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
	for _, one := range elements {
		query, err := shapeQuery(&one.Query)
		switch {
		case one.Name == "":
			err = errors.New("it has no name")
		case slices.ContainsFunc(found, func(s Shape) bool { return s.Name == one.Name }):
			err = errors.New("another shape has its name")
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: invalid shape %q: %w", one.Query.Line, one.Name, err)
		}
		found = append(found, Shape{one.Name, query.Encode()})
	}
	return found, nil
}

// shapeQuery returns the parameters of a query string or a body.
func shapeQuery(node *yaml.Node) (values url.Values, err error) {
	if node.Kind == yaml.ScalarNode {
		values, err = url.ParseQuery(strings.TrimPrefix(node.Value, "?"))
		return values, cmp.Or(err, checkQuery(values))
	}
	body := struct {
		Groups map[string]map[string]any
		Others map[string]any `yaml:",inline"`
	}{}
	if err := node.Decode(&body); err != nil {
		return nil, err
	}
	values = url.Values{}
	for name, value := range body.Others {
		values[name] = parameter(name, value)
	}
	for suffix, group := range body.Groups {
		for name, value := range group {
			values[name+suffix] = parameter(name, value)
		}
	}
	return values, checkQuery(values)
}

// parameter returns the values of a parameter from a member of a body. Lists are a value for each element, except those
// of traits of the root, of classes and of trees.
func parameter(name string, member any) (values []string) {
	switch member := member.(type) {
	case map[string]any:
		for _, class := range slices.Sorted(maps.Keys(member)) {
			values = append(values, fmt.Sprint(class, ":", member[class]))
		}
	case []any:
		for _, element := range member {
			values = append(values, strings.Join(parameter("", element), ","))
		}
		if !slices.Contains([]string{"root_required", "can_split", "not_in_tree", ""}, name) {
			return values
		}
	default:
		return []string{fmt.Sprint(member)}
	}
	return []string{strings.Join(values, ",")}
}

// Forms of the parameters of a query, and of the value of resources.
var (
	parameterForm = regexp.MustCompile(`^(resources|required|member_of|in_tree)([a-zA-Z0-9_-]{0,64})$|^root_(required|member_of)$|` +
		`^(not_in_tree|isolate|same_subtree|can_split|group_policy|order|limit|limit_per_tree)$`)
	resourcesForm = regexp.MustCompile(`^[A-Z0-9_]+:[1-9][0-9]{0,17}(,[A-Z0-9_]+:[1-9][0-9]{0,17})*$`)
)

// checkQuery returns an error for parameters that no query has, and for a query without resources.
func checkQuery(values url.Values) error {
	asks := false
	for name, all := range values {
		if !parameterForm.MatchString(name) {
			return fmt.Errorf("a query has no parameter %q", name)
		}
		if strings.HasPrefix(name, "resources") {
			if asks = true; !resourcesForm.MatchString(all[0]) {
				return fmt.Errorf("%q is not a list of resources such as VCPU:4,MEMORY_MB:8192", all[0])
			}
		}
	}
	if !asks {
		return errors.New("it asks for no resources")
	}
	return nil
}
