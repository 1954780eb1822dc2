package baremetal

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/work/provision"
)

// memberRules are the rules of node members that have their own rule; policy.NodesUpdate permits changes of the others.
var memberRules = map[string]string{
	"instance_info": policy.NodeInstanceInfoUpdate, "extra": policy.NodeExtraUpdate, "driver_info": policy.NodeDriverInfoUpdate,
	"properties": policy.NodePropertiesUpdate, "chassis_uuid": policy.NodeChassisUpdate, "instance_uuid": policy.NodeInstanceUpdate,
	"lessee": policy.NodeLesseeUpdate, "owner": policy.NodeOwnerUpdate, "driver": policy.NodeInterfacesUpdate,
	"network_data": policy.NodeNetworkDataUpdate, "conductor_group": policy.NodeConductorGroupUpdate, "name": policy.NodeNameUpdate,
	"retired": policy.NodeRetiredUpdate, "retired_reason": policy.NodeRetiredUpdate, "shard": policy.NodeShardUpdate,
}

// rules returns the rules that permit the changes of a patch. All of them are required.
func (p Patch) rules() []string {
	var rules []string
	for _, step := range p {
		root := step.root()
		rule, own := memberRules[root]
		switch {
		case own:
		case strings.HasSuffix(root, "_interface"):
			rule = policy.NodeInterfacesUpdate
		case root == "automated_clean" && step.disables():
			rule = policy.NodeCleaningDisable
		default:
			rule = policy.NodesUpdate
		}
		if !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	if rules == nil {
		rules = []string{policy.NodesUpdate}
	}
	return rules
}

// disables reports whether the step sets a member to false, in any notation of a boolean. A value that cannot be parsed
// counts as false.
func (s PatchStep) disables() bool {
	if s.Op == opRemove {
		return false
	}
	var value any
	if json.Unmarshal(s.Value, &value) != nil {
		return true
	}
	on, err := asFlag("automated_clean", value)
	return err != nil || on == false
}

// onNodePatch authorizes reading the node. The rules of a patch depend on the body, so mayPatch checks them.
func (o *operations) onNodePatch(r *http.Request) (context.Context, error) {
	if err := scopeDenial(r.Context(), policy.NodesUpdate); err != nil {
		return nil, err
	}
	return o.authorizeNode(r.Context(), r.PathValue("node"), policy.NodesShow)
}

// mayPatch checks whether the caller may apply the changes to the current node.
func mayPatch(ctx context.Context, rules []string, n *store.Node) error {
	target := nodeTarget(ctx, n)
	if err := mayAll(ctx, target, rules...); err != nil {
		return err
	}
	if n.ProvisionState == provision.Active && slices.Contains(rules, policy.NodeOwnerUpdate) &&
		route.May(ctx, policy.NodeOwnerActiveUpdate, target) != nil {
		return fault.New(fault.Conflict, "Cannot update owner of node \"%s\" while it is in state \"%s\".", n.UUID, n.ProvisionState)
	}
	return nil
}

// redacted returns the node without the values of members that the caller may not see. They contain ironic's
// replacement texts.
func redacted(ctx context.Context, n *store.Node) *store.Node {
	target := nodeTarget(ctx, n)
	if route.May(ctx, policy.NodeWhole, target) == nil {
		return n
	}
	shown := *n
	if route.May(ctx, policy.NodeLastErrorShow, target) != nil {
		shown.LastError = new("** Value Redacted - Requires " + policy.NodeLastErrorShow + " permission. **")
	}
	if route.May(ctx, policy.NodeReservationShow, target) != nil {
		shown.Conductor = new("** Redacted - requires " + policy.NodeReservationShow + " permission. **")
	}
	if route.May(ctx, policy.NodeDriverInfoShow, target) != nil {
		shown.Details = cloned(shown.Details)
		shown.Details["driver_info"] = json.RawMessage(`{"content":"** Redacted - requires ` + policy.NodeDriverInfoShow + ` permission. **"}`)
	}
	return &shown
}

// furtherRules returns the rules that operations check in addition to the one in the table.
func furtherRules() map[string][]string {
	shown := []string{policy.NodeWhole, policy.NodeLastErrorShow, policy.NodeReservationShow, policy.NodeDriverInfoShow}
	changed := slices.Concat(slices.Sorted(maps.Values(memberRules)), []string{policy.NodeCleaningDisable, policy.NodeOwnerActiveUpdate})
	return map[string][]string{
		policy.NodesList: append([]string{policy.NodesListOwn}, shown...), policy.NodesShow: shown,
		policy.NodesCreate: {policy.NodesCreateOwn}, policy.NodesUpdate: slices.Compact(changed), policy.NodesDelete: {policy.NodesDeleteOwn},
		policy.PortsList: {policy.PortsListOwn}, policy.NodeAllocationsList: {policy.NodeAllocationsOwn},
		policy.NodeAllocationsCreate: {policy.NodeAllocationsAnyone},
	}
}
