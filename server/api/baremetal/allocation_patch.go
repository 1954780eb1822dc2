package baremetal

import (
	"encoding/json"
	"reflect"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/fault"
)

// These are the members of a node allocation that a patch can change.
const (
	allocationName  = "name"
	allocationExtra = "extra"
)

// changeAllocation applies a patch to a node allocation. It does not modify members whose values are equal, so that the
// store writes nothing.
func (p Patch) changeAllocation(found *store.NodeAllocation) error {
	var extra any
	if err := decodeMember(found.Extra, &extra); err != nil {
		return err
	}
	before := map[string]any{allocationName: nil, allocationExtra: extra}
	if found.Name != nil {
		before[allocationName] = *found.Name
	}
	after, err := p.apply(before, map[string]any{allocationExtra: map[string]any{}})
	if err != nil {
		return err
	}
	if found.Name, err = patchedName(after[allocationName]); err != nil {
		return err
	}
	if after[allocationExtra] == nil {
		after[allocationExtra] = map[string]any{}
	}
	if _, ok := after[allocationExtra].(map[string]any); !ok {
		return fault.New(fault.Invalid, "Invalid value for /extra: it must be an object.")
	}
	if err := checkNumbers(allocationExtra, after[allocationExtra]); err != nil {
		return err
	}
	if !reflect.DeepEqual(before[allocationExtra], after[allocationExtra]) {
		found.Extra, err = json.Marshal(after[allocationExtra])
	}
	return err
}

// patchedName converts the new value of a name; null becomes nil.
func patchedName(value any) (*string, error) {
	if value == nil {
		return nil, nil
	}
	name, ok := value.(string)
	if !ok || len(name) > maxName || !nameForm.MatchString(name) {
		return nil, fault.New(fault.Invalid, "Invalid value for /name: it must be null, or up to %d letters, digits, "+
			"and characters of - . _ ~", maxName)
	}
	return &name, nil
}

// decodeMember decodes a value and keeps the notation of its numbers.
func decodeMember(raw json.RawMessage, into *any) error {
	members, err := membersOf(map[string]any{allocationExtra: extraMembers(raw)})
	if err == nil {
		*into = members[allocationExtra]
	}
	return err
}
