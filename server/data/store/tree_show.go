package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// TreeQuery selects the parts of a tree.
type TreeQuery struct {
	// Provider is any provider of the tree.
	Provider uuid.UUID
	// Inventories, Traits and Aggregates are parts of each provider. Inventories have the usages.
	Inventories, Traits, Aggregates bool
	// Sharing also selects the providers of other trees that share with the tree.
	Sharing bool
	// Consumers also selects the consumers, with Sharing those that have nothing but shares too.
	Consumers bool
	// MaxConsumers is the maximum number of consumers.
	MaxConsumers int64
}

// ShownTree is a tree at one moment.
type ShownTree struct {
	// Providers are those of the tree, and Sharing those of other trees that share with it. Parents precede children.
	Providers, Sharing []ShownProvider
	// Consumers are in the order of their creation. There are none if ConsumersExceeded: more than the maximum.
	Consumers         []ConsumerRecord
	ConsumersExceeded bool
}

// ShownProvider is a provider of a tree, with the selected parts. The generation of a provider as it was can be UnknownGeneration.
type ShownProvider struct {
	Provider
	// Inventories are in the order of the classes.
	Inventories []Inventory
	Traits      []string
	Aggregates  []uuid.UUID
}

// TreeShow returns the tree of a provider: ProviderNotFound if there is no such provider. Providers and consumers are of one
// snapshot, and take one round trip. The read may use a replica.
func (s *Store) TreeShow(ctx context.Context, query TreeQuery) (ShownTree, error) {
	params := db.TreeShowParams{
		Provider: query.Provider, Sharing: query.Sharing, Records: query.Inventories, Traits: query.Traits, Aggregates: query.Aggregates,
	}
	if query.Consumers {
		return postgres.OnReplicaOrPrimary(ctx, s.pool, func(conn *postgres.Conn) (ShownTree, error) {
			return s.treeWithConsumers(ctx, conn, params, query.MaxConsumers)
		})
	}
	rows, err := postgres.QueryReplicaOrPrimary(ctx, s.pool, func(from db.DBTX) ([]db.TreeShowRow, error) {
		return s.queries.TreeShow(ctx, from, params)
	})
	if err != nil {
		return ShownTree{}, err
	}
	return shownTree(query.Provider, rows)
}

// treeWithConsumers sends both statements and their transaction together. It releases the connection.
func (s *Store) treeWithConsumers(
	ctx context.Context, conn *postgres.Conn, params db.TreeShowParams, most int64,
) (tree ShownTree, err error) {
	in := postgres.NewSnapshot(conn)
	defer func() { err = errors.Join(err, in.Close()) }()
	batch := in.Batch()
	providers := postgres.Enqueue(batch, func(ctx context.Context, from db.DBTX) ([]db.TreeShowRow, error) {
		return s.queries.TreeShow(ctx, from, params)
	})
	consumers := postgres.Enqueue(batch, func(ctx context.Context, from db.DBTX) ([]db.TreeConsumerListRow, error) {
		return s.queries.TreeConsumerList(ctx, from, params.Provider, params.Sharing, most+1)
	})
	batch.Commit()
	if err := batch.Send(ctx); err != nil {
		return tree, errors.Join(err, batch.Close())
	}
	rows, err := providers(ctx)
	var using []db.TreeConsumerListRow
	if err == nil {
		using, err = consumers(ctx)
	}
	if err := errors.Join(err, batch.Close()); err != nil {
		return tree, err
	}
	if tree, err = shownTree(params.Provider, rows); err != nil {
		return tree, err
	}
	tree.ConsumersExceeded = len(using) > 0 && using[0].Consumers > most
	tree.Consumers, err = treeConsumers(using)
	return tree, err
}

// shownTree returns the providers of a tree.
func shownTree(provider uuid.UUID, rows []db.TreeShowRow) (tree ShownTree, err error) {
	if len(rows) == 0 {
		return tree, unknownProvider(provider)
	}
	for i := range rows {
		row := &rows[i]
		shown := ShownProvider{
			Provider: Provider{UUID: row.Uuid, Name: row.Name, Generation: row.Generation, Parent: one(row.Parent), Root: row.Root},
			Traits:   row.Traits, Aggregates: row.Aggregates,
		}
		if shown.Inventories, err = shownInventories(row.Records); err != nil {
			return tree, err
		}
		if row.IsReached {
			tree.Sharing = append(tree.Sharing, shown)
		} else {
			tree.Providers = append(tree.Providers, shown)
		}
	}
	tree.Providers, tree.Sharing = parentsFirst(tree.Providers), parentsFirst(tree.Sharing)
	return tree, nil
}

// parentsFirst returns providers level by level, each level in the order given, so that parents precede their children. A
// provider is on the first level if its parent is not among them.
func parentsFirst(providers []ShownProvider) []ShownProvider {
	places := make(map[uuid.UUID]int, len(providers))
	for i := range providers {
		places[providers[i].UUID] = i
	}
	children := make([][]int, len(providers))
	var level, below []int
	for i := range providers {
		parent, isListed := 0, false
		if providers[i].Parent != nil {
			parent, isListed = places[*providers[i].Parent]
		}
		if isListed {
			children[parent] = append(children[parent], i)
		} else {
			level = append(level, i)
		}
	}
	result := make([]ShownProvider, 0, len(providers))
	for len(level) > 0 {
		below = below[:0]
		for _, i := range level {
			result = append(result, providers[i])
			below = append(below, children[i]...)
		}
		slices.Sort(below)
		level, below = below, level
	}
	return result
}

// shownInventories decodes inventories with their usages; null: none.
func shownInventories(records json.RawMessage) ([]Inventory, error) {
	if records == nil {
		return nil, nil
	}
	var decoded []struct {
		Inventory
		Used int64 `json:"used"`
	}
	if err := json.Unmarshal(records, &decoded); err != nil {
		return nil, fmt.Errorf("inventories of a provider: %w", err)
	}
	inventories := make([]Inventory, len(decoded))
	for i := range decoded {
		inventories[i] = decoded[i].Inventory
		inventories[i].Used = decoded[i].Used
	}
	return inventories, nil
}

// treeConsumers groups the rows of TreeConsumerList by consumer.
func treeConsumers(rows []db.TreeConsumerListRow) (records []ConsumerRecord, err error) {
	if len(rows) == 0 {
		return nil, nil
	}
	records = []ConsumerRecord{}
	for i := range rows[1:] {
		row := &rows[i+1]
		if len(records) == 0 || records[len(records)-1].UUID != row.Consumer {
			consumer := ConsumerRecord{
				UUID: row.Consumer, ProjectID: row.ProjectID, UserID: row.UserID, Type: row.Type, Generation: row.Generation,
				SharingOnly: row.SharingOnly,
			}
			if consumer.Lease, err = leaseOf(row.Lease); err != nil {
				return nil, err
			}
			if row.IsNodeAllocation {
				consumer.NodeAllocation = &NodeAllocationName{Name: row.NodeAllocationName}
			}
			records = append(records, consumer)
		}
		last := &records[len(records)-1]
		last.Allocations = append(last.Allocations, ConsumerAllocation{
			Provider: row.Provider, Root: row.Root, ProviderName: row.ProviderName, ProviderGeneration: row.ProviderGeneration,
			Class: row.Class, Used: row.Used, CreatedAt: row.CreatedAt,
		})
	}
	return records, nil
}
