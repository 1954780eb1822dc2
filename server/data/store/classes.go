package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// ResourceClassList returns all classes in id order, standard ones first.
func (s *Store) ResourceClassList(ctx context.Context) ([]Named, error) {
	rows, err := postgres.QueryPrimary(ctx, s.pool, func(from db.DBTX) ([]db.ResourceClassListRow, error) {
		return s.queries.ResourceClassList(ctx, from)
	})
	classes := make([]Named, 0, len(rows))
	for _, row := range rows {
		classes = append(classes, Named(row))
	}
	return classes, err
}

// ResourceClassShow returns when a class was last written; ClassNotFound if it does not exist.
func (s *Store) ResourceClassShow(ctx context.Context, name string) (time.Time, error) {
	modified, err := postgres.QueryPrimary(ctx, s.pool, func(from db.DBTX) (time.Time, error) {
		return s.queries.ResourceClassShow(ctx, from, name)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return modified, &RuleViolation{Rule: ClassNotFound, Values: Values{Class: name}}
	}
	return modified, err
}

// ResourceClassCreate creates a class unless it exists, and reports whether it did.
func (s *Store) ResourceClassCreate(ctx context.Context, name string) (created bool, err error) {
	err = s.write(ctx, writeTargets{classes: []string{name}}, func(to db.DBTX) error {
		number, err := s.queries.ResourceClassCreate(ctx, to, name)
		created = number > 0
		return err
	})
	return created, err
}

// ResourceClassRename renames a custom class.
func (s *Store) ResourceClassRename(ctx context.Context, name, newName string) error {
	return s.write(ctx, writeTargets{classes: []string{name, newName}}, func(to db.DBTX) error { return s.queries.ResourceClassRename(ctx, to, name, newName) })
}

// ResourceClassDelete deletes a custom class that no inventory has.
func (s *Store) ResourceClassDelete(ctx context.Context, name string) error {
	return s.write(ctx, writeTargets{classes: []string{name}}, func(to db.DBTX) error { return s.queries.ResourceClassDelete(ctx, to, name) })
}
