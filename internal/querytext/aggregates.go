package querytext

import (
	"errors"
	"fmt"
	"io"

	"github.com/google/uuid"
	"go.yaml.in/yaml/v3"
)

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
