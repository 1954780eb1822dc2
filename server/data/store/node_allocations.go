package store

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// NodeAllocation is a request for a bare metal node and its result: an allocation of the Bare Metal API.
type NodeAllocation struct {
	ID   int64
	UUID uuid.UUID
	Name *string
	// NodeUUID is the assigned node, nil unless State is active.
	NodeUUID *uuid.UUID
	// State is allocating, active or error.
	State         string
	ResourceClass string
	Traits        []string
	// CandidateNodes are the only nodes to choose from; empty: any.
	CandidateNodes []uuid.UUID
	Extra          json.RawMessage
	Owner          *string
	LastError      *string
	// Conductor is the hostname of the conductor that decides it; nil once decided.
	Conductor *string
	Revision  int64
	CreatedAt time.Time
	// UpdatedAt is nil until the first change.
	UpdatedAt *time.Time
}

// NodeAllocationRequest is what a client requests.
type NodeAllocationRequest struct {
	// UUID nil: the store generates one, or with Node, uses the node's instance_uuid.
	UUID *uuid.UUID
	Name *string
	// ResourceClass empty: the class of Node.
	ResourceClass  string
	Traits         []string
	CandidateNodes []string
	Extra          json.RawMessage
	Owner          *string
	// Node is already in use and gets a node allocation without a search (backfill); nil: the conductor searches one.
	Node *string
	// Extended: its error contains the number of nodes that failed each condition, and NodeAllocationDecidedChannel
	// notifies of its decision.
	Extended bool
	// Sticky: the node keeps it after teardown.
	Sticky bool
	// Quiet: the function sends no notification on NodeAllocationChannel, because the caller hands it to the conductor
	// itself. PostgreSQL serializes the commits of transactions that execute NOTIFY, so each one waits for the WAL
	// flush of the one before it.
	Quiet bool
}

// NodeAllocationCreate creates a node allocation. The conductor decides it later; one for a Node is active at once. It
// violates one of the following rules, and then creates nothing: NodeAllocationUUIDTaken, NodeAllocationNameTaken,
// NodeAllocationInstance, NodeAllocationCandidates; for a Node also NodeNotFound, NodeAssociated, one of Backfill…, or
// where nodes are providers, AllocationExceedsCapacity and NodeAllocationConsumerTaken.
func (s *Store) NodeAllocationCreate(
	ctx context.Context, request NodeAllocationRequest, conductor string,
) (NodeAllocation, error) {
	request.fill()
	params := db.NodeAllocationCreateParams{
		Uuid: request.UUID, Name: request.Name, Traits: request.Traits, Extra: request.Extra,
		Owner: request.Owner, Conductor: conductor, Backfill: request.Node != nil,
		CandidateUuids: request.candidates(), CandidateNames: request.CandidateNodes,
		Extended: request.Extended, Sticky: request.Sticky, Quiet: request.Quiet,
	}
	if request.ResourceClass != "" {
		params.Class = &request.ResourceClass
	}
	if request.Node != nil {
		params.NodeUuid, params.NodeName = splitIdent(*request.Node)
	}
	var row db.NodeAllocationCreateRow
	err := s.writeNode(ctx, func(to *postgres.Primary) (err error) {
		row, err = s.queries.NodeAllocationCreate(ctx, to, params)
		return err
	})
	if err != nil {
		return NodeAllocation{}, err
	}
	// The result is not read from the database, because the node allocation may have been decided or deleted by now.
	allocation := NodeAllocation{
		ID: row.ID, UUID: row.Uuid, Name: params.Name, State: row.State, ResourceClass: row.ResourceClass,
		Traits: params.Traits, CandidateNodes: row.CandidateNodes, Extra: params.Extra, Owner: params.Owner,
		Revision: row.Revision, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
	}
	if request.Node != nil {
		allocation.NodeUUID = &row.NodeUuid
	} else if conductor != "" {
		allocation.Conductor = &conductor
	}
	return allocation, nil
}

// fill replaces nil by empty values.
func (r *NodeAllocationRequest) fill() {
	if r.Traits == nil {
		r.Traits = []string{}
	}
	if r.CandidateNodes == nil {
		r.CandidateNodes = []string{}
	}
	if len(r.Extra) == 0 {
		r.Extra = json.RawMessage("{}")
	}
}

// candidates returns the UUIDs among the idents, nil in the place of a name.
func (r *NodeAllocationRequest) candidates() []uuid.UUID {
	found := make([]uuid.UUID, len(r.CandidateNodes))
	for i, ident := range r.CandidateNodes {
		if id, _ := splitIdent(ident); id != nil {
			found[i] = *id
		}
	}
	return found
}

// NodeAllocationProcess chooses a node for a node allocation, if it is still pending and belongs to the conductor. It
// returns the result only of a failure, use NodeAllocationShow: for each node allocation, of a batch too, that is in
// error for want of a node, the reason (class, busy, owner, candidate_nodes, traits or claimed).
func (s *Store) NodeAllocationProcess(ctx context.Context, id uuid.UUID, conductor string) (failed []string, err error) {
	kind := nodeWrite
	kind.Background = true
	err = s.retryWrite(ctx, kind, func(to *postgres.Primary) (err error) {
		failed, err = s.queries.NodeAllocationProcess(ctx, to, id, conductor)
		return err
	})
	return failed, err
}

// NodeAllocationUpdate calls change to edit name and extra, and writes them if they differ. If another transaction
// changed the row meanwhile, it reads the row and calls change again.
func (s *Store) NodeAllocationUpdate(
	ctx context.Context, ident string, change func(*NodeAllocation) error,
) (NodeAllocation, error) {
	return retryOnRevisionConflict(ctx, NodeAllocationRevisionConflict, func() (NodeAllocation, error) {
		found, err := s.NodeAllocationShow(ctx, ident)
		if err != nil {
			return found, err
		}
		before := found
		if found.Name != nil {
			found.Name = new(*found.Name)
		}
		found.Extra = slices.Clone(found.Extra)
		if err := change(&found); err != nil {
			return before, err
		}
		if equal(before.Name, found.Name) && bytes.Equal(before.Extra, found.Extra) {
			return before, nil
		}
		var at time.Time
		err = s.writeBaremetal(ctx, func(to *postgres.Primary) (err error) {
			at, err = s.queries.NodeAllocationUpdate(ctx, to, db.NodeAllocationUpdateParams{
				ID: before.ID, Revision: before.Revision, Name: found.Name, Extra: found.Extra,
			})
			return err
		})
		if refused := AsRuleViolation(err); refused != nil && refused.Rule == NodeAllocationNotFound {
			return before, unknownNodeAllocation(ident)
		}
		before.Name, before.Extra, before.Revision, before.UpdatedAt = found.Name, found.Extra, before.Revision+1, &at
		return before, err
	})
}

// equal compares two values that may be missing.
func equal[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// NodeAllocationDelete deletes a node allocation and releases its node. It violates NodeAllocationNotFound,
// NodeAllocationNodeActive or NodeAllocationNodeBusy.
func (s *Store) NodeAllocationDelete(ctx context.Context, ident string) error {
	id, name := splitIdent(ident)
	return s.writeNode(ctx, func(to *postgres.Primary) error { return s.queries.NodeAllocationDelete(ctx, to, id, name, false) })
}

// NodeAllocationDeleteByNode releases a node, by its UUID or name. It violates the rules of NodeAllocationDelete, and
// NodeNotFound.
func (s *Store) NodeAllocationDeleteByNode(ctx context.Context, node Ident) error {
	id, name := splitIdent(node)
	return s.writeNode(ctx, func(to *postgres.Primary) error { return s.queries.NodeAllocationDelete(ctx, to, id, name, true) })
}

// SetBaremetalBackend sets whether each node is a resource provider as well. If that changes, it waits for all writers
// of nodes, and they wait for it. It has no time limits like those of requests: it takes 40 s for 10,000 nodes.
func (s *Store) SetBaremetalBackend(ctx context.Context, placement bool) error {
	return s.writeNode(ctx, func(to *postgres.Primary) error {
		return pgx.BeginFunc(ctx, to, func(tx pgx.Tx) error {
			if err := s.queries.LimitsLift(ctx, tx); err != nil {
				return err
			}
			return s.queries.BaremetalBackendSet(ctx, tx, placement)
		})
	})
}
