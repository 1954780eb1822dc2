package placement

import (
	"encoding/json"

	"github.com/berthd/berth/server/data/store"
)

// recordedConsumer is a consumer in the record: its attributes, if the write changed one of them, its lease, if it changed, and
// what it has of one provider, as far as it changed.
type recordedConsumer struct {
	Generation *int64           `json:"consumer_generation"`
	ProjectID  *string          `json:"project_id"`
	UserID     *string          `json:"user_id"`
	Type       *string          `json:"consumer_type"`
	Lease      json.RawMessage  `json:"lease"`
	Resources  map[string]int64 `json:"resources"`
}

// consumerStates are the two states of a consumer, as far as they differ.
type consumerStates struct {
	before, after ConsumerPart
	isNew, isGone bool
}

// addAllocations adds a change of a consumer on one provider, or of the consumer alone. A claim and its lease are two changes.
func (b *eventBuilder) addAllocations(change *store.HistoryChange) error {
	states := b.consumers[*change.Consumer]
	if states == nil {
		states = &consumerStates{}
		b.consumers[*change.Consumer] = states
	}
	states.isNew, states.isGone = states.isNew || change.Before == nil, states.isGone || change.After == nil
	was, err := recordedConsumerOf(change.Before)
	if err != nil {
		return err
	}
	is, err := recordedConsumerOf(change.After)
	if err != nil {
		return err
	}
	was.addTo(&states.before, is)
	is.addTo(&states.after, was)
	if was.Lease != nil || is.Lease != nil {
		if states.before.Lease, err = recordedLease(was.Lease); err != nil {
			return err
		}
		if states.after.Lease, err = recordedLease(is.Lease); err != nil {
			return err
		}
	}
	if change.Provider == nil {
		return nil
	}
	b.provider(change)
	provider := change.Provider.String()
	for part, resources := range map[*ConsumerPart]map[string]int64{&states.before: was.Resources, &states.after: is.Resources} {
		if len(resources) > 0 {
			put(&part.Allocations, provider, AllocationsPart{Resources: resources})
		}
	}
	return nil
}

// recordedConsumerOf decodes a state; the zero value is none.
func recordedConsumerOf(state json.RawMessage) (*recordedConsumer, error) {
	consumer := &recordedConsumer{}
	if state == nil {
		return consumer, nil
	}
	return consumer, json.Unmarshal(state, consumer)
}

// addTo adds the attributes that differ from another state. Without attributes in the record none differs.
func (c *recordedConsumer) addTo(part *ConsumerPart, other *recordedConsumer) {
	if c.ProjectID == nil || c.UserID == nil {
		return
	}
	if other.Generation == nil || *c.Generation != *other.Generation {
		part.Generation = c.Generation
	}
	if other.ProjectID == nil || *c.ProjectID != *other.ProjectID {
		part.ProjectID = c.ProjectID
	}
	if other.UserID == nil || *c.UserID != *other.UserID {
		part.UserID = c.UserID
	}
	if other.ProjectID == nil || typeName(c.Type) != typeName(other.Type) {
		part.Type = new(typeName(c.Type))
	}
}

// recordedLease returns a lease in the record as responses have it; nil is none.
func recordedLease(from json.RawMessage) (shownLease, error) {
	lease := &stateOrNull[Lease]{}
	if from == nil {
		return lease, nil
	}
	return lease, json.Unmarshal(from, &lease.value)
}

// finishConsumers writes the consumers.
func (b *eventBuilder) finishConsumers() {
	for id, states := range b.consumers {
		change := ConsumerChange{Before: stateOrNull[ConsumerPart]{&states.before}, After: stateOrNull[ConsumerPart]{&states.after}}
		for _, part := range []*ConsumerPart{&states.before, &states.after} {
			if isWhole := states.isNew || states.isGone; isWhole && part.Allocations == nil {
				part.Allocations = map[string]AllocationsPart{}
			}
		}
		if states.isNew {
			change.Before.value = nil
		}
		if states.isGone {
			change.After.value = nil
		}
		put(&b.changes.Consumers, id.String(), change)
	}
}
