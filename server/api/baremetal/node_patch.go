package baremetal

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/work/provision"
)

func (o *operations) nodePatchOperations() []*route.Operation {
	example := []map[string]any{
		{"op": "add", "path": "/properties/cpus", "value": "64"}, {"op": "remove", "path": "/description"},
	}
	return []*route.Operation{{
		ID: "node-update", Method: http.MethodPatch, Path: nodeOne, Tag: tagNodes, Rule: policy.NodesUpdate, Authorize: o.onNodePatch,
		Body:    route.BodyLongTexts,
		Summary: "Update a node", Checks: writes, Fails: nodeUpdateFailures,
		Description: "Applies a list of changes atomically. A removed member becomes null or an empty object; " +
			"it need not have been set before.\n\n" +
			"Members that can be changed: " + strings.Join(nodeMemberNames(), ", ") + ".\n\n" +
			"Removing `instance_uuid` from a node with an allocation deletes the allocation.",
		Variants: []route.Variant{route.Write(v(1), route.Body[nodePath]{Example: example}, o.nodeUpdate, route.QueryOf(resetArgument), nodeExample)},
	}}
}

const resetInterfaces = "reset_interfaces"

var resetArgument = route.Params{{
	Name: resetInterfaces, Since: v(45), Type: huma.TypeBoolean, Example: true,
	Doc: "Whether interfaces that the patch does not name are reset to the defaults of the new driver. Only valid if the patch changes the driver.",
}}

var errNothingToReset = fault.New(fault.Invalid, "The %s argument can only be used when the driver is changed.", resetInterfaces)

var nodeUpdateFailures = []route.Failure{
	noNodeFails,
	{Name: "member-not-patchable", When: "The member cannot be changed.",
		Fault: notPatchable("/provision_state", nodeMemberNames()...)},
	{Name: "driver-removed", When: "The driver is removed.", Fault: errDriverStays},
	{Name: "nothing-to-reset", When: "`reset_interfaces` is set, but the patch does not change the driver.",
		Fault: errNothingToReset, Since: v(45)},
	{Name: "not-protected", When: "`protected_reason` is set, but the node is not protected.",
		Fault: errNotProtected, Since: v(48)},
	{Name: "not-retired", When: "`retired_reason` is set, but the node is not retired.",
		Fault: errNotRetired, Since: v(61)},
	{Name: "driver-unavailable", When: "No conductor of the node's group has the driver.",
		Fault: noConductorFor(&store.Node{Driver: "none"})},
	{Name: "invalid-node-name", When: "The name is not valid for a node.", Fault: badName("states"), Since: v(5)},
	{Name: "node-in-transition", When: "The node is in a transient state.", Fault: inTransition("rack-7")},
	{Name: "node-associated", When: "The node has another instance UUID.",
		Fault: associated(exampleNode.UUID.String(), "c0ffee00-5ca1-4b1e-8000-000000000009")},
	{Name: "instance-taken", When: "Another node has the instance UUID.", Fault: instanceTaken(nil)},
	{Name: "name-taken", When: "Another node has the name.", Fault: nameTaken(&exampleNode), Since: v(5)},
	{Name: "instance-not-removable", When: "The node cannot be released in this state.",
		Fault: instanceStays(&exampleNode), Since: v(52)},
	{Name: "class-not-changeable", When: "The resource class cannot be changed in this state.",
		Fault: classStays(&exampleNode), Since: v(21)},
	{Name: "owner-not-changeable", When: "The owner cannot be changed while the node's allocation has an owner.",
		Fault: ownerStays("rack-7"), Since: v(52)},
	{Name: "node-not-protectable", When: "The node is not in use, so it cannot be protected.",
		Fault: notProtectable(&exampleNode), Since: v(48)},
	{Name: "node-not-retirable", When: "The node is available, so it cannot be retired.",
		Fault: notRetirable(&exampleNode), Since: v(61)},
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
	rules := patch.rules()
	if len(*patch) == 0 {
		return o.nodeUnchanged(ctx, in, rules)
	}
	// tried is the node of the last attempt, for the errors of the database.
	var tried store.Node
	changed, err := o.store.NodeUpdate(ctx, node, func(n *store.Node) error {
		before := *n
		if err := mayPatch(ctx, rules, n); err != nil {
			return err
		}
		err := patch.changeNode(n)
		if err == nil {
			patch.dropDetails(n, reset)
			err = o.mayChange(ctx, *patch, &before, n)
		}
		tried = *n
		return err
	})
	if err != nil {
		return nil, nodeChangeFaults(in.Node, &tried).Translate(err)
	}
	return &answer[view[Node]]{Body: nodeOf(ctx, nodeShape.all(ctx), redacted(ctx, &changed))}, nil
}

// nodeUnchanged returns the response to a patch without changes, which requires the same rules.
func (o *operations) nodeUnchanged(ctx context.Context, in *nodePath, rules []string) (*answer[view[Node]], error) {
	found, err := o.node(ctx, in.Node)
	if err == nil {
		err = mayPatch(ctx, rules, &found)
	}
	if err != nil {
		return nil, err
	}
	return o.nodeShow(ctx, in)
}

// resets returns the members that a change of the driver resets.
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

// dropDetails removes details that the patch does not touch.
func (p Patch) dropDetails(n *store.Node, names []string) {
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
	// The copy shares its details with the original node.
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

// settle removes the reasons of flags that are no longer set.
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

// mayChange returns an error for changes that the node's state does not permit.
func (o *operations) mayChange(ctx context.Context, patch Patch, before, after *store.Node) error {
	state := before.ProvisionState
	freed := before.InstanceUUID != nil && after.InstanceUUID == nil
	switch {
	case !provision.AllowsUpdates(state, textOf(before.TargetProvisionState)) && !(before.Maintenance && patch.onlyRemovesInstance()):
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

// onlyRemovesInstance reports whether the patch removes the instance UUID and changes nothing else.
func (p Patch) onlyRemovesInstance() bool {
	return len(p) == 1 && p[0].Op == opRemove && p[0].Path == "/instance_uuid"
}

// textOf returns the target of a pointer, or "" for nil.
func textOf(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
