package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
)

// Provider is a resource provider as answers show it.
type Provider struct {
	UUID       uuid.UUID
	Name       string
	Generation int64
	// Parent is nil for a root.
	Parent *uuid.UUID
	Root   uuid.UUID
	// ModifiedAt is when it was last written, or created; nil: never written
	// since, where that is what the API reports.
	ModifiedAt *time.Time
}

// ProviderShow reads one provider; ProviderUnknown if there is none.
func (s *Store) ProviderShow(ctx context.Context, id uuid.UUID) (Provider, error) {
	row, err := read(ctx, s, func(from db.DBTX) (db.ProviderShowRow, error) {
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
	return &Refused{Rule: ProviderUnknown, Values: Values{Provider: id.String()}}
}

// ProviderCreate makes a root, or a child of parent.
func (s *Store) ProviderCreate(ctx context.Context, id uuid.UUID, name string, parent *uuid.UUID) (Provider, error) {
	made := Provider{UUID: id, Name: name, Parent: parent}
	err := s.write(ctx, func() (err error) {
		made.Root, err = s.queries.ProviderCreate(ctx, s.pool, id, name, parent)
		return err
	})
	return made, err
}

// ProviderChange is what a client may change of a provider.
type ProviderChange struct {
	Name string
	// SetParent tells whether Parent is meant; nil then makes a root of it.
	SetParent bool
	Parent    *uuid.UUID
	// MayReparent allows children to be moved and made roots.
	MayReparent bool
}

// ProviderUpdate renames and moves a provider. ModifiedAt of the result is that
// from before.
func (s *Store) ProviderUpdate(ctx context.Context, id uuid.UUID, change ProviderChange) (Provider, error) {
	changed := Provider{UUID: id, Name: change.Name}
	err := s.write(ctx, func() error {
		row, err := s.queries.ProviderUpdate(ctx, s.pool, db.ProviderUpdateParams{
			Provider: id, Name: change.Name, SetParent: change.SetParent, Parent: change.Parent, MayReparent: change.MayReparent,
		})
		changed.Generation, changed.Root = row.Generation, row.RootUuid
		changed.Parent, changed.ModifiedAt = one(row.ParentUuid), one(row.UpdatedBefore)
		return err
	})
	return changed, err
}

// one unpacks what may be null.
func one[T any](of []T) *T {
	if len(of) == 0 {
		return nil
	}
	return &of[0]
}

// ProviderDelete removes a provider with its inventories, traits and aggregates.
func (s *Store) ProviderDelete(ctx context.Context, id uuid.UUID) error {
	return s.write(ctx, func() error { return s.queries.ProviderDelete(ctx, s.pool, id) })
}
