package baremetal

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/berthd/berth/server/wire/fault"
)

// Patch is a list of changes in the format of RFC 6902 with three of its operations. Libraries for the whole RFC accept
// escapes and operations that this API rejects. They also treat the members of a resource, which always exist,
// differently.
type Patch []PatchStep

// PatchStep is one change.
type PatchStep struct {
	Op    string          `json:"op" enum:"add,replace,remove" doc:"Operation." example:"add"`
	Path  string          `json:"path" pattern:"^(/[\\w-]+)+$" doc:"The member to change." example:"/name"`
	Value json.RawMessage `json:"value,omitempty" doc:"New value; required except for remove."`
}

// These are the operations.
const (
	opAdd     = "add"
	opReplace = "replace"
	opRemove  = "remove"
)

// root returns the member of the resource that the step changes or changes a part of.
func (s PatchStep) root() string { return s.steps()[0] }

func (s PatchStep) steps() []string { return strings.Split(s.Path[1:], "/") }

func notPatchable(path string, names ...string) *fault.Error {
	return fault.New(fault.Invalid, "Cannot patch %s. Only the following can be updated: %s",
		path, strings.Join(names, ", "))
}

// check validates all steps before any is applied. It returns an error for members that are not among the named ones or
// that the version does not have.
func (p Patch) check(ctx context.Context, has interface {
	known(ctx context.Context, name string) (bool, error)
}, names ...string) error {
	for _, step := range p {
		if !slices.Contains(names, step.root()) {
			return notPatchable(step.Path, names...)
		}
		if _, err := has.known(ctx, step.root()); err != nil {
			return err
		}
		if step.Op != opRemove && step.Value == nil {
			return fault.New(fault.Invalid, "Cannot %s %s: the value is missing.", step.Op, step.Path)
		}
	}
	return nil
}

// touches reports whether the step changes a member or a part of it.
func (p Patch) touches(name string) bool {
	return slices.ContainsFunc(p, func(step PatchStep) bool { return step.root() == name })
}

// apply applies the patch to a copy of a resource, given by its members. A removed member becomes the value in reset,
// or null. It cannot be missing, so removing it again is not an error. Steps inside of members follow RFC 6902.
func (p Patch) apply(to map[string]any, reset map[string]any) (map[string]any, error) {
	changed := maps.Clone(to)
	for _, step := range p {
		steps := step.steps()
		root := steps[0]
		value, err := step.value()
		if err != nil {
			return nil, err
		}
		if len(steps) == 1 {
			if step.Op == opRemove {
				value = reset[root]
			}
			changed[root] = value
			continue
		}
		inner, err := step.into(changed[root], steps[1:], value)
		if err != nil {
			return nil, err
		}
		changed[root] = inner
	}
	return changed, nil
}

func (s PatchStep) value() (any, error) {
	if s.Op == opRemove {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(s.Value))
	// Keep the notation of numbers.
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, s.refuse("the value is missing")
	}
	return value, nil
}

// into applies the step to a copy of the value at the remaining path segments.
func (s PatchStep) into(in any, steps []string, value any) (any, error) {
	switch in := in.(type) {
	case map[string]any:
		return s.intoObject(in, steps, value)
	case []any:
		return s.intoList(in, steps, value)
	}
	return nil, s.refuse("there is nothing that could have a member " + steps[0])
}

func (s PatchStep) intoObject(in map[string]any, steps []string, value any) (any, error) {
	name := steps[0]
	old, exists := in[name]
	if !exists && (len(steps) > 1 || s.Op != opAdd) {
		return nil, s.refuse("there is no member " + name)
	}
	changed := maps.Clone(in)
	switch {
	case len(steps) > 1:
		inner, err := s.into(old, steps[1:], value)
		if err != nil {
			return nil, err
		}
		changed[name] = inner
	case s.Op == opRemove:
		delete(changed, name)
	default:
		changed[name] = value
	}
	return changed, nil
}

func (s PatchStep) intoList(in []any, steps []string, value any) (any, error) {
	end := len(in)
	at, err := strconv.Atoi(steps[0])
	adding := len(steps) == 1 && s.Op == opAdd
	switch {
	case steps[0] == "-" && adding:
		at = end
	case err != nil || at < 0 || at > end || at == end && !adding:
		return nil, s.refuse("there is no element " + steps[0])
	}
	changed := slices.Clone(in)
	switch {
	case len(steps) > 1:
		inner, err := s.into(in[at], steps[1:], value)
		if err != nil {
			return nil, err
		}
		changed[at] = inner
	case s.Op == opAdd:
		changed = slices.Insert(changed, at, value)
	case s.Op == opRemove:
		changed = slices.Delete(changed, at, at+1)
	default:
		changed[at] = value
	}
	return changed, nil
}

func (s PatchStep) refuse(reason string) error {
	return fault.New(fault.Invalid, "Couldn't apply patch '[%s %s]'. Reason: %s", s.Op, s.Path, reason)
}

// membersOf returns the members of a resource for a patch.
func membersOf(resource any) (map[string]any, error) {
	raw, err := json.Marshal(resource)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var members map[string]any
	err = decoder.Decode(&members)
	return members, err
}
