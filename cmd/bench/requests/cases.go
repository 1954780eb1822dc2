package requests

import (
	"context"
	"net/http"
	"strings"

	"github.com/berthd/berth/cmd/bench/rig"
)

// measurement is a request and its baseline.
type measurement struct {
	kind         kind
	name         string
	request      rig.RequestFunc
	baseline     rig.RequestFunc
	baselineName string
}

// kind is what a request does, for --only.
type kind string

const (
	reads  kind = "reads"
	writes kind = "writes"
)

func (p *benchEnv) cases() []measurement {
	const (
		select1 = "net/http handler with one SELECT 1"
		rows    = "the same row writes as one prepared statement, no checks, no HTTP"
		claim   = ": a new consumer, 3 classes of "
		reshape = "POST reshaper: 100 consumers with 3 classes each, from a root to its 2 children or back; a tree for each client"
	)
	eager := claims{p.berth, p.pool, spreadProvider}
	hot := claims{p.berth, p.pool, sameProvider}
	lazy := claims{p.asyncBerth, p.asyncPool, spreadProvider}
	return []measurement{
		{reads, "GET provider", p.getProvider, p.requestBaseline, select1},
		{reads, "GET inventories", p.getInventories, p.requestBaseline, select1},
		{writes, "PUT allocations" + claim + "one provider, spread over 1,000 of them", eager.put(p), eager.insert, rows},
		{writes, "PUT allocations" + claim + "one and the same provider", hot.put(p), hot.insert, rows},
		{writes, "PUT allocations, synchronous_commit=off for both" + claim + "one provider, spread over 1,000 of them",
			lazy.put(p), lazy.insert, rows},
		{writes, reshape, p.newReshaper(), p.newUncheckedReshape(), rows},
	}
}

// selected reports whether --only selects the case: by the beginning of its name or by
// its kind.
func (m measurement) selected(only string) bool {
	return string(m.kind) == only || strings.HasPrefix(m.name, only)
}

// clientCounts are the numbers of concurrent clients.
var clientCounts = []int{1, 4, 16}

func (p *benchEnv) requestBaseline(ctx context.Context, _ int, _ int64) error {
	return p.Request(ctx, http.MethodGet, p.baseline, "", http.StatusOK)
}

// spreadProvider spreads requests over the providers.
func spreadProvider(n int64) int64 { return 1 + (n*7919)%1000 }

func (p *benchEnv) getProvider(ctx context.Context, _ int, n int64) error {
	return p.Request(ctx, http.MethodGet, p.berth+"/resource_providers/"+providerID(spreadProvider(n)), "", http.StatusOK)
}

func (p *benchEnv) getInventories(ctx context.Context, _ int, n int64) error {
	return p.Request(ctx, http.MethodGet, p.berth+"/resource_providers/"+providerID(spreadProvider(n))+"/inventories", "", http.StatusOK)
}
