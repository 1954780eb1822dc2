package planfile

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"go.yaml.in/yaml/v3"
)

// reader converts YAML nodes to a plan and collects errors.
type reader struct {
	file string
	errs FileErrors
	// used maps the roots of earlier documents to their lines.
	used map[string]int
}

// addError adds an error at a node.
func (r *reader) addError(at *yaml.Node, rule string, values ...any) {
	r.errs = append(r.errs, &FileError{r.file, at.Line, shown(at), fmt.Sprintf(rule, values...)})
}

// shown returns the value of a node, or its kind.
func shown(node *yaml.Node) string {
	switch {
	case isNull(node):
		return "null"
	case node.Kind == yaml.ScalarNode:
		return strconv.Quote(node.Value)
	case node.Kind == yaml.SequenceNode:
		return "the list"
	default:
		return "the mapping"
	}
}

func isNull(node *yaml.Node) bool { return node.Kind == yaml.ScalarNode && node.Tag == "!!null" }

// resolve returns the node that an alias refers to.
func resolve(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// entry is a key with its value.
type entry struct{ key, value *yaml.Node }

// entries reads a mapping with arbitrary keys. kind is the text for errors.
func (r *reader) entries(node *yaml.Node, kind string) []entry {
	if node.Kind != yaml.MappingNode {
		r.addError(node, "is not %s; write a mapping", kind)
		return nil
	}
	lines := map[string]int{}
	var all []entry
	for pair := range slices.Chunk(node.Content, 2) {
		key := resolve(pair[0])
		if first := lines[key.Value]; first > 0 {
			r.addError(key, "is a duplicate of the key in line %d; write it once", first)
			continue
		}
		lines[key.Value] = key.Line
		all = append(all, entry{key, resolve(pair[1])})
	}
	return all
}

// fields reads a mapping with known keys. It omits keys whose value is null.
func (r *reader) fields(node *yaml.Node, kind string, known ...string) map[string]*yaml.Node {
	found := map[string]*yaml.Node{}
	for _, entry := range r.entries(node, kind) {
		switch {
		case !slices.Contains(known, entry.key.Value):
			r.addError(entry.key, "is not a key of %s; choose from %s", kind, strings.Join(known, ", "))
		case !isNull(entry.value):
			found[entry.key.Value] = entry.value
		}
	}
	return found
}

// items reads a list; nil if the node is missing.
func (r *reader) items(node *yaml.Node, kind string) []*yaml.Node {
	if node == nil {
		return nil
	}
	if node.Kind != yaml.SequenceNode {
		r.addError(node, "is not a list of %s; write a list in brackets", kind)
		return nil
	}
	all := make([]*yaml.Node, len(node.Content))
	for i, item := range node.Content {
		all[i] = resolve(item)
	}
	return all
}

// name reads the name or UUID of a provider; empty if the node is missing or invalid.
func (r *reader) name(node *yaml.Node) string {
	switch {
	case node == nil:
		return ""
	case node.Kind != yaml.ScalarNode || isNull(node) || node.Value == "" || len(node.Value) > 200:
		r.addError(node, "is not the name or UUID of a provider; write 1 to 200 characters")
		return ""
	}
	return node.Value
}

var symbol = regexp.MustCompile(`^[A-Z0-9_]{1,255}$`)

// symbol reads the name of a resource class or trait.
func (r *reader) symbol(node *yaml.Node, kind string) string {
	if node == nil {
		return ""
	}
	if node.Kind != yaml.ScalarNode || !symbol.MatchString(node.Value) {
		r.addError(node, "is not a valid %s; use capital letters, digits and _", kind)
		return ""
	}
	return node.Value
}

// uuid reads a UUID with or without hyphens.
func (r *reader) uuid(node *yaml.Node, kind string) uuid.UUID {
	if node == nil {
		return uuid.Nil
	}
	id, err := uuid.Parse(node.Value)
	if node.Kind != yaml.ScalarNode || err != nil || id == uuid.Nil || len(node.Value) != 36 && len(node.Value) != 32 {
		r.addError(node, "is not a UUID of %s; write 8-4-4-4-12 hexadecimal digits", kind)
		return uuid.Nil
	}
	return id
}

// uuids reads a list of UUIDs without duplicates.
func (r *reader) uuids(node *yaml.Node, kind string) []uuid.UUID {
	var all []uuid.UUID
	for _, item := range r.items(node, "UUIDs") {
		id := r.uuid(item, kind)
		if id != uuid.Nil && slices.Contains(all, id) {
			r.addError(item, "is in the list twice; write it once")
		}
		all = append(all, id)
	}
	return all
}

// integer reads an integer from a minimum to the maximum of the API.
func (r *reader) integer(node *yaml.Node, minimum int64) int32 {
	value, err := strconv.ParseInt(node.Value, 10, 32)
	if node.Kind != yaml.ScalarNode || node.Tag != "!!int" || err != nil || value < minimum {
		r.addError(node, "is not an integer from %d to %d; write digits only", minimum, math.MaxInt32)
		return int32(minimum)
	}
	return int32(value)
}

// optional is integer for an optional field.
func (r *reader) optional(node *yaml.Node, minimum int64) *int32 {
	if node == nil {
		return nil
	}
	return new(r.integer(node, minimum))
}

// record reads an inventory; nil if the node is missing or null.
func (r *reader) record(node *yaml.Node) *Record {
	if node == nil {
		return nil
	}
	if isNull(node) {
		r.addError(node, "is not an inventory; write for example {total: 2}")
		return nil
	}
	before := len(r.errs)
	found := r.fields(node, "an inventory", "total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")
	if len(r.errs) == before && found["total"] == nil {
		r.addError(node, "has no total; write for example {total: 2}")
	}
	record := &Record{
		Reserved: r.optional(found["reserved"], 0), MinUnit: r.optional(found["min_unit"], 1),
		MaxUnit: r.optional(found["max_unit"], 1), StepSize: r.optional(found["step_size"], 1),
	}
	if total := found["total"]; total != nil {
		record.Total = r.integer(total, 1)
	}
	if ratio := found["allocation_ratio"]; ratio != nil {
		value, err := strconv.ParseFloat(ratio.Value, 64)
		if ratio.Kind != yaml.ScalarNode || err != nil || !(value >= 0 && value <= math.MaxFloat32) {
			r.addError(ratio, "is not a ratio; write a number, for example 1.5")
		}
		record.AllocationRatio = &value
	}
	if record.Reserved != nil && *record.Reserved > record.Total && record.Total > 0 {
		r.addError(found["reserved"], "is more than the total of %d; reserve at most the total", record.Total)
	}
	return record
}
