package placement

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

// HistoryEvent is a write of the record: all that one transaction has changed.
type HistoryEvent struct {
	Kind    string         `json:"kind" enum:"write" doc:"Always write." example:"write"`
	Index   int64          `json:"index" doc:"Place of the event in the order of all events." example:"41822"`
	At      Moment         `json:"at" format:"date-time" doc:"Time at which the write had changed everything." example:"2026-11-22T14:11:00.123456Z"`
	By      HistoryCaller  `json:"by" doc:"Who asked for the write."`
	Changes HistoryChanges `json:"changes" doc:"What the write changed: only kinds, objects and members that differ. Values are absolute."`
}

// HistoryCaller is who asked for a write. All members are null if it is unknown.
type HistoryCaller struct {
	RequestID       *string `json:"request_id" doc:"Id of the request; null for work of a server itself." example:"req-6b6837d1-5af3-4138-b4ed-e0275c3efda4"`
	GlobalRequestID *string `json:"global_request_id" doc:"Id that the client sent for a chain of requests; null without one."`
	UserID          *string `json:"user_id" doc:"User of the request." example:"9f1a2b3c4d5e6f708192a3b4c5d6e7f8"`
	ProjectID       *string `json:"project_id" doc:"Project of the request." example:"3f2a9c0b7d5e4a41b6c8d9e0f1a2b3c4"`
	ServiceUserID   *string `json:"service_user_id,omitempty" doc:"User of the service that forwarded the request."`
	Operation       *string `json:"operation" doc:"Operation id of the request." example:"claim-create"`
	Process         *string `json:"process" doc:"Part of a server that wrote without a request; null for requests." example:"lease"`
}

// HistoryChanges are the changes of an event by kind and key.
type HistoryChanges struct {
	Providers       map[string]HistoryProviderChange `json:"resource_providers,omitempty" nullable:"false" doc:"Changes of providers by UUID."`
	Consumers       map[string]ConsumerChange        `json:"consumers,omitempty" nullable:"false" doc:"Changes of consumers by UUID."`
	Classes         map[string]HistoryObjectChange   `json:"resource_classes,omitempty" nullable:"false" doc:"Created, renamed and deleted resource classes by name. Of a renamed one before has its old name."`
	Traits          map[string]HistoryObjectChange   `json:"traits,omitempty" nullable:"false" doc:"Created and deleted traits by name."`
	Nodes           map[string]HistoryObjectChange   `json:"nodes,omitempty" nullable:"false" doc:"Changes of nodes by UUID. Secrets are not recorded: hidden names members that have changed."`
	NodeAllocations map[string]HistoryObjectChange   `json:"node_allocations,omitempty" nullable:"false" doc:"Changes of allocations of the Bare Metal API by UUID."`
	History         *HistoryObjectChange             `json:"history,omitempty" nullable:"false" doc:"Change of the settings of the record, or of its log."`
}

// HistoryProviderChange is the change of a provider.
type HistoryProviderChange struct {
	Before stateOrNull[HistoryProviderPart] `json:"before" doc:"The provider before the write; null: it did not exist."`
	After  stateOrNull[HistoryProviderPart] `json:"after" doc:"The provider after the write; null: it does not exist."`
}

// HistoryProviderPart is a provider, or the members of it that differ from another state. A nil member is omitted.
type HistoryProviderPart struct {
	Name        *string              `json:"name,omitempty" doc:"Unique name." example:"compute-17"`
	Parent      *uuidOrNull          `json:"parent_provider_uuid,omitempty" doc:"UUID of the parent provider; null for a root."`
	Root        *uuidOrNull          `json:"root_provider_uuid,omitempty" doc:"UUID of the root of its tree."`
	Generation  *int64               `json:"generation,omitempty" doc:"The provider generation, if the write raised it; only in after." example:"4"`
	Inventories map[string]Inventory `json:"inventories,omitzero" doc:"Inventories by resource class that differ."`
	Traits      namesChanged         `json:"traits,omitzero" doc:"Traits that only this state has."`
	Aggregates  uuids                `json:"aggregates,omitzero" doc:"Aggregates that only this state has."`
}

// HistoryObjectChange is the change of an object of another kind.
type HistoryObjectChange struct {
	Before objectPart `json:"before" doc:"Members that differ, before the write; null: the object did not exist."`
	After  objectPart `json:"after" doc:"Members that differ, after the write; null: the object does not exist."`
}

// objectPart are members of an object by name; nil is null.
type objectPart map[string]json.RawMessage

// Schema implements huma.SchemaProvider.
func (objectPart) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, Nullable: true, AdditionalProperties: true}
}

// historyEventOf returns an event as responses have it.
func historyEventOf(from *store.HistoryEvent) (HistoryEvent, error) {
	event := HistoryEvent{Kind: "write", Index: from.Index, At: Moment{from.Changes[0].At}}
	if caller := from.Changes[0].Caller; caller != nil {
		if err := json.Unmarshal(caller, &event.By); err != nil {
			return event, fmt.Errorf("caller of event %d: %w", from.Index, err)
		}
	}
	builder := eventBuilder{
		changes: &event.Changes, providers: map[uuid.UUID]*providerStates{}, consumers: map[uuid.UUID]*consumerStates{}, nodes: map[uuid.UUID]*objectStates{},
	}
	for i := range from.Changes {
		if err := builder.add(&from.Changes[i]); err != nil {
			return event, fmt.Errorf("change %d of event %d: %w", i+1, from.Index, err)
		}
	}
	builder.finish()
	return event, nil
}

// eventBuilder collects the changes of an event by object.
type eventBuilder struct {
	changes   *HistoryChanges
	providers map[uuid.UUID]*providerStates
	consumers map[uuid.UUID]*consumerStates
	nodes     map[uuid.UUID]*objectStates
}

// providerStates are the two states of a provider, as far as they differ.
type providerStates struct {
	before, after     HistoryProviderPart
	isNew, isGone     bool
	isRaised, changed bool
	generation        int64
}

// objectStates are the two states of an object; nil: it did not or does not exist.
type objectStates struct{ before, after objectPart }

// add adds a change. Topics of later versions are not in the table of this one.
func (b *eventBuilder) add(change *store.HistoryChange) error {
	switch change.Topic {
	case "provider", "inventory", "trait", "aggregate":
		return b.addProvider(change)
	case "allocation":
		return b.addAllocations(change)
	case "class_name", "trait_name":
		kind := &b.changes.Classes
		if change.Topic == "trait_name" {
			kind = &b.changes.Traits
		}
		states, err := statesOf(change)
		put(kind, *change.Class, HistoryObjectChange{states.before, states.after})
		return err
	case "node_allocation":
		states, err := statesOf(change)
		put(&b.changes.NodeAllocations, change.Node.String(), states.differing())
		return err
	case "node", "node_trait":
		return b.addNode(change)
	default:
		states, err := statesOf(change)
		b.changes.History = new(states.differing())
		return err
	}
}

// put sets a member of a map, and makes the map.
func put[V any](members *map[string]V, key string, value V) {
	if *members == nil {
		*members = map[string]V{}
	}
	(*members)[key] = value
}

// statesOf decodes the objects of a change.
func statesOf(change *store.HistoryChange) (states objectStates, err error) {
	if states.before, err = members(change.Before); err == nil {
		states.after, err = members(change.After)
	}
	return states, err
}

// members returns the members of an object; nil for none.
func members(object json.RawMessage) (found objectPart, err error) {
	if object != nil {
		err = json.Unmarshal(object, &found)
	}
	return found, err
}

// differing returns the members that differ, or the whole object if it has no other state.
func (s *objectStates) differing() HistoryObjectChange {
	if s.before == nil || s.after == nil {
		return HistoryObjectChange{s.before, s.after}
	}
	return HistoryObjectChange{membersApart(s.before, s.after), membersApart(s.after, s.before)}
}

// membersApart returns the members that another state does not have, or has with another value. PostgreSQL writes equal values as equal
// texts.
func membersApart(of, other objectPart) objectPart {
	apart := objectPart{}
	for name, value := range of {
		if known, ok := other[name]; !ok || !bytes.Equal(known, value) {
			apart[name] = value
		}
	}
	return apart
}

// provider returns the states of a provider of the event.
func (b *eventBuilder) provider(change *store.HistoryChange) *providerStates {
	states := b.providers[*change.Provider]
	if states == nil {
		states = &providerStates{}
		b.providers[*change.Provider] = states
	}
	if change.Generation != nil {
		states.isRaised, states.generation = true, *change.Generation
	}
	return states
}

func (b *eventBuilder) addProvider(change *store.HistoryChange) error {
	states := b.provider(change)
	states.changed = true
	switch change.Topic {
	case "provider":
		return states.addItself(change)
	case "inventory":
		if err := addInventory(&states.before, *change.Class, change.Before); err != nil {
			return err
		}
		return addInventory(&states.after, *change.Class, change.After)
	}
	var before, after []string
	for _, side := range []struct {
		from json.RawMessage
		into *[]string
	}{{change.Before, &before}, {change.After, &after}} {
		if side.from == nil {
			continue
		}
		if err := json.Unmarshal(side.from, side.into); err != nil {
			return err
		}
	}
	removed, added := without(before, after), without(after, before)
	if change.Topic == "trait" {
		states.before.Traits, states.after.Traits = append(namesChanged{}, removed...), append(namesChanged{}, added...)
		return nil
	}
	states.before.Aggregates, states.after.Aggregates = uuidsOfTexts(removed), uuidsOfTexts(added)
	return nil
}

// uuidsOfTexts parses UUIDs that PostgreSQL has written; nil for another text.
func uuidsOfTexts(texts []string) uuids {
	ids := uuids{}
	for _, text := range texts {
		id, err := uuid.Parse(text)
		if err != nil {
			return nil
		}
		ids = append(ids, id)
	}
	return ids
}

// addItself adds the name, the parent and the root.
func (s *providerStates) addItself(change *store.HistoryChange) error {
	type attributes struct {
		Name         *string
		Parent, Root *uuid.UUID
	}
	var was, is attributes
	s.isNew, s.isGone = change.Before == nil, change.After == nil
	if !s.isNew {
		if err := json.Unmarshal(change.Before, &was); err != nil {
			return err
		}
	}
	if !s.isGone {
		if err := json.Unmarshal(change.After, &is); err != nil {
			return err
		}
	}
	isWhole := s.isNew || s.isGone
	if isWhole || *was.Name != *is.Name {
		s.before.Name, s.after.Name = was.Name, is.Name
	}
	if isWhole || !isSame(was.Parent, is.Parent) {
		s.before.Parent, s.after.Parent = &uuidOrNull{was.Parent}, &uuidOrNull{is.Parent}
	}
	if isWhole || !isSame(was.Root, is.Root) {
		s.before.Root, s.after.Root = &uuidOrNull{was.Root}, &uuidOrNull{is.Root}
	}
	return nil
}

func addInventory(to *HistoryProviderPart, class string, object json.RawMessage) error {
	if to.Inventories == nil {
		to.Inventories = map[string]Inventory{}
	}
	if object == nil {
		return nil
	}
	var inventory Inventory
	err := json.Unmarshal(object, &inventory)
	to.Inventories[class] = inventory
	return err
}

// whole adds the members that an object without another state always has.
func (p *HistoryProviderPart) whole() *HistoryProviderPart {
	if p.Inventories == nil {
		p.Inventories = map[string]Inventory{}
	}
	if p.Traits == nil {
		p.Traits = namesChanged{}
	}
	if p.Aggregates == nil {
		p.Aggregates = uuids{}
	}
	return p
}

// addNode adds a change of a node or of its traits.
func (b *eventBuilder) addNode(change *store.HistoryChange) error {
	node := b.nodes[*change.Node]
	if node == nil {
		node = &objectStates{before: objectPart{}, after: objectPart{}}
		b.nodes[*change.Node] = node
	}
	if change.Topic == "node_trait" {
		if change.Before != nil {
			node.before.addTrait(*change.Class)
		} else {
			node.after.addTrait(*change.Class)
		}
		return nil
	}
	states, err := statesOf(change)
	apart := states.differing()
	node.before, node.after = apart.Before.with(node.before), apart.After.with(node.after)
	return err
}

const traitsMember = "traits"

// addTrait adds a trait to the list of names.
func (p *objectPart) addTrait(trait string) {
	var names []string
	if known, ok := (*p)[traitsMember]; ok {
		_ = json.Unmarshal(known, &names) // addTrait has encoded it
	}
	names = append(names, trait)
	slices.Sort(names)
	if *p == nil { // the node is gone
		return
	}
	(*p)[traitsMember] = json.RawMessage(`["` + strings.Join(names, `","`) + `"]`)
}

// with adds the traits of another part; nil stays nil.
func (p objectPart) with(other objectPart) objectPart {
	if traits, ok := other[traitsMember]; ok && p != nil {
		p[traitsMember] = traits
	}
	return p
}

// finish writes the providers, consumers and nodes.
func (b *eventBuilder) finish() {
	b.finishConsumers()
	for id, states := range b.providers {
		if !states.changed && !states.isRaised {
			continue
		}
		if states.isRaised && !states.isGone {
			states.after.Generation = &states.generation
		}
		change := HistoryProviderChange{}
		if !states.isNew {
			change.Before.value = &states.before
		}
		if !states.isGone {
			change.After.value = &states.after
		}
		if states.isNew {
			states.after.whole()
		}
		if states.isGone {
			states.before.whole()
		}
		put(&b.changes.Providers, id.String(), change)
	}
	for id, states := range b.nodes {
		put(&b.changes.Nodes, id.String(), HistoryObjectChange{states.before, states.after})
	}
}
