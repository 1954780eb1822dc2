package baremetal

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/policy"
	"github.com/berthd/berth/server/provision"
	"github.com/berthd/berth/server/route"
	"github.com/berthd/berth/server/store"
)

func (o *operations) nodePatchOperations() []*route.Operation {
	example := []map[string]any{
		{"op": "add", "path": "/properties/cpus", "value": "64"}, {"op": "remove", "path": "/description"},
	}
	return []*route.Operation{{
		ID: "node-update", Method: http.MethodPatch, Path: nodeOne, Tag: tagNodes, Rule: policy.NodesUpdate,
		Summary: "Change a node", Checks: writes, Fails: nodeUpdateFailures,
		Description: "By a list of changes, all of which are made, or none. A member that is removed is null, or an empty object, " +
			"afterwards; it need not have been set before.\n\n" +
			"These can be changed: " + strings.Join(nodeMemberNames(), ", ") + ".\n\n" +
			"Where `instance_uuid` is removed from a node that an allocation has, the allocation is deleted.",
		Variants: []route.Variant{route.Write(v(1), route.Body[nodePath]{Example: example}, o.nodeUpdate, query(resetArgument), nodeExample)},
	}}
}

const resetInterfaces = "reset_interfaces"

var resetArgument = []argument{{
	Name: resetInterfaces, Since: v(45), Flag: true, Example: true,
	Doc: "Whether parts of the driver that the change does not name become those of the new driver; only where it names a driver.",
}}

var errNothingToReset = fault.New(fault.Invalid, "The %s argument can only be used when the driver is changed.", resetInterfaces)

var nodeUpdateFailures = []route.Failure{
	noNodeFails,
	{When: "The member cannot be changed.", Fault: fault.New(fault.Invalid,
		"Cannot patch /provision_state. Only the following can be updated: %s", strings.Join(nodeMemberNames(), ", "))},
	{When: "The driver is removed.", Fault: errDriverStays},
	{When: "Parts of the driver are to be reset, and it is not changed.", Fault: errNothingToReset, Since: v(45)},
	{When: "There is a reason for a protection that there is not.", Fault: errNotProtected, Since: v(48)},
	{When: "There is a reason for a retirement that there is not.", Fault: errNotRetired, Since: v(61)},
	{When: "No conductor has the driver.", Fault: noConductorFor(&store.Node{Driver: "none"})},
	{When: "The name cannot be a node's.", Fault: badName("states"), Since: v(5)},
	{When: "Somebody is at work on the node.", Fault: inTransition("rack-7")},
	{When: "The node has another instance.", Fault: associated(exampleNode.UUID.String(), "c0ffee00-5ca1-4b1e-8000-000000000009")},
	{When: "The instance is another node's.", Fault: instanceTaken(nil)},
	{When: "The name is another node's.", Fault: nameTaken(&exampleNode), Since: v(5)},
	{When: "The allocation cannot be taken from the node in this state.", Fault: instanceStays(&exampleNode), Since: v(52)},
	{When: "The class cannot be changed in this state.", Fault: classStays(&exampleNode), Since: v(21)},
	{When: "The allocation of the node has an owner, and the node is to have another.", Fault: ownerStays("rack-7"), Since: v(52)},
	{When: "Only a node in use can be protected.", Fault: notProtectable(&exampleNode), Since: v(48)},
	{When: "A node that is available cannot be retired.", Fault: notRetirable(&exampleNode), Since: v(61)},
}

var (
	errNotProtected = fault.New(fault.Invalid, "The protected_reason field can only be set while protected is true.")
	errNotRetired   = fault.New(fault.Invalid, "The retired_reason field can only be set while retired is true.")
)

var errDriverStays = fault.New(fault.Invalid, "'/driver' is a mandatory attribute and can not be removed")

func inTransition(node string) *fault.Error {
	return fault.New(fault.Conflict, "Node %s can not be updated while a state transition is in progress.", node)
}

func instanceStays(n *store.Node) *fault.Error {
	return fault.New(fault.Conflict, "Cannot remove instance_uuid from node %s, because it has an allocation and is in state %s "+
		"(and maintenance mode is off).", n.UUID, n.ProvisionState)
}

func classStays(n *store.Node) *fault.Error {
	return fault.New(fault.Conflict, "The resource_class of node %s can not be changed while it is in state %s: only in enroll, "+
		"inspecting, inspect wait, manageable and available.", n.UUID, n.ProvisionState)
}

func ownerStays(node string) *fault.Error {
	return fault.New(fault.Conflict, "The owner of node %s can not be changed while its allocation has an owner.", node)
}

func notProtectable(n *store.Node) *fault.Error {
	return fault.New(fault.Conflict, "Node %s can only be protected in provision states active and rescue; it is in state %s.",
		n.UUID, n.ProvisionState)
}

func notRetirable(n *store.Node) *fault.Error {
	return fault.New(fault.Conflict, "Node %s can not be retired while it is in state %s; make it manageable before.",
		n.UUID, n.ProvisionState)
}

func (o *operations) nodeUpdate(ctx context.Context, in *nodePath, patch *Patch) (*answer[view[Node]], error) {
	node, err := nodeIdent(ctx, in.Node)
	if err != nil {
		return nil, err
	}
	if err := patch.check(ctx, nodeShape, nodeMemberNames()...); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(*patch, func(step PatchStep) bool { return step.Op == opRemove && step.root() == "driver" }) {
		return nil, errDriverStays
	}
	reset, err := resets(ctx, *patch)
	if err != nil {
		return nil, err
	}
	if len(*patch) == 0 {
		return o.nodeShow(ctx, in)
	}
	// What the database refuses was wanted of the node as it was tried last.
	var tried store.Node
	changed, err := o.store.NodeUpdate(ctx, node, func(n *store.Node) error {
		before := *n
		err := patch.changeNode(n)
		if err == nil {
			patch.forget(n, reset)
			err = o.mayChange(ctx, *patch, &before, n)
		}
		tried = *n
		return err
	})
	if err != nil {
		return nil, nodeChangeWords(in.Node, &tried).say(err)
	}
	return &answer[view[Node]]{Body: nodeOf(ctx, nodeShape.all(ctx), &changed)}, nil
}

// resets are the members that a change of the driver takes back.
func resets(ctx context.Context, patch Patch) ([]string, error) {
	given, err := arguments(ctx)
	if err != nil {
		return nil, err
	}
	reset, err := given.flag(resetInterfaces)
	if err != nil || reset == nil || !*reset {
		return nil, err
	}
	if !patch.touches("driver") {
		return nil, errNothingToReset
	}
	var names []string
	for _, field := range newShape[Interfaces]().fields {
		names = append(names, field.Name)
	}
	return names, nil
}

// forget removes details that the patch does not touch.
func (p Patch) forget(n *store.Node, names []string) {
	for _, name := range names {
		if !p.touches(name) {
			delete(n.Details, name)
		}
	}
}

// changeNode applies the patch to the members that it touches.
func (p Patch) changeNode(n *store.Node) error {
	members := map[string]any{}
	for _, member := range nodeMembers {
		if p.touches(member.name) {
			value, err := member.get(n)
			if err != nil {
				return err
			}
			members[member.name] = value
		}
	}
	changed, err := p.apply(members, nil)
	if err != nil {
		return err
	}
	// The details are shared with the node as it was.
	before := *n
	n.Details = cloned(n.Details)
	for _, member := range nodeMembers {
		if p.touches(member.name) {
			if err := member.set(n, changed[member.name]); err != nil {
				return err
			}
		}
	}
	if !n.Protected && changed["protected_reason"] != nil && !before.Protected {
		return errNotProtected
	}
	if !n.Retired && changed["retired_reason"] != nil && !before.Retired {
		return errNotRetired
	}
	settle(n, &before)
	return nil
}

// settle forgets the reasons for what is no more.
func settle(n, before *store.Node) {
	if !n.Maintenance {
		n.MaintenanceReason, n.Fault = nil, nil
	}
	if before.Protected && !n.Protected {
		delete(n.Details, "protected_reason")
	}
	if before.Retired && !n.Retired {
		delete(n.Details, "retired_reason")
	}
}

// mayChange refuses changes that the node's state forbids.
func (o *operations) mayChange(ctx context.Context, patch Patch, before, after *store.Node) error {
	state := before.ProvisionState
	freed := before.InstanceUUID != nil && after.InstanceUUID == nil
	switch {
	case !provision.AllowsUpdates(state, textOf(before.TargetProvisionState)) && !(before.Maintenance && patch.onlyFrees()):
		return inTransition(before.UUID.String())
	case freed && before.AllocationUUID != nil && !provision.AllowsInstanceRemoval(state, before.Maintenance):
		return instanceStays(before)
	case textOf(before.ResourceClass) != textOf(after.ResourceClass) && !provision.AllowsClassChange(state):
		return classStays(before)
	case after.Protected && !before.Protected && state != provision.Active && state != provision.Rescue:
		return notProtectable(before)
	case after.Retired && !before.Retired && state == provision.Available:
		return notRetirable(before)
	case before.Driver != after.Driver || before.ConductorGroup != after.ConductorGroup:
		return o.checkDriver(ctx, after)
	}
	return nil
}

// onlyFrees says whether all that the patch does is to take the instance away.
func (p Patch) onlyFrees() bool {
	return len(p) == 1 && p[0].Op == opRemove && p[0].Path == "/instance_uuid"
}

// textOf is what a pointer points to; empty if nil.
func textOf(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
