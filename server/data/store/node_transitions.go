package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// Transition is an edge of the provision state machine: the states in which it may begin, and its effects. From,
// Revision and Holder are guards.
type Transition struct {
	// From are the provision states in which the transition may begin; nil: any.
	From []string
	// Revision is the revision of the node that the transition was decided for; nil: any.
	Revision *int64
	// Holder is the conductor that must hold the reservation; nil: any or none.
	Holder *string
	// To is the provision state afterwards; the current one for a transition that only concerns power.
	To string
	// Target is the target provision state; nil: the node is in a stable state.
	Target *string
	// Conductor is the hostname of the conductor that holds the reservation from now on; nil: none.
	Conductor *string
	TransitionEffects
}

// TransitionEffects are further effects of a transition.
type TransitionEffects struct {
	// LastError replaces the previous last_error; nil: no error.
	LastError *string
	// Power sets both power states; nil leaves them unchanged.
	Power *NodePower
	// TearDown empties instance_info and deletes the instance_uuid and the node allocation. If that is sticky, both
	// stay, and its traits.
	TearDown bool
}

// NodePower is a node's power state, nil if unknown, and its target, nil if no change is pending.
type NodePower struct{ State, Target *string }

// NodeTransition executes a transition. It returns false if a guard did not match, and then it has written nothing. If work
// is pending it notifies berth_node_pending.
func (s *Store) NodeTransition(ctx context.Context, ident Ident, step Transition) (Node, bool, error) {
	params := db.NodeTransitionParams{
		Origins: step.From, Revision: step.Revision, Holder: step.Holder,
		State: step.To, Target: step.Target, Conductor: step.Conductor, LastError: step.LastError, TearDown: step.TearDown,
	}
	params.Node, params.Name = splitIdent(ident)
	if step.Power != nil {
		params.SetPower, params.PowerState, params.TargetPowerState = true, step.Power.State, step.Power.Target
	}
	var row db.NodeTransitionRow
	err := s.writeNode(ctx, func(to *postgres.Primary) (err error) {
		row, err = s.queries.NodeTransition(ctx, to, params)
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
