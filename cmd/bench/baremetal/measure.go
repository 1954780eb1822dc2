package baremetal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berthd/berth/cmd/bench/rig"
)

// tested is a backend and a kind of request.
type tested struct {
	placement   bool
	requestName string
	request     allocationRequest
}

func cases() []tested {
	one, many := allocationRequest{classes: 1}, allocationRequest{classes: 20, traits: true}
	return []tested{
		{requestName: "1 class", request: one}, {requestName: "20 classes, traits", request: many},
		{placement: true, requestName: "1 class", request: one}, {placement: true, requestName: "20 classes, traits", request: many},
	}
}

func (t tested) name() string { return t.backend() + ", " + t.requestName }

func (t tested) backend() string {
	if t.placement {
		return "placement"
	}
	return "database"
}

// result are the rates of a case in allocations a second, round by round.
type result struct {
	tested
	nodes                                    int
	http, httpBaseline, store, storeBaseline []float64
	// accepted are the rates at which the POSTs alone were answered.
	accepted []float64
}

// measure measures a case on a database of its own. A round before those that count
// warms up connections, prepared statements and caches.
func measure(ctx context.Context, on *rig.Rig, settings settings, of tested, nodes int) (measured result, err error) {
	measured = result{tested: of, nodes: nodes}
	p, err := open(ctx, on, settings, of, nodes)
	if err != nil {
		return measured, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	for round := range settings.rounds + 1 {
		for _, way := range []struct {
			run  func(context.Context) (time.Duration, error)
			into *[]float64
		}{
			{p.httpBaseline, &measured.httpBaseline},
			{p.byHTTP, &measured.http},
			{p.storeBaseline, &measured.storeBaseline},
			{p.byStore, &measured.store},
		} {
			if err := release(ctx, p.conn); err != nil {
				return measured, err
			}
			took, err := way.run(ctx)
			if err == nil {
				err = p.check(ctx)
			}
			if err != nil {
				return measured, err
			}
			if round > 0 {
				*way.into = append(*way.into, float64(settings.requests)/took.Seconds())
			}
		}
		if round > 0 {
			measured.accepted = append(measured.accepted, float64(settings.requests)/p.accepted.Seconds())
		}
	}
	return measured, nil
}

// check returns an error unless every node allocation has a node.
func (p *benchEnv) check(ctx context.Context) error {
	var active, taken int
	var reason string
	err := p.conn.QueryRow(ctx, `SELECT count(*) FILTER (WHERE state = 'active'), coalesce(min(last_error), '') FROM node_allocations`).
		Scan(&active, &reason)
	if err == nil {
		err = p.conn.QueryRow(ctx, `SELECT count(*) FROM node_allocations AS allocation JOIN nodes AS node
			ON node.id = allocation.node_id AND node.instance_uuid = allocation.uuid`).Scan(&taken)
	}
	if err == nil && (active != p.settings.requests || taken != active) {
		err = fmt.Errorf("%d of %d allocations are active, %d have their node; %s", active, p.settings.requests, taken, reason)
	}
	return err
}

// runClients sends all requests, each client the next one, and returns the time that
// took.
func (p *benchEnv) runClients(ctx context.Context, do func(ctx context.Context, n int) error) (time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var group sync.WaitGroup
	begun := time.Now()
	for range p.settings.clients {
		group.Go(func() {
			for ctx.Err() == nil {
				n := int(next.Add(1)) - 1
				if n >= p.settings.requests {
					return
				}
				if err := do(ctx, n); err != nil {
					cancel(err)
				}
			}
		})
	}
	group.Wait()
	return time.Since(begun), context.Cause(ctx)
}
