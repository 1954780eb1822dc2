package conductor

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/work/provision"
)

// processNode works on a node until nothing is left to do for this conductor: the node is in a stable state, or
// reserved by another conductor.
func (c *Conductor) processNode(ctx context.Context, id uuid.UUID) error {
	for {
		node, err := c.Store.NodeShow(ctx, id.String())
		more := false
		if err == nil {
			more, err = c.runNextStep(ctx, node)
		}
		switch {
		case gone(err):
			return nil
		case err != nil && ctx.Err() == nil:
			c.Log.Error("cannot continue the work on a node; retrying", "node", id, "error", err)
			return err
		case err != nil || !more:
			return err
		}
	}
}

// runNextStep does the next work on a node, and reports whether more may follow.
func (c *Conductor) runNextStep(ctx context.Context, node store.Node) (more bool, err error) {
	mine := node.Conductor != nil && *node.Conductor == c.Hostname
	driver, known := c.Drivers[node.Driver]
	switch {
	case node.Conductor != nil && !mine, !known && !mine:
		return false, nil
	case !known:
		// This conductor took the node over from one that had the driver.
		return false, c.release(ctx, node)
	case node.TargetPowerState != nil:
		// Power comes before the work of the state: that work ends in a commit which sets the final state and releases
		// the reservation. A pending power request must not reserve the node again after it.
		return c.runIfReserved(ctx, node, mine, func() error { return c.switchPower(ctx, driver, node) })
	case provision.Transient(node.ProvisionState):
		return c.runIfReserved(ctx, node, mine, func() error { return c.work(ctx, driver, node) })
	case mine:
		return false, c.release(ctx, node)
	}
	return false, nil
}

// runIfReserved calls work if this conductor holds the reservation or obtains it. Otherwise another transaction changed
// the node since it was read, and the caller reads it again.
func (c *Conductor) runIfReserved(ctx context.Context, node store.Node, mine bool, work func() error) (more bool, err error) {
	if !mine {
		_, ok, err := c.Store.NodeTransition(ctx, node.UUID.String(), store.Transition{
			From: []string{node.ProvisionState}, Revision: &node.Revision,
			To: node.ProvisionState, Target: node.TargetProvisionState, Conductor: &c.Hostname,
		})
		if unregistered(err) {
			// Another conductor took this one for dead and deleted its row.
			return true, c.register(ctx)
		}
		if err != nil || !ok {
			return err == nil, err
		}
	}
	return true, work()
}

// work does the work of a transient state and transitions the node to the state that follows.
func (c *Conductor) work(ctx context.Context, driver Driver, node store.Node) error {
	state := node.ProvisionState
	power, failure := steps[state](driver, ctx, node)
	if ctx.Err() != nil {
		return ctx.Err() // interrupted: not a failure of the machine
	}
	step := store.Transition{}
	var edge provision.Edge
	if failure != nil {
		step.LastError = new(fmt.Sprintf("The work of the state %q failed on node %s: %v", state, node.UUID, failure))
		edge, _ = provision.EdgeOnFailure(state, value(node.TargetProvisionState))
		if err := c.markCleanFailed(ctx, node, edge.To, *step.LastError); err != nil {
			return err
		}
	} else {
		edge, _ = provision.EdgeOnSuccess(state, destination(node))
		step.TearDown = state == provision.Deleting
	}
	c.Log.Info("node transitions", "node", node.UUID, "from", state, "to", edge.To, failed(failure))
	step.To, step.Target = edge.To, pointer(edge.Target)
	return c.finish(ctx, node, step, func(now store.Node) *store.NodePower {
		if power == "" || failure != nil {
			return nil
		}
		return &store.NodePower{State: &power, Target: now.TargetPowerState}
	})
}

// destination returns the state that follows the transient state. A retired node has no next user: it becomes
// manageable after cleaning.
func destination(node store.Node) string {
	if node.Retired && node.ProvisionState == provision.Cleaning {
		return provision.Manageable
	}
	return value(node.TargetProvisionState)
}

// cleanFailure is the fault of a node whose cleaning failed.
const cleanFailure = "clean failure"

// failed returns a log attribute with the failure; empty for nil.
func failed(failure error) slog.Attr {
	if failure == nil {
		return slog.Attr{}
	}
	return slog.Any("failure", failure)
}

// markCleanFailed sets maintenance on a node whose cleaning failed. It does so before the transition: if the conductor
// dies in between, the next one cleans the node again, and the node never counts as clean.
func (c *Conductor) markCleanFailed(ctx context.Context, node store.Node, to, reason string) error {
	if to != provision.CleanFailed {
		return nil
	}
	_, err := c.Store.NodeUpdate(ctx, node.UUID.String(), func(n *store.Node) error {
		n.Maintenance, n.MaintenanceReason, n.Fault = true, &reason, new(cleanFailure)
		return nil
	})
	return err
}

// switchPower changes a node's power to its target. If that fails, the power state stays as it was, and last_error has
// the reason.
func (c *Conductor) switchPower(ctx context.Context, driver Driver, node store.Node) error {
	power, failure := driver.Power(ctx, node, *node.TargetPowerState)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	step := store.Transition{To: node.ProvisionState, Target: node.TargetProvisionState}
	if failure != nil {
		step.LastError = new(fmt.Sprintf("Changing the power of node %s to %q failed: %v", node.UUID, *node.TargetPowerState, failure))
	}
	c.Log.Info("changed the power state of a node", "node", node.UUID, "target", *node.TargetPowerState, failed(failure))
	return c.finish(ctx, node, step, func(now store.Node) *store.NodePower {
		reached := &store.NodePower{State: now.PowerState, Target: now.TargetPowerState}
		if failure == nil {
			reached.State = &power
		}
		// A newer power request that arrived during the step stays pending.
		if value(now.TargetPowerState) == *node.TargetPowerState {
			reached.Target = nil
		}
		return reached
	})
}

// release releases the reservation of a node in a stable state.
func (c *Conductor) release(ctx context.Context, node store.Node) error {
	step := store.Transition{To: node.ProvisionState, Target: node.TargetProvisionState}
	step.LastError = node.LastError
	return c.finish(ctx, node, step, func(store.Node) *store.NodePower { return nil })
}

// finish writes the result of the work and releases the reservation, if this conductor still holds it and the node is
// still in the state of the work. Otherwise another conductor took the node over, and the result is discarded. Clients
// may have changed other fields meanwhile, so finish reads the node again; power sets the power fields from what it
// reads.
func (c *Conductor) finish(ctx context.Context, worked store.Node, step store.Transition, power func(now store.Node) *store.NodePower) error {
	for {
		now, err := c.Store.NodeShow(ctx, worked.UUID.String())
		if err != nil {
			return err
		}
		if value(now.Conductor) != c.Hostname || now.ProvisionState != worked.ProvisionState {
			c.Log.Warn("another conductor changed the node; discarding the result of this step", "node", worked.UUID)
			return nil
		}
		step.From, step.Revision, step.Holder = []string{now.ProvisionState}, &now.Revision, &c.Hostname
		step.Power = power(now)
		if _, ok, err := c.Store.NodeTransition(ctx, worked.UUID.String(), step); err != nil || ok {
			return err
		}
	}
}

// value returns what text points to; empty for nil.
func value(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// pointer returns a pointer to text; nil if it is empty.
func pointer(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// gone reports whether the node or the node allocation was deleted meanwhile.
func gone(err error) bool { return refusedFor(err, store.NodeNotFound, store.NodeAllocationNotFound) }

// unregistered reports whether the database has no row of this conductor.
func unregistered(err error) bool { return refusedFor(err, store.ConductorNotFound) }

// refusedFor reports whether err is a violation of one of the rules.
func refusedFor(err error, rules ...store.Rule) bool {
	refused := store.AsRuleViolation(err)
	return refused != nil && slices.Contains(rules, refused.Rule)
}
