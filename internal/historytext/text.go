// Package historytext has the texts for people of events of the record of changes: a line for each object that a write changed, who asked
// for it, and all values before and after it.
//
// It is not for reading events (package client), nor for tables (package frame): texts can have control characters of names.
package historytext

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
)

// Names are the names of objects by their UUIDs. An object without one has its short UUID in texts.
type Names struct {
	Providers, Nodes, NodeAllocations, Aggregates map[uuid.UUID]string
}

// Texts writes events as texts.
type Texts struct {
	Names
	// ASCII writes -> for →, - for − and ... for ….
	ASCII bool
	// Mark returns what stands for an object in a line, such as a link; nil: its text. The kind is provider, consumer, node, node
	// allocation, resource class, trait or project; the key is a UUID, a name, or the identifier of a project.
	Mark func(kind, key, text string) string
}

// mark returns what stands for an object in a line.
func (t *Texts) mark(kind, key, text string) string {
	if t.Mark == nil {
		return text
	}
	return t.Mark(kind, key, text)
}

// providerName returns the name of a provider, and provider what stands for it in a line.
func (t *Texts) providerName(id uuid.UUID) string { return t.nameIn(t.Providers, id) }

func (t *Texts) provider(id uuid.UUID) string {
	return t.mark("provider", id.String(), t.providerName(id))
}

func (t *Texts) nameIn(names map[uuid.UUID]string, id uuid.UUID) string {
	return cmp.Or(names[id], t.Short(id.String()))
}

// arrow is between the values before and after a write.
func (t *Texts) arrow() string {
	if t.ASCII {
		return "->"
	}
	return "→"
}

// minus is the sign of what is gone.
func (t *Texts) minus() string {
	if t.ASCII {
		return "-"
	}
	return "−"
}

// longID matches UUIDs and the identifiers of users and projects in Keystone.
var longID = regexp.MustCompile(`^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$`)

// Short returns the beginning and the end of a UUID or of an identifier of Keystone, and other texts as they are.
func (t *Texts) Short(id string) string {
	if !longID.MatchString(id) {
		return id
	}
	ellipsis := "…"
	if t.ASCII {
		ellipsis = "..."
	}
	return id[:8] + ellipsis + id[len(id)-4:]
}

// requestID matches request IDs of OpenStack.
var requestID = regexp.MustCompile(`^req-[0-9a-f]{8}-`)

// Request returns the beginning of the ID of the request that asked for an event; empty for events without one.
func (t *Texts) Request(by *api.HistoryCaller) string {
	id := valueOf(by.RequestID)
	if begin := requestID.FindString(id); begin != "" {
		return strings.TrimSuffix(begin, "-")
	}
	return id
}

// Caller returns who asked for an event: a user with its project, or a part of a server; empty if it is unknown.
func (t *Texts) Caller(by *api.HistoryCaller) string { return callerText(by, t.Short) }

// callerText returns who asked for an event, with identifiers as shown.
func callerText(by *api.HistoryCaller, show func(string) string) string {
	if by.UserID == nil {
		return valueOf(by.Process)
	}
	text := show(*by.UserID)
	if by.ProjectID != nil {
		text += " (" + show(*by.ProjectID) + ")"
	}
	if by.ServiceUserID != nil {
		text += " by " + show(*by.ServiceUserID)
	}
	return text
}

// Heading returns the index, the time and the caller of an event with whole identifiers, for its values below.
func Heading(event *client.HistoryEvent) string {
	by := &event.By
	parts := []string{fmt.Sprintf("event %d at %s", event.Index, event.At.UTC().Format("2006-01-02T15:04:05.000000Z"))}
	if event.Kind == client.HistoryRefused {
		parts[0] = "request that found nothing at " + event.At.UTC().Format("2006-01-02T15:04:05.000000Z")
	}
	for _, part := range []struct{ label, value string }{
		{"by ", callerText(by, func(id string) string { return id })}, {"operation ", valueOf(by.Operation)},
		{"request ", valueOf(by.RequestID)}, {"global request ", valueOf(by.GlobalRequestID)},
	} {
		if part.value != "" {
			parts = append(parts, part.label+part.value)
		}
	}
	return strings.Join(parts, ", ")
}

// Lines returns a line for each object that an event changed. A provider of which only the generation has changed has a line only
// if the event has no other one.
func (t *Texts) Lines(event *client.HistoryEvent) []string {
	if event.Kind == client.HistoryRefused {
		return []string{"nothing found: " + cmp.Or(event.Summary, event.Reason)}
	}
	changes := &event.Changes
	var lines []string
	if changes.History != nil {
		lines = append(lines, t.record(changes.History))
	}
	lines = append(lines, t.names("resource class", changes.ResourceClasses)...)
	lines = append(lines, t.names("trait", changes.Traits)...)
	providers, raised := t.providers(changes.ResourceProviders)
	lines = append(lines, providers...)
	lines = append(lines, t.objects("node", changes.Nodes, t.Nodes)...)
	lines = append(lines, t.objects("node allocation", changes.NodeAllocations, t.NodeAllocations)...)
	for _, id := range sortedKeys(changes.Consumers) {
		lines = append(lines, t.consumer(id, changes.Consumers[id]))
	}
	switch {
	case lines != nil:
		return lines
	case raised != nil:
		return raised
	}
	return []string{"changes of a kind that this version does not know"}
}

// record returns the line of the settings of the record.
func (t *Texts) record(change *api.HistoryObjectChange) string {
	var parts []string
	if change.After["state"] != nil {
		parts = append(parts, fmt.Sprintf("turned %v", change.After["state"]))
	}
	if days := change.After["keep_days"]; days != nil {
		parts = append(parts, fmt.Sprintf("keep_days %v %s %v", change.Before["keep_days"], t.arrow(), days))
	}
	if log, ok := change.After["log"].(string); ok {
		parts = append(parts, "new log "+t.Short(log))
	}
	return line("record", parts)
}

// names returns the lines of resource classes or traits.
func (t *Texts) names(kind string, changes map[string]api.HistoryObjectChange) (lines []string) {
	for _, name := range sortedKeys(changes) {
		switch change := changes[name]; {
		case change.Before == nil:
			lines = append(lines, kind+" "+t.mark(kind, name, name)+" created")
		case change.After == nil:
			lines = append(lines, kind+" "+name+" deleted")
		default:
			lines = append(lines, fmt.Sprintf("%s %v renamed to %s", kind, change.Before["name"], t.mark(kind, name, name)))
		}
	}
	return lines
}

// objects returns the lines of nodes or node allocations. names has those of the objects that keep theirs.
func (t *Texts) objects(kind string, changes map[string]api.HistoryObjectChange, names map[uuid.UUID]string) (lines []string) {
	for _, key := range sortedKeys(changes) {
		change := changes[key]
		name := t.Short(key)
		if id, err := uuid.Parse(key); err == nil {
			name = t.nameIn(names, id)
		}
		for _, part := range []map[string]any{change.Before, change.After} {
			if given, ok := part["name"].(string); ok {
				name = given
			}
		}
		name = t.mark(kind, key, name)
		switch {
		case change.Before == nil:
			lines = append(lines, line(kind+" "+name+" created", t.members(nil, change.After)))
		case change.After == nil:
			lines = append(lines, kind+" "+name+" deleted")
		default:
			lines = append(lines, line(kind+" "+name, t.members(change.Before, change.After)))
		}
	}
	return lines
}

// members returns the members of an object that differ. Those that are empty on both sides, and names of secrets, have no values.
func (t *Texts) members(before, after map[string]any) (parts []string) {
	both := maps.Clone(before)
	if both == nil {
		both = map[string]any{}
	}
	maps.Copy(both, after)
	for _, member := range sortedKeys(both) {
		was, is := t.value(before[member]), t.value(after[member])
		switch {
		case member == "hidden":
			parts = append(parts, is+" changed")
		case member == "traits":
			parts = append(parts, strings.TrimSpace("traits"+signed(" +", texts(after[member]))+signed(" "+t.minus(), texts(before[member]))))
		case before == nil && is != "none" && member != "name":
			parts = append(parts, member+" "+is)
		case before != nil && was != is:
			parts = append(parts, member+" "+was+" "+t.arrow()+" "+is)
		}
	}
	return parts
}

// value returns a value of a member; null, false and empty lists and objects are none.
func (t *Texts) value(of any) string {
	switch value := of.(type) {
	case nil:
		return "none"
	case string:
		if id, err := uuid.Parse(value); err == nil {
			return t.nameIn(t.Nodes, id)
		}
		return cmp.Or(t.Short(value), "none")
	case bool:
		if !value {
			return "none"
		}
		return "true"
	case []any:
		return cmp.Or(strings.Join(texts(value), " "), "none")
	case map[string]any:
		if len(value) == 0 {
			return "none"
		}
		return encoded(value)
	}
	return encoded(of)
}

// texts returns the elements of a list.
func texts(list any) (texts []string) {
	elements, _ := list.([]any)
	for _, element := range elements {
		texts = append(texts, fmt.Sprint(element))
	}
	return texts
}

// signed returns each text behind a sign.
func signed(sign string, texts []string) string {
	var all strings.Builder
	for _, text := range texts {
		all.WriteString(sign + text)
	}
	return all.String()
}

// line returns an object with what has changed of it.
func line(object string, parts []string) string {
	if len(parts) == 0 {
		return object
	}
	return object + ": " + strings.Join(parts, ", ")
}

func sortedKeys[V any](of map[string]V) []string { return slices.Sorted(maps.Keys(of)) }

func valueOf(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
