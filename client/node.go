package client

import (
	"slices"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

// InventoryRecord is the inventory of one resource class. Only Total is required; the server chooses the value of a nil
// field. In comparisons of trees a nil field equals every value.
type InventoryRecord = api.InventoryRecord

// Inventories are inventories by resource class.
type Inventories map[string]InventoryRecord

// Resources are amounts by resource class.
type Resources map[string]int64

// Node is a copy of a provider of a ProviderTree. Editing it does not change the tree.
type Node struct {
	UUID uuid.UUID
	Name string
	// Parent is the provider above, uuid.Nil for a root.
	Parent uuid.UUID
	// Generation is the one that the server told last, nil where the server does
	// not know the provider yet.
	Generation *int64
	// Inventories may be empty, never nil.
	Inventories Inventories
	// Traits and Aggregates are sorted and without repetition.
	Traits     []string
	Aggregates []uuid.UUID
}

// Consumer is the record of a consumer: all of its allocations, its project, user, type and generation, as in the
// response of GET /allocations/{consumer_uuid}. It can be edited and sent back.
type Consumer struct {
	// Allocations are by provider.
	Allocations map[uuid.UUID]Resources
	// Generation is nil for a consumer that does not exist yet.
	Generation        *int64
	ProjectID, UserID string
	// Type is such as INSTANCE; "unknown" for a consumer that has none.
	Type string
	// Lease is the lease that was read; nil without one, and if the context does not select berth 1.6. Writes ignore it.
	Lease *Lease
	// NewLease is the lease to write, which needs berth 1.6; nil: a new consumer has none, and others keep theirs.
	NewLease *LeaseTerms
}

// Allocations are consumers by their uuid.
type Allocations map[uuid.UUID]*Consumer

// Clone copies deeply.
func (c *Consumer) Clone() *Consumer {
	copied := *c
	if c.Generation != nil {
		copied.Generation = new(*c.Generation)
	}
	if c.Lease != nil {
		copied.Lease = new(*c.Lease)
	}
	if c.NewLease != nil {
		copied.NewLease = new(*c.NewLease)
	}
	copied.Allocations = make(map[uuid.UUID]Resources, len(c.Allocations))
	for provider, resources := range c.Allocations {
		copied.Allocations[provider] = resources.clone()
	}
	return &copied
}

func (r Resources) clone() Resources {
	copied := make(Resources, len(r))
	for class, amount := range r {
		copied[class] = amount
	}
	return copied
}

// Clone copies deeply.
func (a Allocations) Clone() Allocations {
	copied := make(Allocations, len(a))
	for consumer, record := range a {
		copied[consumer] = record.Clone()
	}
	return copied
}

// Consumers returns the UUIDs of the consumers, sorted.
func (a Allocations) Consumers() []uuid.UUID {
	all := make([]uuid.UUID, 0, len(a))
	for consumer := range a {
		all = append(all, consumer)
	}
	slices.SortFunc(all, func(x, y uuid.UUID) int { return slices.Compare(x[:], y[:]) })
	return all
}
