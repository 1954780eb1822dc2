package conductor

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

// The conductor reopens a lost connection after a delay that doubles up to maxReconnectDelay. All conductors lose their
// connections at the same moment, so each delay is partly random.
const (
	minReconnectDelay = 50 * time.Millisecond
	maxReconnectDelay = 5 * time.Second
)

// listen receives notifications until the context ends.
func (c *Conductor) listen(ctx context.Context) {
	pause := minReconnectDelay
	for ctx.Err() == nil {
		err := c.Store.Pool().Listen(ctx, c.ListenURL, []string{store.NodeAllocationChannel, store.NodeChannel},
			func() { pause = minReconnectDelay; c.catchUp(ctx) }, c.onNotification)
		if ctx.Err() != nil {
			return
		}
		c.Log.Warn("lost the LISTEN connection; reconnecting", "conductor", c.Hostname, "pause", pause, "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(pause/2 + rand.N(pause)):
		}
		pause = min(2*pause, maxReconnectDelay)
	}
}

// catchUp queues the work whose notifications were missed while there was no connection. If it fails, the connection
// fails as well, or the periodic check finds the work.
func (c *Conductor) catchUp(ctx context.Context) {
	if err := c.loadPendingWork(ctx); err != nil && ctx.Err() == nil {
		c.Log.Warn("cannot list pending work after reconnecting", "conductor", c.Hostname, "error", err)
	}
}

// onNotification queues the UUID in the payload. Only Berth's own SQL functions write payloads, so any other payload is
// invalid.
func (c *Conductor) onNotification(channel, payload string) {
	id, err := uuid.Parse(payload)
	if err != nil {
		c.Log.Warn("invalid notification payload: not a UUID", "channel", channel, "payload", payload)
		return
	}
	if channel == store.NodeChannel {
		c.nodes.add(id)
	} else {
		c.allocations.add(id)
	}
}
