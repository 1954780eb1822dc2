package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// Inventory is the inventory of one class on a provider. Its JSON form is the argument of the SQL functions.
type Inventory struct {
	Class           string  `json:"class"`
	Total           int32   `json:"total"`
	Reserved        int32   `json:"reserved"`
	MinUnit         int32   `json:"min_unit"`
	MaxUnit         int32   `json:"max_unit"`
	StepSize        int32   `json:"step_size"`
	AllocationRatio float64 `json:"allocation_ratio"`
	// Used is the sum of the allocations.
	Used       int64     `json:"-"`
	ModifiedAt time.Time `json:"-"`
}

// Inventories are all inventories of a provider, in class order.
type Inventories struct {
	Generation int64
	Records    []Inventory
}

// InventoryList returns a provider's inventories; ProviderNotFound if there is no such provider.
func (s *Store) InventoryList(ctx context.Context, provider uuid.UUID) (Inventories, error) {
	rows, err := postgres.QueryPrimary(ctx, s.pool, func(from db.DBTX) ([]db.InventoryListRow, error) {
		return s.queries.InventoryList(ctx, from, provider)
	})
	if err != nil {
		return Inventories{}, err
	}
	if len(rows) == 0 {
		return Inventories{}, unknownProvider(provider)
	}
	found := Inventories{Generation: rows[0].Generation}
	for _, row := range rows {
		if row.Class == "" {
			continue
		}
		found.Records = append(found.Records, Inventory{
			Class: row.Class, Total: row.Total, Reserved: row.Reserved, MinUnit: row.MinUnit, MaxUnit: row.MaxUnit,
			StepSize: row.StepSize, AllocationRatio: row.AllocationRatio, Used: row.Used, ModifiedAt: row.ModifiedAt,
		})
	}
	return found, nil
}

// InventoryReplace sets the inventories of a provider and returns its new generation. minCapacity is the minimum that
// total minus reserved must leave.
func (s *Store) InventoryReplace(
	ctx context.Context, provider uuid.UUID, generation int64, records []Inventory, minCapacity int32,
) (after int64, err error) {
	err = s.write(ctx, ofProvider(provider), func(to db.DBTX) (err error) {
		after, err = s.queries.InventoryReplace(ctx, to, db.InventoryReplaceParams{
			Provider: provider, Generation: generation, Records: encode(records), MinCapacity: minCapacity,
		})
		return err
	})
	return after, err
}

// InventoryClear deletes all inventories of a provider. A nil generation is not compared.
func (s *Store) InventoryClear(ctx context.Context, provider uuid.UUID, generation *int64) (after int64, err error) {
	err = s.write(ctx, ofProvider(provider), func(to db.DBTX) (err error) {
		after, err = s.queries.InventoryClear(ctx, to, provider, generation)
		return err
	})
	return after, err
}

// InventoryCreate adds a class to a provider's inventories. A nil generation is not compared.
func (s *Store) InventoryCreate(
	ctx context.Context, provider uuid.UUID, generation *int64, record Inventory, minCapacity int32,
) (after int64, err error) {
	err = s.write(ctx, ofProvider(provider), func(to db.DBTX) (err error) {
		after, err = s.queries.InventoryCreate(ctx, to, db.InventoryCreateParams{
			Provider: provider, Given: generation, Record: encode(record), MinCapacity: minCapacity,
		})
		return err
	})
	return after, err
}

// InventoryUpdate sets the values of an existing inventory.
func (s *Store) InventoryUpdate(
	ctx context.Context, provider uuid.UUID, generation int64, record Inventory, minCapacity int32,
) (after int64, err error) {
	err = s.write(ctx, ofProvider(provider), func(to db.DBTX) (err error) {
		after, err = s.queries.InventoryUpdate(ctx, to, db.InventoryUpdateParams{
			Provider: provider, Generation: generation, Record: encode(record), MinCapacity: minCapacity,
		})
		return err
	})
	return after, err
}

// InventoryDelete deletes the inventory of one class from a provider. A nil generation is not compared.
func (s *Store) InventoryDelete(
	ctx context.Context, provider uuid.UUID, generation *int64, class string,
) (after int64, err error) {
	err = s.write(ctx, ofProvider(provider), func(to db.DBTX) (err error) {
		after, err = s.queries.InventoryDelete(ctx, to, provider, generation, class)
		return err
	})
	return after, err
}

// InventoryPatch is a merge patch of a provider's inventories.
type InventoryPatch struct {
	// Changed has the members of the inventories to change or add, by class.
	Changed []InventoryMembers
	// Removed are the classes to remove.
	Removed []string
}

// InventoryMembers are members of the inventory of a class, by the names of the JSON form of Inventory. nil resets a
// member to its default.
type InventoryMembers struct {
	Class   string
	Members map[string]*float64
}

// MarshalJSON implements json.Marshaler: one object with the class and the members.
func (m InventoryMembers) MarshalJSON() ([]byte, error) {
	object := map[string]any{"class": m.Class}
	for name, value := range m.Members {
		object[name] = value
	}
	return json.Marshal(object)
}

// InventoryPatch changes the inventories of a provider and returns all of them afterwards. A nil generation is not
// compared. The generation increases if an inventory changes. minCapacity is as in InventoryReplace.
func (s *Store) InventoryPatch(
	ctx context.Context, provider uuid.UUID, generation *int64, patch InventoryPatch, minCapacity int32,
) (after Inventories, err error) {
	removed := append([]string{}, patch.Removed...)
	err = s.write(ctx, ofProvider(provider), func(to db.DBTX) error {
		rows, err := s.queries.InventoryPatch(ctx, to, db.InventoryPatchParams{
			Provider: provider, Given: generation, Records: encode(patch.Changed), Removed: removed, MinCapacity: minCapacity,
		})
		after = Inventories{}
		for _, row := range rows {
			after.Generation = row.Generation
			if row.Class != "" {
				after.Records = append(after.Records, Inventory{
					Class: row.Class, Total: row.Total, Reserved: row.Reserved, MinUnit: row.MinUnit, MaxUnit: row.MaxUnit,
					StepSize: row.StepSize, AllocationRatio: row.AllocationRatio,
				})
			}
		}
		return err
	})
	return after, err
}

// encode marshals an argument of type jsonb. A nil list would become null, which the functions do not accept.
func encode[T any](value T) json.RawMessage {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("cannot marshal plain data: %v", err))
	}
	if string(encoded) == "null" {
		return json.RawMessage("[]")
	}
	return encoded
}
