package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// NodeAllocationCreateBatch creates count node allocations that are decided together: at least minimum of them get a
// node, or none does. Each has a new UUID, and a name that ends with its number. They are Extended, and UUID and Node
// of the request are ignored. It violates the rules of NodeAllocationCreate; a name in the violation is one of the
// generated names.
func (s *Store) NodeAllocationCreateBatch(
	ctx context.Context, request NodeAllocationRequest, number, minimum int, conductor string,
) ([]NodeAllocation, error) {
	request.fill()
	var rows []db.NodeAllocationCreateBatchRow
	err := s.writeBaremetal(ctx, func(to *postgres.Primary) (err error) {
		rows, err = s.queries.NodeAllocationCreateBatch(ctx, to, db.NodeAllocationCreateBatchParams{
			Number: int32(number), Minimum: int32(minimum), Batch: uuid.New(),
			Name: request.Name, Class: request.ResourceClass, Traits: request.Traits,
			CandidateUuids: request.candidates(), CandidateNames: request.CandidateNodes,
			Extra: request.Extra, Owner: request.Owner, Sticky: request.Sticky, Conductor: conductor, Quiet: request.Quiet,
		})
		return err
	})
	return each(rows, func(row db.NodeAllocationCreateBatchRow) NodeAllocation {
		return NodeAllocation{
			ID: row.ID, UUID: row.Uuid, Name: row.Name, State: "allocating", ResourceClass: request.ResourceClass,
			Traits: request.Traits, CandidateNodes: row.CandidateNodes, Extra: request.Extra, Owner: request.Owner,
			Conductor: &conductor, CreatedAt: row.CreatedAt,
		}
	}), err
}

// NodeAllocationRetry makes the conductor decide a node allocation in state error again. It violates
// NodeAllocationNotFound and NodeAllocationNotFailed.
func (s *Store) NodeAllocationRetry(ctx context.Context, ident Ident, conductor string) error {
	id, name := splitIdent(ident)
	return s.writeBaremetal(ctx, func(to *postgres.Primary) error { return s.queries.NodeAllocationRetry(ctx, to, id, name, conductor) })
}
