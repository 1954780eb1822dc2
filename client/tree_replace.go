package client

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

// WantedProvider is a provider of a tree as it should be.
type WantedProvider struct {
	UUID uuid.UUID `json:"uuid"`
	Name string    `json:"name"`
	// Parent is nil for the root.
	Parent *uuid.UUID `json:"parent_provider_uuid"`
	// Generation is nil for a provider that does not exist.
	Generation *int64 `json:"generation"`
	// Inventories, Traits and Aggregates are all that the provider should have. Nil ones stay; empty ones are deleted.
	Inventories Inventories `json:"inventories,omitzero"`
	Traits      []string    `json:"traits,omitzero"`
	Aggregates  []uuid.UUID `json:"aggregates,omitzero"`
}

// WantedTree is a request to create, change and delete providers of one tree. Providers that it does not name stay.
type WantedTree struct {
	Providers []WantedProvider
	// Deleted are the generations of the providers to delete.
	Deleted map[uuid.UUID]int64
	// Consumers are complete records, as for AllocationReplaceMany. All must have a type.
	Consumers Allocations
}

// wantedTree is the body of a request.
type wantedTree struct {
	Providers []WantedProvider             `json:"resource_providers"`
	Deleted   map[uuid.UUID]generationOnly `json:"deleted_providers,omitempty"`
	Consumers map[uuid.UUID]claimed        `json:"consumers,omitempty"`
}

type generationOnly struct {
	Generation int64 `json:"generation"`
}

// MarshalJSON implements json.Marshaler.
func (w WantedTree) MarshalJSON() ([]byte, error) {
	tree := wantedTree{Providers: w.Providers, Deleted: map[uuid.UUID]generationOnly{}, Consumers: map[uuid.UUID]claimed{}}
	if tree.Providers == nil {
		tree.Providers = []WantedProvider{}
	}
	for id, generation := range w.Deleted {
		tree.Deleted[id] = generationOnly{generation}
	}
	for id, record := range w.Consumers {
		tree.Consumers[id] = claimed{
			Allocations: takenOf(record.Allocations), Generation: record.Generation, Type: record.Type,
			ProjectID: record.ProjectID, UserID: record.UserID,
		}
	}
	return json.Marshal(tree)
}

// UnmarshalJSON implements json.Unmarshaler.
func (w *WantedTree) UnmarshalJSON(text []byte) error {
	var read wantedTree
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	*w = WantedTree{Providers: read.Providers, Deleted: map[uuid.UUID]int64{}, Consumers: Allocations{}}
	for id, record := range read.Deleted {
		w.Deleted[id] = record.Generation
	}
	for id, record := range read.Consumers {
		consumer := &Consumer{
			Allocations: map[uuid.UUID]Resources{}, Generation: record.Generation,
			ProjectID: record.ProjectID, UserID: record.UserID, Type: record.Type,
		}
		for provider, amounts := range record.Allocations {
			consumer.Allocations[provider] = amounts.Resources
		}
		w.Consumers[id] = consumer
	}
	return nil
}

// TreeReplace creates, changes and deletes providers of the tree of a root, and replaces allocations of consumers, in one
// transaction. The root may be new. The service creates custom resource classes and traits that do not exist.
//
// The result has each provider and consumer that was named or lost or got something, with its new generation: Change is
// created, updated, unchanged or deleted. A request that describes what is there changes nothing, whatever its generations, so it can be sent again. It needs
// berth 1.3.
func (c *Client) TreeReplace(ctx context.Context, root uuid.UUID, wanted WantedTree) (api.TreeChanged, error) {
	var done api.TreeChanged
	return done, c.do(ctx, &done, request{
		method: http.MethodPut, path: "resource_providers/" + root.String() + "/tree", body: wanted,
		needs: berth13, asksFirst: true,
	})
}
