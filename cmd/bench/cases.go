package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/google/uuid"

	"github.com/berthd/berth/cmd/bench/rig"
)

// measured is a request and the floor it is held against.
type measured struct {
	name      string
	ask       rig.Ask
	floor     rig.Ask
	floorName string
}

func (p *place) cases() []measured {
	const select1 = "net/http handler with one SELECT 1"
	return []measured{
		{"GET provider", p.getProvider, p.askFloor, select1},
		{"GET inventories", p.getInventories, p.askFloor, select1},
		{"PUT allocations", p.putAllocations, p.insertAllocations, "the same rows in one statement, unchecked"},
		{"POST reshaper", p.newReshaper(0), p.newUncheckedReshape(), "the same rows in one statement, unchecked"},
	}
}

func (p *place) askFloor(ctx context.Context, _ int, _ int64) error {
	return p.Request(ctx, http.MethodGet, p.floor, "", http.StatusOK)
}

// some spreads requests over the providers.
func some(n int64) int64 { return 1 + (n*7919)%1000 }

func (p *place) getProvider(ctx context.Context, _ int, n int64) error {
	return p.Request(ctx, http.MethodGet, p.berth+"/resource_providers/"+providerID(some(n)), "", http.StatusOK)
}

func (p *place) getInventories(ctx context.Context, _ int, n int64) error {
	return p.Request(ctx, http.MethodGet, p.berth+"/resource_providers/"+providerID(some(n))+"/inventories", "", http.StatusOK)
}

// putAllocations makes a new consumer with three classes of one provider.
func (p *place) putAllocations(ctx context.Context, _ int, n int64) error {
	body := fmt.Sprintf(`{"allocations": {"%s": {"resources": {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 10}}},
		"project_id": "bench", "user_id": "bench", "consumer_generation": null, "consumer_type": "INSTANCE"}`, providerID(some(n)))
	return p.Request(ctx, http.MethodPut, p.berth+"/allocations/"+consumerID(n), body, http.StatusNoContent)
}

// insertAllocations writes the rows that putAllocations writes.
func (p *place) insertAllocations(ctx context.Context, _ int, n int64) error {
	const statement = `
WITH consumer AS (
    INSERT INTO consumers (uuid, generation, project_id, user_id, consumer_type_id)
    SELECT $1::uuid, 1, project.id, owner.id, type.id
    FROM projects AS project, users AS owner, consumer_types AS type
    WHERE project.external_id = $3 AND owner.external_id = $3 AND type.name = 'INSTANCE'
    RETURNING id
), provider AS (
    SELECT id FROM resource_providers WHERE uuid = $2::uuid
), bumped AS (
    UPDATE provider_generations SET generation = generation + 1, updated_at = now()
    FROM provider WHERE provider_id = provider.id
), wanted AS (
    SELECT class.id AS class_id, item.amount
    FROM unnest($4::text[], $5::bigint[]) AS item (name, amount)
    JOIN resource_classes AS class ON class.name = item.name
), taken AS (
    UPDATE inventories AS inventory SET used = inventory.used + wanted.amount
    FROM wanted, provider WHERE inventory.provider_id = provider.id AND inventory.class_id = wanted.class_id
)
INSERT INTO allocations (consumer_id, provider_id, class_id, used)
SELECT consumer.id, provider.id, wanted.class_id, wanted.amount FROM consumer, provider, wanted`
	_, err := p.pool.Exec(ctx, statement, consumerID(n), providerID(some(n)), "bench",
		[]string{"VCPU", "MEMORY_MB", "DISK_GB"}, []int64{1, 512, 10})
	return err
}

// reshapeTree is a root with two children and a hundred consumers of its VGPUs,
// which a reshape moves to the children and back.
type reshapeTree struct {
	root, left, right string
	consumers         []string
	down              bool
	generations       map[string]int64
	consumerGen       int64
}

const reshapeConsumers = 100

// newReshaper gives every client a tree of its own, made at its first request.
func (p *place) newReshaper(first int64) rig.Ask {
	var mutex sync.Mutex
	trees := map[int]*reshapeTree{}
	return func(ctx context.Context, client int, _ int64) error {
		mutex.Lock()
		tree := trees[client]
		mutex.Unlock()
		if tree == nil {
			var err error
			if tree, err = p.makeTree(ctx); err != nil {
				return err
			}
			mutex.Lock()
			trees[client] = tree
			mutex.Unlock()
		}
		return p.Request(ctx, http.MethodPost, p.berth+"/reshaper", tree.toggle(), http.StatusNoContent)
	}
}

func (p *place) makeTree(ctx context.Context) (*reshapeTree, error) {
	tree := &reshapeTree{
		root: uuid.NewString(), left: uuid.NewString(), right: uuid.NewString(),
		generations: map[string]int64{}, consumerGen: 1,
	}
	for _, id := range []string{tree.root, tree.left, tree.right} {
		parent := "null"
		if id != tree.root {
			parent = `"` + tree.root + `"`
		}
		body := fmt.Sprintf(`{"name": "%[1]s", "uuid": "%[1]s", "parent_provider_uuid": %[2]s}`, id, parent)
		if err := p.Request(ctx, http.MethodPost, p.berth+"/resource_providers", body, http.StatusOK); err != nil {
			return nil, err
		}
	}
	body := `{"resource_provider_generation": 0, "inventories": {"VGPU": {"total": 1000}}}`
	if err := p.Request(ctx, http.MethodPut, p.berth+"/resource_providers/"+tree.root+"/inventories", body, http.StatusOK); err != nil {
		return nil, err
	}
	claims := map[string]any{}
	for range reshapeConsumers {
		id := uuid.NewString()
		tree.consumers = append(tree.consumers, id)
		claims[id] = claim(tree.root, nil)
	}
	encoded, err := json.Marshal(claims)
	if err != nil {
		return nil, err
	}
	tree.generations[tree.root] = 2
	return tree, p.Request(ctx, http.MethodPost, p.berth+"/allocations", string(encoded), http.StatusNoContent)
}

func claim(provider string, generation any) map[string]any {
	return map[string]any{
		"allocations": map[string]any{provider: map[string]any{"resources": map[string]any{"VGPU": 1}}},
		"project_id":  "bench", "user_id": "bench", "consumer_generation": generation, "consumer_type": "INSTANCE",
	}
}

// toggle is the next reshape: from the root to the children, or back.
func (t *reshapeTree) toggle() string {
	t.down = !t.down
	inventories := map[string]any{}
	has := map[string]bool{t.root: !t.down, t.left: t.down, t.right: t.down}
	for id, has := range has {
		records := map[string]any{}
		if has {
			records["VGPU"] = map[string]any{"total": 1000}
		}
		inventories[id] = map[string]any{"resource_provider_generation": t.generations[id], "inventories": records}
	}
	claims := map[string]any{}
	for i, consumer := range t.consumers {
		provider := t.root
		if t.down {
			provider = []string{t.left, t.right}[i%2]
		}
		claims[consumer] = claim(provider, t.consumerGen)
	}
	t.consumerGen++
	for id, has := range has {
		t.generations[id]++ // the final write
		if has {
			t.generations[id] += 2 // the interim one, and the allocations
		}
	}
	encoded, err := json.Marshal(map[string]any{"inventories": inventories, "allocations": claims})
	if err != nil {
		panic(err) // maps of strings and numbers
	}
	return string(encoded)
}
