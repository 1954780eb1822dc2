package console

import (
	"cmp"
	"errors"
	"html/template"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/client/baremetal"
	"github.com/berthd/berth/internal/draw"
	"github.com/berthd/berth/server/provision"
)

// maxNodes is the number of nodes, node allocations or conductors of a page.
const maxNodes = 200

// machinePage shows one of the lists of bare metal: the filters select from all, of which the page has the first maxNodes.
func (v *visit) machinePage(path, noun string, found int, page *listPage) error {
	for _, tab := range [][2]string{{"Nodes", "/baremetal"}, {"Allocations", "/baremetal/allocations"}, {"Conductors", "/baremetal/conductors"}} {
		page.Tabs = append(page.Tabs, Link{Text: tab[0], Href: v.href(tab[1]), Current: tab[1] == path})
	}
	page.Title = strings.ToUpper(noun[:1]) + noun[1:] + "s"
	page.Table.Caption = page.Title
	switch page.Pager.Text = counted(int64(found), noun); {
	case found > maxNodes:
		page.Pager.Text = "The first " + counted(maxNodes, noun) + ". Narrow the list by the filters, or list all with the command line."
	case found == 0 && v.address.Size() > 0:
		page.Empty = Message{Text: "No " + noun + " meets the filters.", Links: []Link{{Text: "All " + noun + "s", Href: v.href(path)}}}
	case found == 0:
		page.Empty.Text = "There is no " + noun + "."
	}
	v.head("Bare metal", "baremetal", page)
	return nil
}

// machineError shows a service without the Bare Metal API, to which the navigation leads, too. It returns other errors.
func (v *visit) machineError(err error) error {
	if !errors.Is(err, client.ErrNotFound) {
		return err
	}
	v.head("Bare metal", "baremetal", &listPage{Title: "Nodes", Empty: Message{Text: "This service has no Bare Metal API: it runs with --baremetal-backend=off."}})
	return nil
}

func (v *visit) nodes() error {
	filter := baremetal.NodeFilter{
		ProvisionState: v.query("state"), ResourceClass: v.query("class"), Conductor: v.query("conductor"), Most: maxNodes + 1,
	}
	if wanted := v.query("maintenance") == "true"; v.query("maintenance") != "" {
		filter.Maintenance = &wanted
	}
	found, err := v.c.machines.NodeList(v.ctx(), filter)
	if err != nil {
		return v.machineError(err)
	}
	page := &listPage{
		Table: &Table{Heads: heads("Node", "Class", "State", "Power", "Conductor", "Instance", "Traits")},
		Filters: []Input{
			v.choices("state", "State", "any", provision.States()...), v.entry("class", "Class"), v.entry("conductor", "Conductor"),
			v.choices("maintenance", "In maintenance", "either", "true", "false"),
		},
		Empty: Message{Command: "berth baremetal node create --driver fake-hardware --resource-class gold --name rack-1"},
	}
	found, listed := found[:min(len(found), maxNodes)], len(found)
	for _, node := range found {
		page.Table.Rows = append(page.Table.Rows, v.nodeRow(node))
	}
	var states []Link
	page.Bar, states = stateShares(found, 640, "Nodes of this page by state")
	for _, state := range states {
		page.Legend = append(page.Legend, Swatch{swatch(state.Kind), state.Text + " " + state.Count})
	}
	return v.machinePage("/baremetal", "node", listed, page)
}

func (v *visit) nodeRow(node baremetal.Node) []Cell {
	state := plain(node.ProvisionState)
	if node.Maintenance {
		state.Sub = &Link{Text: "in maintenance"}
	} else if node.TargetProvisionState != nil {
		state.Sub = &Link{Text: "to " + *node.TargetProvisionState}
	}
	row := []Cell{
		{Link: Link{Text: nodeName(node), Href: v.href("/baremetal/nodes/" + node.UUID.String())}, Sub: &Link{Text: short(node.UUID.String())}},
		plain(value(node.ResourceClass)), state, plain(value(node.PowerState)), plain(value(node.Conductor)), plain(none),
		plain(cmp.Or(strings.Join(node.Traits, " "), none)),
	}
	if id := node.InstanceUUID; id != nil {
		row[5] = linked(short(id.String()), v.href("/consumers/"+id.String()))
	}
	return row
}

// stateShares returns a bar of nodes by state and the states, the most frequent first, with their color as the kind.
func stateShares(nodes []baremetal.Node, width int, label string) (template.HTML, []Link) {
	counts := map[string]int{}
	for _, node := range nodes {
		counts[node.ProvisionState]++
	}
	var parts []draw.Piece
	var states []Link
	for _, state := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	}) {
		parts = append(parts, draw.Piece{Amount: float64(counts[state]), Kind: stateKind(state)})
		states = append(states, Link{Text: state, Count: strconv.Itoa(counts[state]), Kind: stateKind(state)})
	}
	return stackedBar(width, 10, parts, label), states
}

// stateKind is the color of a state: work is violet, errors are red.
func stateKind(state string) string {
	switch {
	case state == provision.Active:
		return draw.Used
	case state == provision.Available:
		return draw.Green
	case provision.Transient(state):
		return draw.Violet
	case state == provision.Error || strings.HasSuffix(state, "failed"):
		return draw.Red
	default:
		return draw.Gray
	}
}

// value returns a text that may be missing.
func value(text *string) string {
	if text == nil || *text == "" {
		return none
	}
	return *text
}

func (v *visit) nodeAllocations() error {
	filter := baremetal.AllocationFilter{State: v.query("state"), ResourceClass: v.query("class"), Most: maxNodes + 1}
	found, err := v.c.machines.NodeAllocationList(v.ctx(), filter)
	if err != nil {
		return v.machineError(err)
	}
	page := &listPage{
		Table:   &Table{Heads: heads("Node allocation", "Class", "State", "Node", "Traits", "Created")},
		Filters: []Input{v.choices("state", "State", "any", "allocating", "active", "error"), v.entry("class", "Class")},
		Empty:   Message{Command: "berth baremetal allocation create --resource-class gold --name web"},
	}
	for _, one := range found[:min(len(found), maxNodes)] {
		id := one.UUID.String()
		row := []Cell{
			{Link: Link{Text: cmp.Or(strings.Trim(value(one.Name), none), short(id)), Href: v.href("/baremetal/allocations/" + id)}, Sub: &Link{Text: short(id)}},
			plain(value(one.ResourceClass)), plain(one.State), plain(none), plain(cmp.Or(strings.Join(one.Traits, " "), none)), plain(moment(one.CreatedAt)),
		}
		if one.NodeUUID != nil {
			row[3] = linked(short(one.NodeUUID.String()), v.href("/baremetal/nodes/"+one.NodeUUID.String()))
		}
		page.Table.Rows = append(page.Table.Rows, row)
	}
	return v.machinePage("/baremetal/allocations", "node allocation", len(found), page)
}

func (v *visit) conductors() error {
	found, err := v.c.machines.ConductorList(v.ctx())
	if err != nil {
		return v.machineError(err)
	}
	page := &listPage{Table: &Table{Heads: heads("Conductor", "Group", "State", "Drivers", "Heartbeat")}}
	for _, one := range found[:min(len(found), maxNodes)] {
		state, heartbeat := "no heartbeat", none
		if one.Alive {
			state = "alive"
		}
		if one.UpdatedAt != nil {
			heartbeat = moment(*one.UpdatedAt)
		}
		page.Table.Rows = append(page.Table.Rows, []Cell{
			linked(one.Hostname, v.href("/baremetal", "conductor", one.Hostname)), plain(cmp.Or(one.Group, none)), plain(state),
			plain(strings.Join(one.Drivers, " ")), plain(heartbeat),
		})
	}
	return v.machinePage("/baremetal/conductors", "conductor", len(found), page)
}
