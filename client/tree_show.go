package client

import (
	"context"
	"errors"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

// TreePart is a part of a shown tree.
type TreePart string

// The parts of a shown tree. Inventories, usages, traits and aggregates are parts of each provider.
const (
	TreeInventories TreePart = "inventories"
	TreeUsages      TreePart = "usages"
	TreeTraits      TreePart = "traits"
	TreeAggregates  TreePart = "aggregates"
	// TreeSharing adds the sharing providers of other trees that the tree reaches by its aggregates.
	TreeSharing TreePart = "sharing"
	// TreeConsumers adds the consumers; with TreeSharing also those that use only sharing providers.
	TreeConsumers TreePart = "consumers"
)

// codeTooManyConsumers is the code of a tree with more consumers than the service puts into one response.
const codeTooManyConsumers = "berth.tree.too_many_consumers"

// ErrTooManyConsumers is the error of TreeShow for a tree with more consumers than the service puts into one response.
var ErrTooManyConsumers = errors.New("the tree has too many consumers for one response")

// ShownTree is a provider tree at one moment. Parts that were not requested are empty.
type ShownTree struct {
	Root uuid.UUID
	// Providers are those of the tree, and Sharing those of other trees. Parents precede children.
	Providers, Sharing []ShownProvider
	Consumers          map[uuid.UUID]*ShownConsumer
	// At is the moment of TreeShowAt; nil for a tree of now.
	At *api.HistoryMoment
}

// ShownProvider is a provider of a shown tree.
type ShownProvider struct {
	Node
	Root uuid.UUID
	// Usages are by the classes of the inventories.
	Usages Resources
}

// ShownConsumer is a consumer of a shown tree, with all its allocations, also those elsewhere. Its Lease is nil without one, and
// if the context does not select berth 1.6.
type ShownConsumer struct {
	Consumer
	// Places are its allocations with the names and generations of their providers.
	Places map[uuid.UUID]api.AllocationsOnNamedProvider
	// SharingOnly is true for a consumer that uses only sharing providers, and none of the tree.
	SharingOnly bool
	// NodeAllocation is the allocation of the Bare Metal API that the consumer belongs to; nil: none.
	NodeAllocation *api.NodeAllocationName
}

// TreeShow returns the tree of any of its providers, with parts; without any, the four parts of each provider. Everything is
// of one moment. It needs berth 1.4. A provider that does not exist is an ErrNotFound. A tree with more than 10,000 consumers
// is an ErrTooManyConsumers if they are requested.
func (c *Client) TreeShow(ctx context.Context, provider uuid.UUID, parts ...TreePart) (*ShownTree, error) {
	// A service without the route returns 404, as for a provider that does not exist.
	if err := c.require(ctx, berth14); err != nil {
		return nil, err
	}
	return c.treeShow(ctx, provider, nil, berth14, parts)
}

// shownTree returns the tree of a response.
func shownTree(t *api.TreeShown) *ShownTree {
	tree := &ShownTree{Root: t.RootProviderUUID, Consumers: map[uuid.UUID]*ShownConsumer{}, At: t.At}
	for i := range t.ResourceProviders {
		tree.Providers = append(tree.Providers, shownProvider(&t.ResourceProviders[i]))
	}
	for i := range t.SharingProviders {
		tree.Sharing = append(tree.Sharing, shownProvider(&t.SharingProviders[i]))
	}
	for id, consumer := range t.Consumers {
		shown := &ShownConsumer{
			Consumer: Consumer{
				Allocations: map[uuid.UUID]Resources{}, Generation: new(consumer.ConsumerGeneration),
				ProjectID: consumer.ProjectID, UserID: consumer.UserID, Type: consumer.ConsumerType, Lease: leaseOf(consumer.Lease),
			},
			Places: consumer.Allocations, SharingOnly: consumer.SharingOnly, NodeAllocation: consumer.NodeAllocation,
		}
		for provider, allocations := range consumer.Allocations {
			shown.Allocations[provider] = allocations.Resources
		}
		tree.Consumers[id] = shown
	}
	return tree
}

func shownProvider(p *api.TreeShownProvider) ShownProvider {
	provider := ShownProvider{
		Node: Node{
			UUID: p.UUID, Name: p.Name, Generation: p.Generation, Inventories: Inventories{}, Traits: p.Traits, Aggregates: p.Aggregates,
		},
		Root: p.RootProviderUUID, Usages: p.Usages,
	}
	if p.ParentProviderUUID != nil {
		provider.Parent = *p.ParentProviderUUID
	}
	for class, record := range p.Inventories {
		provider.Inventories[class] = RecordOf(record)
	}
	return provider
}

// listed returns the provider as a list of providers has it.
func (p *ShownProvider) listed() api.Provider {
	provider := api.Provider{UUID: p.UUID, Name: p.Name, Generation: *p.Generation, RootProviderUUID: p.Root}
	if p.Parent != uuid.Nil {
		provider.ParentProviderUUID = &p.Parent
	}
	return provider
}
