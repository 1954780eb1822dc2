package requests

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/google/uuid"

	"github.com/berthd/berth/cmd/bench/rig"
)

// reshapeTree is a root with two children and consumers of three of its classes, which a
// reshape moves to the children and back.
type reshapeTree struct {
	root, left, right string
	consumers         []string
	down              bool
	generations       map[string]int64
	consumerGen       int64
}

const reshapeConsumers = 100

// reshaped are the classes, with the ids that standard classes have.
var reshaped = map[string]int32{"VCPU": 0, "MEMORY_MB": 1, "DISK_GB": 2}

// records are the same for every class, with room for all consumers and more.
func (t *reshapeTree) records() map[string]any {
	records := map[string]any{}
	for class := range reshaped {
		records[class] = map[string]any{"total": 10 * max(100, len(t.consumers))}
	}
	return records
}

// newReshaper gives every client a tree of its own, made at its first request.
func (p *benchEnv) newReshaper() rig.RequestFunc {
	var mutex sync.Mutex
	trees := map[int]*reshapeTree{}
	return func(ctx context.Context, client int, _ int64) error {
		mutex.Lock()
		tree := trees[client]
		mutex.Unlock()
		if tree == nil {
			var err error
			if tree, err = p.makeTree(ctx, reshapeConsumers); err != nil {
				return err
			}
			mutex.Lock()
			trees[client] = tree
			mutex.Unlock()
		}
		return p.Request(ctx, http.MethodPost, p.berth+"/reshaper", tree.toggle(), http.StatusNoContent)
	}
}

func (p *benchEnv) makeTree(ctx context.Context, consumers int) (*reshapeTree, error) {
	tree := &reshapeTree{
		root: uuid.NewString(), left: uuid.NewString(), right: uuid.NewString(),
		generations: map[string]int64{}, consumerGen: 1,
	}
	for range consumers {
		tree.consumers = append(tree.consumers, uuid.NewString())
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
	body, err := json.Marshal(map[string]any{"resource_provider_generation": 0, "inventories": tree.records()})
	if err != nil {
		return nil, err
	}
	if err := p.Request(ctx, http.MethodPut, p.berth+"/resource_providers/"+tree.root+"/inventories", string(body), http.StatusOK); err != nil {
		return nil, err
	}
	claims := map[string]any{}
	for _, id := range tree.consumers {
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
	amounts := map[string]int{}
	for class := range reshaped {
		amounts[class] = 1
	}
	return map[string]any{
		"allocations": map[string]any{provider: map[string]any{"resources": amounts}},
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
			records = t.records()
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
