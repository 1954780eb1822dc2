package conductor

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// decideTimeout limits the statement that decides a node allocation. The statement also finishes while the conductor
// stops. It takes milliseconds, unless other transactions hold locks on all matching nodes.
const decideTimeout = 30 * time.Second

// decide decides a node allocation if it belongs to this conductor and is still pending. Every conductor receives the
// notification of every node allocation; the SQL function compares the conductor.
func (c *Conductor) decide(ctx context.Context, id uuid.UUID) error {
	bounded, done := context.WithTimeout(context.WithoutCancel(ctx), decideTimeout)
	defer done()
	if err := c.Store.NodeAllocationProcess(bounded, id, c.Hostname); err != nil {
		c.Log.Error("cannot decide a node allocation; retrying", "allocation", id, "error", err)
		return err
	}
	c.Log.Debug("processed a node allocation", "allocation", id)
	return nil
}
