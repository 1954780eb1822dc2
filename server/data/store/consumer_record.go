package store

import (
	"time"

	"github.com/google/uuid"
)

// ConsumerRecord is a consumer with everything that it has.
type ConsumerRecord struct {
	UUID              uuid.UUID
	ProjectID, UserID string
	// Type is the consumer type; nil: unknown.
	Type       *string
	Generation int64
	// CreatedAt is zero for a consumer as it was, if it was deleted since.
	CreatedAt time.Time
	// UpdatedAt is CreatedAt if the consumer was never changed. It is zero for a consumer as it was, if it has changed since.
	UpdatedAt time.Time
	// Resources are the sums of the allocations by class, in the order of the classes, and ProviderCount is the number of
	// providers. Only lists of consumers have them.
	Resources     []Amount
	ProviderCount int
	// Allocations are in the order of their ids.
	Allocations []ConsumerAllocation
	// NodeAllocation is the allocation of the Bare Metal API that made the consumer; nil: none did.
	NodeAllocation *NodeAllocationName
	// Lease is nil for a consumer without one.
	Lease *Lease
	// SharingOnly: it has something of providers that a tree reaches, and nothing but shares.
	SharingOnly bool
}

// ConsumerAllocation is an amount of a class that a consumer has on a provider.
type ConsumerAllocation struct {
	Provider, Root uuid.UUID
	ProviderName   string
	// ProviderGeneration can be UnknownGeneration in a consumer as it was.
	ProviderGeneration int64
	Class              string
	Used               int64
	// CreatedAt is zero in a consumer as it was, if the allocation has changed since.
	CreatedAt time.Time
}

// NodeAllocationName is the name of a node allocation; its UUID is that of its consumer.
type NodeAllocationName struct {
	// Name is nil if it has none.
	Name *string
}
