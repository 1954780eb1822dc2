package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
)

// NodeAllocationCreateBatch makes so many allocations that are decided together: at
// least minimum of them get a node, or none does. They have uuids of their own, and
// names that end with their number. They are Extended, and neither UUID nor Node of the
// request count. Refused as NodeAllocationCreate; a name is then one of theirs.
func (s *Store) NodeAllocationCreateBatch(
	ctx context.Context, request NodeAllocationRequest, number, minimum int, conductor string,
) ([]NodeAllocation, error) {
	request.fill()
	var rows []db.NodeAllocationCreateBatchRow
	err := s.write(ctx, func() (err error) {
		rows, err = s.queries.NodeAllocationCreateBatch(ctx, s.pool, db.NodeAllocationCreateBatchParams{
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

// NodeAllocationRetry lets the conductor decide an allocation in error once more.
// Refused with NodeAllocationUnknown and NodeAllocationNotFailed.
func (s *Store) NodeAllocationRetry(ctx context.Context, ident Ident, conductor string) error {
	id, name := identified(ident)
	return s.write(ctx, func() error { return s.queries.NodeAllocationRetry(ctx, s.pool, id, name, conductor) })
}
