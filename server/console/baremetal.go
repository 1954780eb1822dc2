package console

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/client/baremetal"
	"github.com/berthd/berth/internal/draw"
	"github.com/berthd/berth/server/provision"
)

// maxNodes is the number of nodes, node allocations or conductors of a page.
const maxNodes = 200

func (c *Console) baremetalRoutes() {
	c.page("GET /baremetal", "baremetal", (*visit).nodes)
	c.page("GET /baremetal/allocations", "baremetal", (*visit).nodeAllocations)
	c.page("GET /baremetal/conductors", "baremetal", (*visit).conductors)
	c.page("GET /baremetal/nodes/{id}", "node", (*visit).node)
	c.page("GET /baremetal/allocations/{id}", "node-allocation", (*visit).nodeAllocation)
}

// machinePage is the data of the three lists of bare metal.
type machinePage struct {
	Tabs        []Link
	Filters     []Input
	Nodes       []baremetal.Node
	Allocations []baremetal.Allocation
	Conductors  []baremetal.Conductor
	// States counts the nodes of the page by state, the most frequent first.
	States []stateCount
	// List is which of the lists the page has; More is true if the service has more than the page.
	List string
	More bool
}

type stateCount struct {
	State string
	Nodes int
}

func (v *visit) machinePage(list string, page machinePage) error {
	page.List = list
	page.Tabs = []Link{
		{Text: "Nodes", Href: v.href("/baremetal"), Current: list == "nodes"},
		{Text: "Allocations", Href: v.href("/baremetal/allocations"), Current: list == "allocations"},
		{Text: "Conductors", Href: v.href("/baremetal/conductors"), Current: list == "conductors"},
	}
	v.frame.Title, v.frame.Nav, v.frame.Body = "Bare metal", "baremetal", page
	return nil
}

// machineError explains a service without the Bare Metal API.
func machineError(err error) error {
	if errors.Is(err, client.ErrNotFound) {
		return invalid("This service has no Bare Metal API.")
	}
	return err
}

func (v *visit) nodes() error {
	filter := baremetal.NodeFilter{
		ProvisionState: v.query("state"), ResourceClass: v.query("class"), Conductor: v.query("conductor"), Most: maxNodes + 1,
	}
	if text := v.query("maintenance"); text != "" {
		wanted := text == "true"
		filter.Maintenance = &wanted
	}
	found, err := v.c.machines.NodeList(v.ctx(), filter)
	if err != nil {
		return machineError(err)
	}
	page := machinePage{More: len(found) > maxNodes}
	page.Nodes = found[:min(len(found), maxNodes)]
	counts := map[string]int{}
	for _, node := range page.Nodes {
		counts[node.ProvisionState]++
	}
	for state, nodes := range counts {
		page.States = append(page.States, stateCount{state, nodes})
	}
	slices.SortFunc(page.States, func(a, b stateCount) int {
		return cmp.Or(cmp.Compare(b.Nodes, a.Nodes), cmp.Compare(a.State, b.State))
	})
	states := []Link{{Text: "any state"}}
	for _, state := range provision.States() {
		states = append(states, Link{Text: state, Href: state, Current: state == filter.ProvisionState})
	}
	page.Filters = []Input{
		{ID: "state", Name: "state", Label: "State", Options: states},
		{ID: "class", Name: "class", Label: "Class", Value: filter.ResourceClass},
		{ID: "conductor", Name: "conductor", Label: "Conductor", Value: filter.Conductor},
		{ID: "maintenance", Name: "maintenance", Label: "Maintenance", Options: []Link{
			{Text: "either"}, {Text: "in maintenance", Href: "true", Current: v.query("maintenance") == "true"},
			{Text: "not", Href: "false", Current: v.query("maintenance") == "false"},
		}},
	}
	return v.machinePage("nodes", page)
}

func (v *visit) nodeAllocations() error {
	filter := baremetal.AllocationFilter{State: v.query("state"), ResourceClass: v.query("class"), Most: maxNodes + 1}
	found, err := v.c.machines.NodeAllocationList(v.ctx(), filter)
	if err != nil {
		return machineError(err)
	}
	states := []Link{{Text: "any state"}}
	for _, state := range []string{"allocating", "active", "error"} {
		states = append(states, Link{Text: state, Href: state, Current: state == filter.State})
	}
	return v.machinePage("allocations", machinePage{
		More: len(found) > maxNodes, Allocations: found[:min(len(found), maxNodes)],
		Filters: []Input{
			{ID: "state", Name: "state", Label: "State", Options: states},
			{ID: "class", Name: "class", Label: "Class", Value: filter.ResourceClass},
		},
	})
}

func (v *visit) conductors() error {
	found, err := v.c.machines.ConductorList(v.ctx())
	if err != nil {
		return machineError(err)
	}
	return v.machinePage("conductors", machinePage{More: len(found) > maxNodes, Conductors: found[:min(len(found), maxNodes)]})
}

// nodePage is the data of a node. Next are the verbs that its state permits, with the state to which each leads.
type nodePage struct {
	baremetal.Node
	Next     []provision.Edge
	Provider *Card
}

func (v *visit) node() error {
	found, err := v.c.machines.NodeShow(v.ctx(), v.r.PathValue("id"))
	if err != nil {
		return err
	}
	page := nodePage{Node: found}
	for _, verb := range nodeVerbs {
		if edge, ok := provision.EdgeForVerb(found.ProvisionState, verb); ok {
			page.Next = append(page.Next, edge)
		}
	}
	// With the backend placement a node is a provider with the same UUID.
	page.Provider = v.card("provider", "Resource provider", func(ctx context.Context) (any, error) {
		provider, err := v.c.api.ProviderShow(ctx, found.UUID)
		if errors.Is(err, client.ErrNotFound) {
			return nil, nil
		}
		return provider, err
	})
	v.frame.Title, v.frame.Nav, v.frame.Body = nodeName(found), "baremetal", page
	v.frame.Crumbs = []Link{{Text: "Bare metal", Href: v.href("/baremetal")}}
	return v.wait()
}

// nodeVerbs are the verbs that clients request.
var nodeVerbs = []string{
	provision.Manage, provision.Provide, provision.Inspect, provision.Clean, provision.Adopt, provision.Activate, provision.Rebuild,
	provision.Delete,
}

// nodeEdges returns all transitions of nodes.
func nodeEdges() []draw.StateEdge {
	var edges []draw.StateEdge
	add := func(edge provision.Edge, ok bool) {
		made := draw.StateEdge{From: edge.From, To: edge.To, Label: edge.Verb}
		if ok && !slices.Contains(edges, made) {
			edges = append(edges, made)
		}
	}
	for _, state := range provision.States() {
		for _, verb := range nodeVerbs {
			add(provision.EdgeForVerb(state, verb))
		}
		for _, target := range []string{provision.Available, provision.Manageable} {
			add(provision.EdgeOnSuccess(state, target))
		}
		add(provision.EdgeOnFailure(state, ""))
	}
	return edges
}

func nodeName(node baremetal.Node) string {
	if node.Name != nil && *node.Name != "" {
		return *node.Name
	}
	return node.UUID.String()
}

// allocationPage is the data of a node allocation, with the explanation of a failed one.
type allocationPage struct {
	baremetal.Allocation
	Explanation *Card
}

func (v *visit) nodeAllocation() error {
	found, err := v.c.machines.NodeAllocationShow(v.ctx(), v.r.PathValue("id"))
	if err != nil {
		return err
	}
	page := allocationPage{Allocation: found}
	if found.State != "active" {
		page.Explanation = v.card("why", "Which nodes fit", func(ctx context.Context) (any, error) {
			return v.c.machines.NodeAllocationExplain(ctx, found.UUID.String())
		})
	}
	v.frame.Title, v.frame.Nav, v.frame.Body = cmp.Or(found.Name, found.UUID.String()), "baremetal", page
	v.frame.Crumbs = []Link{{Text: "Bare metal", Href: v.href("/baremetal")}, {Text: "Allocations", Href: v.href("/baremetal/allocations")}}
	return v.wait()
}

// counted returns a number with a noun.
func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.FormatInt(n, 10) + " " + noun + "s"
}
