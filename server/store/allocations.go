package store

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
)

// Claim is a consumer and all it is to have. Without Allocations it loses what
// it has.
type Claim struct {
	Consumer  uuid.UUID
	ProjectID string
	UserID    string
	// Type is the consumer's type; empty: leave it as it is.
	Type string
	// Generation is what the client thinks the consumer's is; nil: the consumer
	// does not exist. Compared only from microversion 1.28 on.
	Generation  *int64
	Allocations []Allocation
}

// Allocation is an amount of a provider's class.
type Allocation struct {
	Provider uuid.UUID
	Class    string
	Amount   int64
}

// Shape is all the inventory that a reshape gives a provider.
type Shape struct {
	Provider   uuid.UUID   `json:"provider"`
	Generation int64       `json:"generation"`
	Records    []Inventory `json:"records"`
}

// ConsumerAllocations are what a consumer has. Empty: there is no such consumer.
type ConsumerAllocations struct {
	ProjectID  string
	UserID     string
	Generation int64
	// Type is nil for a consumer without one.
	Type *string
	Rows []AllocationRow
}

// AllocationRow is one allocation as read.
type AllocationRow struct {
	Allocation
	// Generation is the provider's, in a consumer's list, or the consumer's, in
	// a provider's.
	Generation int64
	Consumer   uuid.UUID
	CreatedAt  time.Time
}

// AllocationList reads what a consumer has, in the order it was claimed.
func (s *Store) AllocationList(ctx context.Context, consumer uuid.UUID) (ConsumerAllocations, error) {
	rows, err := read(ctx, s, func(from db.DBTX) ([]db.AllocationListRow, error) {
		return s.queries.AllocationList(ctx, from, consumer)
	})
	var found ConsumerAllocations
	for _, row := range rows {
		found.ProjectID, found.UserID = row.ProjectID, row.UserID
		found.Generation, found.Type = row.ConsumerGeneration, row.ConsumerType
		found.Rows = append(found.Rows, AllocationRow{
			Allocation: Allocation{Provider: row.Provider, Class: row.Class, Amount: row.Used},
			Generation: row.ProviderGeneration, Consumer: consumer, CreatedAt: row.CreatedAt,
		})
	}
	return found, err
}

// ProviderAllocationList reads a provider's generation and what consumers have
// of it, oldest first.
func (s *Store) ProviderAllocationList(ctx context.Context, provider uuid.UUID) (int64, []AllocationRow, error) {
	rows, err := read(ctx, s, func(from db.DBTX) ([]db.ProviderAllocationListRow, error) {
		return s.queries.ProviderAllocationList(ctx, from, provider)
	})
	if err != nil {
		return 0, nil, err
	}
	if len(rows) == 0 {
		return 0, nil, unknownProvider(provider)
	}
	var found []AllocationRow
	for _, row := range rows {
		if row.Consumer == nil {
			continue
		}
		found = append(found, AllocationRow{
			Allocation: Allocation{Provider: provider, Class: row.Class, Amount: row.Used},
			Generation: row.ConsumerGeneration, Consumer: *row.Consumer, CreatedAt: row.CreatedAt,
		})
	}
	return rows[0].Generation, found, nil
}

// AllocationReplace gives consumers exactly these allocations, all or nothing.
func (s *Store) AllocationReplace(ctx context.Context, claims []Claim, checkGenerations bool) error {
	params := flatten(claims, checkGenerations)
	return s.write(ctx, func() error { return s.queries.AllocationReplace(ctx, s.pool, params) })
}

// AllocationDelete takes everything from a consumer and says whether there was
// anything.
func (s *Store) AllocationDelete(ctx context.Context, consumer uuid.UUID) (existed bool, err error) {
	err = s.write(ctx, func() (err error) {
		existed, err = s.queries.AllocationDelete(ctx, s.pool, consumer)
		return err
	})
	return existed, err
}

// Reshape changes inventories and the allocations on them together.
func (s *Store) Reshape(ctx context.Context, shapes []Shape, claims []Claim) error {
	flat := flatten(claims, true)
	shapes = slices.Clone(shapes)
	for i := range shapes {
		if shapes[i].Records == nil {
			shapes[i].Records = []Inventory{} // null is no list of JSON
		}
	}
	params := db.ReshapeParams{
		Inventories: encode(shapes),
		Consumers:   flat.Consumers, Projects: flat.Projects, Users: flat.Users, Types: flat.Types,
		CheckGenerations: flat.CheckGenerations, Generations: flat.Generations, Unseen: flat.Unseen,
		Owners: flat.Owners, Providers: flat.Providers, Classes: flat.Classes, Amounts: flat.Amounts,
	}
	return s.write(ctx, func() error { return s.queries.Reshape(ctx, s.pool, params) })
}

// flatten lays claims out as the parallel arrays that the SQL functions take.
func flatten(claims []Claim, checkGenerations bool) db.AllocationReplaceParams {
	flat := db.AllocationReplaceParams{
		CheckGenerations: checkGenerations,
		Consumers:        []uuid.UUID{}, Projects: []string{}, Users: []string{}, Types: []string{},
		Generations: []int64{}, Unseen: []bool{},
		Owners: []int32{}, Providers: []uuid.UUID{}, Classes: []string{}, Amounts: []int64{},
	}
	for place, claim := range claims {
		flat.Consumers = append(flat.Consumers, claim.Consumer)
		flat.Projects = append(flat.Projects, claim.ProjectID)
		flat.Users = append(flat.Users, claim.UserID)
		flat.Types = append(flat.Types, claim.Type)
		flat.Unseen = append(flat.Unseen, claim.Generation == nil)
		var generation int64
		if claim.Generation != nil {
			generation = *claim.Generation
		}
		flat.Generations = append(flat.Generations, generation)
		for _, allocation := range claim.Allocations {
			flat.Owners = append(flat.Owners, int32(place+1))
			flat.Providers = append(flat.Providers, allocation.Provider)
			flat.Classes = append(flat.Classes, allocation.Class)
			flat.Amounts = append(flat.Amounts, allocation.Amount)
		}
	}
	return flat
}
