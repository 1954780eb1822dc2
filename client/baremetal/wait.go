package baremetal

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// The poll interval begins short, since many operations complete at once, and grows, since operations of minutes need
// no poll each second.
const (
	minPollInterval   = 100 * time.Millisecond
	maxPollInterval   = 5 * time.Second
	pollBackoffFactor = 1.5
)

// poll calls look until it returns true or an error, or the context ends.
func (c *Client) poll(ctx context.Context, look func() (done bool, err error)) error {
	for pause := minPollInterval; ; pause = min(time.Duration(pollBackoffFactor*float64(pause)), maxPollInterval) {
		done, err := look()
		if err != nil || done {
			return err
		}
		if err := c.sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// StateError is the error for a node or node allocation that ended in a state other than the expected one.
type StateError struct {
	// What is "node" or "allocation", and Ident its name or UUID.
	What, Ident string
	// State is the current state, Wanted the expected one.
	State, Wanted string
	// Reason is the last_error of the service; it may be empty.
	Reason string
}

// Error returns a text with all fields.
func (e *StateError) Error() string {
	text := fmt.Sprintf("%s %s is in the state %q instead of %q", e.What, e.Ident, e.State, e.Wanted)
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// WaitForNode polls until a node is in a provision state without a target, such as "available" after the verb provide.
// It returns a *StateError if the node ends in another state, and the error of the context if that ends first. It
// passes the result of each poll to seen, which may be nil.
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

// WaitForPower polls until the power state of a node has no target. It passes the result of each poll to seen, which
// may be nil.
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

// WaitForAllocation polls until a node allocation is active. It returns a *StateError if no node is assigned, and the
// error of the context if that ends first. It passes the result of each poll to seen, which may be nil.
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
