package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
)

// AllocationPatch is a merge patch of a consumer and its allocations.
type AllocationPatch struct {
	Consumer uuid.UUID
	// Generation is compared; nil: it is not.
	Generation *int64
	// ProjectID, UserID and Type are unchanged if they are nil.
	ProjectID, UserID, Type *string
	// Allocations have the new amounts. The amount 0 removes an allocation, and with an empty class all allocations on
	// the provider.
	Allocations []Allocation
	// Lease is what the patch gives the consumer; nil: it keeps what it has.
	Lease *LeaseTerms
}

// AllocationPatch changes some allocations of a consumer and returns all of them afterwards; none: the consumer is
// deleted. ConsumerNotFound: it did not exist.
func (s *Store) AllocationPatch(ctx context.Context, patch AllocationPatch) (after ConsumerAllocations, err error) {
	params := db.AllocationPatchParams{
		Consumer: patch.Consumer, Given: patch.Generation, Project: patch.ProjectID, Owner: patch.UserID, Type: patch.Type,
		Providers: []uuid.UUID{}, Classes: []string{}, Amounts: []int64{},
	}
	if patch.Lease != nil {
		params.ChangedLease = encode(patch.Lease)
	}
	for _, allocation := range patch.Allocations {
		params.Providers = append(params.Providers, allocation.Provider)
		params.Classes = append(params.Classes, allocation.Class)
		params.Amounts = append(params.Amounts, allocation.Amount)
	}
	err = s.write(ctx, writeTargets{providers: params.Providers, consumers: []uuid.UUID{patch.Consumer}, brief: true}, func(to db.DBTX) error {
		rows, err := s.queries.AllocationPatch(ctx, to, params)
		after = ConsumerAllocations{}
		if len(rows) > 0 && err == nil {
			after.Lease, err = leaseOf(rows[0].Lease)
		}
		for _, row := range rows {
			after.ProjectID, after.UserID, after.Generation = row.ProjectID, row.UserID, row.ConsumerGeneration
			if row.ConsumerType != "" {
				after.Type = &row.ConsumerType
			}
			after.Rows = append(after.Rows, AllocationRow{
				Allocation: Allocation{Provider: row.Provider, Class: row.Class, Amount: row.Used},
				Generation: row.ProviderGeneration, Consumer: patch.Consumer,
			})
		}
		return err
	})
	return after, err
}
