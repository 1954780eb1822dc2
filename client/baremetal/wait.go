package baremetal

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// The pauses between two looks: short ones at first, since much is done at once, and
// then longer ones, since what takes minutes needs no look each second.
const (
	firstPause   = 100 * time.Millisecond
	longestPause = 5 * time.Second
	pauseGrowth  = 1.5
)

// poll looks until there is nothing to wait for, or the context ends.
func (c *Client) poll(ctx context.Context, look func() (done bool, err error)) error {
	for pause := firstPause; ; pause = min(time.Duration(pauseGrowth*float64(pause)), longestPause) {
		done, err := look()
		if err != nil || done {
			return err
		}
		if err := c.sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// StateError is something that ended in another state than the one waited for.
type StateError struct {
	// What is "node" or "allocation", and Ident which one.
	What, Ident string
	// State is the one it is in, Wanted the one waited for.
	State, Wanted string
	// Reason is what the service says about it; it may be empty.
	Reason string
}

// Error says all of it.
func (e *StateError) Error() string {
	text := fmt.Sprintf("%s %s is in the state %q instead of %q", e.What, e.Ident, e.State, e.Wanted)
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// WaitForNode waits until a node has come to rest in a state, such as "available"
// after the verb provide. It ends with a *StateError if the node comes to rest in
// another one, and with the context's error. Each look is told to seen, which may be
// nil.
func (c *Client) WaitForNode(ctx context.Context, ident, wanted string, seen func(Node)) (node Node, err error) {
	err = c.poll(ctx, func() (bool, error) {
		if node, err = c.NodeShow(ctx, ident); err != nil {
			return false, err
		}
		if seen != nil {
			seen(node)
		}
		resting := node.TargetProvisionState == nil
		switch {
		case node.ProvisionState == wanted && resting:
			return true, nil
		case resting, node.ProvisionState == "error", strings.HasSuffix(node.ProvisionState, " failed"):
			return false, &StateError{What: "node", Ident: ident, State: node.ProvisionState, Wanted: wanted, Reason: orEmpty(node.LastError)}
		}
		return false, nil
	})
	return node, err
}

// WaitForPower waits until a node's power has the state that was asked for.
func (c *Client) WaitForPower(ctx context.Context, ident string, seen func(Node)) (node Node, err error) {
	err = c.poll(ctx, func() (bool, error) {
		if node, err = c.NodeShow(ctx, ident); err != nil {
			return false, err
		}
		if seen != nil {
			seen(node)
		}
		return node.TargetPowerState == nil, nil
	})
	return node, err
}

// WaitForAllocation waits until an allocation is decided. It ends with a *StateError
// if there is no machine for it, and with the context's error. Each look is told to
// seen, which may be nil.
func (c *Client) WaitForAllocation(ctx context.Context, ident string, seen func(Allocation)) (found Allocation, err error) {
	err = c.poll(ctx, func() (bool, error) {
		if found, err = c.NodeAllocationShow(ctx, ident); err != nil {
			return false, err
		}
		if seen != nil {
			seen(found)
		}
		switch found.State {
		case Active:
			return true, nil
		case Allocating:
			return false, nil
		}
		return false, &StateError{What: "allocation", Ident: ident, State: found.State, Wanted: Active, Reason: orEmpty(found.LastError)}
	})
	return found, err
}

func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
