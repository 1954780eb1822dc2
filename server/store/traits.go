package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
)

// Named is a trait or resource class, and when it was last written.
type Named struct {
	Name       string
	ModifiedAt time.Time
}

// TraitFilter says which traits to list. The zero value takes all.
type TraitFilter struct {
	// Names are exact; nil: any name.
	Names []string
	// Prefix is a LIKE pattern; nil: any.
	Prefix *string
	// Associated asks for traits that some, or no, provider has; nil: both.
	Associated *bool
}

// TraitList reads traits in id order.
func (s *Store) TraitList(ctx context.Context, filter TraitFilter) ([]Named, error) {
	rows, err := readAnywhere(ctx, s, func(from db.DBTX) ([]db.TraitListRow, error) {
		return s.queries.TraitList(ctx, from, filter.Names, filter.Prefix, filter.Associated)
	})
	traits := make([]Named, 0, len(rows))
	for _, row := range rows {
		traits = append(traits, Named(row))
	}
	return traits, err
}

// TraitShow says when a trait was made; TraitUnknown if there is none.
func (s *Store) TraitShow(ctx context.Context, name string) (time.Time, error) {
	created, err := read(ctx, s, func(from db.DBTX) (time.Time, error) {
		return s.queries.TraitShow(ctx, from, name)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return created, &Refused{Rule: TraitUnknown, Values: Values{Traits: name}}
	}
	return created, err
}

// TraitEnsure makes a trait unless it is there, and says whether it made it and
// when it was made.
func (s *Store) TraitEnsure(ctx context.Context, name string) (created bool, at time.Time, err error) {
	err = s.write(ctx, func() error {
		row, err := s.queries.TraitEnsure(ctx, s.pool, name)
		created, at = row.Created, row.CreatedAt
		return err
	})
	return created, at, err
}

// TraitDelete removes a custom trait that no provider has.
func (s *Store) TraitDelete(ctx context.Context, name string) error {
	return s.write(ctx, func() error { return s.queries.TraitDelete(ctx, s.pool, name) })
}

// ProviderTraitList reads a provider's generation and traits in id order.
func (s *Store) ProviderTraitList(ctx context.Context, provider uuid.UUID) (int64, []Named, error) {
	rows, err := read(ctx, s, func(from db.DBTX) ([]db.ProviderTraitListRow, error) {
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

// ProviderTraitReplace gives a provider exactly these traits and returns its
// generation and traits afterwards.
func (s *Store) ProviderTraitReplace(
	ctx context.Context, provider uuid.UUID, generation int64, names []string,
) (after int64, traits []Named, err error) {
	err = s.write(ctx, func() error {
		rows, err := s.queries.ProviderTraitReplace(ctx, s.pool, names, provider, generation)
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

// ProviderTraitClear takes all traits from a provider, whatever its generation.
func (s *Store) ProviderTraitClear(ctx context.Context, provider uuid.UUID) error {
	return s.write(ctx, func() error { return s.queries.ProviderTraitClear(ctx, s.pool, provider) })
}
