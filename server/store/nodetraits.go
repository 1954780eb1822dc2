package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
)

// NodeTraitList reads a node's traits, sorted.
func (s *Store) NodeTraitList(ctx context.Context, ident Ident) ([]string, error) {
	id, name := identified(ident)
	traits, err := read(ctx, s, func(from db.DBTX) ([]string, error) {
		return s.queries.NodeTraitList(ctx, from, id, name)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, unknownNode(ident)
	}
	return traits, err
}

// NodeTraitReplace gives a node exactly these traits, at most 50: NodeTraitLimit.
func (s *Store) NodeTraitReplace(ctx context.Context, ident Ident, traits []string) error {
	id, name := identified(ident)
	if traits == nil {
		traits = []string{}
	}
	return s.writeNode(ctx, func() error { return s.queries.NodeTraitReplace(ctx, s.pool, id, name, traits) })
}

// NodeTraitAdd gives a node one trait more, unless it has it.
func (s *Store) NodeTraitAdd(ctx context.Context, ident Ident, trait string) error {
	id, name := identified(ident)
	return s.writeNode(ctx, func() error { return s.queries.NodeTraitAdd(ctx, s.pool, id, name, trait) })
}

// NodeTraitDelete takes one trait away; NodeTraitUnknown where it is not there.
func (s *Store) NodeTraitDelete(ctx context.Context, ident Ident, trait string) error {
	id, name := identified(ident)
	return s.writeNode(ctx, func() error { return s.queries.NodeTraitDelete(ctx, s.pool, id, name, trait) })
}

// NodeTraitClear takes all traits away.
func (s *Store) NodeTraitClear(ctx context.Context, ident Ident) error {
	return s.NodeTraitReplace(ctx, ident, nil)
}
