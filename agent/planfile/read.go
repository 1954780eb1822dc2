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

// reader turns nodes of YAML into a plan and notes what is wrong.
type reader struct {
	file  string
	wrong FileErrors
	// used are the lines of the roots that were read.
	used map[string]int
}

// refuse notes a mistake.
func (r *reader) refuse(at *yaml.Node, rule string, values ...any) {
	r.wrong = append(r.wrong, &FileError{r.file, at.Line, shown(at), fmt.Sprintf(rule, values...)})
}

// shown is a value in a word.
func shown(node *yaml.Node) string {
	switch {
	case isNull(node):
		return "nothing"
	case node.Kind == yaml.ScalarNode:
		return strconv.Quote(node.Value)
	case node.Kind == yaml.SequenceNode:
		return "the list"
	default:
		return "the mapping"
	}
}

func isNull(node *yaml.Node) bool { return node.Kind == yaml.ScalarNode && node.Tag == "!!null" }

// resolve follows an alias to what it stands for.
func resolve(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// entry is a key with its value.
type entry struct{ key, value *yaml.Node }

// entries reads a mapping whose keys are the file's own.
func (r *reader) entries(node *yaml.Node, what string) []entry {
	if node.Kind != yaml.MappingNode {
		r.refuse(node, "is not %s; write a mapping", what)
		return nil
	}
	lines := map[string]int{}
	var all []entry
	for pair := range slices.Chunk(node.Content, 2) {
		key := resolve(pair[0])
		if first := lines[key.Value]; first > 0 {
			r.refuse(key, "is written twice, first in line %d; write it once", first)
			continue
		}
		lines[key.Value] = key.Line
		all = append(all, entry{key, resolve(pair[1])})
	}
	return all
}

// fields reads a mapping whose keys are ours. A value of null counts as left out.
func (r *reader) fields(node *yaml.Node, what string, known ...string) map[string]*yaml.Node {
	found := map[string]*yaml.Node{}
	for _, one := range r.entries(node, what) {
		switch {
		case !slices.Contains(known, one.key.Value):
			r.refuse(one.key, "is not a key of %s; the keys are %s", what, strings.Join(known, ", "))
		case !isNull(one.value):
			found[one.key.Value] = one.value
		}
	}
	return found
}

// items reads a list.
func (r *reader) items(node *yaml.Node, what string) []*yaml.Node {
	if node == nil {
		return nil
	}
	if node.Kind != yaml.SequenceNode {
		r.refuse(node, "is not a list of %s; write it in brackets", what)
		return nil
	}
	all := make([]*yaml.Node, len(node.Content))
	for i, item := range node.Content {
		all[i] = resolve(item)
	}
	return all
}

// name reads what names a provider; empty where the node is missing or wrong.
func (r *reader) name(node *yaml.Node) string {
	switch {
	case node == nil:
		return ""
	case node.Kind != yaml.ScalarNode || isNull(node) || node.Value == "" || len(node.Value) > 200:
		r.refuse(node, "is not the name or uuid of a provider; write 1 to 200 characters")
		return ""
	}
	return node.Value
}

var symbol = regexp.MustCompile(`^[A-Z0-9_]{1,255}$`)

// symbol reads the name of a resource class or trait.
func (r *reader) symbol(node *yaml.Node, what string) string {
	if node == nil {
		return ""
	}
	if node.Kind != yaml.ScalarNode || !symbol.MatchString(node.Value) {
		r.refuse(node, "is not a %s; write capital letters, digits and _", what)
		return ""
	}
	return node.Value
}

func (r *reader) uuid(node *yaml.Node, what string) uuid.UUID {
	if node == nil {
		return uuid.Nil
	}
	id, err := uuid.Parse(node.Value)
	if node.Kind != yaml.ScalarNode || err != nil || id == uuid.Nil || len(node.Value) != 36 && len(node.Value) != 32 {
		r.refuse(node, "is not the uuid of %s; write it as 8-4-4-4-12 hexadecimal digits", what)
		return uuid.Nil
	}
	return id
}

func (r *reader) uuids(node *yaml.Node, what string) []uuid.UUID {
	var all []uuid.UUID
	for _, item := range r.items(node, "uuids") {
		id := r.uuid(item, what)
		if id != uuid.Nil && slices.Contains(all, id) {
			r.refuse(item, "is in the list twice; write it once")
		}
		all = append(all, id)
	}
	return all
}

// integer reads a whole number from least to the largest that the API takes.
func (r *reader) integer(node *yaml.Node, least int64) int32 {
	value, err := strconv.ParseInt(node.Value, 10, 32)
	if node.Kind != yaml.ScalarNode || node.Tag != "!!int" || err != nil || value < least {
		r.refuse(node, "is not a whole number from %d to %d; write digits only", least, math.MaxInt32)
		return int32(least)
	}
	return int32(value)
}

// optional is integer for what may be left out.
func (r *reader) optional(node *yaml.Node, least int64) *int32 {
	if node == nil {
		return nil
	}
	return new(r.integer(node, least))
}

// record reads an inventory record; nil if it is wrong altogether.
func (r *reader) record(node *yaml.Node) *Record {
	if node == nil {
		return nil
	}
	if isNull(node) {
		r.refuse(node, "is no inventory record; write one such as {total: 2}")
		return nil
	}
	before := len(r.wrong)
	found := r.fields(node, "an inventory record", "total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")
	if len(r.wrong) == before && found["total"] == nil {
		r.refuse(node, "has no total; write one such as {total: 2}")
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
			r.refuse(ratio, "is not a ratio; write a number such as 1.5")
		}
		record.AllocationRatio = &value
	}
	if record.Reserved != nil && *record.Reserved > record.Total && record.Total > 0 {
		r.refuse(found["reserved"], "is reserved of a total of %d; reserve at most the total", record.Total)
	}
	return record
}
