package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// NodeTraitList returns a node's traits, sorted.
func (s *Store) NodeTraitList(ctx context.Context, ident Ident) ([]string, error) {
	id, name := splitIdent(ident)
	traits, err := postgres.QueryPrimary(ctx, s.pool, func(from db.DBTX) ([]string, error) {
		return s.queries.NodeTraitList(ctx, from, id, name)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, unknownNode(ident)
	}
	return traits, err
}

// NodeTraitReplace sets the traits of a node, at most 50: NodeTraitLimit.
func (s *Store) NodeTraitReplace(ctx context.Context, ident Ident, traits []string) error {
	id, name := splitIdent(ident)
	if traits == nil {
		traits = []string{}
	}
	return s.writeNode(ctx, func(to *postgres.Primary) error { return s.queries.NodeTraitReplace(ctx, to, id, name, traits) })
}

// NodeTraitAdd adds a trait to a node, unless it has it.
func (s *Store) NodeTraitAdd(ctx context.Context, ident Ident, trait string) error {
	id, name := splitIdent(ident)
	return s.writeNode(ctx, func(to *postgres.Primary) error { return s.queries.NodeTraitAdd(ctx, to, id, name, trait) })
}

// NodeTraitDelete deletes a trait from a node; NodeTraitNotFound if the node does not have it.
func (s *Store) NodeTraitDelete(ctx context.Context, ident Ident, trait string) error {
	id, name := splitIdent(ident)
	return s.writeNode(ctx, func(to *postgres.Primary) error { return s.queries.NodeTraitDelete(ctx, to, id, name, trait) })
}

// NodeTraitClear deletes all traits of a node.
func (s *Store) NodeTraitClear(ctx context.Context, ident Ident) error {
	return s.NodeTraitReplace(ctx, ident, nil)
}
