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

// addAllocations adds a change of a consumer on one provider, or of the consumer alone.
func (b *eventBuilder) addAllocations(change *store.HistoryChange) error {
	id := change.Consumer.String()
	consumer, known := b.changes.Consumers[id]
	var was, is recordedConsumer
	for _, side := range []struct {
		from json.RawMessage
		into *recordedConsumer
	}{{change.Before, &was}, {change.After, &is}} {
		if side.from == nil {
			continue
		}
		if err := json.Unmarshal(side.from, side.into); err != nil {
			return err
		}
	}
	isWhole := change.Before == nil || change.After == nil
	if !known {
		if change.Before != nil {
			consumer.Before.value = was.part(&is, isWhole)
		}
		if change.After != nil {
			consumer.After.value = is.part(&was, isWhole)
		}
		if err := addRecordedLeases(&consumer, &was, &is); err != nil {
			return err
		}
	}
	if change.Provider != nil {
		b.provider(change)
		addRecordedResources(consumer.Before.value, change.Provider.String(), was.Resources)
		addRecordedResources(consumer.After.value, change.Provider.String(), is.Resources)
	}
	put(&b.changes.Consumers, id, consumer)
	return nil
}

// part returns the attributes that differ from another state, or all. Without attributes in the record none differs.
func (c *recordedConsumer) part(other *recordedConsumer, isWhole bool) *ConsumerPart {
	part := &ConsumerPart{}
	if isWhole {
		part.Allocations = map[string]AllocationsPart{}
	}
	if c.ProjectID == nil || c.UserID == nil {
		return part
	}
	if isWhole || other.Generation == nil || *c.Generation != *other.Generation {
		part.Generation = c.Generation
	}
	if isWhole || other.ProjectID == nil || *c.ProjectID != *other.ProjectID {
		part.ProjectID = c.ProjectID
	}
	if isWhole || other.UserID == nil || *c.UserID != *other.UserID {
		part.UserID = c.UserID
	}
	if isWhole || typeName(c.Type) != typeName(other.Type) {
		part.Type = new(typeName(c.Type))
	}
	return part
}

// addRecordedLeases adds the leases of a write that changed the lease.
func addRecordedLeases(to *ConsumerChange, was, is *recordedConsumer) error {
	if was.Lease == nil && is.Lease == nil {
		return nil
	}
	for _, side := range []struct {
		from json.RawMessage
		into *ConsumerPart
	}{{was.Lease, to.Before.value}, {is.Lease, to.After.value}} {
		if side.into == nil {
			continue
		}
		lease := &stateOrNull[Lease]{}
		if side.from != nil {
			if err := json.Unmarshal(side.from, &lease.value); err != nil {
				return err
			}
		}
		side.into.Lease = lease
	}
	return nil
}

// addRecordedResources adds what a consumer has of a provider; nil: the consumer does not exist.
func addRecordedResources(to *ConsumerPart, provider string, resources map[string]int64) {
	if to == nil || len(resources) == 0 {
		return
	}
	put(&to.Allocations, provider, AllocationsPart{Resources: resources})
}
