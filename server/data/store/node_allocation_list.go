package store

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// NodeAllocationFilter selects node allocations. The zero value selects all.
type NodeAllocationFilter struct {
	State         *string
	ResourceClass *string
	// Node is a UUID or name.
	Node  *string
	Owner *string
}

// NodeAllocationSortKeys are the sort keys of a Page of node allocations.
var NodeAllocationSortKeys = []string{
	"id", "uuid", "name", "state", "resource_class", "owner", "last_error", "created_at", "updated_at",
}

// nodeAllocationRow is a node allocation as all queries return it.
type nodeAllocationRow db.NodeAllocationShowRow

func (row nodeAllocationRow) allocation() NodeAllocation {
	of := row.NodeAllocation
	return NodeAllocation{
		ID: of.ID, UUID: of.Uuid, Name: of.Name, NodeUUID: row.NodeUuid, State: of.State, ResourceClass: of.ResourceClass,
		Traits: of.Traits, CandidateNodes: of.CandidateNodes, Extra: of.Extra, Owner: of.Owner, LastError: of.LastError,
		Conductor: row.Conductor, Revision: of.Revision, CreatedAt: of.CreatedAt, UpdatedAt: of.UpdatedAt,
	}
}

func unknownNodeAllocation(ident string) error {
	return &RuleViolation{Rule: NodeAllocationNotFound, Values: Values{Allocation: ident}}
}

// NodeAllocationShow returns a node allocation by UUID or name; NodeAllocationNotFound if it does not exist. An ident
// in the format of a UUID is one.
func (s *Store) NodeAllocationShow(ctx context.Context, ident string) (NodeAllocation, error) {
	id, name := splitIdent(ident)
	row, err := postgres.QueryPrimary(ctx, s.pool, func(from db.DBTX) (db.NodeAllocationShowRow, error) {
		return s.queries.NodeAllocationShow(ctx, from, id, name)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return NodeAllocation{}, unknownNodeAllocation(ident)
	}
	return nodeAllocationRow(row).allocation(), err
}

// NodeAllocationShowByNode returns the node allocation of a node, by the node's UUID or name. NodeNotFound if there is no
// such node, NodeAllocationNotFound if it has none.
func (s *Store) NodeAllocationShowByNode(ctx context.Context, node Ident) (NodeAllocation, error) {
	id, name := splitIdent(node)
	row, err := postgres.QueryPrimary(ctx, s.pool, func(from db.DBTX) (db.NodeAllocationShowByNodeRow, error) {
		return s.queries.NodeAllocationShowByNode(ctx, from, id, name)
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return NodeAllocation{}, unknownNode(node)
	case err != nil:
		return NodeAllocation{}, err
	case row.AllocationUuid == nil:
		return NodeAllocation{}, &RuleViolation{Rule: NodeAllocationNotFound, Values: Values{Node: row.NodeUuid.String()}}
	}
	return s.NodeAllocationShow(ctx, row.AllocationUuid.String())
}

// NodeAllocationList returns a page of the node allocations that match a filter. It violates NodeNotFound, for the
// filter, and NodeAllocationNotFound, for the marker.
func (s *Store) NodeAllocationList(ctx context.Context, filter NodeAllocationFilter, page Page) ([]NodeAllocation, error) {
	var node *uuid.UUID
	if filter.Node != nil {
		found, err := s.NodeShow(ctx, *filter.Node)
		if err != nil {
			return nil, err
		}
		node = &found.UUID
	}
	var after int64
	if page.Marker != nil {
		last, err := s.NodeAllocationShow(ctx, page.Marker.String())
		if err != nil {
			return nil, err
		}
		after = last.ID
	}
	if page.sorted() {
		rows, err := postgres.QueryReplicaOrPrimary(ctx, s.pool, func(from db.DBTX) ([]db.NodeAllocationListSortedRow, error) {
			return s.queries.NodeAllocationListSorted(ctx, from, db.NodeAllocationListSortedParams{
				SortKey: page.key(), Descending: page.SortDir == "desc", Marker: page.Marker, Page: int32(page.Limit),
				State: filter.State, ResourceClass: filter.ResourceClass, Owner: filter.Owner, Node: node,
			})
		})
		return each(rows, func(row db.NodeAllocationListSortedRow) NodeAllocation { return nodeAllocationRow(row).allocation() }), err
	}
	rows, err := postgres.QueryReplicaOrPrimary(ctx, s.pool, func(from db.DBTX) ([]db.NodeAllocationListRow, error) {
		return s.queries.NodeAllocationList(ctx, from, db.NodeAllocationListParams{
			After: after, Page: int32(page.Limit),
			State: filter.State, ResourceClass: filter.ResourceClass, Owner: filter.Owner, Node: node,
		})
	})
	return each(rows, func(row db.NodeAllocationListRow) NodeAllocation { return nodeAllocationRow(row).allocation() }), err
}

// NodeAllocationListPending returns the pending node allocations of a conductor, oldest first.
func (s *Store) NodeAllocationListPending(ctx context.Context, hostname string) ([]uuid.UUID, error) {
	return postgres.QueryPrimary(ctx, s.pool, func(from db.DBTX) ([]uuid.UUID, error) {
		return s.queries.NodeAllocationListPending(ctx, from, hostname)
	})
}
