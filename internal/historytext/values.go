package historytext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// Value is a member of an object before and after a write. A side without the member is a dash.
type Value struct{ Object, Member, Before, After string }

// kind is a member of changes, and what its objects are.
type kind struct{ member, noun string }

// kinds are in the order of the values.
var kinds = []kind{
	{"history", "record"}, {"resource_classes", "resource class"}, {"traits", "trait"}, {"resource_providers", "provider"},
	{"nodes", "node"}, {"node_allocations", "node allocation"}, {"consumers", "consumer"},
}

// states are an object before and after a write; nil: it did not or does not exist.
type states struct{ Before, After map[string]any }

// Values returns all that an event has of each object, also of kinds that this package does not know. Members of members are behind points.
func (t *Texts) Values(event *client.HistoryEvent) ([]Value, error) {
	text, err := json.Marshal(event)
	if err != nil {
		return nil, err
	}
	var sent struct{ Changes map[string]json.RawMessage }
	if err := json.Unmarshal(text, &sent); err != nil {
		return nil, err
	}
	var values []Value
	listed := kinds
	for _, member := range sortedKeys(sent.Changes) {
		if !slices.ContainsFunc(kinds, func(known kind) bool { return known.member == member }) {
			listed = append(slices.Clone(listed), kind{member, member})
		}
	}
	for _, kind := range listed {
		changed := sent.Changes[kind.member]
		if changed == nil {
			continue
		}
		objects := map[string]states{}
		if kind.member == "history" { // there is one record, without a key
			changed = slices.Concat([]byte(`{"":`), changed, []byte(`}`))
		}
		if err := decode(changed, &objects); err != nil {
			return nil, fmt.Errorf("changes of %s: %w", kind.member, err)
		}
		for _, key := range sortedKeys(objects) {
			values = append(values, t.objectValues(t.object(kind.noun, key), objects[key])...)
		}
	}
	return values, nil
}

// decode decodes JSON and keeps numbers as they are.
func decode(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// object returns the noun, the name if it is known, and the key of an object.
func (t *Texts) object(noun, key string) string {
	text := strings.TrimSpace(noun + " " + key)
	if id, err := uuid.Parse(key); err == nil {
		names := map[string]map[uuid.UUID]string{"provider": t.Providers, "node": t.Nodes, "node allocation": t.NodeAllocations}[noun]
		if name := names[id]; name != "" {
			text = noun + " " + name + " " + key
		}
	}
	return text
}

// objectValues returns the members of an object, or a line that it was created or deleted without any.
func (t *Texts) objectValues(object string, of states) []Value {
	before, after := map[string]string{}, map[string]string{}
	t.flatten(before, "", of.Before)
	t.flatten(after, "", of.After)
	var members []string
	for _, side := range []map[string]string{before, after} {
		members = append(members, sortedKeys(side)...)
	}
	slices.Sort(members)
	var values []Value
	for _, member := range slices.Compact(members) {
		values = append(values, Value{object, member, orDash(before, member), orDash(after, member)})
	}
	if values != nil {
		return values
	}
	exists := func(part map[string]any) string {
		if part == nil {
			return "-"
		}
		return "exists"
	}
	return []Value{{object, "-", exists(of.Before), exists(of.After)}}
}

func orDash(of map[string]string, member string) string {
	if value, ok := of[member]; ok {
		return value
	}
	return "-"
}

// flatten adds the members of an object to a map, those of members behind points.
func (t *Texts) flatten(into map[string]string, prefix string, of map[string]any) {
	for name, value := range of {
		if id, err := uuid.Parse(name); err == nil && t.Providers[id] != "" {
			name = t.Providers[id]
		}
		if members, ok := value.(map[string]any); ok && len(members) > 0 {
			t.flatten(into, prefix+name+".", members)
			continue
		}
		if text, ok := value.(string); ok {
			into[prefix+name] = text
			continue
		}
		into[prefix+name] = encoded(value)
	}
}

// encoded returns a value as JSON.
func encoded(value any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Sprint(value)
	}
	return strings.TrimSuffix(text.String(), "\n")
}
