package baremetal

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/work/provision"
)

// NodeStates are the members of a node that the server changes.
type NodeStates struct {
	ProvisionState       *string `json:"provision_state" nullable:"true" doc:"Provision state; below version 1.2 null means available." example:"available"`
	TargetProvisionState *string `json:"target_provision_state" nullable:"true" doc:"Target of the current transition; null without one." example:"active"`
	ProvisionUpdatedAt   *Time   `json:"provision_updated_at" nullable:"true" doc:"Time of the last change of the provision state."`
	PowerState           *string `json:"power_state" nullable:"true" doc:"power on or power off; null if unknown." example:"power off"`
	TargetPowerState     *string `json:"target_power_state" nullable:"true" doc:"Requested power state; null without a pending change." example:"power on"`
	LastError            *string `json:"last_error" nullable:"true" doc:"Error of the last failed operation."`
	ConsoleEnabled       bool    `json:"console_enabled" doc:"Whether the console is enabled." example:"false"`
	RAIDConfig           object  `json:"raid_config" since:"12" doc:"Current RAID configuration."`
	TargetRAIDConfig     object  `json:"target_raid_config" since:"12" doc:"Requested RAID configuration."`
	BootMode             *string `json:"boot_mode" since:"75" nullable:"true" doc:"uefi or bios; null if unknown."`
	SecureBoot           *bool   `json:"secure_boot" since:"75" nullable:"true" doc:"Whether secure boot is enabled; null if unknown."`
}

var nodeStatesShape = newShape[NodeStates]()

// NodeProvision is the request for a transition of a node.
type NodeProvision struct {
	Target     string           `json:"target" doc:"One of the verbs in the description." example:"provide"`
	ConfigData *json.RawMessage `json:"configdrive,omitempty" doc:"With active and rebuild: config drive, a text or an object. It is stored in instance_info."`
	CleanSteps []map[string]any `json:"clean_steps,omitempty" doc:"Required with clean: cleaning steps. Berth's drivers ignore the contents."`
}

// MaintenanceRequest is the request that puts a node into maintenance. It is not called NodeMaintenance: client
// generators would make NodeMaintenanceReason of its member, which is also the maintenance_reason of a Node.
type MaintenanceRequest struct {
	Reason *string `json:"reason,omitempty" nullable:"true" doc:"Reason for the maintenance." example:"The power supply hums"`
}

func (o *operations) nodeStateOperations() []*route.Operation {
	const maintenance = nodeOne + "/maintenance"
	return []*route.Operation{{
		ID: "node-states", Method: http.MethodGet, Path: nodeOne + "/states", Tag: tagStates, Rule: policy.NodeStatesShow, Authorize: o.onNode(policy.NodeStatesShow),
		Summary: "Show a node's states", Fails: []route.Failure{noNodeFails},
		Variants: []route.Variant{route.From(v(1), o.nodeStates, route.Example(func(ctx context.Context) any {
			return statesOf(ctx, &exampleNode)
		}))},
	}, {
		ID: "node-provision", Method: http.MethodPut, Body: route.BodyLongTexts, Path: nodeOne + "/states/provision", Tag: tagStates,
		Rule: policy.NodeProvisionUpdate, Authorize: o.onNode(policy.NodeProvisionUpdate), Summary: "Change a node's provision state", Checks: writes,
		Description: "Responds when the transition has started; `target_provision_state` is its target. The transition has ended when that is null " +
			"again. If the provision state ends with `failed`, see `last_error`.\n\n" + provisionVerbs(),
		Fails: nodeProvisionFailures,
		Variants: []route.Variant{route.Write(v(1), route.Body[nodePath]{Example: map[string]any{"target": provision.Activate}},
			o.nodeProvision, route.Status(http.StatusAccepted))},
	}, {
		ID: "node-power", Method: http.MethodPut, Path: nodeOne + "/states/power", Tag: tagStates, Rule: policy.NodePowerUpdate, Authorize: o.onNode(policy.NodePowerUpdate),
		Summary: "Change a node's power state", Checks: writes, Fails: nodePowerFailures,
		Description: "Targets: `power on`, `power off`, `rebooting`; from version 1.27 `soft power off` and `soft rebooting`. Responds when the change has started.",
		Variants: []route.Variant{route.Write(v(1), route.Body[nodePath]{Example: map[string]any{"target": "power on"}},
			o.nodePower, route.Status(http.StatusAccepted))},
	}, {
		ID: "node-maintenance-set", Method: http.MethodPut, Path: maintenance, Tag: tagStates, Rule: policy.NodeMaintenanceSet, Authorize: o.onNode(policy.NodeMaintenanceSet),
		Summary: "Put a node into maintenance", Checks: writes, Fails: []route.Failure{noNodeFails},
		Description: "Takes effect before the response, despite its status 202. A node in maintenance is not assigned to allocations.",
		Variants: []route.Variant{route.Write(v(1), route.Body[nodePath]{
			Optional: true, Example: map[string]any{"reason": "The power supply hums"},
		}, o.nodeMaintenanceSet, route.Status(http.StatusAccepted))},
	}, {
		ID: "node-maintenance-unset", Method: http.MethodDelete, Path: maintenance, Tag: tagStates, Rule: policy.NodeMaintenanceUnset, Authorize: o.onNode(policy.NodeMaintenanceUnset),
		Summary: "Take a node out of maintenance", Fails: []route.Failure{noNodeFails},
		Description: "Takes effect before the response. Clears the reason and the fault.",
		Variants:    []route.Variant{route.From(v(1), o.nodeMaintenanceUnset, route.Status(http.StatusAccepted))},
	}}
}

// provisionVerbs describes the verbs with their start and target states.
func provisionVerbs() string {
	var text strings.Builder
	text.WriteString("Verbs and the provision states that permit them:\n")
	for _, verb := range verbs {
		var from []string
		for _, state := range provision.States() {
			if _, ok := provision.EdgeForVerb(state, verb.name); ok {
				from = append(from, state)
			}
		}
		if from == nil {
			from = []string{"no state in Berth"}
		}
		text.WriteString("\n- `" + verb.name + "`")
		if verb.since > v(1) {
			text.WriteString(" (from version " + verb.since.String() + " on)")
		}
		text.WriteString(": " + strings.Join(from, ", "))
	}
	return text.String()
}

var nodeProvisionFailures = []route.Failure{
	noNodeFails,
	{Name: "unknown-target", When: "The verb does not exist.", Fault: badVerb("fly")},
	{Name: "target-not-allowed", When: "The node's state does not permit the verb.",
		Fault: notAllowed(provision.Provide, &exampleNode)},
	{Name: "node-in-maintenance", When: "The node is in maintenance, which does not permit the verb.",
		Fault: inMaintenance(&exampleNode)},
	{Name: "node-locked", When: "A conductor has reserved the node.",
		Fault: locked(exampleNode.UUID.String(), "berth-1")},
	denied(policy.NodeProvisionUpdate),
	{Name: "node-protected", When: "The node is protected.",
		Fault: protected(exampleNode.UUID.String()), Since: v(48)},
	{Name: "node-retired", When: "The node is retired.", Fault: retired(&exampleNode), Since: v(61)},
}

var nodePowerFailures = []route.Failure{
	noNodeFails,
	{Name: "unknown-power-state", When: "The power state does not exist.", Fault: badPower("power down")},
	{Name: "target-not-allowed", When: "The node is in state cleaning.",
		Fault: notAllowed("power on", &store.Node{UUID: exampleNode.UUID, ProvisionState: provision.Cleaning})},
	{Name: "node-locked", When: "A conductor has reserved the node.",
		Fault: locked(exampleNode.UUID.String(), "berth-1")},
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

// statesAt returns a response whose Location is the states of the node.
func statesAt(ctx context.Context, in *nodePath) *accepted {
	return &accepted{Location: url(ctx, nodeAll+"/"+in.Node+"/states")}
}

func (o *operations) nodeMaintenanceSet(ctx context.Context, in *nodePath, body *MaintenanceRequest) (*empty, error) {
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
	return nil, nodeFaults(in.Node).Translate(o.store.NodeMaintenance(ctx, node, on, reason))
}
