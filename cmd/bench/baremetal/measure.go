package baremetal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/perf/benchfmt"

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

// measure measures a case on a database of its own, prints the results of each round, and returns the rates through HTTP
// in node allocations a second. A round before those that count warms up connections, prepared statements and caches.
func measure(ctx context.Context, on *rig.Rig, settings settings, of tested, nodes int) (rates []float64, err error) {
	p, err := open(ctx, on, settings, of, nodes)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	title := fmt.Sprintf("NodeAllocations/backend=%s/asked=%s/nodes=%d", of.backend(), of.requestName, nodes)
	for round := range settings.rounds + 1 {
		for _, way := range []struct {
			name string
			run  func(context.Context) (time.Duration, error)
		}{
			{"/by=HTTP" + rig.OfBaseline, p.httpBaseline},
			{byHTTP, p.byHTTP},
			{"/by=store" + rig.OfBaseline, p.storeBaseline},
			{"/by=store" + rig.OfBerth, p.byStore},
		} {
			if err := release(ctx, p.conn); err != nil {
				return nil, err
			}
			took, err := way.run(ctx)
			if err == nil {
				err = p.check(ctx)
			}
			if err == nil && round > 0 {
				err = p.print(title, way.name, took)
			}
			if err != nil {
				return nil, err
			}
			if round > 0 && way.name == byHTTP {
				rates = append(rates, float64(settings.requests)/took.Seconds())
			}
		}
	}
	return rates, nil
}

// byHTTP is the end of the name of results of the server, through HTTP.
const byHTTP = "/by=HTTP" + rig.OfBerth

// print prints the time of one node allocation and, through HTTP, of its POST alone.
func (p *benchEnv) print(title, name string, took time.Duration) error {
	each := func(all time.Duration) float64 { return all.Seconds() / float64(p.settings.requests) }
	figures := []benchfmt.Value{{Value: each(took), Unit: "sec/op"}}
	if name == byHTTP {
		figures = append(figures, benchfmt.Value{Value: each(p.accepted), Unit: "POST-sec/op"})
	}
	return rig.PrintResult(title+name, p.settings.requests, figures...)
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
