package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
)

// NodeFilter says which nodes to list; nil: any.
type NodeFilter struct {
	ProvisionState *string
	ResourceClass  *string
	// Associated asks for nodes with, or without, an instance_uuid.
	Associated     *bool
	Maintenance    *bool
	InstanceUUID   *uuid.UUID
	Driver         *string
	Owner          *string
	Lessee         *string
	ConductorGroup *string
	Fault          *string
	Retired        *bool
	// Conductor is the hostname of who works on it.
	Conductor *string
	// DescriptionContains is a part of the description, as it is.
	DescriptionContains *string
	ChassisUUID         *uuid.UUID
	// Shards are those that it may be in; nil: any.
	Shards []string
	// Sharded asks for nodes in any shard, or in none.
	Sharded *bool
}

// Page is a part of a list in some order.
type Page struct {
	// Limit is the most that are wanted, above 0.
	Limit int
	// Marker is the last one before the page; nil: the page is the first.
	Marker *uuid.UUID
	// SortKey is what to sort by, by its name on the wire; empty: the order in
	// which they were made. The caller knows which names there are.
	SortKey string
	// SortDir is "desc", or ascending.
	SortDir string
}

// sorted tells whether a page is in another order than that of the ids.
func (p Page) sorted() bool { return p.SortKey != "" && p.SortKey != "id" || p.SortDir == "desc" }

// key is what to sort by.
func (p Page) key() string {
	if p.SortKey == "" {
		return "id"
	}
	return p.SortKey
}

// lead is the filter whose index leads to the nodes.
func (f NodeFilter) lead() string {
	switch {
	case f.InstanceUUID != nil:
		return "instance"
	case f.Conductor != nil:
		return "conductor"
	case f.free():
		return "free"
	default:
		return "none"
	}
}

// free tells whether only nodes of a class that may be given away are wanted.
func (f NodeFilter) free() bool {
	return f.ResourceClass != nil && f.ProvisionState != nil && *f.ProvisionState == "available" &&
		f.Associated != nil && !*f.Associated && f.Maintenance != nil && !*f.Maintenance
}

// NodeList reads a page of nodes; NodeUnknown for a marker that is none.
func (s *Store) NodeList(ctx context.Context, filter NodeFilter, page Page) ([]Node, error) {
	rows, err := s.nodeRows(ctx, filter, page)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 && page.Marker != nil {
		_, err := s.NodeShow(ctx, page.Marker.String())
		return []Node{}, err
	}
	nodes := make([]Node, len(rows))
	for i, row := range rows {
		if nodes[i], err = row.node(); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

func (s *Store) nodeRows(ctx context.Context, f NodeFilter, page Page) ([]nodeRow, error) {
	var chassis *string
	if f.ChassisUUID != nil {
		chassis = new(f.ChassisUUID.String())
	}
	if page.sorted() {
		rows, err := readAnywhere(ctx, s, func(from db.DBTX) ([]db.NodeListSortedRow, error) {
			return s.queries.NodeListSorted(ctx, from, db.NodeListSortedParams{
				SortKey: page.key(), Descending: page.SortDir == "desc", Marker: page.Marker, Page: int32(page.Limit),
				ProvisionState: f.ProvisionState, ResourceClass: f.ResourceClass, Associated: f.Associated,
				Maintenance: f.Maintenance, Instance: f.InstanceUUID, Driver: f.Driver, Owner: f.Owner, Lessee: f.Lessee,
				ConductorGroup: f.ConductorGroup, Fault: f.Fault, Retired: f.Retired, Conductor: f.Conductor,
				DescriptionContains: f.DescriptionContains, Chassis: chassis, Shards: f.Shards, Sharded: f.Sharded,
			})
		})
		return each(rows, func(row db.NodeListSortedRow) nodeRow { return nodeRow(row) }), err
	}
	rows, err := readAnywhere(ctx, s, func(from db.DBTX) ([]db.NodeListRow, error) {
		return s.queries.NodeList(ctx, from, db.NodeListParams{
			Lead: f.lead(), Marker: page.Marker, Page: int32(page.Limit),
			ProvisionState: f.ProvisionState, ResourceClass: f.ResourceClass, Associated: f.Associated,
			Maintenance: f.Maintenance, Instance: f.InstanceUUID, Driver: f.Driver, Owner: f.Owner, Lessee: f.Lessee,
			ConductorGroup: f.ConductorGroup, Fault: f.Fault, Retired: f.Retired, Conductor: f.Conductor,
			DescriptionContains: f.DescriptionContains, Chassis: chassis, Shards: f.Shards, Sharded: f.Sharded,
		})
	})
	return each(rows, func(row db.NodeListRow) nodeRow { return nodeRow(row) }), err
}

// each converts the elements of a slice.
func each[A, B any](of []A, convert func(A) B) []B {
	converted := make([]B, len(of))
	for i, one := range of {
		converted[i] = convert(one)
	}
	return converted
}
