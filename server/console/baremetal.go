package console

import (
	"cmp"
	"errors"
	"html/template"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/client/baremetal"
	"github.com/berthd/berth/internal/draw"
	"github.com/berthd/berth/server/work/provision"
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
	filter.Maintenance, filter.Associated, filter.Retired = yesOrNo(v.query("maintenance")), yesOrNo(v.query("allocated")), yesOrNo(v.query("retired"))
	found, err := v.c.machines.NodeList(v.ctx(), filter)
	if err != nil {
		return v.machineError(err)
	}
	page := &listPage{
		Table: &Table{Heads: heads("Node", "Class", "State", "Power", "Conductor", "Allocation or instance", "Traits")},
		Filters: []Input{
			v.choices("state", "State", "any", provision.States()...), v.entry("class", "Class"), v.entry("conductor", "Conductor"),
			v.choices("allocated", "Allocated", "either", "true", "false"), v.choices("maintenance", "In maintenance", "either", "true", "false"),
		},
		Empty: Message{Command: "berth baremetal node create --driver fake-hardware --resource-class gold --name rack-1"},
	}
	found, listed := found[:min(len(found), maxNodes)], len(found)
	names := v.allocationNames(found)
	for _, node := range found {
		page.Table.Rows = append(page.Table.Rows, v.nodeRow(node, names))
	}
	var states []Link
	page.Bar, states = stateShares(found, 640, "Nodes of this page by state")
	for _, state := range states {
		page.Legend = append(page.Legend, Swatch{swatch(state.Kind), state.Text + " " + state.Count})
	}
	return v.machinePage("/baremetal", "node", listed, page)
}

// yesOrNo returns the value of a filter; an empty text: none.
func yesOrNo(text string) *bool {
	if text == "" {
		return nil
	}
	return new(text == "true")
}

// maxNamed is the number of nodes or node allocations that a page reads for their names: a page of the API.
const maxNamed = 1000

// allocationNames returns the names of the node allocations of nodes. A caller who may not list them sees UUIDs.
func (v *visit) allocationNames(nodes []baremetal.Node) map[uuid.UUID]string {
	names := map[uuid.UUID]string{}
	if slices.ContainsFunc(nodes, func(node baremetal.Node) bool { return node.AllocationUUID != nil }) {
		found, _ := v.c.machines.NodeAllocationList(v.ctx(), baremetal.AllocationFilter{Most: maxNamed})
		for _, allocation := range found {
			names[allocation.UUID] = allocationName(allocation)
		}
	}
	return names
}

// nodeNames returns the names of the nodes of node allocations. A caller who may not list them sees UUIDs.
func (v *visit) nodeNames(allocations []baremetal.Allocation) map[uuid.UUID]string {
	names := map[uuid.UUID]string{}
	if slices.ContainsFunc(allocations, func(allocation baremetal.Allocation) bool { return allocation.NodeUUID != nil }) {
		found, _ := v.c.machines.NodeList(v.ctx(), baremetal.NodeFilter{Associated: new(true), Most: maxNamed})
		for _, node := range found {
			names[node.UUID] = nodeName(node)
		}
	}
	return names
}

func (v *visit) nodeRow(node baremetal.Node, allocations map[uuid.UUID]string) []Cell {
	state := plain(node.ProvisionState)
	if text := nodeRemarks(node); text != "" {
		state.Sub = &Link{Text: text}
	}
	row := []Cell{
		{Link: Link{Text: nodeName(node), Href: v.href("/baremetal/nodes/" + node.UUID.String())}, Sub: &Link{Text: short(node.UUID.String())}},
		plain(value(node.ResourceClass)), state, plain(value(node.PowerState)), plain(value(node.Conductor)), plain(none),
		plain(cmp.Or(strings.Join(node.Traits, " "), none)),
	}
	switch {
	case node.AllocationUUID != nil:
		id := *node.AllocationUUID
		row[5] = linked(cmp.Or(allocations[id], short(id.String())), v.href("/baremetal/allocations/"+id.String()))
	case node.InstanceUUID != nil:
		row[5] = linked(short(node.InstanceUUID.String()), v.href("/consumers/"+node.InstanceUUID.String()))
	}
	return row
}

// nodeRemarks returns what its state does not tell about a node: why it cannot be allocated, where it goes, and its error.
func nodeRemarks(node baremetal.Node) string {
	var texts []string
	switch use := useOf(node); {
	case node.Maintenance && node.MaintenanceReason != nil:
		texts = append(texts, use+": "+*node.MaintenanceReason)
	case use != node.ProvisionState:
		texts = append(texts, use)
	}
	if node.TargetProvisionState != nil && *node.TargetProvisionState != node.ProvisionState {
		texts = append(texts, "to "+*node.TargetProvisionState)
	}
	if node.LastError != nil {
		texts = append(texts, *node.LastError)
	}
	return fewWords(strings.Join(texts, " · "))
}

// fewWords returns the beginning of a text, for a cell of a table.
func fewWords(text string) string {
	if runes := []rune(text); len(runes) > 200 {
		return string(runes[:199]) + "…"
	}
	return text
}

// The uses of nodes that bars of states show apart: in none of them the state available makes a node available.
const (
	inMaintenance = "in maintenance"
	allocated     = "allocated"
	retired       = "retired"
)

// useOf returns the state of a node, or else why a node in the state available cannot be allocated. Maintenance is for all states.
func useOf(node baremetal.Node) string {
	switch {
	case node.Maintenance:
		return inMaintenance
	case node.ProvisionState != provision.Available:
		return node.ProvisionState
	case node.InstanceUUID != nil || node.AllocationUUID != nil:
		return allocated
	case node.Retired:
		return retired
	}
	return provision.Available
}

// nodesIn returns the address of the list of the nodes with a use.
func (v *visit) nodesIn(use string) string {
	state, isAllocated, isRetired := use, "", ""
	switch use {
	case inMaintenance:
		return v.href("/baremetal", "maintenance", "true")
	case allocated:
		state, isAllocated = provision.Available, "true"
	case retired:
		state, isAllocated, isRetired = provision.Available, "false", "true"
	case provision.Available:
		isAllocated, isRetired = "false", "false"
	}
	return v.href("/baremetal", "state", state, "maintenance", "false", "allocated", isAllocated, "retired", isRetired)
}

// stateShares returns a bar of nodes by state or use, and these, the most frequent first, with their color as the kind.
func stateShares(nodes []baremetal.Node, width int, label string) (template.HTML, []Link) {
	counts := map[string]int{}
	for _, node := range nodes {
		counts[useOf(node)]++
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
	case state == provision.Active || state == allocated:
		return draw.Used
	case state == inMaintenance:
		return draw.Amber
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
	nodes := v.nodeNames(found)
	for _, allocation := range found[:min(len(found), maxNodes)] {
		id := allocation.UUID.String()
		row := []Cell{
			{Link: Link{Text: allocationName(allocation), Href: v.href("/baremetal/allocations/" + id)}, Sub: &Link{Text: short(id)}},
			plain(value(allocation.ResourceClass)), plain(allocation.State), plain(none), plain(cmp.Or(strings.Join(allocation.Traits, " "), none)), plain(moment(allocation.CreatedAt)),
		}
		if allocation.LastError != nil {
			row[2].Sub = &Link{Text: fewWords(*allocation.LastError)}
		}
		if allocation.NodeUUID != nil {
			row[3] = linked(cmp.Or(nodes[*allocation.NodeUUID], short(allocation.NodeUUID.String())), v.href("/baremetal/nodes/"+allocation.NodeUUID.String()))
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
	for _, conductor := range found[:min(len(found), maxNodes)] {
		state, heartbeat := "no heartbeat", none
		if conductor.Alive {
			state = "alive"
		}
		if conductor.UpdatedAt != nil {
			heartbeat = moment(*conductor.UpdatedAt)
		}
		page.Table.Rows = append(page.Table.Rows, []Cell{
			linked(conductor.Hostname, v.href("/baremetal", "conductor", conductor.Hostname)), plain(cmp.Or(conductor.Group, none)), plain(state),
			plain(strings.Join(conductor.Drivers, " ")), plain(heartbeat),
		})
	}
	return v.machinePage("/baremetal/conductors", "conductor", len(found), page)
}
