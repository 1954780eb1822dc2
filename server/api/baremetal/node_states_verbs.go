package baremetal

import (
	"context"
	"slices"
	"strings"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/jsonbody"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/work/provision"
)

// verb is a target that a client can request, with its first microversion.
type verb struct {
	name  string
	since microversion.Version
}

// verbs are the verbs of transitions.
var verbs = []verb{
	{provision.Activate, v(1)},
	{provision.Deploy, v(73)},
	{provision.Rebuild, v(1)},
	{provision.Delete, v(1)},
	{provision.Undeploy, v(73)},
	{provision.Manage, v(4)},
	{provision.Provide, v(4)},
	{provision.Inspect, v(6)},
	{provision.Abort, v(13)},
	{provision.Clean, v(15)},
	{provision.Adopt, v(17)},
}

// powers are the targets of power changes.
var powers = []verb{
	{"power on", v(1)},
	{"power off", v(1)},
	{"rebooting", v(1)},
	{"soft power off", v(27)},
	{"soft rebooting", v(27)},
}

// checkVerb returns an error for a target that does not exist or that only later versions have.
func checkVerb(ctx context.Context, sent string, of []verb, unknown func(string) *fault.Error) error {
	at := slices.IndexFunc(of, func(item verb) bool { return item.name == sent })
	if at < 0 {
		return unknown(sent)
	}
	if version := microversion.From(ctx); of[at].since > version {
		return fault.New(fault.NotAcceptable, "The target %s exists from version %s on; this request is of version %s.",
			sent, of[at].since, version)
	}
	return nil
}

func named(of []verb) string {
	names := make([]string, len(of))
	for i, verb := range of {
		names[i] = verb.name
	}
	return strings.Join(names, ", ")
}

func badVerb(sent string) *fault.Error {
	return fault.New(fault.Invalid, "The requested target \"%s\" is unknown; the valid targets are: %s.", sent, named(verbs))
}

func badPower(sent string) *fault.Error {
	return fault.New(fault.Invalid, "The requested power state \"%s\" is unknown; the valid states are: %s.", sent, named(powers))
}

func notAllowed(verb string, n *store.Node) *fault.Error {
	return fault.New(fault.Invalid, "The requested action \"%s\" can not be performed on node \"%s\" while it is in state \"%s\".",
		verb, n.UUID, n.ProvisionState)
}

func inMaintenance(n *store.Node) *fault.Error {
	return fault.New(fault.Invalid, "The provisioning operation can't be performed on node %s because it's in maintenance mode.", n.UUID)
}

func retired(n *store.Node) *fault.Error {
	return fault.New(fault.Invalid, "The provide operation can't be performed on node %s because it is retired.", n.UUID)
}

func (o *operations) nodeProvision(ctx context.Context, in *nodePath, body *NodeProvision) (*accepted, error) {
	if err := checkProvision(ctx, body); err != nil {
		return nil, err
	}
	err := o.move(ctx, in.Node, func(n store.Node) (store.Transition, error) {
		edge, err := transitionFor(body.Target, &n)
		if err == nil && body.ConfigData != nil {
			n, err = o.storeConfigDrive(ctx, &n, body)
		}
		if err != nil {
			return store.Transition{}, err
		}
		step := store.Transition{From: []string{edge.From}, Revision: &n.Revision, To: edge.To}
		if edge.Target != "" {
			step.Target = &edge.Target
		}
		return step, nil
	})
	if err != nil {
		return nil, err
	}
	return statesAt(ctx, in), nil
}

// checkProvision validates the request without the node.
func checkProvision(ctx context.Context, body *NodeProvision) error {
	if err := checkVerb(ctx, body.Target, verbs, badVerb); err != nil {
		return err
	}
	verb := provision.Canonical(body.Target)
	if isClean := verb == provision.Clean; isClean && len(body.CleanSteps) == 0 || !isClean && body.CleanSteps != nil {
		return fault.New(fault.Invalid, "The target clean requires at least one clean step; clean_steps is not allowed with other targets.")
	}
	if body.ConfigData == nil {
		return nil
	}
	if verb != provision.Activate && verb != provision.Rebuild {
		return fault.New(fault.Invalid, "configdrive is only allowed with the targets active, deploy and rebuild.")
	}
	value, err := decoded(*body.ConfigData)
	if err != nil {
		return err
	}
	switch value.(type) {
	case nil, string, map[string]any:
		return nil
	}
	return fault.New(fault.Invalid, "Invalid value for configdrive: it must be a text or an object.")
}

// transitionFor returns the transition of a verb from the node's state. It returns *reserved if the state permits the
// verb and a conductor has reserved the node. Like ironic, it returns a conflict immediately for a verb that the state
// of a reserved node does not permit. Maintenance forbids a deployment whether or not the node is reserved.
func transitionFor(verb string, n *store.Node) (provision.Edge, error) {
	edge, allowed := provision.EdgeForVerb(n.ProvisionState, verb)
	canonical := provision.Canonical(verb)
	switch {
	case n.Maintenance && (canonical == provision.Activate || canonical == provision.Rebuild):
		return edge, inMaintenance(n)
	case n.Conductor != nil && !allowed:
		return edge, locked(n.UUID.String(), *n.Conductor)
	case n.Conductor != nil:
		return edge, &reserved{n.UUID.String(), *n.Conductor}
	case n.Maintenance && !provision.AllowsInMaintenance(verb):
		return edge, inMaintenance(n)
	case !allowed:
		return edge, notAllowed(verb, n)
	case n.Protected && (canonical == provision.Delete || canonical == provision.Rebuild):
		return edge, protected(n.UUID.String())
	case n.Retired && canonical == provision.Provide:
		return edge, retired(n)
	}
	return edge, nil
}

// storeConfigDrive stores the config drive of a node whose deployment starts and is still permitted.
func (o *operations) storeConfigDrive(ctx context.Context, n *store.Node, body *NodeProvision) (store.Node, error) {
	return o.store.NodeUpdate(ctx, n.UUID.String(), func(now *store.Node) error {
		if _, err := transitionFor(body.Target, now); err != nil {
			return err
		}
		value, err := detailValue(now.Details, "instance_info", asObject)
		if err != nil {
			return err
		}
		info, _ := value.(map[string]any)
		if info["configdrive"], err = decoded(*body.ConfigData); err != nil {
			return err
		}
		now.Details = cloned(now.Details)
		return setDetail(&now.Details, "instance_info", info, asObject)
	})
}

// NodePower is the request for a power state.
type NodePower struct {
	Target  string        `json:"target" doc:"One of the targets in the description." example:"power on"`
	Timeout *jsonbody.Int `json:"timeout,omitempty" since:"27" nullable:"true" minimum:"1" doc:"Timeout in seconds of a soft power change. Berth's drivers ignore it."`
}

func (o *operations) nodePower(ctx context.Context, in *nodePath, body *NodePower) (*accepted, error) {
	if err := checkVerb(ctx, body.Target, powers, badPower); err != nil {
		return nil, err
	}
	err := o.move(ctx, in.Node, func(n store.Node) (store.Transition, error) {
		switch {
		case n.ProvisionState == provision.Cleaning:
			return store.Transition{}, notAllowed(body.Target, &n)
		case n.Conductor != nil:
			return store.Transition{}, &reserved{n.UUID.String(), *n.Conductor}
		}
		step := store.Transition{
			From: []string{n.ProvisionState}, Revision: &n.Revision, To: n.ProvisionState, Target: n.TargetProvisionState,
		}
		step.Power = &store.NodePower{State: n.PowerState, Target: &body.Target}
		return step, nil
	})
	if err != nil {
		return nil, err
	}
	return statesAt(ctx, in), nil
}

// powerTarget returns the power state that a target leads to.
func powerTarget(target *string) *string {
	switch textOf(target) {
	case "rebooting", "soft rebooting":
		return new("power on")
	case "soft power off":
		return new("power off")
	}
	return target
}
