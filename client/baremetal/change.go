package baremetal

import (
	"encoding/json"
	"strings"
)

// Change is one operation of a JSON patch. Create it with Set or Unset.
type Change struct {
	Op    string
	Path  string
	Value any
}

// Set returns the change that sets a member: Set("rack-7", "name"), Set(4, "properties", "cpus").
func Set(value any, member ...string) Change {
	return Change{Op: "add", Path: pointer(member), Value: value}
}

// Unset returns the change that removes a member.
func Unset(member ...string) Change { return Change{Op: "remove", Path: pointer(member)} }

// pointer returns the path of a member as a JSON pointer (RFC 6901).
func pointer(member []string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var path strings.Builder
	for _, part := range member {
		path.WriteString("/" + escape.Replace(part))
	}
	return path.String()
}

// MarshalJSON omits the value of a removal; null would be a value.
func (c Change) MarshalJSON() ([]byte, error) {
	step := map[string]any{"op": c.Op, "path": c.Path}
	if c.Op != "remove" {
		step["value"] = c.Value
	}
	return json.Marshal(step)
}
