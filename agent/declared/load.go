package declared

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"go.yaml.in/yaml/v3"
)

// Mistake is something in a file that breaks a rule.
type Mistake struct {
	File string
	Line int
	// Value is what was written, as far as one can say it in a word.
	Value string
	// Rule is which rule it breaks, and what to do; it reads on from the value.
	Rule string
}

// Error is one sentence, found by file and line.
func (m *Mistake) Error() string {
	return fmt.Sprintf("%s:%d: %s %s", m.File, m.Line, m.Value, m.Rule)
}

// Mistakes are all mistakes of a file, in the order of their lines.
type Mistakes []*Mistake

// Error is one line for each.
func (m Mistakes) Error() string { return errors.Join(m.Unwrap()...).Error() }

// Unwrap gives errors.Is and errors.As the single mistakes.
func (m Mistakes) Unwrap() []error {
	all := make([]error, len(m))
	for i, one := range m {
		all[i] = one
	}
	return all
}

// Load reads a plan. Unknown keys, repeated keys and values that cannot be are
// errors; if the file can be read at all, the error is a Mistakes with all of them.
func Load(file string) (*Plan, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return Parse(file, text)
}

// Parse is Load for a text that was read already. The name is for errors.
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
			return nil, fmt.Errorf("%s is not YAML: %w", file, err)
		}
		if len(document.Content) == 1 && !isNull(document.Content[0]) {
			plan.Hosts = append(plan.Hosts, r.host(document.Content[0]))
		}
	}
	if len(plan.Hosts) == 0 && len(r.wrong) == 0 {
		r.wrong = Mistakes{{file, 1, "the file", "is empty; write root, and moves, providers or remove"}}
	}
	if len(r.wrong) > 0 {
		return nil, r.wrong
	}
	return plan, nil
}
