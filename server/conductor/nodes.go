package conductor

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/provision"
	"github.com/berthd/berth/server/store"
)

// attend works on a node until there is nothing left to do here: it is at rest, or
// another conductor's.
func (c *Conductor) attend(ctx context.Context, id uuid.UUID) error {
	for {
		node, err := c.Store.NodeShow(ctx, id.String())
		more := false
		if err == nil {
			more, err = c.advance(ctx, node)
		}
		switch {
		case gone(err):
			return nil
		case err != nil && ctx.Err() == nil:
			c.Log.Error("the work on a node could not go on; it is tried again", "node", id, "error", err)
			return err
		case err != nil || !more:
			return err
		}
	}
}

// advance does the next thing there is to do on a node, and says whether to look
// for more.
func (c *Conductor) advance(ctx context.Context, node store.Node) (more bool, err error) {
	mine := node.Conductor != nil && *node.Conductor == c.Hostname
	driver, known := c.Drivers[node.Driver]
	switch {
	case node.Conductor != nil && !mine, !known && !mine:
		return false, nil
	case !known:
		// It was taken over from somebody who had the driver.
		return false, c.release(ctx, node)
	case provision.Transient(node.ProvisionState):
		return c.claimed(ctx, node, mine, func() error { return c.work(ctx, driver, node) })
	case node.TargetPowerState != nil:
		return c.claimed(ctx, node, mine, func() error { return c.switchPower(ctx, driver, node) })
	case mine:
		return false, c.release(ctx, node)
	}
	return false, nil
}

// claimed does the work if the node is held, or can be: nobody else may have moved
// or claimed it since it was read. Otherwise it is looked at again.
func (c *Conductor) claimed(ctx context.Context, node store.Node, mine bool, work func() error) (more bool, err error) {
	if !mine {
		_, ok, err := c.Store.NodeMove(ctx, node.UUID.String(), store.NodeStep{
			From: []string{node.ProvisionState}, Revision: &node.Revision,
			To: node.ProvisionState, Target: node.TargetProvisionState, Conductor: &c.Hostname,
		})
		if unregistered(err) {
			// Others took this conductor for dead and forgot it.
			return true, c.Register(ctx)
		}
		if err != nil || !ok {
			return err == nil, err
		}
	}
	return true, work()
}

// work does the work of a transient state and moves the node to where it ends.
func (c *Conductor) work(ctx context.Context, driver Driver, node store.Node) error {
	state := node.ProvisionState
	power, failure := steps[state](driver, ctx, node)
	if ctx.Err() != nil {
		return ctx.Err() // broken off, which says nothing about the machine
	}
	step := store.NodeStep{}
	var edge provision.Edge
	if failure != nil {
		step.LastError = new(fmt.Sprintf("The work of the state %q failed on node %s: %v", state, node.UUID, failure))
		edge, _ = provision.Fail(state, value(node.TargetProvisionState))
		if err := c.setAside(ctx, node, edge.To, *step.LastError); err != nil {
			return err
		}
	} else {
		edge, _ = provision.Done(state, destination(node))
		step.TearDown = state == provision.Deleting
	}
	c.Log.Info("a node moves on", "node", node.UUID, "from", state, "to", edge.To, failed(failure))
	step.To, step.Target = edge.To, pointer(edge.Target)
	return c.finish(ctx, node, step, func(now store.Node) *store.NodePower {
		if power == "" || failure != nil {
			return nil
		}
		return &store.NodePower{State: &power, Target: now.TargetPowerState}
	})
}

// destination is where a node is going. One that is retired has no next user: when
// it is clean it stays with its operators.
func destination(node store.Node) string {
	if node.Retired && node.ProvisionState == provision.Cleaning {
		return provision.Manageable
	}
	return value(node.TargetProvisionState)
}

// cleanFailure is the fault of a node that could not be cleaned.
const cleanFailure = "clean failure"

// failed is nothing in a log line where nothing failed.
func failed(failure error) slog.Attr {
	if failure == nil {
		return slog.Attr{}
	}
	return slog.Any("failure", failure)
}

// setAside puts a node that could not be cleaned into maintenance. That comes before
// the node moves, so that a death in between leaves a node that is only cleaned
// again and not one that passes for whole.
func (c *Conductor) setAside(ctx context.Context, node store.Node, to, reason string) error {
	if to != provision.CleanFailed {
		return nil
	}
	_, err := c.Store.NodeUpdate(ctx, node.UUID.String(), func(n *store.Node) error {
		n.Maintenance, n.MaintenanceReason, n.Fault = true, &reason, new(cleanFailure)
		return nil
	})
	return err
}

// switchPower brings a node's power to its target. When that fails the power is as
// it was, and the reason is in last_error.
func (c *Conductor) switchPower(ctx context.Context, driver Driver, node store.Node) error {
	power, failure := driver.Power(ctx, node, *node.TargetPowerState)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	step := store.NodeStep{To: node.ProvisionState, Target: node.TargetProvisionState}
	if failure != nil {
		step.LastError = new(fmt.Sprintf("Changing the power of node %s to %q failed: %v", node.UUID, *node.TargetPowerState, failure))
	}
	c.Log.Info("a node was switched", "node", node.UUID, "target", *node.TargetPowerState, failed(failure))
	return c.finish(ctx, node, step, func(now store.Node) *store.NodePower {
		reached := &store.NodePower{State: now.PowerState, Target: now.TargetPowerState}
		if failure == nil {
			reached.State = &power
		}
		// Who asked for something else meanwhile still gets it.
		if value(now.TargetPowerState) == *node.TargetPowerState {
			reached.Target = nil
		}
		return reached
	})
}

// release gives up a node that is at rest.
func (c *Conductor) release(ctx context.Context, node store.Node) error {
	step := store.NodeStep{To: node.ProvisionState, Target: node.TargetProvisionState}
	step.LastError = node.LastError
	return c.finish(ctx, node, step, func(store.Node) *store.NodePower { return nil })
}

// finish writes what came of the work and gives the node up, provided that it is
// still held and in the state the work was for. If not, somebody took it for
// abandoned, and what they found counts. Others may have changed other things
// meanwhile, so the node is read again; power says what becomes of its power.
func (c *Conductor) finish(ctx context.Context, worked store.Node, step store.NodeStep, power func(now store.Node) *store.NodePower) error {
	for {
		now, err := c.Store.NodeShow(ctx, worked.UUID.String())
		if err != nil {
			return err
		}
		if value(now.Conductor) != c.Hostname || now.ProvisionState != worked.ProvisionState {
			c.Log.Warn("somebody else went on with a node; what was done here is dropped", "node", worked.UUID)
			return nil
		}
		step.From, step.Revision, step.Holder = []string{now.ProvisionState}, &now.Revision, &c.Hostname
		step.Power = power(now)
		if _, ok, err := c.Store.NodeMove(ctx, worked.UUID.String(), step); err != nil || ok {
			return err
		}
	}
}

// value is what a pointer points to; empty if nil.
func value(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// pointer is nil for the empty text.
func pointer(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// gone tells whether a node or an allocation was deleted meanwhile.
func gone(err error) bool { return refusedFor(err, store.NodeUnknown, store.NodeAllocationUnknown) }

// unregistered tells whether the database does not know this conductor.
func unregistered(err error) bool { return refusedFor(err, store.ConductorUnknown) }

// refusedFor tells whether the database refused something for one of the rules.
func refusedFor(err error, rules ...store.Rule) bool {
	refused := store.As(err)
	return refused != nil && slices.Contains(rules, refused.Rule)
}
