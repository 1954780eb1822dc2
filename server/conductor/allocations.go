package conductor

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// deciding bounds the one statement that decides an allocation, which also goes on
// when the conductor is asked to stop: it takes milliseconds, unless others hold
// all the nodes that fit.
const deciding = 30 * time.Second

// decide decides an allocation, if it belongs to this conductor and still needs it.
// Everybody hears of every allocation; the database knows whose it is.
func (c *Conductor) decide(ctx context.Context, id uuid.UUID) error {
	bounded, done := context.WithTimeout(context.WithoutCancel(ctx), deciding)
	defer done()
	if err := c.Store.NodeAllocationProcess(bounded, id, c.Hostname); err != nil {
		c.Log.Error("an allocation could not be decided; it is tried again", "allocation", id, "error", err)
		return err
	}
	c.Log.Debug("looked at an allocation", "allocation", id)
	return nil
}
