package baremetal

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/policy"
	"github.com/berthd/berth/server/provision"
	"github.com/berthd/berth/server/route"
	"github.com/berthd/berth/server/store"
)

// Paths of nodes.
const (
	nodeAll = "/v1/nodes"
	nodeOne = nodeAll + "/{node}"
)

// nodePath is the input of operations on one node.
type nodePath struct {
	Node string `path:"node" doc:"Its uuid, or its name from version 1.5 on." example:"rack-7"`
}

// NodeCreate is what a new node is to be.
type NodeCreate struct {
	Driver         string       `json:"driver" minLength:"1" maxLength:"255" doc:"What is to manage it. A conductor must have it." example:"fake-hardware"`
	UUID           *string      `json:"uuid,omitempty" nullable:"true" doc:"Made up if left out." example:"c0ffee00-5ca1-4b1e-8000-000000000001"`
	Name           *string      `json:"name,omitempty" since:"5" nullable:"true" maxLength:"255" doc:"Unique among nodes; letters, digits and -._~." example:"rack-7"`
	ResourceClass  *string      `json:"resource_class,omitempty" since:"21" nullable:"true" maxLength:"80" doc:"What allocations ask for." example:"baremetal.gold"`
	InstanceUUID   *string      `json:"instance_uuid,omitempty" nullable:"true" doc:"Whose machine it is already."`
	ChassisUUID    *string      `json:"chassis_uuid,omitempty" nullable:"true" doc:"There are no chassis: only null."`
	ConductorGroup *string      `json:"conductor_group,omitempty" since:"46" nullable:"true" maxLength:"255" doc:"The group of conductors that may work on it." example:""`
	Owner          *string      `json:"owner,omitempty" since:"50" nullable:"true" maxLength:"255" doc:"Whose it is." example:"compute-team"`
	Lessee         *string      `json:"lessee,omitempty" since:"65" nullable:"true" maxLength:"255" doc:"Who may have it besides the owner."`
	Description    *string      `json:"description,omitempty" since:"51" nullable:"true" maxLength:"4096" doc:"For people." example:"The one below the window"`
	Shard          *string      `json:"shard,omitempty" since:"82" nullable:"true" maxLength:"255" doc:"A part of all nodes that some client sees to."`
	Maintenance    *flagOrText  `json:"maintenance,omitempty" doc:"Whether somebody sees to it."`
	Retired        *flagOrText  `json:"retired,omitempty" since:"61" doc:"Whether nobody is to get it any more."`
	RetiredReason  *string      `json:"retired_reason,omitempty" since:"61" nullable:"true" doc:"Why."`
	AutomatedClean *flagOrText  `json:"automated_clean,omitempty" since:"47" doc:"Whether it is cleaned before it is available."`
	Properties     objectOrNull `json:"properties,omitzero" required:"false" doc:"What the machine has."`
	DriverInfo     objectOrNull `json:"driver_info,omitzero" required:"false" doc:"How the driver reaches it."`
	InstanceInfo   objectOrNull `json:"instance_info,omitzero" required:"false" doc:"What is to be put on it."`
	Extra          objectOrNull `json:"extra,omitzero" required:"false" doc:"Anything that clients want to remember."`
	NetworkData    objectOrNull `json:"network_data,omitzero" required:"false" since:"66" doc:"Its network while it is deployed."`
	InterfacesCreate
}

// InterfacesCreate are the parts of the driver that a new node is to use.
type InterfacesCreate struct {
	BIOS       *string `json:"bios_interface,omitempty" since:"40" nullable:"true" maxLength:"255" doc:"Part of the driver for its settings."`
	Boot       *string `json:"boot_interface,omitempty" since:"31" nullable:"true" maxLength:"255" doc:"Part of the driver for starting it."`
	Console    *string `json:"console_interface,omitempty" since:"31" nullable:"true" maxLength:"255" doc:"Part of the driver for its console."`
	Deploy     *string `json:"deploy_interface,omitempty" since:"31" nullable:"true" maxLength:"255" doc:"Part of the driver for deploying."`
	Inspect    *string `json:"inspect_interface,omitempty" since:"31" nullable:"true" maxLength:"255" doc:"Part of the driver for inspecting."`
	Management *string `json:"management_interface,omitempty" since:"31" nullable:"true" maxLength:"255" doc:"Part of the driver for managing."`
	Network    *string `json:"network_interface,omitempty" since:"20" nullable:"true" maxLength:"255" doc:"Part of the driver for networks."`
	Power      *string `json:"power_interface,omitempty" since:"31" nullable:"true" maxLength:"255" doc:"Part of the driver for power."`
	RAID       *string `json:"raid_interface,omitempty" since:"31" nullable:"true" maxLength:"255" doc:"Part of the driver for disks."`
	Rescue     *string `json:"rescue_interface,omitempty" since:"38" nullable:"true" maxLength:"255" doc:"Part of the driver for rescuing."`
	Storage    *string `json:"storage_interface,omitempty" since:"33" nullable:"true" maxLength:"255" doc:"Part of the driver for volumes."`
	Vendor     *string `json:"vendor_interface,omitempty" since:"31" nullable:"true" maxLength:"255" doc:"Part of the driver for what one vendor has."`
}

var (
	nodeExample  = route.Example(func(ctx context.Context) any { return nodeOf(ctx, nodeShape.all(ctx), &exampleNode) })
	nodesExample = func(brief ...string) route.Doc {
		return route.Example(func(ctx context.Context) any {
			fields := nodeShape.all(ctx)
			if brief != nil {
				fields = nodeShape.only(ctx, brief...)
			}
			return nodesOf(ctx, fields, []store.Node{exampleNode})
		})
	}
)

func (o *operations) nodeOperations() []*route.Operation {
	wrongFilter := []route.Failure{
		{When: "There is no such state.", Fault: badState("asleep"), Since: v(9)},
		{When: "The marker is no node's.", Fault: badMarker(exampleNode.UUID.String())},
	}
	single := []route.Failure{noNodeFails}
	return slices.Concat([]*route.Operation{{
		ID: "node-list", Method: http.MethodGet, Path: nodeAll, Tag: tagNodes, Rule: policy.NodesList,
		Summary: "List nodes", Fails: wrongFilter,
		Description: "In brief, unless `detail` or `fields` asks for more.",
		Variants: []route.Variant{route.From(v(1), o.nodeList,
			query(nodeArguments, fieldsArguments, detailArgument, pageArguments), nodesExample(nodeBrief...))},
	}, {
		ID: "node-create", Method: http.MethodPost, Path: nodeAll, Tag: tagNodes, Rule: policy.NodesCreate,
		Summary: "Create a node", Checks: writes, Fails: nodeCreateFailures,
		Description: "It is in state `enroll`; below version 1.11 it is available, and no allocation gets it before its power state is known.",
		Variants: []route.Variant{route.Write(v(1), route.Body[none]{Example: map[string]any{
			"driver": "fake-hardware", "properties": map[string]any{"cpus": "64", "memory_mb": "524288"},
		}}, o.nodeCreate, route.Status(http.StatusCreated), nodeExample)},
	}, {
		ID: "node-detail", Method: http.MethodGet, Path: nodeAll + "/detail", Tag: tagNodes, Rule: policy.NodesList,
		Summary: "List nodes with all their members", Fails: wrongFilter,
		Variants: []route.Variant{route.From(v(1), o.nodeDetail, query(nodeArguments, pageArguments), nodesExample())},
	}, o.nodeValidateAnyOperation(), {
		ID: "node-show", Method: http.MethodGet, Path: nodeOne, Tag: tagNodes, Rule: policy.NodesShow,
		Summary: "Show a node", Fails: single,
		Variants: []route.Variant{route.From(v(1), o.nodeShow, query(fieldsArguments), nodeExample)},
	}}, o.nodePatchOperations(), []*route.Operation{{
		ID: "node-delete", Method: http.MethodDelete, Path: nodeOne, Tag: tagNodes, Rule: policy.NodesDelete,
		Summary: "Delete a node", Fails: nodeDeleteFailures,
		Description: "With its ports and traits. In maintenance it may be in any state and in use; then its allocation goes too.",
		Variants:    []route.Variant{route.From(v(1), o.nodeDelete)},
	}, o.nodeValidateOperation()})
}

var nodeCreateFailures = []route.Failure{
	{When: "No conductor has the driver.", Fault: noConductorFor(&store.Node{Driver: "none"})},
	{When: "The name cannot be a node's.", Fault: badName("states"), Since: v(5)},
	{When: "What should be a UUID is none.", Fault: badUUID("uuid", "abc")},
	{When: "There is such a node.", Fault: uuidTaken(&exampleNode)},
	{When: "The name is another node's.", Fault: nameTaken(&exampleNode), Since: v(5)},
	{When: "The instance is another node's.", Fault: instanceTaken(nil)},
}

var nodeDeleteFailures = []route.Failure{
	noNodeFails,
	denied(policy.NodesDelete),
	{When: "The node is protected.", Fault: protected(exampleNode.UUID.String()), Since: v(48)},
	{When: "The node is in use and not in maintenance.", Fault: associated(exampleNode.UUID.String(), "c0ffee00-5ca1-4b1e-8000-000000000009")},
	{When: "The node cannot be deleted in this state.", Fault: notDeletable(exampleNode.UUID.String(), provision.Cleaning)},
}

func (o *operations) nodeList(ctx context.Context, _ *none) (*answer[Nodes], error) {
	return o.listNodes(ctx, nodeAll, false)
}

func (o *operations) nodeDetail(ctx context.Context, _ *none) (*answer[Nodes], error) {
	return o.listNodes(ctx, nodeAll+"/detail", true)
}

func (o *operations) listNodes(ctx context.Context, path string, whole bool) (*answer[Nodes], error) {
	given, err := arguments(ctx)
	if err != nil {
		return nil, err
	}
	fields, err := listShows(ctx, nodeShape, given, whole, nodeBrief)
	if err != nil {
		return nil, err
	}
	filter, err := nodeFilterOf(given)
	if err != nil {
		return nil, err
	}
	page, err := pageOf(given, nodeSortable(ctx)...)
	if err != nil {
		return nil, err
	}
	found, err := o.store.NodeList(ctx, filter, page)
	if err != nil {
		return nil, markerWords(store.NodeUnknown, page).say(err)
	}
	list := nodesOf(ctx, fields, found)
	if len(found) > 0 && filter.InstanceUUID == nil {
		list.Next = next(ctx, path, given, page, len(found), found[len(found)-1].UUID.String())
	}
	return &answer[Nodes]{Body: list}, nil
}

func nodesOf(ctx context.Context, fields chosen, found []store.Node) Nodes {
	shown := Nodes{Nodes: []view[Node]{}}
	for i := range found {
		shown.Nodes = append(shown.Nodes, nodeOf(ctx, fields, &found[i]))
	}
	return shown
}

func (o *operations) nodeShow(ctx context.Context, in *nodePath) (*answer[view[Node]], error) {
	given, err := arguments(ctx)
	if err != nil {
		return nil, err
	}
	fields, err := nodeShape.asked(ctx, given, nodeShape.all(ctx))
	if err != nil {
		return nil, err
	}
	found, err := o.node(ctx, in.Node)
	if err != nil {
		return nil, err
	}
	return &answer[view[Node]]{Body: nodeOf(ctx, fields, &found)}, nil
}

// node is the node of a path.
func (o *operations) node(ctx context.Context, sent string) (store.Node, error) {
	node, err := nodeIdent(ctx, sent)
	if err != nil {
		return store.Node{}, err
	}
	found, err := o.store.NodeShow(ctx, node)
	return found, nodeWords(sent).say(err)
}

// nodeIdent is what the node of a path is called. Before nodes had names, none
// could be found by one.
func nodeIdent(ctx context.Context, sent string) (store.Ident, error) {
	node, err := ident(sent)
	if err != nil {
		return "", err
	}
	if _, isUUID := asUUID(sent); !isUUID && !findsNodesByName(ctx) {
		return "", noNode(sent)
	}
	return node, nil
}

func (o *operations) nodeCreate(ctx context.Context, _ *none, body *NodeCreate) (*created[view[Node]], error) {
	wanted, err := newNode(ctx, body)
	if err != nil {
		return nil, err
	}
	if err := o.checkDriver(ctx, wanted); err != nil {
		return nil, err
	}
	made, err := o.store.NodeCreate(ctx, *wanted)
	if err != nil {
		return nil, nodeChangeWords(wanted.UUID.String(), wanted).say(err)
	}
	return &created[view[Node]]{
		Location: url(ctx, nodeAll+"/"+made.UUID.String()), Body: nodeOf(ctx, nodeShape.all(ctx), &made),
	}, nil
}

// newNode is the node that a body asks for.
func newNode(ctx context.Context, body *NodeCreate) (*store.Node, error) {
	wanted := &store.Node{UUID: uuid.New(), ProvisionState: provision.Enroll}
	if !enrollsNodes(ctx) {
		wanted.ProvisionState = provision.Available
	}
	if body.UUID != nil {
		id, ok := asUUID(*body.UUID)
		if !ok {
			return nil, badUUID("uuid", *body.UUID)
		}
		wanted.UUID = id
	}
	members, err := membersOf(body)
	if err != nil {
		return nil, err
	}
	for _, member := range nodeMembers {
		if value, sent := members[member.name]; sent {
			if err := member.set(wanted, value); err != nil {
				return nil, err
			}
		}
	}
	return wanted, nil
}

// checkDriver refuses a driver that no conductor of the node's group has.
func (o *operations) checkDriver(ctx context.Context, n *store.Node) error {
	conductors, err := o.store.ConductorList(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(conductors, func(one store.Conductor) bool {
		return one.Alive(o.silence) && one.Group == n.ConductorGroup && slices.Contains(one.Drivers, n.Driver)
	}) {
		return noConductorFor(n)
	}
	return nil
}

func (o *operations) nodeDelete(ctx context.Context, in *nodePath) (*empty, error) {
	node, err := nodeIdent(ctx, in.Node)
	if err != nil {
		return nil, err
	}
	return nil, nodeWords(in.Node).say(o.store.NodeDelete(ctx, node))
}

// cloned is a copy of details that is never nil.
func cloned(details map[string]json.RawMessage) map[string]json.RawMessage {
	if details == nil {
		return map[string]json.RawMessage{}
	}
	return maps.Clone(details)
}
