package apicommand

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/demo"
	"github.com/berthd/berth/internal/querytext"
)

// aggregateNamesVariable is the environment variable with the path of the file of --aggregate-names, which 'berth serve'
// reads for the console.
const aggregateNamesVariable = "BERTH_AGGREGATE_NAMES"

// maxAggregateNames is the number of bytes that are read of the file.
const maxAggregateNames = 16 << 20

// aggregateNames finds aggregates by their names, which the API does not have: those of the file, and those of the sample
// data.
type aggregateNames struct{ f *frame.Frame }

// uuids returns the values of a flag with UUIDs instead of names: A, !A, in:A,B or !in:A,B.
func (a aggregateNames) uuids(flag string, values []string) ([]string, error) {
	var replaced []string
	for _, value := range values {
		rest := strings.TrimPrefix(value, "!")
		rest = strings.TrimPrefix(rest, "in:")
		prefix := strings.TrimSuffix(value, rest)
		texts := strings.Split(rest, ",")
		for i, text := range texts {
			name, isExcluded := strings.CutPrefix(text, "!")
			id, err := a.find(name)
			if err != nil {
				return nil, frame.WrongFlag(flag, value, fmt.Sprintf("has %q, which %s", name, err), aggregateRemedy)
			}
			if texts[i] = id.String(); isExcluded {
				texts[i] = "!" + texts[i]
			}
		}
		replaced = append(replaced, prefix+strings.Join(texts, ","))
	}
	return replaced, nil
}

// parse returns the aggregate of an argument.
func (a aggregateNames) parse(text string) (uuid.UUID, error) {
	id, err := a.find(text)
	if err != nil {
		err = frame.WrongArgument("aggregate", text, err.Error(), aggregateRemedy)
	}
	return id, err
}

const aggregateRemedy = "write a UUID, which 'berth aggregate list' lists, or a name from the file that " + aggregateNamesVariable + " names"

// find returns the UUID of an aggregate from its UUID or name, in any case, where blanks, hyphens and underscores are equal.
// Its errors continue a sentence about the value.
func (a aggregateNames) find(text string) (uuid.UUID, error) {
	if id, err := uuid.Parse(text); err == nil {
		return id, nil
	}
	names, err := a.read()
	if err != nil {
		return uuid.Nil, fmt.Errorf("is not a UUID, and the names cannot be read: %w", err)
	}
	var found []uuid.UUID
	for id, name := range names {
		if text != "" && plainName(name) == plainName(text) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 0:
		return uuid.Nil, errors.New("is neither the UUID nor a known name of an aggregate")
	case 1:
		return found[0], nil
	}
	return uuid.Nil, fmt.Errorf("is the name of %d aggregates", len(found))
}

func plainName(name string) string {
	return strings.NewReplacer("-", " ", "_", " ").Replace(strings.ToLower(name))
}

// read returns the names of the sample data, and those of the file.
func (a aggregateNames) read() (map[uuid.UUID]string, error) {
	names := demo.AggregateNames()
	path := frame.Environment(a.f.Environ)[aggregateNamesVariable]
	if path == "" {
		return names, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", aggregateNamesVariable, err)
	}
	defer file.Close()
	named, err := querytext.ReadAggregateNames(io.LimitReader(file, maxAggregateNames))
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", aggregateNamesVariable, path, err)
	}
	for id, name := range named {
		names[id] = name
	}
	return names, nil
}
