// Package store holds the resource methods: one method for each operation. It runs one generated query, or calls one
// SQL function, and converts the SQLSTATEs of violated rules into errors.
//
// It is not for decisions: the SQL decides under its locks whether a generation is stale or a claim exceeds the
// capacity. It is not for connections and retries either: these are in package postgres. The search for allocation
// candidates is in package candidates.
package store

import (
	"context"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// Store is the resource methods of one database. It is safe for concurrent use.
type Store struct {
	pool    *postgres.Pool
	queries *db.Queries
	// conductors are the connections of this process's conductor.
	conductors *postgres.SidePool
	// explanations is the connection for work in the background: it records and computes explanations, and deletes expired
	// idempotency keys.
	explanations *postgres.SidePool
	// keys is shared by all copies of the store. key is that of the next write; nil: it has none.
	keys *idempotencyKeys
	key  *IdempotencyKey
	// recording is shared by all copies of the store.
	recording *recording
}

// Open opens the connections to a database and returns their store. It returns an error if the database does not
// respond. It replaces Options.Prepare.
func Open(ctx context.Context, options postgres.Options) (*Store, error) {
	options.Prepare = preparedWrites
	pool, err := postgres.Open(ctx, options)
	if err != nil {
		return nil, err
	}
	return &Store{
		pool: pool, queries: db.New(), conductors: pool.NewSidePool(conductorConnections),
		explanations: pool.NewSidePool(explanationConnections),
		keys:         &idempotencyKeys{running: map[keyName]*keyTurn{}}, recording: &recording{},
	}, nil
}

// Pool returns the connections.
func (s *Store) Pool() *postgres.Pool { return s.pool }

// Close closes all connections. It waits for those in use.
func (s *Store) Close() { s.pool.Close() }

// preparedWrites are the statements that are expected to fail, such as a claim that exceeds the capacity.
var preparedWrites = []string{
	db.IdempotencyBegin, db.CallerSet, db.AllocationReplace, db.AllocationReplaceRecorded, db.Reshape, db.ReshapePatch, db.TreeReplace,
	db.ClaimCreate, db.ClaimCreateNamed, db.ClaimCreateMany, db.ClaimCreateRecorded, db.ClaimCreateNamedRecorded,
	db.InventoryReplace, db.InventoryUpdate, db.InventoryCreate, db.InventoryDelete, db.InventoryClear,
	db.ProviderCreate, db.ProviderUpdate, db.ProviderDelete, db.ProviderTraitReplace, db.ProviderAggregateReplace,
	db.NodeAllocationCreate, db.NodeAllocationUpdate, db.NodeAllocationDelete,
}
