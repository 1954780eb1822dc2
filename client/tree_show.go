package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/oapi-codegen/nullable"

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
}

// ShownProvider is a provider of a shown tree.
type ShownProvider struct {
	Node
	Root uuid.UUID
	// Usages are by the classes of the inventories.
	Usages Resources
}

// ShownConsumer is a consumer of a shown tree, with all its allocations, also those elsewhere.
type ShownConsumer struct {
	Consumer
	// Places are the names and generations of the providers of its allocations.
	Places map[uuid.UUID]ShownPlace
	// SharingOnly is true for a consumer that uses only sharing providers, and none of the tree.
	SharingOnly bool
	// NodeAllocation is the allocation of the Bare Metal API that the consumer belongs to; nil: none.
	NodeAllocation *NodeAllocationName
}

// ShownPlace is a provider of a consumer's allocations.
type ShownPlace struct {
	Name       string    `json:"name"`
	Root       uuid.UUID `json:"root_provider_uuid"`
	Generation int64     `json:"generation"`
	// CreatedAt is when the consumer got the oldest of its allocations there.
	CreatedAt time.Time `json:"created_at"`
}

// TreeShow returns the tree of any of its providers, with parts; without any, the four parts of each provider. Everything is
// of one moment. It needs berth 1.4. A provider that does not exist is an ErrNotFound. A tree with more than 10,000 consumers
// is an ErrTooManyConsumers if they are requested.
func (c *Client) TreeShow(ctx context.Context, provider uuid.UUID, parts ...TreePart) (*ShownTree, error) {
	// A service without the route returns 404, as for a provider that does not exist.
	has, err := c.HasExtensions(ctx, readExtensions)
	if err == nil && !has {
		err = fmt.Errorf("not sent: %w berth %s", ErrExtensions, readExtensions)
	}
	if err != nil {
		return nil, err
	}
	names := make([]string, len(parts))
	for i, part := range parts {
		names[i] = string(part)
	}
	var answer treeOnWire
	err = c.getReading(ctx, &answer, "resource_providers/"+provider.String()+"/tree", []param{{"include", strings.Join(names, ",")}})
	var failed *Error
	if errors.As(err, &failed) && failed.Code == codeTooManyConsumers {
		return nil, fmt.Errorf("%w: %w", ErrTooManyConsumers, err)
	}
	if err != nil {
		return nil, err
	}
	return answer.shown(), nil
}

// treeOnWire is the body of a response.
type treeOnWire struct {
	Root      uuid.UUID                    `json:"root_provider_uuid"`
	Providers []providerOnWire             `json:"resource_providers"`
	Sharing   []providerOnWire             `json:"sharing_providers"`
	Consumers map[uuid.UUID]consumerOnWire `json:"consumers"`
}

type providerOnWire struct {
	UUID        uuid.UUID                `json:"uuid"`
	Name        string                   `json:"name"`
	Generation  int64                    `json:"generation"`
	Parent      *uuid.UUID               `json:"parent_provider_uuid"`
	Root        uuid.UUID                `json:"root_provider_uuid"`
	Inventories map[string]api.Inventory `json:"inventories"`
	Usages      Resources                `json:"usages"`
	Traits      []string                 `json:"traits"`
	Aggregates  []uuid.UUID              `json:"aggregates"`
}

type consumerOnWire struct {
	Allocations map[uuid.UUID]struct {
		ShownPlace
		Resources Resources `json:"resources"`
	} `json:"allocations"`
	ProjectID      string              `json:"project_id"`
	UserID         string              `json:"user_id"`
	Type           string              `json:"consumer_type"`
	Generation     int64               `json:"consumer_generation"`
	SharingOnly    bool                `json:"sharing_only"`
	NodeAllocation *NodeAllocationName `json:"node_allocation"`
}

func (t *treeOnWire) shown() *ShownTree {
	made := &ShownTree{Root: t.Root, Consumers: map[uuid.UUID]*ShownConsumer{}}
	for i := range t.Providers {
		made.Providers = append(made.Providers, t.Providers[i].shown())
	}
	for i := range t.Sharing {
		made.Sharing = append(made.Sharing, t.Sharing[i].shown())
	}
	for id, consumer := range t.Consumers {
		shown := &ShownConsumer{
			Consumer: Consumer{
				Allocations: map[uuid.UUID]Resources{}, Generation: new(consumer.Generation),
				ProjectID: consumer.ProjectID, UserID: consumer.UserID, Type: consumer.Type,
			},
			Places: map[uuid.UUID]ShownPlace{}, SharingOnly: consumer.SharingOnly, NodeAllocation: consumer.NodeAllocation,
		}
		for provider, allocations := range consumer.Allocations {
			shown.Allocations[provider] = allocations.Resources
			shown.Places[provider] = allocations.ShownPlace
		}
		made.Consumers[id] = shown
	}
	return made
}

func (p *providerOnWire) shown() ShownProvider {
	made := ShownProvider{
		Node: Node{
			UUID: p.UUID, Name: p.Name, Generation: new(p.Generation), Inventories: Inventories{}, Traits: p.Traits, Aggregates: p.Aggregates,
		},
		Root: p.Root, Usages: p.Usages,
	}
	if p.Parent != nil {
		made.Parent = *p.Parent
	}
	for class, record := range p.Inventories {
		made.Inventories[class] = full(record)
	}
	return made
}

// listed returns the provider as a list of providers has it.
func (p *ShownProvider) listed() api.Provider {
	made := api.Provider{UUID: p.UUID, Name: p.Name, Generation: *p.Generation, RootProviderUUID: p.Root}
	made.ParentProviderUUID = nullable.NewNullNullable[uuid.UUID]()
	if p.Parent != uuid.Nil {
		made.ParentProviderUUID = nullable.NewNullableWithValue(p.Parent)
	}
	return made
}
