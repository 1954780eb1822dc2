package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// Named is a trait or resource class, and when it was last written.
type Named struct {
	Name       string
	ModifiedAt time.Time
}

// TraitFilter selects traits. The zero value selects all.
type TraitFilter struct {
	// Names are exact; nil: any name.
	Names []string
	// Prefix is a LIKE pattern; nil: any.
	Prefix *string
	// Associated selects traits that some, or no, provider has; nil: both.
	Associated *bool
}

// TraitList returns traits in id order.
func (s *Store) TraitList(ctx context.Context, filter TraitFilter) ([]Named, error) {
	rows, err := postgres.QueryReplicaOrPrimary(ctx, s.pool, func(from db.DBTX) ([]db.TraitListRow, error) {
		return s.queries.TraitList(ctx, from, filter.Names, filter.Prefix, filter.Associated)
	})
	traits := make([]Named, 0, len(rows))
	for _, row := range rows {
		traits = append(traits, Named(row))
	}
	return traits, err
}

// TraitShow returns when a trait was created; TraitNotFound if it does not exist.
func (s *Store) TraitShow(ctx context.Context, name string) (time.Time, error) {
	created, err := postgres.QueryPrimary(ctx, s.pool, func(from db.DBTX) (time.Time, error) {
		return s.queries.TraitShow(ctx, from, name)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return created, &RuleViolation{Rule: TraitNotFound, Values: Values{Traits: name}}
	}
	return created, err
}

// TraitEnsure creates a trait unless it exists. It reports whether it created it, and returns the time of creation.
func (s *Store) TraitEnsure(ctx context.Context, name string) (created bool, at time.Time, err error) {
	err = s.write(ctx, writeTargets{traits: []string{name}}, func(to db.DBTX) error {
		row, err := s.queries.TraitEnsure(ctx, to, name)
		created, at = row.Created, row.CreatedAt
		return err
	})
	return created, at, err
}

// TraitDelete deletes a custom trait that no provider has.
func (s *Store) TraitDelete(ctx context.Context, name string) error {
	return s.write(ctx, writeTargets{traits: []string{name}}, func(to db.DBTX) error { return s.queries.TraitDelete(ctx, to, name) })
}

// ProviderTraitList returns a provider's generation and traits in id order.
func (s *Store) ProviderTraitList(ctx context.Context, provider uuid.UUID) (int64, []Named, error) {
	rows, err := postgres.QueryPrimary(ctx, s.pool, func(from db.DBTX) ([]db.ProviderTraitListRow, error) {
		return s.queries.ProviderTraitList(ctx, from, provider)
	})
	if err != nil {
		return 0, nil, err
	}
	if len(rows) == 0 {
		return 0, nil, unknownProvider(provider)
	}
	traits := make([]Named, 0, len(rows))
	for _, row := range rows {
		if row.Name != "" {
			traits = append(traits, Named{Name: row.Name, ModifiedAt: row.ModifiedAt})
		}
	}
	return rows[0].Generation, traits, nil
}

// ProviderTraitReplace sets the traits of a provider and returns its generation and traits afterwards.
func (s *Store) ProviderTraitReplace(
	ctx context.Context, provider uuid.UUID, generation int64, names []string,
) (after int64, traits []Named, err error) {
	err = s.write(ctx, ofProvider(provider), func(to db.DBTX) error {
		rows, err := s.queries.ProviderTraitReplace(ctx, to, names, provider, generation)
		traits = make([]Named, 0, len(rows))
		for _, row := range rows {
			after = row.Generation
			if row.Name != "" {
				traits = append(traits, Named{Name: row.Name, ModifiedAt: row.ModifiedAt})
			}
		}
		return err
	})
	return after, traits, err
}

// ProviderTraitClear deletes all traits of a provider. A nil generation is not compared.
func (s *Store) ProviderTraitClear(ctx context.Context, provider uuid.UUID, generation *int64) error {
	return s.write(ctx, ofProvider(provider), func(to db.DBTX) error { return s.queries.ProviderTraitClear(ctx, to, provider, generation) })
}

// ProviderTraitPatch adds and removes traits of a provider and returns its generation and traits afterwards. A nil
// generation is not compared. The generation increases if the set changes.
func (s *Store) ProviderTraitPatch(
	ctx context.Context, provider uuid.UUID, generation *int64, added, removed []string,
) (after int64, names []string, err error) {
	err = s.write(ctx, ofProvider(provider), func(to db.DBTX) error {
		rows, err := s.queries.ProviderTraitPatch(ctx, to, db.ProviderTraitPatchParams{
			Provider: provider, Given: generation, Added: append([]string{}, added...), Removed: append([]string{}, removed...),
		})
		names = make([]string, 0, len(rows))
		for _, row := range rows {
			after = row.Generation
			if row.Name != "" {
				names = append(names, row.Name)
			}
		}
		return err
	})
	return after, names, err
}
