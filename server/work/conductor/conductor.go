// Package conductor does the asynchronous work of the Bare Metal API: it decides the node allocations that this process
// has created, and runs the work of nodes in transient states. Any number of processes may do so on one database; when
// one dies, the others take over its work.
//
// It is not for choosing a node for a node allocation: one SQL function does that. It serves no requests. It receives
// notifications, and queries the database for pending work only when it may have missed one.
package conductor

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/work/provision"
)

// Options are the settings of a conductor.
type Options struct {
	// Hostname is the name that it registers under. No other live process may use it. A process that starts with the
	// name of a dead one continues its work.
	Hostname string
	// Workers is the number of node allocations that the conductor decides at once, and of nodes that it works on at
	// once; at least 1.
	Workers int
	// HeartbeatInterval is the time between two heartbeats.
	HeartbeatInterval time.Duration
	// HeartbeatTimeout is the age of a heartbeat after which a conductor counts as dead.
	HeartbeatTimeout time.Duration
	// CheckInterval is the time between two checks for dead conductors, and for missed work of this one; 0: never.
	CheckInterval time.Duration
}

// Conductor is the worker of one process. The exported fields are set before Run and do not change afterwards.
type Conductor struct {
	Options
	Store *store.Store
	// Drivers by name; the conductor ignores nodes with another driver.
	Drivers map[string]Driver
	// ListenURL is the address of the database for LISTEN, which does not work through a transaction pooler; empty:
	// that of the store.
	ListenURL string
	Log       *slog.Logger

	// The first caller creates the queues and the counters, because Decide may be called before Run.
	setUp       sync.Once
	allocations *queue
	nodes       *queue
	failed      *prometheus.CounterVec
}

// Register inserts the conductor's row. From then on node allocations may name it, even before Run.
func (c *Conductor) Register(ctx context.Context) error {
	return c.Store.ConductorRegister(ctx, c.Hostname, c.drivers())
}

// Run registers the conductor and works until the context ends. It still finishes the node allocations that it is
// deciding; it interrupts steps of drivers, and the conductor that takes over the node repeats them. At the end it
// unregisters the conductor.
func (c *Conductor) Run(ctx context.Context) error {
	ctx = store.AsProcess(ctx, store.ProcessConductor+" "+c.Hostname)
	if c.registerWithRetry(ctx) != nil {
		return c.unregister(ctx) // the context ended before the start; Register may have run before
	}
	c.makeQueues()
	var running sync.WaitGroup
	for range max(1, c.Workers) {
		running.Go(func() { c.allocations.work(ctx, c.decide) })
		running.Go(func() { c.nodes.work(ctx, c.processNode) })
	}
	running.Go(func() { c.every(ctx, c.HeartbeatInterval, c.heartbeat) })
	if c.CheckInterval > 0 {
		running.Go(func() { c.every(ctx, c.CheckInterval, c.takeOverAndRescan) })
	}
	running.Go(func() { c.listen(ctx) })
	running.Wait()
	return c.unregister(ctx)
}

// registerWithRetry registers the conductor. It retries, because a short failure of the database must not leave the
// process without a conductor.
func (c *Conductor) registerWithRetry(ctx context.Context) error {
	for {
		err := c.register(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		c.Log.Warn("cannot register the conductor; retrying", "conductor", c.Hostname, "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(min(c.HeartbeatInterval, maxRetryDelay)):
		}
	}
}

// register is Register with a context that does not end with ctx.
func (c *Conductor) register(ctx context.Context) error {
	settled, done := untilSettled(ctx)
	defer done()
	return c.Register(settled)
}

// Decide queues a node allocation that this process has created, without a notification by the database. If the workers
// have stopped, the row stays pending in the database for the conductor that takes over.
func (c *Conductor) Decide(allocation uuid.UUID) {
	c.makeQueues()
	c.allocations.add(allocation)
}

func (c *Conductor) makeQueues() {
	c.setUp.Do(func() { c.allocations, c.nodes, c.failed = newQueue(), newQueue(), newFailures() })
}

// unregisterTimeout limits unregister and the last registration, which must not delay the end of the process for long.
const unregisterTimeout = 5 * time.Second

// untilSettled returns a context for a statement that sets the conductor online. It ends at the deadline of ctx, after unregisterTimeout
// at most, and not when ctx is canceled: PostgreSQL may execute a statement after its client has canceled it, and then the
// conductor would be online after unregister.
func untilSettled(ctx context.Context) (context.Context, context.CancelFunc) {
	end := time.Now().Add(unregisterTimeout)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(end) {
		end = deadline
	}
	return context.WithDeadline(context.WithoutCancel(ctx), end)
}

// unregister marks the conductor as offline, so that other conductors take over without waiting for the heartbeat
// timeout.
func (c *Conductor) unregister(ctx context.Context) error {
	leaving, done := context.WithTimeout(context.WithoutCancel(ctx), unregisterTimeout)
	defer done()
	return c.Store.ConductorUnregister(leaving, c.Hostname)
}

// every calls do at the interval until the context ends. It logs an error; the next call is the retry.
func (c *Conductor) every(ctx context.Context, interval time.Duration, do func(context.Context) error) {
	turn := time.NewTicker(interval)
	defer turn.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-turn.C:
		}
		// A call that hangs must not delay the heartbeat beyond the timeout.
		bounded, done := context.WithTimeout(ctx, max(interval, time.Second))
		err := do(bounded)
		if unregistered(err) {
			err = c.register(bounded) // another conductor took it for dead and deleted its row
		}
		done()
		if err != nil && ctx.Err() == nil {
			c.Log.Warn("a periodic task of the conductor failed; retrying", "conductor", c.Hostname, "error", err)
		}
	}
}

func (c *Conductor) heartbeat(ctx context.Context) error {
	settled, done := untilSettled(ctx)
	defer done()
	return c.Store.ConductorHeartbeat(settled, c.Hostname)
}

// takeOverAndRescan takes over the work of dead conductors, and queues missed work of this one.
func (c *Conductor) takeOverAndRescan(ctx context.Context) error {
	allocations, nodes, err := c.Store.ConductorTakeOver(ctx, c.Hostname, c.HeartbeatTimeout)
	if err != nil {
		return err
	}
	if len(allocations)+len(nodes) > 0 {
		c.Log.Warn("took over the work of a dead conductor",
			"conductor", c.Hostname, "allocations", len(allocations), "nodes", len(nodes))
	}
	return c.loadPendingWork(ctx)
}

// loadPendingWork queues all pending node allocations and nodes of this conductor.
func (c *Conductor) loadPendingWork(ctx context.Context) error {
	allocations, err := c.Store.NodeAllocationListPending(ctx, c.Hostname)
	if err != nil {
		return err
	}
	addAll(c.allocations, allocations)
	nodes, err := c.Store.NodeListPending(ctx, c.Hostname, provision.Transients(), c.drivers())
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

// drivers returns the sorted names of the drivers of this conductor.
func (c *Conductor) drivers() []string { return slices.Sorted(maps.Keys(c.Drivers)) }
