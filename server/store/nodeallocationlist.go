package store

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
)

// NodeAllocationFilter says which allocations to list. The zero value takes all.
type NodeAllocationFilter struct {
	State         *string
	ResourceClass *string
	// Node is a uuid or name.
	Node  *string
	Owner *string
}

// NodeAllocationSortKeys are what a Page of allocations can be sorted by.
var NodeAllocationSortKeys = []string{
	"id", "uuid", "name", "state", "resource_class", "owner", "last_error", "created_at", "updated_at",
}

// nodeAllocationRow is an allocation as all queries return it.
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
	return &Refused{Rule: NodeAllocationUnknown, Values: Values{Allocation: ident}}
}

// NodeAllocationShow reads one by uuid or name; NodeAllocationUnknown if there is
// none. What has the shape of a uuid is one.
func (s *Store) NodeAllocationShow(ctx context.Context, ident string) (NodeAllocation, error) {
	id, name := identified(ident)
	row, err := read(ctx, s, func(from db.DBTX) (db.NodeAllocationShowRow, error) {
		return s.queries.NodeAllocationShow(ctx, from, id, name)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return NodeAllocation{}, unknownNodeAllocation(ident)
	}
	return nodeAllocationRow(row).allocation(), err
}

// NodeAllocationOfNode reads the allocation of a node, by the node's uuid or name.
// NodeUnknown if there is no such node, NodeAllocationUnknown if it has none.
func (s *Store) NodeAllocationOfNode(ctx context.Context, node Ident) (NodeAllocation, error) {
	id, name := identified(node)
	row, err := read(ctx, s, func(from db.DBTX) (db.NodeAllocationOfNodeRow, error) {
		return s.queries.NodeAllocationOfNode(ctx, from, id, name)
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return NodeAllocation{}, unknownNode(node)
	case err != nil:
		return NodeAllocation{}, err
	case row.AllocationUuid == nil:
		return NodeAllocation{}, &Refused{Rule: NodeAllocationUnknown, Values: Values{Node: row.NodeUuid.String()}}
	}
	return s.NodeAllocationShow(ctx, row.AllocationUuid.String())
}

// NodeAllocationList reads a page of those that a filter takes. Refused with
// NodeUnknown, for the filter, and NodeAllocationUnknown, for the marker.
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
		rows, err := readAnywhere(ctx, s, func(from db.DBTX) ([]db.NodeAllocationListSortedRow, error) {
			return s.queries.NodeAllocationListSorted(ctx, from, db.NodeAllocationListSortedParams{
				SortKey: page.key(), Falling: page.SortDir == "desc", Marker: page.Marker, Page: int32(page.Limit),
				State: filter.State, ResourceClass: filter.ResourceClass, Owner: filter.Owner, Node: node,
			})
		})
		return each(rows, func(row db.NodeAllocationListSortedRow) NodeAllocation { return nodeAllocationRow(row).allocation() }), err
	}
	rows, err := readAnywhere(ctx, s, func(from db.DBTX) ([]db.NodeAllocationListRow, error) {
		return s.queries.NodeAllocationList(ctx, from, db.NodeAllocationListParams{
			After: after, Page: int32(page.Limit),
			State: filter.State, ResourceClass: filter.ResourceClass, Owner: filter.Owner, Node: node,
		})
	})
	return each(rows, func(row db.NodeAllocationListRow) NodeAllocation { return nodeAllocationRow(row).allocation() }), err
}

// NodeAllocationMine lists what a conductor has to decide, oldest first.
func (s *Store) NodeAllocationMine(ctx context.Context, hostname string) ([]uuid.UUID, error) {
	return read(ctx, s, func(from db.DBTX) ([]uuid.UUID, error) {
		return s.queries.NodeAllocationMine(ctx, from, hostname)
	})
}
