package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// Port is a network interface of a node.
type Port struct {
	ID       int64
	UUID     uuid.UUID
	NodeUUID uuid.UUID
	// Address is a MAC address in lower case; unique.
	Address  string
	Revision int64
	// Details are all other members, by their API names.
	Details   map[string]json.RawMessage
	CreatedAt time.Time
	UpdatedAt *time.Time
}

// PortFilter selects ports.
type PortFilter struct {
	// Node is the UUID or name of their node; nil: any.
	Node *Ident
	// Address is in lower case; nil: any.
	Address *string
	// Project is the owner or the lessee of their node; nil: any.
	Project *string
}

// portRow is a port as all queries return it.
type portRow db.PortShowRow

func (row portRow) port() (Port, error) {
	port := Port{
		ID: row.ID, UUID: row.Uuid, NodeUUID: row.NodeUuid, Address: row.Address, Revision: row.Revision,
		CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
	}
	err := json.Unmarshal(row.Details, &port.Details)
	return port, err
}

// members returns the details as the argument of the functions.
func (p Port) members() (json.RawMessage, error) {
	if p.Details == nil {
		return json.RawMessage("{}"), nil
	}
	return json.Marshal(p.Details)
}

// PortShow returns a port; PortNotFound if it does not exist.
func (s *Store) PortShow(ctx context.Context, id uuid.UUID) (Port, error) {
	row, err := postgres.QueryPrimary(ctx, s.pool, func(from db.DBTX) (db.PortShowRow, error) {
		return s.queries.PortShow(ctx, from, id)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return Port{}, &RuleViolation{Rule: PortNotFound, Values: Values{Port: id.String()}}
	}
	if err != nil {
		return Port{}, err
	}
	return portRow(row).port()
}

// PortCreate creates a port of the node NodeUUID; NodeNotFound if that does not exist.
func (s *Store) PortCreate(ctx context.Context, wanted Port) (Port, error) {
	details, err := wanted.members()
	if err != nil {
		return Port{}, err
	}
	var row db.PortCreateRow
	err = s.writeBaremetal(ctx, func(to *postgres.Primary) (err error) {
		row, err = s.queries.PortCreate(ctx, to, db.PortCreateParams{
			Port: wanted.UUID, Node: wanted.NodeUUID, Address: wanted.Address, Details: details,
		})
		return err
	})
	if err != nil {
		return Port{}, err
	}
	return portRow(row).port()
}

// PortList returns a page of ports. NodeNotFound if the node of the filter does not exist, and PortNotFound if the
// marker does not.
func (s *Store) PortList(ctx context.Context, filter PortFilter, page Page) ([]Port, error) {
	rows, err := s.portRows(ctx, filter, page)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 && filter.Node != nil {
		if _, err := s.NodeShow(ctx, *filter.Node); err != nil {
			return nil, err
		}
	}
	if len(rows) == 0 && page.Marker != nil {
		_, err := s.PortShow(ctx, *page.Marker)
		return []Port{}, err
	}
	ports := make([]Port, len(rows))
	for i, row := range rows {
		if ports[i], err = row.port(); err != nil {
			return nil, err
		}
	}
	return ports, nil
}

func (s *Store) portRows(ctx context.Context, filter PortFilter, page Page) ([]portRow, error) {
	var id *uuid.UUID
	var name *string
	lead := "none"
	if filter.Address != nil {
		lead = "address"
	}
	if filter.Node != nil {
		id, name = splitIdent(*filter.Node)
		lead = "node"
	}
	if page.sorted() {
		rows, err := postgres.QueryReplicaOrPrimary(ctx, s.pool, func(from db.DBTX) ([]db.PortListSortedRow, error) {
			return s.queries.PortListSorted(ctx, from, db.PortListSortedParams{
				SortKey: page.key(), Descending: page.SortDir == "desc", Marker: page.Marker, Page: int32(page.Limit),
				OfNode: filter.Node != nil, Node: id, NodeName: name, Address: filter.Address, Project: filter.Project,
			})
		})
		return each(rows, func(row db.PortListSortedRow) portRow { return portRow(row) }), err
	}
	rows, err := postgres.QueryReplicaOrPrimary(ctx, s.pool, func(from db.DBTX) ([]db.PortListRow, error) {
		return s.queries.PortList(ctx, from, db.PortListParams{
			LeadingFilter: lead, Node: id, NodeName: name, Address: filter.Address, Project: filter.Project, Marker: page.Marker, Page: int32(page.Limit),
		})
	})
	return each(rows, func(row db.PortListRow) portRow { return portRow(row) }), err
}

// PortUpdate reads a port, calls change to edit it or to return an error, and writes it, as NodeUpdate does. ID, UUID
// and times are not written.
func (s *Store) PortUpdate(ctx context.Context, id uuid.UUID, change func(*Port) error) (Port, error) {
	return retryOnRevisionConflict(ctx, PortRevisionConflict, func() (Port, error) {
		port, err := s.PortShow(ctx, id)
		if err != nil {
			return port, err
		}
		revision := port.Revision
		if err := change(&port); err != nil {
			return port, err
		}
		details, err := port.members()
		if err != nil {
			return port, err
		}
		var row db.PortUpdateRow
		err = s.writeBaremetal(ctx, func(to *postgres.Primary) (err error) {
			row, err = s.queries.PortUpdate(ctx, to, db.PortUpdateParams{
				Port: id, Revision: revision, Node: port.NodeUUID, Address: port.Address, Details: details,
			})
			return err
		})
		if err != nil {
			return port, err
		}
		return portRow(row).port()
	})
}

// PortDelete deletes a port.
func (s *Store) PortDelete(ctx context.Context, id uuid.UUID) error {
	return s.writeBaremetal(ctx, func(to *postgres.Primary) error {
		deleted, err := s.queries.PortDelete(ctx, to, id)
		if err == nil && deleted == 0 {
			return &RuleViolation{Rule: PortNotFound, Values: Values{Port: id.String()}}
		}
		return err
	})
}
