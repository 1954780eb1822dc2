package planfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"go.yaml.in/yaml/v3"
)

// FileError is the violation of a rule in a file.
type FileError struct {
	File string
	Line int
	// Value is the invalid value, if it is short.
	Value string
	// Rule is the violated rule and the remedy; the text continues after the value.
	Rule string
}

// Error returns one line of text with the file and the line.
func (m *FileError) Error() string {
	return fmt.Sprintf("%s:%d: %s %s", m.File, m.Line, m.Value, m.Rule)
}

// FileErrors is the list of all errors of a file, in the order of their lines.
type FileErrors []*FileError

// Error returns a line for each error.
func (m FileErrors) Error() string { return errors.Join(m.Unwrap()...).Error() }

// Unwrap returns the single errors, for errors.Is and errors.As.
func (m FileErrors) Unwrap() []error {
	all := make([]error, len(m))
	for i, fileError := range m {
		all[i] = fileError
	}
	return all
}

// Load reads a plan file. Unknown keys, repeated keys and invalid values are errors. If the file is valid YAML, the error
// is a FileErrors with all of them.
func Load(file string) (*Plan, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return Parse(file, text)
}

// Parse is Load for the content of a file, whose name appears in errors.
func Parse(file string, text []byte) (*Plan, error) {
	plan := &Plan{}
	r := &reader{file: file, used: map[string]int{}}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s is not valid YAML: %w", file, err)
		}
		if len(document.Content) == 1 && !isNull(document.Content[0]) {
			plan.Hosts = append(plan.Hosts, r.host(document.Content[0]))
		}
	}
	if len(plan.Hosts) == 0 && len(r.errs) == 0 {
		r.errs = FileErrors{{file, 1, "the file", "is empty; write root, and moves, providers or remove"}}
	}
	if len(r.errs) > 0 {
		return nil, r.errs
	}
	return plan, nil
}
