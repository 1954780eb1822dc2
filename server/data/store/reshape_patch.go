package store

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
)

// PatchedInventories is the patch of a provider's inventories in a reshape.
type PatchedInventories struct {
	Provider uuid.UUID `json:"provider"`
	// Generation is compared; nil: it is not.
	Generation *int64             `json:"generation"`
	Changed    []InventoryMembers `json:"records"`
	Removed    []string           `json:"removed"`
}

// PatchedConsumer is the patch of a consumer and its allocations in a reshape.
type PatchedConsumer struct {
	AllocationPatch
	// IsNew means that the request expects that the consumer does not exist; with a project, a user and a type it is
	// created.
	IsNew bool
	// Removed removes all allocations.
	Removed bool
}

// ReshapeResult is the generations after a reshape.
type ReshapeResult struct {
	// Providers are those whose generations changed.
	Providers []struct {
		Provider   uuid.UUID `json:"provider"`
		Generation int64     `json:"generation"`
	} `json:"providers"`
	// Consumers are those of the request. Generation is nil for one that does not exist.
	Consumers []struct {
		Consumer   uuid.UUID `json:"consumer"`
		Generation *int64    `json:"generation"`
	} `json:"consumers"`
}

// ReshapePatch changes some inventories and the allocations on them, all or nothing.
func (s *Store) ReshapePatch(
	ctx context.Context, inventories []PatchedInventories, consumers []PatchedConsumer,
) (result ReshapeResult, err error) {
	shapes := make([]PatchedInventories, 0, len(inventories))
	for _, shape := range inventories {
		// nil would become null, which is no JSON array
		shape.Changed, shape.Removed = append([]InventoryMembers{}, shape.Changed...), append([]string{}, shape.Removed...)
		shapes = append(shapes, shape)
	}
	params := flattenPatches(consumers)
	params.Inventories = encode(shapes)
	of := writeTargets{providers: slices.Clone(params.Providers), consumers: params.Consumers}
	for _, shape := range shapes {
		of.providers = append(of.providers, shape.Provider)
	}
	text, err := s.writeResult(ctx, of, func(to db.DBTX, caller, key *string) (json.RawMessage, error) {
		params.Caller, params.Key = caller, key
		return s.queries.ReshapePatch(ctx, to, params)
	})
	if err != nil {
		return result, err
	}
	return result, decodeResult(text, &result)
}

// flattenPatches returns patches of consumers as the parallel arrays that the SQL function takes.
func flattenPatches(consumers []PatchedConsumer) db.ReshapePatchParams {
	flat := db.ReshapePatchParams{
		Consumers: []uuid.UUID{}, Projects: []string{}, Users: []string{}, Types: []string{},
		Generations: []int64{}, Unseen: []bool{}, Removed: []bool{},
		Owners: []int32{}, Providers: []uuid.UUID{}, Classes: []string{}, Amounts: []int64{},
	}
	text := func(sent *string) string {
		if sent == nil {
			return ""
		}
		return *sent
	}
	for place, consumer := range consumers {
		generation := int64(-1)
		if consumer.Generation != nil {
			generation = *consumer.Generation
		}
		flat.Consumers = append(flat.Consumers, consumer.Consumer)
		flat.Projects = append(flat.Projects, text(consumer.ProjectID))
		flat.Users = append(flat.Users, text(consumer.UserID))
		flat.Types = append(flat.Types, text(consumer.Type))
		flat.Generations = append(flat.Generations, generation)
		flat.Unseen = append(flat.Unseen, consumer.IsNew)
		flat.Removed = append(flat.Removed, consumer.Removed)
		for _, allocation := range consumer.Allocations {
			flat.Owners = append(flat.Owners, int32(place+1))
			flat.Providers = append(flat.Providers, allocation.Provider)
			flat.Classes = append(flat.Classes, allocation.Class)
			flat.Amounts = append(flat.Amounts, allocation.Amount)
		}
	}
	return flat
}
