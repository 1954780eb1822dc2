package store

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
)

// NodeAllocation is a request for a bare metal node and what became of it: an
// allocation of the Bare Metal API.
type NodeAllocation struct {
	ID   int64
	UUID uuid.UUID
	Name *string
	// NodeUUID is the node that was given, nil unless State is active.
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
	// Conductor is the host name of whoever has to decide; nil once decided.
	Conductor *string
	Revision  int64
	CreatedAt time.Time
	// UpdatedAt is nil until the first change.
	UpdatedAt *time.Time
}

// NodeAllocationRequest is what a client asks for.
type NodeAllocationRequest struct {
	// UUID nil: one is made up, or with Node, the node's instance is taken.
	UUID *uuid.UUID
	Name *string
	// ResourceClass empty: the class of Node.
	ResourceClass  string
	Traits         []string
	CandidateNodes []string
	Extra          json.RawMessage
	Owner          *string
	// Node is in use already and is to have an allocation, without anybody
	// choosing; nil: choose one.
	Node *string
	// Extended: its error is told with numbers of how many nodes failed at what, and
	// its decision is told on NodeAllocationDecisions.
	Extended bool
	// Sticky: the node keeps it when it is torn down.
	Sticky bool
	// Quiet: nothing is told on NodeAllocationChannel, since the caller tells the conductor
	// itself. Whoever tells there waits for the disk alone, one after the other.
	Quiet bool
}

// NodeAllocationCreate makes an allocation. It is decided later, by the
// conductor; one for a Node is active at once. Refused, and nothing left of it, with
// NodeAllocationUUIDTaken, NodeAllocationNameTaken, NodeAllocationInstance,
// NodeAllocationCandidates; for a Node also with NodeUnknown, NodeAssociated, one of
// Backfill…, or where nodes are providers, AllocationCapacity and
// NodeAllocationConsumerTaken.
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
		params.NodeUuid, params.NodeName = identified(*request.Node)
	}
	var row db.NodeAllocationCreateRow
	err := s.writeNode(ctx, func() (err error) {
		row, err = s.queries.NodeAllocationCreate(ctx, s.pool, params)
		return err
	})
	if err != nil {
		return NodeAllocation{}, err
	}
	// Not read anew, since it may have been decided or deleted by now.
	made := NodeAllocation{
		ID: row.ID, UUID: row.Uuid, Name: params.Name, State: row.State, ResourceClass: row.ResourceClass,
		Traits: params.Traits, CandidateNodes: row.CandidateNodes, Extra: params.Extra, Owner: params.Owner,
		Revision: row.Revision, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
	}
	if request.Node != nil {
		made.NodeUUID = &row.NodeUuid
	} else if conductor != "" {
		made.Conductor = &conductor
	}
	return made, nil
}

// fill puts empty values where there are none.
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

// candidates are the uuids among the idents, nil where a name stands.
func (r *NodeAllocationRequest) candidates() []uuid.UUID {
	found := make([]uuid.UUID, len(r.CandidateNodes))
	for i, ident := range r.CandidateNodes {
		if id, _ := identified(ident); id != nil {
			found[i] = *id
		}
	}
	return found
}

// NodeAllocationProcess chooses a node for an allocation, if it is still to be
// decided and the conductor's to do so. Nothing is read: whoever wants to know what
// became of it shows it.
func (s *Store) NodeAllocationProcess(ctx context.Context, id uuid.UUID, conductor string) error {
	return s.writeNode(ctx, func() error { return s.queries.NodeAllocationProcess(ctx, s.pool, id, conductor) })
}

// NodeAllocationUpdate lets change edit name and extra, and writes them if they
// differ. If somebody else was faster it reads again and change is called again.
func (s *Store) NodeAllocationUpdate(
	ctx context.Context, ident string, change func(*NodeAllocation) error,
) (NodeAllocation, error) {
	return retried(ctx, NodeAllocationRevision, func() (NodeAllocation, error) {
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
		err = s.write(ctx, func() (err error) {
			at, err = s.queries.NodeAllocationUpdate(ctx, s.pool, db.NodeAllocationUpdateParams{
				ID: before.ID, Revision: before.Revision, Name: found.Name, Extra: found.Extra,
			})
			return err
		})
		if refused := As(err); refused != nil && refused.Rule == NodeAllocationUnknown {
			return before, unknownNodeAllocation(ident)
		}
		before.Name, before.Extra, before.Revision, before.UpdatedAt = found.Name, found.Extra, before.Revision+1, &at
		return before, err
	})
}

// equal compares what may be missing.
func equal[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// NodeAllocationDelete removes an allocation and frees its node; refused with
// NodeAllocationUnknown, NodeAllocationNodeActive or NodeAllocationNodeBusy.
func (s *Store) NodeAllocationDelete(ctx context.Context, ident string) error {
	id, name := identified(ident)
	return s.writeNode(ctx, func() error { return s.queries.NodeAllocationDelete(ctx, s.pool, id, name, false) })
}

// NodeAllocationDeleteOfNode frees a node, by its uuid or name; refused as
// NodeAllocationDelete, and with NodeUnknown.
func (s *Store) NodeAllocationDeleteOfNode(ctx context.Context, node Ident) error {
	id, name := identified(node)
	return s.writeNode(ctx, func() error { return s.queries.NodeAllocationDelete(ctx, s.pool, id, name, true) })
}

// SetBaremetalBackend says whether each node is a resource provider as well. Where
// that changes, it waits for all writers of nodes, and they wait for it.
func (s *Store) SetBaremetalBackend(ctx context.Context, placement bool) error {
	return s.writeNode(ctx, func() error { return s.queries.BaremetalBackendSet(ctx, s.pool, placement) })
}
