package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"go.yaml.in/yaml/v3"
)

// names are the values of $NAMES in a file.
type names struct {
	theme string
	saved map[string]any
}

// newNames returns the names of a file at its beginning. base is the URL of the server.
func newNames(file *File, base string) *names {
	made := &names{theme: file.Theme, saved: map[string]any{"BASE": base}}
	for name, value := range file.Values {
		made.saved[name] = string(value)
	}
	return made
}

// space is the namespace of generated UUIDs.
var space = uuid.MustParse("5ce7a810-0000-4000-8000-000000000000")

// get returns the saved value of a name. Otherwise it returns a UUID that depends only on the name
// and the file, so that failures are reproducible.
func (n *names) get(name string) any {
	if value, ok := n.saved[name]; ok {
		return value
	}
	return uuid.NewSHA1(space, []byte(n.theme+" "+name)).String()
}

var nameForm = regexp.MustCompile(`\$[A-Z][A-Z0-9_]*`)

// fill replaces the names in a text.
func (n *names) fill(text string) string {
	return nameForm.ReplaceAllStringFunc(text, func(name string) string {
		return fmt.Sprint(n.get(name[1:]))
	})
}

// json converts YAML to JSON. Members keep their order and numbers their text, so that 10.0 can be
// sent. A text that consists of a name becomes its saved value, which may be a number.
func (n *names) json(node *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	err := n.write(&out, node)
	return out.Bytes(), err
}

func (n *names) write(out *bytes.Buffer, node *yaml.Node) error {
	switch node.Kind {
	case yaml.AliasNode:
		return n.write(out, node.Alias)
	case yaml.MappingNode:
		return n.writeList(out, "{", "}", len(node.Content)/2, func(i int) error {
			if err := n.writeString(out, n.fill(node.Content[2*i].Value)); err != nil {
				return err
			}
			out.WriteByte(':')
			return n.write(out, node.Content[2*i+1])
		})
	case yaml.SequenceNode:
		return n.writeList(out, "[", "]", len(node.Content), func(i int) error { return n.write(out, node.Content[i]) })
	}
	return n.writeScalar(out, node)
}

func (n *names) writeList(out *bytes.Buffer, begin, end string, length int, element func(int) error) error {
	out.WriteString(begin)
	for i := range length {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := element(i); err != nil {
			return err
		}
	}
	out.WriteString(end)
	return nil
}

func (n *names) writeScalar(out *bytes.Buffer, node *yaml.Node) error {
	switch node.Tag {
	case "!!null":
		out.WriteString("null")
		return nil
	case "!!bool", "!!int", "!!float":
		if json.Valid([]byte(node.Value)) {
			out.WriteString(node.Value)
			return nil
		}
		return fmt.Errorf("line %d: JSON does not write %s so", node.Line, node.Value)
	}
	if nameForm.FindString(node.Value) == node.Value && node.Value != "" {
		encoded, err := json.Marshal(n.get(node.Value[1:]))
		out.Write(encoded)
		return err
	}
	return n.writeString(out, n.fill(node.Value))
}

func (n *names) writeString(out *bytes.Buffer, text string) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		return err
	}
	out.Truncate(out.Len() - 1) // the line break that the encoder adds
	return nil
}

// save stores parts of a response for later steps.
func (n *names) save(wanted map[string]string, answer any) error {
	for name, at := range wanted {
		value, err := walk(answer, at)
		if err != nil {
			return fmt.Errorf("save %s: %w", name, err)
		}
		n.saved[name] = value
	}
	return nil
}

var pathPart = regexp.MustCompile(`^(?:\.([^.\[\]]+)|\[([0-9]+)\])`)

// walk returns the value at a path such as $.versions[0].id.
func walk(value any, at string) (any, error) {
	rest, ok := strings.CutPrefix(at, "$")
	if !ok {
		return nil, fmt.Errorf("a path begins with $, not %q", at)
	}
	for rest != "" {
		part := pathPart.FindStringSubmatch(rest)
		if part == nil {
			return nil, fmt.Errorf("%q is not understood in path %s", rest, at)
		}
		rest = rest[len(part[0]):]
		object, isObject := value.(map[string]any)
		list, isList := value.([]any)
		place, _ := strconv.Atoi(part[2])
		switch {
		case part[1] != "" && isObject && object[part[1]] != nil:
			value = object[part[1]]
		case part[2] != "" && isList && place < len(list):
			value = list[place]
		default:
			return nil, fmt.Errorf("the answer has no %s of %s", part[0], at)
		}
	}
	return value, nil
}
