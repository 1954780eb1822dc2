package conductor

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/store"
)

// A lost connection is opened again after a pause that doubles up to the longest.
// Others have lost theirs at the same moment, so each pause is partly random.
const (
	firstReconnect   = 50 * time.Millisecond
	longestReconnect = 5 * time.Second
)

// hear is told of work until the context ends.
func (c *Conductor) hear(ctx context.Context) {
	pause := firstReconnect
	for ctx.Err() == nil {
		err := c.Store.Listen(ctx, c.ListenURL, []string{store.NodeAllocationChannel, store.NodeChannel},
			func() { pause = firstReconnect; c.catchUp(ctx) }, c.told)
		if ctx.Err() != nil {
			return
		}
		c.Log.Warn("lost the connection that tells of work; opening another", "conductor", c.Hostname, "pause", pause, "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(pause/2 + rand.N(pause)):
		}
		pause = min(2*pause, longestReconnect)
	}
}

// catchUp looks for what happened while nobody heard it. If that fails, so will the
// connection, or the periodic check finds it.
func (c *Conductor) catchUp(ctx context.Context) {
	if err := c.look(ctx); err != nil && ctx.Err() == nil {
		c.Log.Warn("could not look for work after connecting", "conductor", c.Hostname, "error", err)
	}
}

// told puts what it was told of into its queue. Payloads are written by our own SQL
// functions only; what is no uuid is none of them.
func (c *Conductor) told(channel, payload string) {
	id, err := uuid.Parse(payload)
	if err != nil {
		c.Log.Warn("was told of something that is no uuid", "channel", channel, "payload", payload)
		return
	}
	if channel == store.NodeChannel {
		c.nodes.add(id)
	} else {
		c.allocations.add(id)
	}
}
