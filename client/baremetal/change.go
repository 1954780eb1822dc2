package baremetal

import (
	"encoding/json"
	"strings"
)

// Change is one step of an update. Make it with Set and Unset.
type Change struct {
	Op    string
	Path  string
	Value any
}

// Set gives a member a value: Set("rack-7", "name"), Set(4, "properties", "cpus").
func Set(value any, member ...string) Change {
	return Change{Op: "add", Path: pointer(member), Value: value}
}

// Unset takes a member's value away.
func Unset(member ...string) Change { return Change{Op: "remove", Path: pointer(member)} }

// pointer is the form in which paths are sent: RFC 6901.
func pointer(member []string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var path strings.Builder
	for _, part := range member {
		path.WriteString("/" + escape.Replace(part))
	}
	return path.String()
}

// MarshalJSON leaves the value out where there is none to be set, which is something
// else than null.
func (c Change) MarshalJSON() ([]byte, error) {
	step := map[string]any{"op": c.Op, "path": c.Path}
	if c.Op != "remove" {
		step["value"] = c.Value
	}
	return json.Marshal(step)
}
