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
	"github.com/berthd/berth/server/data/postgres"
)

// Node is a bare metal node.
type Node struct {
	ID   int64
	UUID uuid.UUID
	// Name is unique among nodes; nil: it has none.
	Name          *string
	Driver        string
	ResourceClass *string
	// ProvisionState is never empty: the API shows null instead of "available" to old clients.
	ProvisionState       string
	TargetProvisionState *string
	ProvisionUpdatedAt   *time.Time
	PowerState           *string
	TargetPowerState     *string
	Maintenance          bool
	MaintenanceReason    *string
	Fault                *string
	// InstanceUUID identifies the user of the node. If AllocationUUID is set, they are equal.
	InstanceUUID   *uuid.UUID
	Owner          *string
	Lessee         *string
	Protected      bool
	Retired        bool
	ConductorGroup string
	LastError      *string
	// Conductor is the hostname of the conductor that holds the reservation; nil if none does.
	Conductor *string
	// Revision rises with every change.
	Revision int64
	// Details are all other members, by their API names.
	Details   map[string]json.RawMessage
	CreatedAt time.Time
	UpdatedAt *time.Time
	// Traits are sorted.
	Traits         []string
	AllocationUUID *uuid.UUID
}

// Ident is the UUID or the name of a node. An ident in the format of a UUID is one.
type Ident = string

// splitIdent returns the UUID or the name that an ident is.
func splitIdent(ident Ident) (id *uuid.UUID, name *string) {
	if len(ident) == len("0123456789abcdef0123456789abcdef") || len(ident) == len("01234567-89ab-cdef-0123-456789abcdef") {
		if parsed, err := uuid.Parse(ident); err == nil {
			return &parsed, nil
		}
	}
	return nil, &ident
}

func unknownNode(ident Ident) error {
	return &RuleViolation{Rule: NodeNotFound, Values: Values{Node: ident}}
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

// document returns a node as JSON by the names of its columns, the argument of the functions.
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

// writeNode is write for functions that may write a node's provider as well.
func (s *Store) writeNode(ctx context.Context, run func(*postgres.Primary) error) error {
	return s.retryWrite(ctx, nodeWrite, run)
}

// NodeShow returns a node; NodeNotFound if it does not exist.
func (s *Store) NodeShow(ctx context.Context, ident Ident) (Node, error) {
	id, name := splitIdent(ident)
	row, err := postgres.QueryPrimary(ctx, s.pool, func(from db.DBTX) (db.NodeShowRow, error) {
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

// NodeCreate creates a node. The database sets its id, revision and times; traits and a conductor are not written.
func (s *Store) NodeCreate(ctx context.Context, wanted Node) (Node, error) {
	document, err := wanted.document()
	if err != nil {
		return Node{}, err
	}
	var row db.NodeCreateRow
	err = s.writeNode(ctx, func(to *postgres.Primary) (err error) {
		row, err = s.queries.NodeCreate(ctx, to, document)
		return err
	})
	if err != nil {
		return Node{}, err
	}
	return nodeRow(row).node()
}

// NodeUpdate reads a node, calls change to edit it or to return an error, and writes it. If another transaction has
// written it in between, NodeUpdate starts again; after too many attempts it violates NodeRevisionConflict. ID, UUID,
// Traits, Conductor and times are not written. If change clears the InstanceUUID, the node allocation is deleted too;
// change has to return an error if the node's state forbids that.
func (s *Store) NodeUpdate(ctx context.Context, ident Ident, change func(*Node) error) (Node, error) {
	return retryOnRevisionConflict(ctx, NodeRevisionConflict, func() (Node, error) {
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
		err = s.writeNode(ctx, func(to *postgres.Primary) (err error) {
			row, err = s.queries.NodeUpdate(ctx, to, id, revision, document)
			return err
		})
		if err != nil {
			return node, err
		}
		return nodeRow(row).node()
	})
}

// maxRevisionRetries limits how often an object is read and changed before the store gives up because other
// transactions have always written it in between.
const maxRevisionRetries = 10

// retryOnRevisionConflict repeats a change as long as it violates the rule lost, because another transaction has
// written the row.
func retryOnRevisionConflict[T any](ctx context.Context, lost Rule, run func() (T, error)) (T, error) {
	for attempt := 1; ; attempt++ {
		done, err := run()
		if refused := AsRuleViolation(err); refused == nil || refused.Rule != lost || attempt == maxRevisionRetries {
			return done, err
		}
		select {
		case <-ctx.Done():
			return done, ctx.Err()
		case <-time.After(time.Duration(rand.Int64N(int64(attempt) * int64(5*time.Millisecond)))):
		}
	}
}

// NodeDelete deletes a node with its node allocation, ports and traits. It violates NodeAssociated, NodeProtected or
// NodeNotDeletable.
func (s *Store) NodeDelete(ctx context.Context, ident Ident) error {
	id, name := splitIdent(ident)
	return s.writeNode(ctx, func(to *postgres.Primary) error { return s.queries.NodeDelete(ctx, to, id, name) })
}

// NodeMaintenance sets maintenance with a reason, or clears it together with reason and fault.
func (s *Store) NodeMaintenance(ctx context.Context, ident Ident, on bool, reason *string) error {
	id, name := splitIdent(ident)
	return s.writeNode(ctx, func(to *postgres.Primary) error {
		written, err := s.queries.NodeMaintenance(ctx, to, db.NodeMaintenanceParams{
			Maintenance: on, Reason: reason, Node: id, Name: name,
		})
		if err == nil && written == 0 {
			return unknownNode(ident)
		}
		return err
	})
}
