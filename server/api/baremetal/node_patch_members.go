package baremetal

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/fault"
)

// nodeMember is a node member that clients can write: how to read it, so that a patch can be applied, and how to store
// the result. Null represents the member of a node that never had a value.
type nodeMember struct {
	name string
	get  func(*store.Node) (any, error)
	set  func(*store.Node, any) error
}

// nodeMembers lists the members in alphabetical order.
var nodeMembers = func() []nodeMember {
	members := []nodeMember{
		nodeDetail("automated_clean", asFlag),
		{"chassis_uuid", func(*store.Node) (any, error) { return nil, nil }, setChassis},
		{"conductor_group", func(n *store.Node) (any, error) { return n.ConductorGroup, nil }, setGroup},
		nodeDetail("description", asText(4096)),
		{"driver", func(n *store.Node) (any, error) { return n.Driver, nil }, setDriver},
		nodeDetail("driver_info", asObject),
		nodeDetail("extra", asObject),
		nodeDetail("instance_info", asObject),
		{"instance_uuid", func(n *store.Node) (any, error) { return anyOf(idText(n.InstanceUUID)), nil }, setInstance},
		nodeText("lessee", maxName, func(n *store.Node) **string { return &n.Lessee }),
		nodeFlag("maintenance", func(n *store.Node) *bool { return &n.Maintenance }),
		{"name", func(n *store.Node) (any, error) { return anyOf(n.Name), nil }, setName},
		nodeDetail("network_data", asObject),
		nodeText("owner", maxName, func(n *store.Node) **string { return &n.Owner }),
		nodeDetail("properties", asProperties),
		nodeFlag("protected", func(n *store.Node) *bool { return &n.Protected }),
		nodeDetail("protected_reason", asText(maxReason)),
		nodeText("resource_class", maxClass, func(n *store.Node) **string { return &n.ResourceClass }),
		nodeFlag("retired", func(n *store.Node) *bool { return &n.Retired }),
		nodeDetail("retired_reason", asText(maxReason)),
		nodeDetail("shard", asText(maxName)),
	}
	for _, field := range newShape[Interfaces]().fields {
		members = append(members, nodeDetail(field.Name, asText(maxName)))
	}
	slices.SortFunc(members, func(a, b nodeMember) int { return strings.Compare(a.name, b.name) })
	return members
}()

const (
	maxReason = 1 << 16
	maxClass  = 80
)

func nodeMemberNames() []string {
	names := make([]string, len(nodeMembers))
	for i, nodeMember := range nodeMembers {
		names[i] = nodeMember.name
	}
	return names
}

// anyOf converts an optional text to a JSON value.
func anyOf(text *string) any {
	if text == nil {
		return nil
	}
	return *text
}

func badMember(name, must string) *fault.Error {
	return fault.New(fault.Invalid, "Invalid value for /%s: it must be %s.", name, must)
}

// nodeText returns the member for a text with its own column.
func nodeText(name string, longest int, of func(*store.Node) **string) nodeMember {
	check := asText(longest)
	return nodeMember{
		name,
		func(n *store.Node) (any, error) { return anyOf(*of(n)), nil },
		func(n *store.Node, value any) error {
			checked, err := check(name, value)
			if err != nil {
				return err
			}
			*of(n) = nil
			if text, is := checked.(string); is {
				*of(n) = &text
			}
			return nil
		},
	}
}

// nodeFlag returns the member for a boolean with its own column; null is false.
func nodeFlag(name string, of func(*store.Node) *bool) nodeMember {
	return nodeMember{
		name,
		func(n *store.Node) (any, error) { return *of(n), nil },
		func(n *store.Node, value any) error {
			checked, err := asFlag(name, value)
			*of(n) = checked == true
			return err
		},
	}
}

// nodeDetail returns the member for a value in the details.
func nodeDetail(name string, check func(name string, value any) (any, error)) nodeMember {
	return nodeMember{
		name,
		func(n *store.Node) (any, error) { return detailValue(n.Details, name, check) },
		func(n *store.Node, value any) error { return setDetail(&n.Details, name, value, check) },
	}
}

// detailValue returns a member of details as a JSON value. If it is missing, it returns what check returns for null.
func detailValue(details map[string]json.RawMessage, name string, check func(string, any) (any, error)) (any, error) {
	raw, there := details[name]
	if !there {
		return check(name, nil)
	}
	return decoded(raw)
}

// setDetail sets a member of details; null removes it.
func setDetail(details *map[string]json.RawMessage, name string, value any, check func(string, any) (any, error)) error {
	checked, err := check(name, value)
	if err == nil {
		err = checkNumbers(name, value)
	}
	if err != nil {
		return err
	}
	if value == nil {
		delete(*details, name)
		return nil
	}
	raw, err := json.Marshal(checked)
	if err != nil {
		return fmt.Errorf("member %s: %w", name, err)
	}
	if *details == nil {
		*details = map[string]json.RawMessage{}
	}
	(*details)[name] = raw
	return nil
}

// asText returns a check that accepts texts up to a length, and null.
func asText(longest int) func(string, any) (any, error) {
	return func(name string, value any) (any, error) {
		text, is := value.(string)
		if value != nil && !is {
			return nil, badMember(name, "a text or null")
		}
		if utf8.RuneCountInString(text) > longest {
			return nil, badMember(name, fmt.Sprintf("no longer than %d characters", longest))
		}
		return value, nil
	}
}

// asFlag accepts true and false, also as texts, and null.
func asFlag(name string, value any) (any, error) {
	switch value := value.(type) {
	case nil, bool:
		return value, nil
	case string:
		if flag, ok := truth(value); ok {
			return flag, nil
		}
	}
	return nil, badMember(name, "true or false")
}

// asObject accepts objects; null is an empty one.
func asObject(name string, value any) (any, error) {
	switch value := value.(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return value, nil
	}
	return nil, badMember(name, "an object or null")
}

// asProperties accepts objects. The sizes of the hardware in it must be integers or texts of integers, because
// schedulers read them. Like ironic, it accepts a number with a fraction that is not a text.
func asProperties(name string, value any) (any, error) {
	checked, err := asObject(name, value)
	if err != nil {
		return nil, err
	}
	for _, size := range []string{"cpus", "local_gb", "memory_mb"} {
		if sent := checked.(map[string]any)[size]; sent != nil && !isSize(sent) {
			return nil, badMember(name+"/"+size, "a whole number that is not negative")
		}
	}
	return checked, nil
}

func isSize(value any) bool {
	switch value := value.(type) {
	case string:
		number, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		return err == nil && number >= 0
	case json.Number:
		number, err := value.Float64()
		return err == nil && number >= 0
	}
	return false
}

// reservedNames are names that are also path segments.
var reservedNames = []string{"maintenance", "management", "states", "vendor_passthru", "detail", "validate"}

func badName(sent string) *fault.Error {
	return fault.New(fault.Invalid, "Invalid name '%s' for a node: it must consist of at most %d letters, digits and -._~, "+
		"and be neither a UUID nor one of %s.", sent, maxName, strings.Join(reservedNames, ", "))
}

func setName(n *store.Node, value any) error {
	if value == nil {
		n.Name = nil
		return nil
	}
	name, is := value.(string)
	if !is {
		return badMember("name", "a text or null")
	}
	_, isUUID := asUUID(name)
	if isUUID || len(name) > maxName || !nameForm.MatchString(name) || slices.Contains(reservedNames, name) {
		return badName(name)
	}
	n.Name = &name
	return nil
}

func setDriver(n *store.Node, value any) error {
	driver, is := value.(string)
	if !is || driver == "" || len(driver) > maxName {
		return badMember("driver", "the name of a driver")
	}
	n.Driver = driver
	return nil
}

var groupForm = regexp.MustCompile(`^[A-Za-z0-9_.-]{0,255}$`)

func setGroup(n *store.Node, value any) error {
	group, is := value.(string)
	if value != nil && !is || !groupForm.MatchString(group) {
		return badMember("conductor_group", "at most 255 letters, digits and _.-")
	}
	n.ConductorGroup = strings.ToLower(group)
	return nil
}

func setInstance(n *store.Node, value any) error {
	var id uuid.UUID
	if value == nil {
		n.InstanceUUID = nil
		return nil
	}
	text, is := value.(string)
	if is {
		id, is = asUUID(text)
	}
	if !is {
		return badUUID("instance_uuid", fmt.Sprint(value))
	}
	n.InstanceUUID = &id
	return nil
}

func setChassis(_ *store.Node, value any) error {
	if value == nil {
		return nil
	}
	return noChassis(fmt.Sprint(value))
}

func noChassis(sent string) *fault.Error {
	return fault.New(fault.Invalid, "Chassis %s could not be found.", sent)
}
