package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
)

// ResourceClassList reads all classes in id order, standard ones first.
func (s *Store) ResourceClassList(ctx context.Context) ([]Named, error) {
	rows, err := read(ctx, s, func(from db.DBTX) ([]db.ResourceClassListRow, error) {
		return s.queries.ResourceClassList(ctx, from)
	})
	classes := make([]Named, 0, len(rows))
	for _, row := range rows {
		classes = append(classes, Named(row))
	}
	return classes, err
}

// ResourceClassShow says when a class was last written; ClassUnknown if there is
// none.
func (s *Store) ResourceClassShow(ctx context.Context, name string) (time.Time, error) {
	modified, err := read(ctx, s, func(from db.DBTX) (time.Time, error) {
		return s.queries.ResourceClassShow(ctx, from, name)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return modified, &Refused{Rule: ClassUnknown, Values: Values{Class: name}}
	}
	return modified, err
}

// ResourceClassCreate makes a class unless it is there, and says whether it did.
func (s *Store) ResourceClassCreate(ctx context.Context, name string) (created bool, err error) {
	err = s.write(ctx, func() error {
		made, err := s.queries.ResourceClassCreate(ctx, s.pool, name)
		created = made > 0
		return err
	})
	return created, err
}

// ResourceClassRename gives a custom class another name.
func (s *Store) ResourceClassRename(ctx context.Context, name, newName string) error {
	return s.write(ctx, func() error { return s.queries.ResourceClassRename(ctx, s.pool, name, newName) })
}

// ResourceClassDelete removes a custom class that no inventory has.
func (s *Store) ResourceClassDelete(ctx context.Context, name string) error {
	return s.write(ctx, func() error { return s.queries.ResourceClassDelete(ctx, s.pool, name) })
}
