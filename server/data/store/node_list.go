package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// NodeFilter selects nodes; a nil field selects any value.
type NodeFilter struct {
	ProvisionState *string
	ResourceClass  *string
	// Associated selects nodes with, or without, an instance_uuid.
	Associated   *bool
	Maintenance  *bool
	InstanceUUID *uuid.UUID
	Driver       *string
	Owner        *string
	Lessee       *string
	// Project is the owner or the lessee of the node.
	Project        *string
	ConductorGroup *string
	Fault          *string
	Retired        *bool
	// Conductor is the hostname of the conductor that holds the reservation.
	Conductor *string
	// DescriptionContains is a literal part of the description.
	DescriptionContains *string
	ChassisUUID         *uuid.UUID
	// Shards selects nodes in one of these shards; nil: any.
	Shards []string
	// Sharded selects nodes in any shard, or in none.
	Sharded *bool
}

// Page is a part of a sorted list.
type Page struct {
	// Limit is the maximum number of rows, above 0.
	Limit int
	// Marker is the last row before the page; nil: this is the first page.
	Marker *uuid.UUID
	// SortKey is the API name of the member to sort by; empty: the order of creation. The caller checks that the name
	// is valid.
	SortKey string
	// SortDir is "desc"; any other value sorts ascending.
	SortDir string
}

// sorted reports whether a page has another order than that of the ids.
func (p Page) sorted() bool { return p.SortKey != "" && p.SortKey != "id" || p.SortDir == "desc" }

// key returns the sort key.
func (p Page) key() string {
	if p.SortKey == "" {
		return "id"
	}
	return p.SortKey
}

// lead returns the filter whose index leads to the nodes.
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

// free reports whether the filter selects only allocatable nodes of a class.
func (f NodeFilter) free() bool {
	return f.ResourceClass != nil && f.ProvisionState != nil && *f.ProvisionState == "available" &&
		f.Associated != nil && !*f.Associated && f.Maintenance != nil && !*f.Maintenance
}

// NodeList returns a page of nodes; NodeNotFound if the marker does not exist.
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
		rows, err := postgres.QueryReplicaOrPrimary(ctx, s.pool, func(from db.DBTX) ([]db.NodeListSortedRow, error) {
			return s.queries.NodeListSorted(ctx, from, db.NodeListSortedParams{
				SortKey: page.key(), Descending: page.SortDir == "desc", Marker: page.Marker, Page: int32(page.Limit),
				ProvisionState: f.ProvisionState, ResourceClass: f.ResourceClass, Associated: f.Associated,
				Maintenance: f.Maintenance, Instance: f.InstanceUUID, Driver: f.Driver, Owner: f.Owner, Lessee: f.Lessee, Project: f.Project,
				ConductorGroup: f.ConductorGroup, Fault: f.Fault, Retired: f.Retired, Conductor: f.Conductor,
				DescriptionContains: f.DescriptionContains, Chassis: chassis, Shards: f.Shards, Sharded: f.Sharded,
			})
		})
		return each(rows, func(row db.NodeListSortedRow) nodeRow { return nodeRow(row) }), err
	}
	rows, err := postgres.QueryReplicaOrPrimary(ctx, s.pool, func(from db.DBTX) ([]db.NodeListRow, error) {
		return s.queries.NodeList(ctx, from, db.NodeListParams{
			LeadingFilter: f.lead(), Marker: page.Marker, Page: int32(page.Limit),
			ProvisionState: f.ProvisionState, ResourceClass: f.ResourceClass, Associated: f.Associated,
			Maintenance: f.Maintenance, Instance: f.InstanceUUID, Driver: f.Driver, Owner: f.Owner, Lessee: f.Lessee, Project: f.Project,
			ConductorGroup: f.ConductorGroup, Fault: f.Fault, Retired: f.Retired, Conductor: f.Conductor,
			DescriptionContains: f.DescriptionContains, Chassis: chassis, Shards: f.Shards, Sharded: f.Sharded,
		})
	})
	return each(rows, func(row db.NodeListRow) nodeRow { return nodeRow(row) }), err
}

// each converts the elements of a slice.
func each[A, B any](of []A, convert func(A) B) []B {
	converted := make([]B, len(of))
	for i, item := range of {
		converted[i] = convert(item)
	}
	return converted
}
