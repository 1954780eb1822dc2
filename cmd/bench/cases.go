package main

import (
	"context"
	"net/http"
	"strings"

	"github.com/berthd/berth/cmd/bench/rig"
)

// measured is a request and the floor it is held against.
type measured struct {
	kind      kind
	name      string
	ask       rig.Ask
	floor     rig.Ask
	floorName string
}

// kind is what a request does, for -only.
type kind string

const (
	reads  kind = "reads"
	writes kind = "writes"
)

func (p *place) cases() []measured {
	const (
		select1 = "net/http handler with one SELECT 1"
		rows    = "the same row writes as one prepared statement, no checks, no HTTP"
		claim   = ": a new consumer, 3 classes of "
		reshape = "POST reshaper: 100 consumers with 3 classes each, from a root to its 2 children or back; a tree for each client"
	)
	eager := claims{p.berth, p.pool, some}
	hot := claims{p.berth, p.pool, hottest}
	lazy := claims{p.lazyBerth, p.lazyPool, some}
	return []measured{
		{reads, "GET provider", p.getProvider, p.askFloor, select1},
		{reads, "GET inventories", p.getInventories, p.askFloor, select1},
		{writes, "PUT allocations" + claim + "one provider, spread over 1,000 of them", eager.put(p), eager.insert, rows},
		{writes, "PUT allocations" + claim + "one and the same provider", hot.put(p), hot.insert, rows},
		{writes, "PUT allocations, synchronous_commit=off for both" + claim + "one provider, spread over 1,000 of them",
			lazy.put(p), lazy.insert, rows},
		{writes, reshape, p.newReshaper(), p.newUncheckedReshape(), rows},
	}
}

// selected tells whether -only names the case: by its name, its beginning, or as one
// of those that read or write.
func (m measured) selected(only string) bool {
	return string(m.kind) == only || strings.HasPrefix(m.name, only)
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
