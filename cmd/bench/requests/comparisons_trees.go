package requests

import (
	"context"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/berthd/berth/cmd/bench/rig"
)

// readVersions are the versions of requests that need berth 1.4.
const readVersions = "placement 1.39, berth 1.4"

// treeConsumers is the number of consumers of a tree that is shown with them.
const treeConsumers = 20

// treeComparisons compare GET of a whole tree with the requests that it replaces.
func (p *benchEnv) treeComparisons() []comparison {
	empty, used := newHost(5), newHost(5)
	const name = "GET tree, 5 providers"
	show := p.showTree(empty, 0, "")
	return []comparison{
		beside(name, "GET of one provider", show, p.getProvider, 3),
		beside(name, "GET of the tree's providers and of the inventories, traits, aggregates and usages of each", show, p.readTreeAndUsages(empty), 0.1),
		beside(fmt.Sprintf("GET tree, 5 providers and %d consumers", treeConsumers), name,
			p.showTree(used, treeConsumers, "?include=inventories,usages,traits,aggregates,consumers"), show, 3),
	}
}

// showTree creates the tree and its consumers with its first request.
func (p *benchEnv) showTree(of host, consumers int, query string) rig.RequestFunc {
	created := false
	return func(ctx context.Context, _ int, _ int64) error {
		if !created {
			if err := p.putTree(ctx, of, "null"); err != nil {
				return err
			}
			for i := range consumers {
				body := fmt.Sprintf(`{"allocations": {"%s": {"resources": {"VCPU": 1}}, "%s": {"resources": {"VCPU": 1, "MEMORY_MB": 512}}},
					"project_id": "bench", "user_id": "bench", "consumer_generation": null, "consumer_type": "INSTANCE"}`, of[i%5], of[(i+1)%5])
				if err := p.Request(ctx, http.MethodPut, p.berth+"/allocations/"+uuid.NewString(), body, http.StatusNoContent); err != nil {
					return err
				}
			}
			created = true
		}
		return p.Request(rig.WithVersions(ctx, readVersions), http.MethodGet, p.provider(of[2])+"/tree"+query, "", http.StatusOK)
	}
}

// readTreeAndUsages reads the parts of a tree that showTree has created.
func (p *benchEnv) readTreeAndUsages(of host) rig.RequestFunc {
	parts := p.readTree(of, true)
	return func(ctx context.Context, client int, n int64) error {
		if err := parts(ctx, client, n); err != nil {
			return err
		}
		for _, id := range of {
			if err := p.Request(ctx, http.MethodGet, p.provider(id)+"/usages", "", http.StatusOK); err != nil {
				return err
			}
		}
		return nil
	}
}
