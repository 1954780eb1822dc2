package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// Tree is the new state of some providers of a tree, and of some consumers. Its parts are consistent: no provider is
// named twice, only the root has no parent, and the named parents make no cycle.
type Tree struct {
	// Root is the provider of the path. It need not be one of Providers if it exists.
	Root      uuid.UUID
	Providers []TreeProvider
	Deleted   []DeletedProvider
	// Claims are all new allocations of each named consumer.
	Claims []Claim
}

// TreeProvider is the new state of a provider. Nil Inventories, Traits and Aggregates stay as they are.
type TreeProvider struct {
	UUID   uuid.UUID  `json:"uuid"`
	Name   string     `json:"name"`
	Parent *uuid.UUID `json:"parent"`
	// Generation is compared; nil: the provider does not exist.
	Generation  *int64      `json:"generation"`
	Inventories []Inventory `json:"inventories"`
	Traits      []string    `json:"traits"`
	Aggregates  []uuid.UUID `json:"aggregates"`
}

// DeletedProvider is a provider to delete.
type DeletedProvider struct {
	UUID       uuid.UUID `json:"uuid"`
	Generation int64     `json:"generation"`
}

// TreeResult is what became of the providers and consumers of a request, in its order. Providers that it does not name
// but whose allocations change follow.
type TreeResult struct {
	Providers []TreeProviderResult `json:"providers"`
	Consumers []TreeConsumerResult `json:"consumers"`
}

// TreeProviderResult is what became of a provider.
type TreeProviderResult struct {
	Provider uuid.UUID `json:"provider"`
	// Change is created, updated, unchanged or deleted.
	Change string `json:"change"`
	// Changed are the parts of an updated provider that differ.
	Changed []string `json:"changed"`
	// Generation is nil for a provider that does not exist.
	Generation *int64 `json:"generation"`
}

// TreeConsumerResult is what became of a consumer.
type TreeConsumerResult struct {
	Consumer uuid.UUID `json:"consumer"`
	// Change is created, updated, unchanged or deleted.
	Change string `json:"change"`
	// Generation is nil for a consumer that does not exist.
	Generation *int64 `json:"consumer_generation"`
}

// TreeDeleted is the change of a provider or consumer that a write deleted.
const TreeDeleted = "deleted"

// treeWrite also retries after a provider name that another request took since the function compared it. The retry
// finds the name, and returns ProviderNameInUse with it.
var treeWrite = postgres.WriteKind{
	RetryStates: retryableStates, RetryConstraints: []string{string(ProviderNameTaken)},
	Contended: contended, LockTimeout: placementWrite.LockTimeout,
}

// TreeReplace creates, changes and deletes providers of a tree and sets allocations, all or nothing. If nothing differs
// it takes no lock.
func (s *Store) TreeReplace(ctx context.Context, tree Tree) (result TreeResult, err error) {
	flat := flatten(tree.Claims, true)
	params := db.TreeReplaceParams{
		Root: tree.Root, Tree: encode(tree.Providers), Deleted: encode(tree.Deleted),
		Consumers: flat.Consumers, Projects: flat.Projects, Users: flat.Users, Types: flat.Types,
		Generations: flat.Generations, Unseen: flat.Unseen,
		Owners: flat.Owners, Providers: flat.Providers, Classes: flat.Classes, Amounts: flat.Amounts,
	}
	err = s.writePlacement(ctx, treeWrite, tree.targets(), func(to db.DBTX) error {
		text, err := s.queries.TreeReplace(ctx, to, params)
		if err != nil {
			return err
		}
		result = TreeResult{}
		return decodeResult(text, &result)
	})
	return result, err
}

// targets returns what the write of the tree names.
func (t *Tree) targets() writeTargets {
	of := writeTargets{providers: []uuid.UUID{t.Root}}
	for i := range t.Providers {
		provider := &t.Providers[i]
		of.providers = append(of.providers, provider.UUID)
		of.traits = append(of.traits, provider.Traits...)
		for _, inventory := range provider.Inventories {
			of.classes = append(of.classes, inventory.Class)
		}
	}
	for _, deleted := range t.Deleted {
		of.providers = append(of.providers, deleted.UUID)
	}
	for i := range t.Claims {
		of.consumers = append(of.consumers, t.Claims[i].Consumer)
		for _, allocation := range t.Claims[i].Allocations {
			of.providers = append(of.providers, allocation.Provider)
		}
	}
	return of
}

// decodeResult decodes the JSON that a function returned.
func decodeResult(text json.RawMessage, into any) error {
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("result of a function: %w", err)
	}
	return nil
}
