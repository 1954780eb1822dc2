package console

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"
	"go.yaml.in/yaml/v3"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/question"
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

// Shape is a query for allocation candidates with a name, such as m1.large.
type Shape = question.Shape

// ReadShapes reads the file of --shapes. Its errors name the line.
func ReadShapes(from io.Reader) ([]Shape, error) { return question.ReadShapes(from) }

// asked is the shape of a page: what the user chose, its query, and the amounts that it needs from one provider. The zero
// value is no shape.
type asked struct {
	Text  string
	Query client.CandidateQuery
	Units []client.CapacityUnit
}

// shape returns the shape that the address names: one of the file of shapes, resources such as "VCPU:4,MEMORY_MB:8192", or
// a query string. Another text is a fault of the field.
func (v *visit) shape() asked {
	text := strings.TrimSpace(v.query("shape"))
	query := strings.TrimPrefix(text, "?")
	for _, known := range v.c.names.Load().shapes {
		if known.Name == text {
			query = known.Query
		}
	}
	switch {
	case text == "":
		return asked{}
	case !strings.Contains(query, "="):
		query = "resources=" + query
	}
	found := question.New(question.Parse(query))
	if err := found.Check(); err != nil {
		v.fault("shape", "The shape %q is neither one with a name nor a query: %v.", text, err)
		return asked{}
	}
	return asked{text, found.Candidates(), found.Units()}
}
