package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
)

// Inventory is how much of a class a provider has. Its JSON form is what the SQL
// functions take.
type Inventory struct {
	Class           string  `json:"class"`
	Total           int32   `json:"total"`
	Reserved        int32   `json:"reserved"`
	MinUnit         int32   `json:"min_unit"`
	MaxUnit         int32   `json:"max_unit"`
	StepSize        int32   `json:"step_size"`
	AllocationRatio float64 `json:"allocation_ratio"`
	// Used is the sum of what consumers have.
	Used       int64     `json:"-"`
	ModifiedAt time.Time `json:"-"`
}

// Inventories are all of a provider, in class order.
type Inventories struct {
	Generation int64
	Records    []Inventory
}

// InventoryList reads a provider's inventories; ProviderUnknown if there is no
// such provider.
func (s *Store) InventoryList(ctx context.Context, provider uuid.UUID) (Inventories, error) {
	rows, err := read(ctx, s, func(from db.DBTX) ([]db.InventoryListRow, error) {
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

// InventoryReplace gives a provider exactly these inventories and returns its new
// generation. minCapacity is the least that reservations must leave.
func (s *Store) InventoryReplace(
	ctx context.Context, provider uuid.UUID, generation int64, records []Inventory, minCapacity int32,
) (after int64, err error) {
	err = s.write(ctx, func() (err error) {
		after, err = s.queries.InventoryReplace(ctx, s.pool, db.InventoryReplaceParams{
			Provider: provider, Generation: generation, Records: encode(records), MinCapacity: minCapacity,
		})
		return err
	})
	return after, err
}

// InventoryClear takes all inventories from a provider.
func (s *Store) InventoryClear(ctx context.Context, provider uuid.UUID) (after int64, err error) {
	err = s.write(ctx, func() (err error) {
		after, err = s.queries.InventoryClear(ctx, s.pool, provider)
		return err
	})
	return after, err
}

// InventoryCreate adds a class to a provider's inventories.
func (s *Store) InventoryCreate(
	ctx context.Context, provider uuid.UUID, record Inventory, minCapacity int32,
) (after int64, err error) {
	err = s.write(ctx, func() (err error) {
		after, err = s.queries.InventoryCreate(ctx, s.pool, provider, encode(record), minCapacity)
		return err
	})
	return after, err
}

// InventoryUpdate gives new values to a class that the provider has.
func (s *Store) InventoryUpdate(
	ctx context.Context, provider uuid.UUID, generation int64, record Inventory, minCapacity int32,
) (after int64, err error) {
	err = s.write(ctx, func() (err error) {
		after, err = s.queries.InventoryUpdate(ctx, s.pool, db.InventoryUpdateParams{
			Provider: provider, Generation: generation, Record: encode(record), MinCapacity: minCapacity,
		})
		return err
	})
	return after, err
}

// InventoryDelete takes a class from a provider's inventories.
func (s *Store) InventoryDelete(ctx context.Context, provider uuid.UUID, class string) (after int64, err error) {
	err = s.write(ctx, func() (err error) {
		after, err = s.queries.InventoryDelete(ctx, s.pool, provider, class)
		return err
	})
	return after, err
}

// encode writes what a SQL function takes as jsonb. Lists must not be null.
func encode[T any](value T) json.RawMessage {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("plain data cannot fail to encode: %v", err))
	}
	if string(encoded) == "null" {
		return json.RawMessage("[]")
	}
	return encoded
}
