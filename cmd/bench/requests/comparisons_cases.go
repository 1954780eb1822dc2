package requests

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/cmd/bench/rig"
)

func (p *benchEnv) comparisons() []comparison {
	var all []comparison
	for _, size := range []int{5, 7} {
		host := newHost(size)
		name := fmt.Sprintf("PUT tree, %d providers, unchanged", size)
		put := p.unchangedTree(host)
		all = append(all,
			beside(name, "GET of the tree's providers and of the inventories, traits and aggregates of each", put, p.readTree(host, true), 2),
			beside(name, "GET of the tree's providers alone", put, p.readTree(host, false), 2))
	}
	all = append(all, p.treeComparisons()...)
	all = append(all,
		beside("PUT tree, 5 new providers", "the 5 POSTs and 15 PUTs that do the same", p.newTree, p.newProviders, 0.5),
		beside("PATCH inventories, one of three records", "PUT of all three", p.patchInventories(), p.putInventories(), 1),
		beside("PATCH traits, one of three", "PUT of all three", p.patchTraits(), p.putTraits(), 1),
		beside("PATCH allocations, one of three amounts", "PUT of all three", p.changeAllocations(http.MethodPatch), p.changeAllocations(http.MethodPut), 1),
	)
	all = append(all, p.dryRunComparisons()...)
	return append(all, p.claimComparisons()...)
}

// host is the providers of a tree: a root, two children, and children of these.
type host []string

func newHost(size int) host {
	var made host
	for range size {
		made = append(made, uuid.NewString())
	}
	return made
}

// parent is JSON.
func (h host) parent(i int) string {
	if i == 0 {
		return "null"
	}
	return `"` + h[(i-1)/2] + `"`
}

const (
	hostInventories = `{"VCPU": {"total": 16, "allocation_ratio": 2.0}, "MEMORY_MB": {"total": 65536, "reserved": 1024}}`
	hostTraits      = `["HW_CPU_X86_AVX2", "HW_CPU_X86_VMX"]`
	hostAggregates  = `["a99e0000-0000-4000-8000-000000000001"]`
)

// tree is the body of PUT tree; generation is JSON.
func (h host) tree(generation string) string {
	var providers []string
	for i, id := range h {
		providers = append(providers, fmt.Sprintf(`{"uuid": "%[1]s", "name": "%[1]s", "parent_provider_uuid": %[2]s, "generation": %[3]s,
			"inventories": %[4]s, "traits": %[5]s, "aggregates": %[6]s}`,
			id, h.parent(i), generation, hostInventories, hostTraits, hostAggregates))
	}
	return `{"resource_providers": [` + strings.Join(providers, ",") + `]}`
}

func (p *benchEnv) provider(id string) string { return p.berth + "/resource_providers/" + id }

func (p *benchEnv) putTree(ctx context.Context, of host, generation string) error {
	return p.Request(ctx, http.MethodPut, p.provider(of[0])+"/tree", of.tree(generation), http.StatusOK)
}

// unchangedTree creates the tree with its first request.
func (p *benchEnv) unchangedTree(of host) rig.RequestFunc {
	generation := "null"
	return func(ctx context.Context, _ int, _ int64) error {
		err := p.putTree(ctx, of, generation)
		generation = "1"
		return err
	}
}

func (p *benchEnv) newTree(ctx context.Context, _ int, _ int64) error {
	return p.putTree(ctx, newHost(5), "null")
}

func (p *benchEnv) newProviders(ctx context.Context, _ int, _ int64) error {
	made := newHost(5)
	for i, id := range made {
		for _, write := range []struct{ method, url, body string }{
			{http.MethodPost, p.berth + "/resource_providers", fmt.Sprintf(`{"uuid": "%[1]s", "name": "%[1]s", "parent_provider_uuid": %[2]s}`, id, made.parent(i))},
			{http.MethodPut, p.provider(id) + "/inventories", `{"resource_provider_generation": 0, "inventories": ` + hostInventories + `}`},
			{http.MethodPut, p.provider(id) + "/traits", `{"resource_provider_generation": 1, "traits": ` + hostTraits + `}`},
			{http.MethodPut, p.provider(id) + "/aggregates", `{"resource_provider_generation": 2, "aggregates": ` + hostAggregates + `}`},
		} {
			if err := p.Request(ctx, write.method, write.url, write.body, http.StatusOK); err != nil {
				return err
			}
		}
	}
	return nil
}

// readTree reads the providers of a tree, and with sets also what a provider has, as nova does.
func (p *benchEnv) readTree(of host, sets bool) rig.RequestFunc {
	return func(ctx context.Context, _ int, _ int64) error {
		if err := p.Request(ctx, http.MethodGet, p.berth+"/resource_providers?in_tree="+of[0], "", http.StatusOK); err != nil || !sets {
			return err
		}
		for _, id := range of {
			for _, part := range []string{"/inventories", "/traits", "/aggregates"} {
				if err := p.Request(ctx, http.MethodGet, p.provider(id)+part, "", http.StatusOK); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// patchInventories and putInventories change one total of three records, with different providers.
func (p *benchEnv) patchInventories() rig.RequestFunc {
	generation := 0
	return func(ctx context.Context, _ int, n int64) error {
		body := fmt.Sprintf(`{"resource_provider_generation": %d, "inventories": {"VCPU": {"total": %d}}}`, generation, 1<<30+n)
		generation++
		return p.Request(ctx, http.MethodPatch, p.provider(providerID(1))+"/inventories", body, http.StatusOK)
	}
}

func (p *benchEnv) putInventories() rig.RequestFunc {
	generation := 0
	return func(ctx context.Context, _ int, n int64) error {
		body := fmt.Sprintf(`{"resource_provider_generation": %d, "inventories": {"VCPU": {"total": %d, "allocation_ratio": 1000},
			"MEMORY_MB": {"total": 2147483647, "allocation_ratio": 1000}, "DISK_GB": {"total": 2147483647, "allocation_ratio": 1000}}}`,
			generation, 1<<30+n)
		generation++
		return p.Request(ctx, http.MethodPut, p.provider(providerID(2))+"/inventories", body, http.StatusOK)
	}
}

// patchTraits and putTraits add and remove one trait beside two that stay.
func (p *benchEnv) patchTraits() rig.RequestFunc {
	generation := 0
	return func(ctx context.Context, _ int, _ int64) error {
		value := []string{"true", "null"}[generation%2]
		body := fmt.Sprintf(`{"resource_provider_generation": %d, "traits": {"HW_CPU_X86_SSE": %s}}`, generation, value)
		generation++
		return p.Request(ctx, http.MethodPatch, p.provider(providerID(3))+"/traits", body, http.StatusOK)
	}
}

func (p *benchEnv) putTraits() rig.RequestFunc {
	generation := 0
	return func(ctx context.Context, _ int, _ int64) error {
		traits := []string{`["HW_CPU_X86_AVX2", "HW_CPU_X86_VMX", "HW_CPU_X86_SSE"]`, hostTraits}[generation%2]
		body := fmt.Sprintf(`{"resource_provider_generation": %d, "traits": %s}`, generation, traits)
		generation++
		return p.Request(ctx, http.MethodPut, p.provider(providerID(4))+"/traits", body, http.StatusOK)
	}
}

// allocationsBody is the body of PUT allocations; generation is JSON.
func allocationsBody(provider string, amount int64, generation string) string {
	return fmt.Sprintf(`{"allocations": {"%s": {"resources": {"VCPU": %d, "MEMORY_MB": 512, "DISK_GB": 10}}},
		"project_id": "bench", "user_id": "bench", "consumer_generation": %s, "consumer_type": "INSTANCE"}`, provider, amount, generation)
}

// changeAllocations changes one of three amounts of a consumer, which the first request creates.
func (p *benchEnv) changeAllocations(method string) rig.RequestFunc {
	var generation int64
	provider, url := providerID(5), p.berth+"/allocations/"+uuid.NewString()
	if method == http.MethodPut {
		provider = providerID(6)
	}
	return func(ctx context.Context, _ int, n int64) error {
		generation++
		if generation == 1 {
			return p.Request(ctx, http.MethodPut, url, allocationsBody(provider, 1, "null"), http.StatusNoContent)
		}
		amount := 1 + n%1000
		if method == http.MethodPut {
			return p.Request(ctx, method, url, allocationsBody(provider, amount, fmt.Sprint(generation-1)), http.StatusNoContent)
		}
		body := fmt.Sprintf(`{"allocations": {"%s": {"resources": {"VCPU": %d}}}, "consumer_generation": %d}`, provider, amount, generation-1)
		return p.Request(ctx, method, url, body, http.StatusOK)
	}
}
