package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
)

// Node is a bare metal machine.
type Node struct {
	ID   int64
	UUID uuid.UUID
	// Name is unique among nodes; nil: it has none.
	Name          *string
	Driver        string
	ResourceClass *string
	// ProvisionState is never empty: old clients are shown null for "available".
	ProvisionState       string
	TargetProvisionState *string
	ProvisionUpdatedAt   *time.Time
	PowerState           *string
	TargetPowerState     *string
	Maintenance          bool
	MaintenanceReason    *string
	Fault                *string
	// InstanceUUID is whose node it is. Where AllocationUUID is set, they are equal.
	InstanceUUID   *uuid.UUID
	Owner          *string
	Lessee         *string
	Protected      bool
	Retired        bool
	ConductorGroup string
	LastError      *string
	// Conductor is the hostname of the one that works on it now; nil at rest.
	Conductor *string
	// Revision rises with every change.
	Revision int64
	// Details are all other members, by their names on the wire.
	Details   map[string]json.RawMessage
	CreatedAt time.Time
	UpdatedAt *time.Time
	// Traits are sorted.
	Traits         []string
	AllocationUUID *uuid.UUID
}

// Ident is the uuid or the name of a node. What has the shape of a uuid is one.
type Ident = string

// identified tells which of the two an ident is.
func identified(ident Ident) (id *uuid.UUID, name *string) {
	if len(ident) == len("0123456789abcdef0123456789abcdef") || len(ident) == len("01234567-89ab-cdef-0123-456789abcdef") {
		if parsed, err := uuid.Parse(ident); err == nil {
			return &parsed, nil
		}
	}
	return nil, &ident
}

func unknownNode(ident Ident) error {
	return &Refused{Rule: NodeUnknown, Values: Values{Node: ident}}
}

// nodeRow is a node as all queries return it.
type nodeRow db.NodeShowRow

func (row nodeRow) node() (Node, error) {
	node := Node{
		ID: row.ID, UUID: row.Uuid, Name: row.Name, Driver: row.Driver, ResourceClass: row.ResourceClass,
		ProvisionState: row.ProvisionState, TargetProvisionState: row.TargetProvisionState,
		ProvisionUpdatedAt: row.ProvisionUpdatedAt, PowerState: row.PowerState, TargetPowerState: row.TargetPowerState,
		Maintenance: row.Maintenance, MaintenanceReason: row.MaintenanceReason, Fault: row.Fault,
		InstanceUUID: row.InstanceUuid, Owner: row.Owner, Lessee: row.Lessee,
		Protected: row.Protected, Retired: row.Retired, ConductorGroup: row.ConductorGroup, LastError: row.LastError,
		Conductor: one(row.Conductor), Revision: row.Revision, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
		Traits: row.Traits, AllocationUUID: one(row.AllocationUuid),
	}
	err := json.Unmarshal(row.Details, &node.Details)
	return node, err
}

// document writes a node by the names of its columns, as the functions take it.
func (n Node) document() (json.RawMessage, error) {
	details := n.Details
	if details == nil {
		details = map[string]json.RawMessage{}
	}
	encoded, err := json.Marshal(map[string]any{
		"uuid": n.UUID, "name": n.Name, "driver": n.Driver, "resource_class": n.ResourceClass,
		"provision_state": n.ProvisionState, "target_provision_state": n.TargetProvisionState,
		"power_state": n.PowerState, "target_power_state": n.TargetPowerState,
		"maintenance": n.Maintenance, "maintenance_reason": n.MaintenanceReason, "fault": n.Fault,
		"instance_uuid": n.InstanceUUID, "owner": n.Owner, "lessee": n.Lessee,
		"protected": n.Protected, "retired": n.Retired, "conductor_group": n.ConductorGroup,
		"last_error": n.LastError, "details": details,
	})
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", n.UUID, err)
	}
	return encoded, nil
}

// writeNode is write for functions that may write a node's provider, too.
func (s *Store) writeNode(ctx context.Context, run func() error) error {
	return s.writeWhile(ctx, passesForNodes, run)
}

// NodeShow reads a node; NodeUnknown if there is none.
func (s *Store) NodeShow(ctx context.Context, ident Ident) (Node, error) {
	id, name := identified(ident)
	row, err := read(ctx, s, func(from db.DBTX) (db.NodeShowRow, error) {
		return s.queries.NodeShow(ctx, from, id, name)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return Node{}, unknownNode(ident)
	}
	if err != nil {
		return Node{}, err
	}
	return nodeRow(row).node()
}

// NodeCreate makes a node. Its id, revision and times are the database's; traits
// and a conductor are not written.
func (s *Store) NodeCreate(ctx context.Context, wanted Node) (Node, error) {
	document, err := wanted.document()
	if err != nil {
		return Node{}, err
	}
	var row db.NodeCreateRow
	err = s.writeNode(ctx, func() (err error) {
		row, err = s.queries.NodeCreate(ctx, s.pool, document)
		return err
	})
	if err != nil {
		return Node{}, err
	}
	return nodeRow(row).node()
}

// NodeUpdate reads a node, lets change edit it or refuse, and writes it unless
// somebody else has written it in between; then it begins anew. Who loses too
// often gets NodeRevision. ID, UUID, Traits, Conductor and times are not written.
// Where change takes the InstanceUUID away, the node's allocation goes too; it has
// to refuse that where the node's state forbids it.
func (s *Store) NodeUpdate(ctx context.Context, ident Ident, change func(*Node) error) (Node, error) {
	return retried(ctx, NodeRevision, func() (Node, error) {
		node, err := s.NodeShow(ctx, ident)
		if err != nil {
			return node, err
		}
		id, revision := node.UUID, node.Revision
		if err := change(&node); err != nil {
			return node, err
		}
		document, err := node.document()
		if err != nil {
			return node, err
		}
		var row db.NodeUpdateRow
		err = s.writeNode(ctx, func() (err error) {
			row, err = s.queries.NodeUpdate(ctx, s.pool, id, revision, document)
			return err
		})
		if err != nil {
			return node, err
		}
		return nodeRow(row).node()
	})
}

// changes bounds how often something is read, changed and found to be written by
// somebody else.
const changes = 10

// retried runs a change again as long as the rule says that somebody else was
// faster.
func retried[T any](ctx context.Context, lost Rule, run func() (T, error)) (T, error) {
	for attempt := 1; ; attempt++ {
		done, err := run()
		if refused := As(err); refused == nil || refused.Rule != lost || attempt == changes {
			return done, err
		}
		select {
		case <-ctx.Done():
			return done, ctx.Err()
		case <-time.After(time.Duration(rand.Int64N(int64(attempt) * int64(5*time.Millisecond)))):
		}
	}
}

// NodeDelete removes a node with its allocation, ports and traits. Refused with
// NodeAssociated, NodeProtected or NodeNotDeletable.
func (s *Store) NodeDelete(ctx context.Context, ident Ident) error {
	id, name := identified(ident)
	return s.writeNode(ctx, func() error { return s.queries.NodeDelete(ctx, s.pool, id, name) })
}

// NodeMaintenance sets maintenance with a reason, or ends it; then reason and
// fault are forgotten.
func (s *Store) NodeMaintenance(ctx context.Context, ident Ident, on bool, reason *string) error {
	id, name := identified(ident)
	return s.writeNode(ctx, func() error {
		written, err := s.queries.NodeMaintenance(ctx, s.pool, db.NodeMaintenanceParams{
			Maintenance: on, Reason: reason, Node: id, Name: name,
		})
		if err == nil && written == 0 {
			return unknownNode(ident)
		}
		return err
	})
}
