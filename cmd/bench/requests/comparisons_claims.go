package requests

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/berthd/berth/cmd/bench/rig"
)

// claimPrefix is the beginning of the names of the comparisons of claims.
const claimPrefix = "POST claims"

// comparesClaims reports whether --only selects a comparison of claims.
func comparesClaims(only string) bool {
	return string(comparisons) == only || strings.HasPrefix(claimPrefix, only) || strings.HasPrefix(only, claimPrefix)
}

// query is what a claim asks, and the same as a query string.
type query struct{ name, json, query string }

func questions() []query {
	return []query{
		{
			"flat",
			`{"groups": {"": {"resources": {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 10}, "required": ["HW_CPU_X86_AVX2"]}}}`,
			"resources=VCPU:1,MEMORY_MB:512,DISK_GB:10&required=HW_CPU_X86_AVX2",
		},
		{
			"nested",
			`{"groups": {"": {"resources": {"DISK_GB": 10}}, "_NUMA": {"resources": {"VCPU": 1, "MEMORY_MB": 512}, "required": ["HW_NUMA_ROOT"]},
				"_GPU": {"resources": {"VGPU": 1}}}, "group_policy": "none", "same_subtree": [["_NUMA", "_GPU"]]}`,
			"resources=DISK_GB:10&resources_NUMA=VCPU:1,MEMORY_MB:512&required_NUMA=HW_NUMA_ROOT&resources_GPU=VGPU:1" +
				"&group_policy=none&same_subtree=_NUMA,_GPU",
		},
	}
}

// several is the number of consumers of a claim for several, and of trees of the search beside it.
const several = 10

// ordered is the question with an order.
func (q query) ordered(order string) query {
	q.json = `{"order": "` + order + `", ` + strings.TrimPrefix(q.json, "{")
	return q
}

// claimComparisons have the claims of both questions beside a search and a write: both in random order, both in the
// order of ids, and each in its default order: that of a claim is random, that of a search is not.
func (p *benchEnv) claimComparisons() []comparison {
	var all []comparison
	add := func(name, against string, clients int, request, instead rig.RequestFunc, limit float64, undo rig.RequestFunc) {
		all = append(all, comparison{name: name, against: against, request: request, instead: instead, limit: limit, clients: clients, undo: undo})
	}
	for _, clients := range []int{1, 16} {
		for _, asked := range questions() {
			name := fmt.Sprintf("%s, %s, %d at once", claimPrefix, asked.name, clients)
			claim := p.claim(asked)
			for _, order := range []string{"random", "id"} {
				if order == "id" && clients > 1 {
					continue // they would all want the same host
				}
				add(name+", order="+order, "GET allocation_candidates, limit=10, and PUT allocations", clients,
					p.claim(asked.ordered(order)), p.findAndPut(asked, "&order="+order), 1.5, p.deleteConsumer)
			}
			add(name, "the same, each in its default order", clients, claim, p.findAndPut(asked, ""), 0, p.deleteConsumer)
			add(name+", Idempotency-Key", "the same without", clients, withKey(claim), claim, 1.15, p.deleteConsumer)
		}
	}
	for _, asked := range questions() {
		name := fmt.Sprintf("%s, %s, %d consumers apart", claimPrefix, asked.name, several)
		add(name, "GET allocation_candidates, limit=10, limit_per_tree=1, order=random, and one POST allocations", 1,
			p.claimApart(asked), p.findAndPost(asked), 1.5, p.deleteConsumers)
	}
	return all
}

// consumerOfSeveral is the uuid of one of the consumers of a request.
func consumerOfSeveral(n int64, i int) string { return numbered(0xce, n*several+int64(i)) }

// claimed is a consumer of a claim.
func claimed(id string) string {
	return fmt.Sprintf(`{"uuid": "%s", "project_id": "bench", "user_id": "bench", "consumer_type": "INSTANCE", "consumer_generation": null}`, id)
}

func (p *benchEnv) claim(asked query) rig.RequestFunc {
	return func(ctx context.Context, _ int, n int64) error {
		body := fmt.Sprintf(`{"consumers": [%s], "queries": [%s]}`, claimed(consumerID(n)), asked.json)
		return p.Request(ctx, http.MethodPost, p.berth+"/claims", body, http.StatusOK)
	}
}

// withKey sends each request with a key of its own.
func withKey(do rig.RequestFunc) rig.RequestFunc {
	return func(ctx context.Context, client int, n int64) error {
		return do(rig.WithHeader(ctx, "Idempotency-Key", fmt.Sprintf("bench-%d", n)), client, n)
	}
}

func (p *benchEnv) claimApart(asked query) rig.RequestFunc {
	return func(ctx context.Context, _ int, n int64) error {
		var consumers []string
		for i := range several {
			consumers = append(consumers, claimed(consumerOfSeveral(n, i)))
		}
		body := fmt.Sprintf(`{"consumers": [%s], "queries": [%s], "relation": {"apart": "root"}}`, strings.Join(consumers, ","), asked.json)
		return p.Request(ctx, http.MethodPost, p.berth+"/claims", body, http.StatusOK)
	}
}

// candidate is an element of allocation_requests.
type candidate struct {
	Allocations json.RawMessage `json:"allocations"`
	Mappings    json.RawMessage `json:"mappings"`
}

// record is the candidate as the allocations of a new consumer.
func (c candidate) record() string {
	return fmt.Sprintf(`{"allocations": %s, "mappings": %s, "project_id": "bench", "user_id": "bench", "consumer_generation": null,
		"consumer_type": "INSTANCE"}`, c.Allocations, c.Mappings)
}

// find asks for ten candidates and decodes the first of them only, so that the client costs little.
func (p *benchEnv) find(ctx context.Context, query string, count int) ([]candidate, error) {
	var body bytes.Buffer
	if _, err := p.Read(ctx, http.MethodGet, p.berth+"/allocation_candidates?limit=10&"+query, "", http.StatusOK, &body); err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(&body)
	for _, want := range []json.Token{json.Delim('{'), "allocation_requests", json.Delim('[')} {
		if got, err := decoder.Token(); err != nil || got != want {
			return nil, fmt.Errorf("allocation candidates have %v instead of %v: %w", got, want, err)
		}
	}
	found := make([]candidate, count)
	for i := range found {
		if err := decoder.Decode(&found[i]); err != nil {
			return nil, fmt.Errorf("candidate %d: %w", i, err)
		}
	}
	return found, nil
}

// findAndPut takes one of ten candidates: clients that send at once take different ones.
func (p *benchEnv) findAndPut(asked query, order string) rig.RequestFunc {
	return func(ctx context.Context, client int, n int64) error {
		place := client % several
		found, err := p.find(ctx, asked.query+order, place+1)
		if err != nil {
			return err
		}
		return p.Request(ctx, http.MethodPut, p.berth+"/allocations/"+consumerID(n), found[place].record(), http.StatusNoContent)
	}
}

func (p *benchEnv) findAndPost(asked query) rig.RequestFunc {
	return func(ctx context.Context, _ int, n int64) error {
		found, err := p.find(ctx, asked.query+"&limit_per_tree=1&order=random", several)
		if err != nil {
			return err
		}
		return p.postConsumers(ctx, n, func(i int) string { return found[i].record() })
	}
}

func (p *benchEnv) postConsumers(ctx context.Context, n int64, record func(i int) string) error {
	var records []string
	for i := range several {
		records = append(records, fmt.Sprintf(`"%s": %s`, consumerOfSeveral(n, i), record(i)))
	}
	return p.Request(ctx, http.MethodPost, p.berth+"/allocations", "{"+strings.Join(records, ",")+"}", http.StatusNoContent)
}

func (p *benchEnv) deleteConsumer(ctx context.Context, _ int, n int64) error {
	return p.Request(ctx, http.MethodDelete, p.berth+"/allocations/"+consumerID(n), "", http.StatusNoContent)
}

func (p *benchEnv) deleteConsumers(ctx context.Context, _ int, n int64) error {
	return p.postConsumers(ctx, n, func(int) string {
		return `{"allocations": {}, "project_id": "bench", "user_id": "bench", "consumer_generation": 1, "consumer_type": "INSTANCE"}`
	})
}
