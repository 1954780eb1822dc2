package store

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// Claim is a consumer and all its new allocations. Without Allocations it deletes those of the consumer.
type Claim struct {
	Consumer  uuid.UUID
	ProjectID string
	UserID    string
	// Type is the consumer's type; empty: unchanged.
	Type string
	// Generation is the consumer's generation as the client knows it; nil: the consumer does not exist. The store
	// compares it only from microversion 1.28 on.
	Generation  *int64
	Allocations []Allocation
	// Lease is what the request gives the consumer; nil: a new consumer gets none, and others keep theirs.
	Lease *LeaseTerms
}

// Allocation is an amount of a resource class on a provider.
type Allocation struct {
	Provider uuid.UUID
	Class    string
	Amount   int64
}

// ReshapedProvider is the complete inventories of a provider after a reshape.
type ReshapedProvider struct {
	Provider   uuid.UUID   `json:"provider"`
	Generation int64       `json:"generation"`
	Records    []Inventory `json:"records"`
}

// ConsumerAllocations are the allocations of a consumer. Empty: there is no such consumer.
type ConsumerAllocations struct {
	ProjectID  string
	UserID     string
	Generation int64
	// Type is nil for a consumer without one.
	Type *string
	// Lease is nil for a consumer without one.
	Lease *Lease
	Rows  []AllocationRow
}

// AllocationRow is one allocation in a list.
type AllocationRow struct {
	Allocation
	// Generation is the provider's in the list of a consumer, and the consumer's in the list of a provider.
	Generation int64
	Consumer   uuid.UUID
	CreatedAt  time.Time
}

// AllocationList returns the allocations of a consumer, in the order of the claim.
func (s *Store) AllocationList(ctx context.Context, consumer uuid.UUID) (ConsumerAllocations, error) {
	rows, err := postgres.QueryPrimary(ctx, s.pool, func(from db.DBTX) ([]db.AllocationListRow, error) {
		return s.queries.AllocationList(ctx, from, consumer)
	})
	var found ConsumerAllocations
	if len(rows) > 0 && err == nil {
		found.Lease, err = leaseOf(rows[0].Lease)
	}
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

// ProviderAllocationList returns a provider's generation and the allocations on it, oldest first.
func (s *Store) ProviderAllocationList(ctx context.Context, provider uuid.UUID) (int64, []AllocationRow, error) {
	rows, err := postgres.QueryPrimary(ctx, s.pool, func(from db.DBTX) ([]db.ProviderAllocationListRow, error) {
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

// AllocationReplace replaces the allocations of all these consumers, or of none.
func (s *Store) AllocationReplace(ctx context.Context, claims []Claim, checkGenerations bool) error {
	params := flatten(claims, checkGenerations)
	params.Leases = leasesOf(claims, false)
	of := writeTargets{providers: params.Providers, consumers: params.Consumers, brief: true}
	if caller := s.caller(ctx); caller != "" {
		return s.write(sendsCaller(ctx), of, func(to db.DBTX) error {
			return s.queries.AllocationReplaceRecorded(ctx, to, db.AllocationReplaceRecordedParams{
				Leases: params.Leases, Consumers: params.Consumers, Caller: caller, Projects: params.Projects, Users: params.Users,
				Types: params.Types, CheckGenerations: params.CheckGenerations, Generations: params.Generations, Unseen: params.Unseen,
				Owners: params.Owners, Providers: params.Providers, Classes: params.Classes, Amounts: params.Amounts,
			})
		})
	}
	return s.write(ctx, of, func(to db.DBTX) error { return s.queries.AllocationReplace(ctx, to, params) })
}

// AllocationDelete deletes all allocations of a consumer and reports whether there were any. A nil generation is not
// compared.
func (s *Store) AllocationDelete(ctx context.Context, consumer uuid.UUID, generation *int64) (existed bool, err error) {
	err = s.write(ctx, writeTargets{consumers: []uuid.UUID{consumer}, brief: true}, func(to db.DBTX) (err error) {
		existed, err = s.queries.AllocationDelete(ctx, to, consumer, generation)
		return err
	})
	return existed, err
}

// Reshape replaces inventories and the allocations on them in one transaction.
func (s *Store) Reshape(ctx context.Context, shapes []ReshapedProvider, claims []Claim) error {
	flat := flatten(claims, true)
	shapes = slices.Clone(shapes)
	for i := range shapes {
		if shapes[i].Records == nil {
			shapes[i].Records = []Inventory{} // nil would become null, which is no JSON array
		}
	}
	params := db.ReshapeParams{
		Inventories: encode(shapes), Leases: leasesOf(claims, false),
		Consumers: flat.Consumers, Projects: flat.Projects, Users: flat.Users, Types: flat.Types,
		CheckGenerations: flat.CheckGenerations, Generations: flat.Generations, Unseen: flat.Unseen,
		Owners: flat.Owners, Providers: flat.Providers, Classes: flat.Classes, Amounts: flat.Amounts,
	}
	of := writeTargets{providers: slices.Clone(flat.Providers), consumers: flat.Consumers}
	for i := range shapes {
		of.providers = append(of.providers, shapes[i].Provider)
	}
	return s.write(ctx, of, func(to db.DBTX) error { return s.queries.Reshape(ctx, to, params) })
}

// flatten returns claims as the parallel arrays that the SQL functions take.
func flatten(claims []Claim, checkGenerations bool) db.AllocationReplaceParams {
	flat := db.AllocationReplaceParams{
		CheckGenerations: checkGenerations,
		Consumers:        []uuid.UUID{}, Projects: []string{}, Users: []string{}, Types: []string{},
		Generations: []int64{}, Unseen: []bool{},
		Owners: []int32{}, Providers: []uuid.UUID{}, Classes: []string{}, Amounts: []int64{},
	}
	amounts := 0
	for i := range claims {
		amounts += len(claims[i].Allocations)
	}
	flat.Owners, flat.Providers = slices.Grow(flat.Owners, amounts), slices.Grow(flat.Providers, amounts)
	flat.Classes, flat.Amounts = slices.Grow(flat.Classes, amounts), slices.Grow(flat.Amounts, amounts)
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
