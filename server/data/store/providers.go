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

// Provider is a resource provider as the API returns it.
type Provider struct {
	UUID       uuid.UUID
	Name       string
	Generation int64
	// Parent is nil for a root.
	Parent *uuid.UUID
	Root   uuid.UUID
	// ModifiedAt is when it was last written, or created; nil if it was never written since, in operations where the
	// API returns that.
	ModifiedAt *time.Time
}

// ProviderShow returns a provider; ProviderNotFound if it does not exist.
func (s *Store) ProviderShow(ctx context.Context, id uuid.UUID) (Provider, error) {
	row, err := postgres.QueryPrimary(ctx, s.pool, func(from db.DBTX) (db.ProviderShowRow, error) {
		return s.queries.ProviderShow(ctx, from, id)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return Provider{}, unknownProvider(id)
	}
	return Provider{
		UUID: row.Uuid, Name: row.Name, Generation: row.Generation,
		Parent: row.ParentUuid, Root: row.RootUuid, ModifiedAt: &row.ModifiedAt,
	}, err
}

func unknownProvider(id uuid.UUID) error {
	return &RuleViolation{Rule: ProviderNotFound, Values: Values{Provider: id.String()}}
}

// ProviderCreate creates a root, or a child of parent.
func (s *Store) ProviderCreate(ctx context.Context, id uuid.UUID, name string, parent *uuid.UUID) (Provider, error) {
	provider := Provider{UUID: id, Name: name, Parent: parent}
	err := s.write(ctx, ofProvider(id), func(to db.DBTX) (err error) {
		provider.Root, err = s.queries.ProviderCreate(ctx, to, id, name, parent)
		return err
	})
	return provider, err
}

// ProviderChange is a client's change of a provider.
type ProviderChange struct {
	// Generation is compared; nil: it is not.
	Generation *int64
	Name       string
	// SetParent is true if Parent is to be set; a nil Parent then makes the provider a root.
	SetParent bool
	Parent    *uuid.UUID
	// MayReparent permits setting another parent for a child, or none.
	MayReparent bool
}

// ProviderUpdate renames and re-parents a provider. ModifiedAt of the result is that before the update.
func (s *Store) ProviderUpdate(ctx context.Context, id uuid.UUID, change ProviderChange) (Provider, error) {
	changed := Provider{UUID: id, Name: change.Name}
	err := s.write(ctx, ofProvider(id), func(to db.DBTX) error {
		row, err := s.queries.ProviderUpdate(ctx, to, db.ProviderUpdateParams{
			Provider: id, Given: change.Generation, Name: change.Name,
			SetParent: change.SetParent, Parent: change.Parent, MayReparent: change.MayReparent,
		})
		changed.Generation, changed.Root = row.Generation, row.RootUuid
		changed.Parent, changed.ModifiedAt = one(row.ParentUuid), one(row.UpdatedBefore)
		return err
	})
	return changed, err
}

// one returns a pointer to the only element; nil for an empty slice.
func one[T any](of []T) *T {
	if len(of) == 0 {
		return nil
	}
	return &of[0]
}

// ProviderDelete deletes a provider with its inventories, traits and aggregates. A nil generation is not compared.
func (s *Store) ProviderDelete(ctx context.Context, id uuid.UUID, generation *int64) error {
	return s.write(ctx, ofProvider(id), func(to db.DBTX) error { return s.queries.ProviderDelete(ctx, to, id, generation) })
}
