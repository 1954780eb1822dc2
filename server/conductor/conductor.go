// Package conductor does what the Bare Metal API has promised: it decides the
// allocations that were made at this process, and does the work of nodes that are
// on their way from one state to another. Any number of processes may do so on one
// database; when one dies, the others take over what it had.
//
// It decides nothing about who gets which node: that is one SQL function. It
// serves no requests, and it asks the database for work only when it has reason to
// think that it missed something; otherwise it is told.
package conductor

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/provision"
	"github.com/berthd/berth/server/store"
)

// Conductor is one process's share in the work. The exported fields are set before
// Run and not changed afterwards.
type Conductor struct {
	Store *store.Store
	// Hostname is the name it is registered under. No other process that is alive
	// may have it. One that begins with the name of a dead one has its work, too.
	Hostname string
	// Drivers by name; nodes with another driver are left to other conductors.
	Drivers map[string]Driver
	// ListenURL is how to reach the database for hearing of work, past any pooler
	// of transactions; empty: as the store does.
	ListenURL string
	// Workers is how many allocations are decided at once, and how many nodes are
	// worked on at once; at least 1.
	Workers int
	// HeartbeatInterval is the time between two signs of life.
	HeartbeatInterval time.Duration
	// HeartbeatTimeout is the silence after which another conductor is dead.
	HeartbeatTimeout time.Duration
	// CheckInterval is the time between two looks for dead conductors, and for
	// work of its own that was missed; 0: never.
	CheckInterval time.Duration
	Log           *slog.Logger

	// The queues are made by the first who needs them: work may come before Run.
	made        sync.Once
	allocations *queue
	nodes       *queue
}

// Register makes the conductor known. Allocations may be made in its name from then
// on, even before Run.
func (c *Conductor) Register(ctx context.Context) error {
	return c.Store.ConductorRegister(ctx, c.Hostname, c.drivers())
}

// Run registers the conductor and works until the context ends. What is being
// decided then is still decided; steps of drivers are broken off, and whoever takes
// the node over does them again. At last the conductor is signed off.
func (c *Conductor) Run(ctx context.Context) error {
	if c.begin(ctx) != nil {
		return c.leave(ctx) // asked to end at once; Register may have come before
	}
	c.makeQueues()
	var running sync.WaitGroup
	for range max(1, c.Workers) {
		running.Go(func() { c.allocations.work(ctx, c.decide) })
		running.Go(func() { c.nodes.work(ctx, c.attend) })
	}
	running.Go(func() { c.every(ctx, c.HeartbeatInterval, c.heartbeat) })
	if c.CheckInterval > 0 {
		running.Go(func() { c.every(ctx, c.CheckInterval, c.check) })
	}
	running.Go(func() { c.hear(ctx) })
	running.Wait()
	return c.leave(ctx)
}

// begin registers the conductor. A database that cannot be reached for a moment must not
// leave the process without one.
func (c *Conductor) begin(ctx context.Context) error {
	for {
		err := c.Register(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		c.Log.Warn("the conductor could not register; it tries again", "conductor", c.Hostname, "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(min(c.HeartbeatInterval, longestPause)):
		}
	}
}

// Decide is how this process hands over an allocation that it has made, without a
// detour through the database. One that is handed over at the end, when nobody takes it
// any more, is in the tables for whoever comes next.
func (c *Conductor) Decide(allocation uuid.UUID) {
	c.makeQueues()
	c.allocations.add(allocation)
}

func (c *Conductor) makeQueues() {
	c.made.Do(func() { c.allocations, c.nodes = newQueue(), newQueue() })
}

// A goodbye must not hold up the end of the process for long.
const goodbye = time.Second

// leave signs off, so that others need not wait for the silence.
func (c *Conductor) leave(ctx context.Context) error {
	leaving, done := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer done()
	return c.Store.ConductorLeave(leaving, c.Hostname)
}

// every does something in turn until the context ends. What fails is logged; the
// next turn is its next try.
func (c *Conductor) every(ctx context.Context, interval time.Duration, do func(context.Context) error) {
	turn := time.NewTicker(interval)
	defer turn.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-turn.C:
		}
		// A turn that hangs must not outlast the silence that others wait for.
		bounded, done := context.WithTimeout(ctx, max(interval, time.Second))
		err := do(bounded)
		if unregistered(err) {
			err = c.Register(bounded) // others took it for dead and forgot it
		}
		done()
		if err != nil && ctx.Err() == nil {
			c.Log.Warn("the conductor could not reach the database; it tries again", "conductor", c.Hostname, "error", err)
		}
	}
}

func (c *Conductor) heartbeat(ctx context.Context) error {
	return c.Store.ConductorHeartbeat(ctx, c.Hostname)
}

// check takes over the work of the dead, and looks for work that it has missed.
func (c *Conductor) check(ctx context.Context) error {
	allocations, nodes, err := c.Store.ConductorTakeOver(ctx, c.Hostname, c.HeartbeatTimeout)
	if err != nil {
		return err
	}
	if len(allocations)+len(nodes) > 0 {
		c.Log.Warn("took over the work of a dead conductor",
			"conductor", c.Hostname, "allocations", len(allocations), "nodes", len(nodes))
	}
	return c.look(ctx)
}

// look finds in the tables everything there is to do here.
func (c *Conductor) look(ctx context.Context) error {
	allocations, err := c.Store.NodeAllocationMine(ctx, c.Hostname)
	if err != nil {
		return err
	}
	addAll(c.allocations, allocations)
	nodes, err := c.Store.NodeWork(ctx, c.Hostname, provision.Transients(), c.drivers())
	if err != nil {
		return err
	}
	addAll(c.nodes, nodes)
	return nil
}

func addAll(to *queue, ids []uuid.UUID) {
	for _, id := range ids {
		to.add(id)
	}
}

// drivers are the names of the drivers here.
func (c *Conductor) drivers() []string { return slices.Sorted(maps.Keys(c.Drivers)) }
