package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
)

// NodeStep is a step of a node's way from state to state: where it may begin, and
// what it does. From, Revision and Holder are guards.
type NodeStep struct {
	// From are the provision states in which the step may begin; nil: any.
	From []string
	// Revision is that of the node that the step was decided for; nil: any.
	Revision *int64
	// Holder is the conductor that must be working on the node; nil: whoever.
	Holder *string
	// To is the provision state afterwards, the present one for a step that is
	// about power.
	To string
	// Target is where the node is going after that; nil: nowhere, it rests.
	Target *string
	// Conductor is the hostname of who works on it from now on; nil: nobody.
	Conductor *string
	NodeEffects
}

// NodeEffects are what a step does besides.
type NodeEffects struct {
	// LastError replaces the one before; nil: all is well.
	LastError *string
	// Power sets both power states; nil leaves them.
	Power *NodePower
	// TearDown empties instance_info and takes away the instance_uuid and the
	// allocation, unless that is sticky: then both stay, and its traits.
	TearDown bool
}

// NodePower are a node's power state, nil if unknown, and the one that it is to
// have, nil if it is at rest.
type NodePower struct{ State, Target *string }

// NodeMove takes a step, or tells that a guard did not hold and nothing was
// written. Where something is left to do it notifies berth_nodes.
func (s *Store) NodeMove(ctx context.Context, ident Ident, step NodeStep) (Node, bool, error) {
	params := db.NodeMoveParams{
		Origins: step.From, Revision: step.Revision, Holder: step.Holder,
		State: step.To, Target: step.Target, Conductor: step.Conductor, LastError: step.LastError, TearDown: step.TearDown,
	}
	params.Node, params.Name = identified(ident)
	if step.Power != nil {
		params.SetPower, params.PowerState, params.TargetPowerState = true, step.Power.State, step.Power.Target
	}
	var row db.NodeMoveRow
	err := s.writeNode(ctx, func() (err error) {
		row, err = s.queries.NodeMove(ctx, s.pool, params)
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return Node{}, false, nil
	}
	if err != nil {
		return Node{}, false, err
	}
	node, err := nodeRow(row).node()
	return node, err == nil, err
}
