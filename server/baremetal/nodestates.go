package baremetal

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/policy"
	"github.com/berthd/berth/server/provision"
	"github.com/berthd/berth/server/route"
	"github.com/berthd/berth/server/store"
)

// NodeStates are the members of a node that change by themselves.
type NodeStates struct {
	ProvisionState       *string `json:"provision_state" nullable:"true" doc:"Where it is in its life; null stands for available below version 1.2." example:"available"`
	TargetProvisionState *string `json:"target_provision_state" nullable:"true" doc:"Where it is going; null at rest." example:"active"`
	ProvisionUpdatedAt   *Time   `json:"provision_updated_at" nullable:"true" doc:"When the state last changed."`
	PowerState           *string `json:"power_state" nullable:"true" doc:"power on or power off; null if it is not known." example:"power off"`
	TargetPowerState     *string `json:"target_power_state" nullable:"true" doc:"What the power is to be; null at rest." example:"power on"`
	LastError            *string `json:"last_error" nullable:"true" doc:"Why the last work on it failed."`
	ConsoleEnabled       bool    `json:"console_enabled" doc:"Whether its console is open." example:"false"`
	RAIDConfig           object  `json:"raid_config" since:"12" doc:"What its disks are."`
	TargetRAIDConfig     object  `json:"target_raid_config" since:"12" doc:"What its disks are to be."`
	BootMode             *string `json:"boot_mode" since:"75" nullable:"true" doc:"uefi or bios; null if it is not known."`
	SecureBoot           *bool   `json:"secure_boot" since:"75" nullable:"true" doc:"Whether it starts only what is signed; null if that is not known."`
}

var nodeStatesShape = newShape[NodeStates]()

// NodeProvision asks for a step in a node's life.
type NodeProvision struct {
	Target     string           `json:"target" doc:"The verb: one of those in the description." example:"provide"`
	ConfigData *json.RawMessage `json:"configdrive,omitempty" doc:"With active and rebuild: what the system on the machine is told, a text or an object. It is kept in instance_info."`
	CleanSteps []map[string]any `json:"clean_steps,omitempty" doc:"With clean, which needs it: what to do. The drivers here decide by themselves what they do."`
}

// NodeMaintenance says why a node is put into maintenance.
type NodeMaintenance struct {
	Reason *string `json:"reason,omitempty" nullable:"true" doc:"Why, for people." example:"The power supply hums"`
}

func (o *operations) nodeStateOperations() []*route.Operation {
	const maintenance = nodeOne + "/maintenance"
	return []*route.Operation{{
		ID: "node-states", Method: http.MethodGet, Path: nodeOne + "/states", Tag: tagStates, Rule: policy.NodeStatesShow,
		Summary: "Show a node's states", Fails: []route.Failure{noNodeFails},
		Variants: []route.Variant{route.From(v(1), o.nodeStates, route.Example(func(ctx context.Context) any {
			return statesOf(ctx, &exampleNode)
		}))},
	}, {
		ID: "node-provision", Method: http.MethodPut, Path: nodeOne + "/states/provision", Tag: tagStates,
		Rule: policy.NodeProvisionUpdate, Summary: "Ask for a step in a node's life", Checks: writes,
		Description: "Answered when it has begun, and `target_provision_state` tells where it leads to. It has ended when that is null " +
			"again; where it is not and the state ends with `failed`, see `last_error`.\n\n" + provisionVerbs(),
		Fails: nodeProvisionFailures,
		Variants: []route.Variant{route.Write(v(1), route.Body[nodePath]{Example: map[string]any{"target": provision.Activate}},
			o.nodeProvision, route.Status(http.StatusAccepted))},
	}, {
		ID: "node-power", Method: http.MethodPut, Path: nodeOne + "/states/power", Tag: tagStates, Rule: policy.NodePowerUpdate,
		Summary: "Switch a node", Checks: writes, Fails: nodePowerFailures,
		Description: "`power on`, `power off`, `rebooting`; from version 1.27 `soft power off` and `soft rebooting`. Answered when it has begun.",
		Variants: []route.Variant{route.Write(v(1), route.Body[nodePath]{Example: map[string]any{"target": "power on"}},
			o.nodePower, route.Status(http.StatusAccepted))},
	}, {
		ID: "node-maintenance-set", Method: http.MethodPut, Path: maintenance, Tag: tagStates, Rule: policy.NodeMaintenanceSet,
		Summary: "Put a node into maintenance", Checks: writes, Fails: []route.Failure{noNodeFails},
		Description: "At once, for all that the status says. No allocation gets the node meanwhile.",
		Variants: []route.Variant{route.Write(v(1), route.Body[nodePath]{
			Optional: true, Example: map[string]any{"reason": "The power supply hums"},
		}, o.nodeMaintenanceSet, route.Status(http.StatusAccepted))},
	}, {
		ID: "node-maintenance-unset", Method: http.MethodDelete, Path: maintenance, Tag: tagStates, Rule: policy.NodeMaintenanceUnset,
		Summary: "Take a node out of maintenance", Fails: []route.Failure{noNodeFails},
		Description: "At once. The reason and the fault are forgotten.",
		Variants:    []route.Variant{route.From(v(1), o.nodeMaintenanceUnset, route.Status(http.StatusAccepted))},
	}}
}

// provisionVerbs tells which verb leads from where to where.
func provisionVerbs() string {
	var text strings.Builder
	text.WriteString("The verbs, and the states in which they can be asked for:\n")
	for _, one := range verbs {
		var from []string
		for _, state := range provision.States() {
			if _, ok := provision.Verb(state, one.name); ok {
				from = append(from, state)
			}
		}
		if from == nil {
			from = []string{"in no state here"}
		}
		text.WriteString("\n- `" + one.name + "`")
		if one.since > v(1) {
			text.WriteString(" (from version " + one.since.String() + " on)")
		}
		text.WriteString(": " + strings.Join(from, ", "))
	}
	return text.String()
}

var nodeProvisionFailures = []route.Failure{
	noNodeFails,
	{When: "There is no such verb.", Fault: badVerb("fly")},
	{When: "The verb is not allowed in the node's state.", Fault: notAllowed(provision.Provide, &exampleNode)},
	{When: "The verb is not allowed in maintenance.", Fault: inMaintenance(&exampleNode)},
	{When: "A conductor is at work on the node.", Fault: locked(exampleNode.UUID.String(), "berth-1")},
	denied(policy.NodeProvisionUpdate),
	{When: "The node is protected.", Fault: protected(exampleNode.UUID.String()), Since: v(48)},
	{When: "The node is retired.", Fault: retired(&exampleNode), Since: v(61)},
}

var nodePowerFailures = []route.Failure{
	noNodeFails,
	{When: "There is no such power state.", Fault: badPower("power down")},
	{When: "A conductor is at work on the node.", Fault: locked(exampleNode.UUID.String(), "berth-1")},
}

func (o *operations) nodeStates(ctx context.Context, in *nodePath) (*answer[view[NodeStates]], error) {
	found, err := o.node(ctx, in.Node)
	if err != nil {
		return nil, err
	}
	return &answer[view[NodeStates]]{Body: statesOf(ctx, &found)}, nil
}

func statesOf(ctx context.Context, n *store.Node) view[NodeStates] {
	return nodeStatesShape.show(nodeStatesShape.all(ctx), &NodeStates{
		ProvisionState: stateOf(ctx, n), TargetProvisionState: n.TargetProvisionState,
		ProvisionUpdatedAt: maybe(n.ProvisionUpdatedAt), PowerState: n.PowerState,
		TargetPowerState: powerTarget(n.TargetPowerState), LastError: n.LastError,
	})
}

// statesAt is the answer that says where it can be seen how it goes.
func statesAt(ctx context.Context, in *nodePath) *accepted {
	return &accepted{Location: url(ctx, nodeAll+"/"+in.Node+"/states")}
}

func (o *operations) nodeMaintenanceSet(ctx context.Context, in *nodePath, body *NodeMaintenance) (*empty, error) {
	return o.maintain(ctx, in, true, body.Reason)
}

func (o *operations) nodeMaintenanceUnset(ctx context.Context, in *nodePath) (*empty, error) {
	return o.maintain(ctx, in, false, nil)
}

func (o *operations) maintain(ctx context.Context, in *nodePath, on bool, reason *string) (*empty, error) {
	node, err := nodeIdent(ctx, in.Node)
	if err != nil {
		return nil, err
	}
	return nil, nodeWords(in.Node).say(o.store.NodeMaintenance(ctx, node, on, reason))
}

// attempts bounds how often a node is moved that others change meanwhile.
const attempts = 10

// move takes the step that decide makes of the node as it is. The step's guards say
// that it still is; where somebody has changed it in between, it is decided anew.
func (o *operations) move(ctx context.Context, sent string, decide func(store.Node) (store.NodeStep, error)) error {
	for range attempts {
		node, err := o.node(ctx, sent)
		if err != nil {
			return err
		}
		step, err := decide(node)
		if err != nil {
			return nodeWords(sent).say(err)
		}
		_, moved, err := o.store.NodeMove(ctx, node.UUID.String(), step)
		if moved || err != nil {
			return nodeWords(sent).say(err)
		}
	}
	return fault.New(fault.Conflict, "Node %s is changed by others again and again. Please retry.", sent)
}

// locked says that a conductor works on the node. Clients repeat such requests.
func locked(node, host string) *fault.Error {
	return fault.New(fault.Conflict, "Node %s is locked by host %s, please retry after the current operation is completed.", node, host)
}
