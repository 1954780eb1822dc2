package baremetal

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/fault"
)

// Port is a network interface of a node.
type Port struct {
	UUID      string  `json:"uuid,omitempty" format:"uuid" doc:"UUID of the port; it never changes." example:"c0ffee00-5ca1-4b1e-8000-000000000011"`
	Address   string  `json:"address,omitempty" doc:"MAC address of the port, in lower case." example:"52:54:00:0a:1b:2c"`
	NodeUUID  string  `json:"node_uuid,omitempty" format:"uuid" doc:"UUID of the port's node." example:"c0ffee00-5ca1-4b1e-8000-000000000001"`
	Extra     object  `json:"extra,omitempty" doc:"Arbitrary data of clients."`
	Internal  object  `json:"internal_info,omitempty" since:"18" doc:"Internal data of the server."`
	Link      object  `json:"local_link_connection,omitempty" since:"19" doc:"The switch port that it is connected to."`
	PXE       bool    `json:"pxe_enabled" required:"false" since:"19" doc:"Whether the node can boot from this port (PXE)." example:"true"`
	Portgroup *string `json:"portgroup_uuid,omitempty" since:"24" nullable:"true" format:"uuid" doc:"Always null: Berth has no port groups."`
	Network   *string `json:"physical_network,omitempty" since:"34" nullable:"true" doc:"Physical network that the port is connected to." example:"physnet1"`
	Smart     bool    `json:"is_smartnic" required:"false" since:"53" doc:"Whether the port is a Smart NIC." example:"false"`
	CreatedAt Time    `json:"created_at,omitempty" doc:"Time of the creation."`
	UpdatedAt *Time   `json:"updated_at,omitempty" nullable:"true" doc:"Time of the last change."`
	Links     []Link  `json:"links" doc:"Links to the port."`
}

// Ports is a page of ports.
type Ports struct {
	Ports []view[Port] `json:"ports" doc:"Ports in the requested order."`
	Next  *string      `json:"next,omitempty" nullable:"false" doc:"URL of the next page; omitted if this page is not full."`
}

var portShape = newShape[Port]()

// portBrief are the members of a port in lists by default.
var portBrief = []string{"uuid", "address"}

// portUnsorted are members that cannot be sort keys.
var portUnsorted = []string{"node_uuid", "extra", "internal_info", "local_link_connection", "portgroup_uuid", "links"}

func portSortable(ctx context.Context) []string {
	var names []string
	for _, field := range portShape.all(ctx) {
		if !slices.Contains(portUnsorted, field.Name) {
			names = append(names, field.Name)
		}
	}
	return names
}

func portOf(ctx context.Context, fields chosen, p *store.Port) view[Port] {
	pxe := detail[*bool](p.Details, "pxe_enabled")
	return portShape.show(fields, &Port{
		UUID: p.UUID.String(), Address: p.Address, NodeUUID: p.NodeUUID.String(),
		Extra: object(p.Details["extra"]), Link: object(p.Details["local_link_connection"]),
		PXE: pxe == nil || *pxe, Network: detail[*string](p.Details, "physical_network"), Smart: detail[bool](p.Details, "is_smartnic"),
		CreatedAt: Time(p.CreatedAt), UpdatedAt: maybe(p.UpdatedAt), Links: links(ctx, "ports/"+p.UUID.String()),
	})
}

func portsOf(ctx context.Context, fields chosen, found []store.Port) Ports {
	shown := Ports{Ports: []view[Port]{}}
	for i := range found {
		shown.Ports = append(shown.Ports, portOf(ctx, fields, &found[i]))
	}
	return shown
}

var examplePort = store.Port{
	UUID: uuid.MustParse("c0ffee00-5ca1-4b1e-8000-000000000011"), NodeUUID: exampleNode.UUID,
	Address: "52:54:00:0a:1b:2c", CreatedAt: exampleMade,
}

var (
	portExample  = route.Example(func(ctx context.Context) any { return portOf(ctx, portShape.all(ctx), &examplePort) })
	portsExample = func(brief ...string) route.Doc {
		return route.Example(func(ctx context.Context) any {
			fields := portShape.all(ctx)
			if brief != nil {
				fields = portShape.only(ctx, brief...)
			}
			return portsOf(ctx, fields, []store.Port{examplePort})
		})
	}
)

// macOf parses a MAC address of 48 bits and returns it in its stored format.
func macOf(sent string) (string, bool) {
	address, err := net.ParseMAC(sent)
	if err != nil || len(address) != 6 || !strings.Contains(sent, ":") {
		return "", false
	}
	return address.String(), true
}

// portMember is a port member that clients can write.
type portMember struct {
	name string
	get  func(*store.Port) (any, error)
	set  func(*store.Port, any) error
}

var portMembers = []portMember{
	{"address", func(p *store.Port) (any, error) { return p.Address, nil }, setAddress},
	portDetail("extra", asObject),
	portDetail("is_smartnic", asFlag),
	portDetail("local_link_connection", asObject),
	{"node_uuid", func(p *store.Port) (any, error) { return p.NodeUUID.String(), nil }, setPortNode},
	portDetail("physical_network", asText(64)),
	{"portgroup_uuid", func(*store.Port) (any, error) { return nil, nil }, setPortgroup},
	portDetail("pxe_enabled", asFlag),
}

func portDetail(name string, check func(name string, value any) (any, error)) portMember {
	return portMember{
		name,
		func(p *store.Port) (any, error) { return detailValue(p.Details, name, check) },
		func(p *store.Port, value any) error { return setDetail(&p.Details, name, value, check) },
	}
}

func portMemberNames() []string {
	names := make([]string, len(portMembers))
	for i, portMember := range portMembers {
		names[i] = portMember.name
	}
	return names
}

func setAddress(p *store.Port, value any) error {
	text, _ := value.(string)
	address, ok := macOf(text)
	if !ok {
		return badAddress(fmt.Sprint(value))
	}
	p.Address = address
	return nil
}

func setPortNode(p *store.Port, value any) error {
	text, _ := value.(string)
	id, ok := asUUID(text)
	if !ok {
		return badUUID("node_uuid", fmt.Sprint(value))
	}
	p.NodeUUID = id
	return nil
}

func setPortgroup(_ *store.Port, value any) error {
	if value == nil {
		return nil
	}
	return fault.New(fault.Invalid, "Portgroup %v could not be found.", value)
}

func (o *operations) portUpdate(ctx context.Context, in *portPath, patch *Patch) (*answer[view[Port]], error) {
	id, err := portID(in.Port)
	if err != nil {
		return nil, err
	}
	if err := patch.check(ctx, portShape, portMemberNames()...); err != nil {
		return nil, err
	}
	if len(*patch) == 0 {
		return o.portShow(ctx, in)
	}
	var tried store.Port
	changed, err := o.store.PortUpdate(ctx, id, func(p *store.Port) error {
		before := p.NodeUUID
		err := patch.changePort(p)
		if err == nil && p.NodeUUID != before {
			err = o.mayHavePort(ctx, p.NodeUUID)
		}
		tried = *p
		return err
	})
	if err != nil {
		return nil, portFaults(in.Port, &tried).Translate(err)
	}
	return &answer[view[Port]]{Body: portOf(ctx, portShape.all(ctx), &changed)}, nil
}

// changePort applies the patch to the members that it touches.
func (p Patch) changePort(port *store.Port) error {
	members := map[string]any{}
	for _, member := range portMembers {
		value, err := member.get(port)
		if err != nil {
			return err
		}
		members[member.name] = value
	}
	changed, err := p.apply(members, nil)
	if err != nil {
		return err
	}
	if port.Details == nil {
		port.Details = map[string]json.RawMessage{}
	}
	for _, member := range portMembers {
		if !p.touches(member.name) {
			continue
		}
		if err := member.set(port, changed[member.name]); err != nil {
			return err
		}
	}
	return nil
}
