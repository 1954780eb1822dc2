package baremetal

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/policy"
	"github.com/berthd/berth/server/route"
	"github.com/berthd/berth/server/store"
)

// Paths of ports.
const (
	portAll = "/v1/ports"
	portOne = portAll + "/{port}"
)

// portPath is the input of operations on one port.
type portPath struct {
	Port string `path:"port" doc:"Its uuid." example:"c0ffee00-5ca1-4b1e-8000-000000000011"`
}

// PortCreate is what a new port is to be.
type PortCreate struct {
	NodeUUID  string       `json:"node_uuid" doc:"Its node, by its uuid." example:"c0ffee00-5ca1-4b1e-8000-000000000001"`
	Address   string       `json:"address" doc:"Its MAC address." example:"52:54:00:0a:1b:2c"`
	UUID      *string      `json:"uuid,omitempty" nullable:"true" doc:"Made up if left out." example:"c0ffee00-5ca1-4b1e-8000-000000000011"`
	Extra     objectOrNull `json:"extra,omitzero" required:"false" doc:"Anything that clients want to remember."`
	Link      objectOrNull `json:"local_link_connection,omitzero" required:"false" since:"19" doc:"The port of the switch at the other end."`
	PXE       *flagOrText  `json:"pxe_enabled,omitempty" since:"19" doc:"Whether the node may start from it; true if left out."`
	Portgroup *string      `json:"portgroup_uuid,omitempty" since:"24" nullable:"true" doc:"There are no groups of ports: only null."`
	Network   *string      `json:"physical_network,omitempty" since:"34" nullable:"true" maxLength:"64" doc:"The network that it is plugged into." example:"physnet1"`
	Smart     *flagOrText  `json:"is_smartnic,omitempty" since:"53" doc:"Whether it is a computer itself."`
}

var portArguments = []argument{
	{Name: "node", Since: v(6), Doc: "Ports of this node, by its uuid or name.", Example: "rack-7"},
	{Name: "node_uuid", Since: v(1), Doc: "Ports of this node.", Example: "c0ffee00-5ca1-4b1e-8000-000000000001"},
	{Name: "address", Since: v(1), Doc: "The port with this MAC address.", Example: "52:54:00:0a:1b:2c"},
}

func (o *operations) portOperations() []*route.Operation {
	noPortFails := route.Failure{When: "There is no such port.", Fault: noPort(exampleID)}
	filtered := []route.Failure{
		{When: "The node of the filter does not exist.", Fault: noNodeInFilter("rack-7")},
		{When: "The marker is no port's.", Fault: badMarker(exampleID)},
	}
	patch := []map[string]any{{"op": "replace", "path": "/address", "value": "52:54:00:0a:1b:2d"}}
	return []*route.Operation{{
		ID: "port-list", Method: http.MethodGet, Path: portAll, Tag: tagPorts, Rule: policy.PortsList,
		Summary: "List ports", Description: "In brief, unless `detail` or `fields` asks for more.", Fails: filtered,
		Variants: []route.Variant{route.From(v(1), o.portList,
			query(portArguments, fieldsArguments, detailArgument, pageArguments), portsExample(portBrief...))},
	}, {
		ID: "port-create", Method: http.MethodPost, Path: portAll, Tag: tagPorts, Rule: policy.PortsCreate,
		Summary: "Create a port", Checks: writes, Fails: portCreateFailures,
		Variants: []route.Variant{route.Write(v(1), route.Body[none]{Example: map[string]any{
			"node_uuid": exampleNode.UUID, "address": examplePort.Address,
		}}, o.portCreate, route.Status(http.StatusCreated), portExample)},
	}, {
		ID: "port-detail", Method: http.MethodGet, Path: portAll + "/detail", Tag: tagPorts, Rule: policy.PortsList,
		Summary: "List ports with all their members", Fails: filtered,
		Variants: []route.Variant{route.From(v(1), o.portDetail, query(portArguments, pageArguments), portsExample())},
	}, {
		ID: "port-show", Method: http.MethodGet, Path: portOne, Tag: tagPorts, Rule: policy.PortsShow,
		Summary: "Show a port", Fails: []route.Failure{noPortFails},
		Variants: []route.Variant{route.From(v(1), o.portShow, query(fieldsArguments), portExample)},
	}, {
		ID: "port-update", Method: http.MethodPatch, Path: portOne, Tag: tagPorts, Rule: policy.PortsUpdate,
		Summary: "Change a port", Checks: writes, Fails: append([]route.Failure{noPortFails}, portUpdateFailures...),
		Variants: []route.Variant{route.Write(v(1), route.Body[portPath]{Example: patch}, o.portUpdate, portExample)},
	}, {
		ID: "port-delete", Method: http.MethodDelete, Path: portOne, Tag: tagPorts, Rule: policy.PortsDelete,
		Summary: "Delete a port", Fails: []route.Failure{noPortFails},
		Variants: []route.Variant{route.From(v(1), o.portDelete)},
	}, {
		ID: "node-port-list", Method: http.MethodGet, Path: nodeOne + "/ports", Tag: tagPorts, Rule: policy.PortsList,
		Summary: "List a node's ports", Fails: []route.Failure{noNodeFails},
		Variants: []route.Variant{route.From(v(1), o.nodePortList,
			query(fieldsArguments, detailArgument, pageArguments), portsExample(portBrief...))},
	}}
}

var portUpdateFailures = []route.Failure{
	{When: "It is no MAC address.", Fault: badAddress("02-00")},
	{When: "There is no such node.", Fault: noNodeForPort(exampleID)},
	{When: "Another port has the address.", Fault: addressTaken(examplePort.Address)},
}

var portCreateFailures = append([]route.Failure{{When: "There is such a port.", Fault: portTaken(examplePort.UUID)}}, portUpdateFailures...)

const exampleID = "c0ffee00-5ca1-4b1e-8000-000000000099"

func noPort(sent string) *fault.Error {
	return fault.New(fault.NotFound, "Port %s could not be found.", sent)
}

func badAddress(sent string) *fault.Error {
	return fault.New(fault.Invalid, "Expected a MAC address but received %s.", sent)
}

func noNodeForPort(node string) *fault.Error {
	return fault.New(fault.Invalid, "Node %s could not be found.", node)
}

func addressTaken(address string) *fault.Error {
	return fault.New(fault.Conflict, "A port with MAC address %s already exists.", address)
}

func portTaken(id uuid.UUID) *fault.Error {
	return fault.New(fault.Conflict, "A port with UUID %s already exists.", id)
}

func (o *operations) portList(ctx context.Context, _ *none) (*answer[Ports], error) {
	return o.listPorts(ctx, portAll, false, nil)
}

func (o *operations) portDetail(ctx context.Context, _ *none) (*answer[Ports], error) {
	return o.listPorts(ctx, portAll+"/detail", true, nil)
}

func (o *operations) nodePortList(ctx context.Context, in *nodePath) (*answer[Ports], error) {
	found, err := o.node(ctx, in.Node)
	if err != nil {
		return nil, err
	}
	return o.listPorts(ctx, nodeAll+"/"+in.Node+"/ports", false, new(found.UUID.String()))
}

// listPorts lists the ports of a node, or those that the filters let through.
func (o *operations) listPorts(ctx context.Context, path string, whole bool, node *store.Ident) (*answer[Ports], error) {
	given, err := arguments(ctx)
	if err != nil {
		return nil, err
	}
	fields, err := listShows(ctx, portShape, given, whole, portBrief)
	if err != nil {
		return nil, err
	}
	page, err := pageOf(given, portSortable(ctx)...)
	if err != nil {
		return nil, err
	}
	filter, err := portFilterOf(given)
	if err != nil {
		return nil, err
	}
	if node != nil {
		filter.Node = node
	}
	found, err := o.store.PortList(ctx, filter, page)
	if err != nil {
		refused := markerWords(store.PortUnknown, page)
		refused[store.NodeUnknown] = saying(fault.Invalid, "Node %s could not be found.", textOf(filter.Node))
		return nil, refused.say(err)
	}
	list := portsOf(ctx, fields, found)
	if len(found) > 0 {
		list.Next = next(ctx, path, given, page, len(found), found[len(found)-1].UUID.String())
	}
	return &answer[Ports]{Body: list}, nil
}

func portFilterOf(given args) (store.PortFilter, error) {
	var filter store.PortFilter
	if sent := given.text("address"); sent != nil {
		address, ok := macOf(*sent)
		if !ok {
			return filter, badAddress(*sent)
		}
		filter.Address = &address
	}
	node, err := given.id("node_uuid")
	if err != nil {
		return filter, err
	}
	filter.Node = idText(node)
	if sent := given.text("node"); sent != nil {
		named, err := ident(*sent)
		if err != nil {
			return filter, err
		}
		filter.Node = &named
	}
	return filter, nil
}

// portID reads the port of a path.
func portID(sent string) (uuid.UUID, error) {
	id, ok := asUUID(sent)
	if !ok {
		return id, fault.New(fault.Invalid, "Expected a UUID but received %s.", sent)
	}
	return id, nil
}

func portWords(sent string, wanted *store.Port) words {
	return words{
		store.PortUnknown: saying(fault.NotFound, "Port %s could not be found.", sent),
		store.PortRevision: saying(fault.Conflict,
			"Port %s is changed by others again and again. Please retry.", sent),
		store.NodeUnknown:      func(store.Values) *fault.Error { return noNodeForPort(wanted.NodeUUID.String()) },
		store.PortAddressTaken: func(store.Values) *fault.Error { return addressTaken(wanted.Address) },
		store.PortUUIDTaken:    func(store.Values) *fault.Error { return portTaken(wanted.UUID) },
	}
}

func (o *operations) portShow(ctx context.Context, in *portPath) (*answer[view[Port]], error) {
	id, err := portID(in.Port)
	if err != nil {
		return nil, err
	}
	given, err := arguments(ctx)
	if err != nil {
		return nil, err
	}
	fields, err := portShape.asked(ctx, given, portShape.all(ctx))
	if err != nil {
		return nil, err
	}
	found, err := o.store.PortShow(ctx, id)
	if err != nil {
		return nil, portWords(in.Port, &found).say(err)
	}
	return &answer[view[Port]]{Body: portOf(ctx, fields, &found)}, nil
}

func (o *operations) portCreate(ctx context.Context, _ *none, body *PortCreate) (*created[view[Port]], error) {
	wanted := &store.Port{UUID: uuid.New(), Details: map[string]json.RawMessage{}}
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
	for _, member := range portMembers {
		if value, sent := members[member.name]; sent {
			if err := member.set(wanted, value); err != nil {
				return nil, err
			}
		}
	}
	made, err := o.store.PortCreate(ctx, *wanted)
	if err != nil {
		return nil, portWords(wanted.UUID.String(), wanted).say(err)
	}
	return &created[view[Port]]{
		Location: url(ctx, portAll+"/"+made.UUID.String()), Body: portOf(ctx, portShape.all(ctx), &made),
	}, nil
}

func (o *operations) portDelete(ctx context.Context, in *portPath) (*empty, error) {
	id, err := portID(in.Port)
	if err != nil {
		return nil, err
	}
	return nil, portWords(in.Port, nil).say(o.store.PortDelete(ctx, id))
}
