package requests

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/berthd/berth/cmd/bench/rig"
)

// dryRunPrefix is the beginning of the names of the comparisons of dry runs.
const dryRunPrefix = "dry run of "

// dryRunLimit is the target of the ratio of a dry run to its write.
const dryRunLimit = 1.5

// request is a write. The URL has no query string.
type request struct {
	method, url, body string
	want              int
}

func (p *benchEnv) send(ctx context.Context, one request) error {
	return p.Request(ctx, one.method, one.url, one.body, one.want)
}

// rehearse sends the request as a dry run.
func (p *benchEnv) rehearse(ctx context.Context, one request) error {
	return p.Request(ctx, one.method, one.url+"?dry_run=true", one.body, http.StatusOK)
}

// dryRunOf compares the dry run of a request with the request. create creates what the request of a number needs.
func (p *benchEnv) dryRunOf(name string, create rig.RequestFunc, of func(n int64) request) comparison {
	return comparison{
		name: dryRunPrefix + name, against: "the write", limit: dryRunLimit, clients: 1, prepare: create,
		request: func(ctx context.Context, _ int, n int64) error { return p.rehearse(ctx, of(n)) },
		instead: func(ctx context.Context, _ int, n int64) error { return p.send(ctx, of(n)) },
	}
}

// dryRunComparisons has every operation that has dry runs.
func (p *benchEnv) dryRunComparisons() []comparison {
	return append(append(p.dryRunsOfProviders(), p.dryRunsOfAllocations()...), p.dryRunsOfReshapes()...)
}

func (p *benchEnv) dryRunsOfProviders() []comparison {
	id := func(n int64) string { return numbered(0xd0, n) }
	create := func(ctx context.Context, _ int, n int64) error { return p.putTree(ctx, host{id(n)}, "null") }
	var all []comparison
	for _, of := range []struct {
		method, path, body string
		want               int
	}{
		{http.MethodPut, "", `{"name": "renamed-%d"}`, 200},
		{http.MethodDelete, "", "", 204},
		{http.MethodPut, "/inventories", `{"resource_provider_generation": 1, "inventories": {"VCPU": {"total": %d}, "DISK_GB": {"total": 9}}}`, 200},
		{http.MethodPost, "/inventories", `{"resource_class": "DISK_GB", "total": %d}`, 201},
		{http.MethodDelete, "/inventories", "", 204},
		{http.MethodPatch, "/inventories", `{"inventories": {"VCPU": {"total": %d}}}`, 200},
		{http.MethodPut, "/inventories/VCPU", `{"resource_provider_generation": 1, "total": %d}`, 200},
		{http.MethodDelete, "/inventories/VCPU", "", 204},
		{http.MethodPut, "/traits", `{"resource_provider_generation": 1, "traits": ["HW_CPU_X86_SSE"]}`, 200},
		{http.MethodDelete, "/traits", "", 204},
		{http.MethodPatch, "/traits", `{"traits": {"HW_CPU_X86_SSE": true, "HW_CPU_X86_VMX": null}}`, 200},
		{http.MethodPut, "/aggregates", `{"resource_provider_generation": 1, "aggregates": []}`, 200},
		{http.MethodPatch, "/aggregates", `{"aggregates": {"a99e0000-0000-4000-8000-000000000001": null}}`, 200},
	} {
		all = append(all, p.dryRunOf(of.method+" provider"+of.path, create, func(n int64) request {
			body := of.body
			if strings.Contains(body, "%d") {
				body = fmt.Sprintf(body, 1000+n)
			}
			return request{of.method, p.provider(id(n)) + of.path, body, of.want}
		}))
	}
	named := func(method, kind string, create rig.RequestFunc, want int) comparison {
		return p.dryRunOf(method+" "+kind, create, func(n int64) request {
			return request{method, fmt.Sprintf("%s/%s/CUSTOM_%d", p.berth, kind, n), "", want}
		})
	}
	for _, kind := range []string{"resource_classes", "traits"} {
		put := named(http.MethodPut, kind, nil, 201)
		all = append(all, put, named(http.MethodDelete, kind, put.instead, 204))
	}
	return append(all,
		p.dryRunOf("POST resource_classes", nil, func(n int64) request {
			return request{http.MethodPost, p.berth + "/resource_classes", fmt.Sprintf(`{"name": "CUSTOM_%d"}`, n), 201}
		}),
		p.dryRunOf("POST resource_providers", nil, func(n int64) request {
			return request{http.MethodPost, p.berth + "/resource_providers", fmt.Sprintf(`{"name": "%[1]s", "uuid": "%[1]s"}`, id(n)), 200}
		}),
		p.dryRunOf("PUT tree, 5 new providers", nil, func(n int64) request {
			tree := host{}
			for i := range int64(5) {
				tree = append(tree, numbered(0xd1, 5*n+i))
			}
			return request{http.MethodPut, p.provider(tree[0]) + "/tree", tree.tree("null"), 200}
		}))
}

func (p *benchEnv) dryRunsOfAllocations() []comparison {
	url := func(n int64) string { return p.berth + "/allocations/" + consumerID(n) }
	put := func(amount int64, generation string) func(n int64) request {
		return func(n int64) request {
			return request{http.MethodPut, url(n), allocationsBody(providerID(spreadProvider(n)), amount, generation), 204}
		}
	}
	create := func(ctx context.Context, _ int, n int64) error { return p.send(ctx, put(1, "null")(n)) }
	post := func(consumers int) func(n int64) request {
		return func(n int64) request {
			var all []string
			for i := range consumers {
				id := numbered(0xcf, n*int64(consumers)+int64(i))
				all = append(all, fmt.Sprintf(`"%s": %s`, id, allocationsBody(providerID(spreadProvider(n)), 1, "null")))
			}
			return request{http.MethodPost, p.berth + "/allocations", "{" + strings.Join(all, ",") + "}", 204}
		}
	}
	all := []comparison{
		p.dryRunOf("PUT allocations, new consumer", nil, put(1, "null")),
		p.dryRunOf("PUT allocations, other amounts", create, put(2, "1")),
		p.dryRunOf("PATCH allocations", create, func(n int64) request {
			return request{http.MethodPatch, url(n), fmt.Sprintf(`{"allocations": {"%s": {"resources": {"VCPU": 2}}}}`, providerID(spreadProvider(n))), 200}
		}),
		p.dryRunOf("DELETE allocations", create, func(n int64) request { return request{http.MethodDelete, url(n), "", 204} }),
		p.dryRunOf("POST claims", nil, func(n int64) request {
			return request{http.MethodPost, p.berth + "/claims", fmt.Sprintf(`{"consumers": [%s], "queries": [%s]}`, claimed(consumerID(n)), questions()[0].json), 200}
		}),
	}
	for _, consumers := range []int{10, 100, 2400} {
		one := p.dryRunOf(fmt.Sprintf("POST allocations, %d new consumers", consumers), nil, post(consumers))
		one.share = 1 + consumers/100
		all = append(all, one)
	}
	return all
}

func (p *benchEnv) dryRunsOfReshapes() []comparison {
	var all []comparison
	for _, consumers := range []int{100, 2400} {
		for _, method := range []string{http.MethodPost, http.MethodPatch} {
			one := p.dryRunOfReshape(method, consumers)
			one.share = 1 + consumers/100
			all = append(all, one)
		}
	}
	return all
}

// dryRunOfReshape moves consumers from a root to its children and back. Only the write moves the tree.
func (p *benchEnv) dryRunOfReshape(method string, consumers int) comparison {
	var tree *reshapeTree
	var next string
	answer := http.StatusNoContent
	if method == http.MethodPatch {
		answer = http.StatusOK
	}
	return comparison{
		name: fmt.Sprintf("%s%s reshaper, %d consumers", dryRunPrefix, method, consumers), against: "the write", limit: dryRunLimit, clients: 1,
		prepare: func(ctx context.Context, _ int, _ int64) (err error) {
			if tree == nil {
				if tree, err = p.makeTree(ctx, consumers); err != nil {
					return err
				}
			}
			if next == "" {
				if next = tree.toggle(); method == http.MethodPatch {
					next = tree.patch(true)
				}
			}
			return nil
		},
		request: func(ctx context.Context, _ int, _ int64) error {
			return p.rehearse(ctx, request{method, p.berth + "/reshaper", next, 0})
		},
		instead: func(ctx context.Context, _ int, _ int64) error {
			body := next
			next = ""
			return p.send(ctx, request{method, p.berth + "/reshaper", body, answer})
		},
	}
}

// patch is the reshape that toggle has made, as merge patches without generations. With removes it removes the inventories that
// the consumers leave.
func (t *reshapeTree) patch(removes bool) string {
	inventories, allocations := map[string]any{}, map[string]any{}
	for id, has := range map[string]bool{t.root: !t.down, t.left: t.down, t.right: t.down} {
		if !has && !removes {
			continue
		}
		records := map[string]any{}
		for class, record := range t.records() {
			if records[class] = record; !has {
				records[class] = nil
			}
		}
		inventories[id] = map[string]any{"inventories": records}
	}
	for i, consumer := range t.consumers {
		from, to := t.root, []string{t.left, t.right}[i%2]
		if !t.down {
			from, to = to, from
		}
		allocations[consumer] = map[string]any{"allocations": map[string]any{from: nil, to: claim(to, nil)["allocations"].(map[string]any)[to]}}
	}
	encoded, err := json.Marshal(map[string]any{"inventories": inventories, "allocations": allocations})
	if err != nil {
		panic(err) // maps of strings and numbers
	}
	return string(encoded)
}
