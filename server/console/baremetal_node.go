package console

import (
	"cmp"
	"context"
	"errors"
	"html/template"
	"slices"
	"strconv"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/client/baremetal"
	"github.com/berthd/berth/internal/draw"
	"github.com/berthd/berth/server/provision"
)

// nodePage is the data of a node: its place among the states, the verbs that its state permits, and its fields.
type nodePage struct {
	States   template.HTML
	Next     []string
	Error    Notice
	Fields   []Field
	Traits   []Link
	Provider *Card
}

func (v *visit) node() error {
	found, err := v.c.machines.NodeShow(v.ctx(), v.r.PathValue("id"))
	if err != nil {
		return err
	}
	page := nodePage{
		States: statePicture(found.ProvisionState),
		Fields: v.nodeFields(found),
	}
	for _, verb := range provisionVerbs {
		if edge, ok := provision.EdgeForVerb(found.ProvisionState, verb); ok {
			page.Next = append(page.Next, verb+" (to "+cmp.Or(edge.Target, edge.To)+")")
		}
	}
	if found.LastError != nil {
		page.Error = Notice{Kind: "r", Title: "Last error.", Text: *found.LastError}
	}
	for _, trait := range found.Traits {
		page.Traits = append(page.Traits, Link{Text: trait, Href: v.href("/traits/" + trait)})
	}
	// With the backend placement a node is a provider with the same UUID.
	page.Provider = v.card("provider", "Resource provider", func(ctx context.Context) (any, error) {
		provider, err := v.c.api.ProviderShow(ctx, found.UUID)
		if errors.Is(err, client.ErrNotFound) {
			return nil, nil
		}
		return Link{Text: provider.Name, Href: v.href("/providers/" + found.UUID.String())}, err
	})
	v.frame.Title, v.frame.Nav, v.frame.Body = nodeName(found), "baremetal", page
	v.frame.Crumbs = []Link{{Text: "Bare metal", Href: v.href("/baremetal")}}
	v.frame.Facts = []Fact{{Link: Link{Text: found.UUID.String()}, Copy: true}, {Link: Link{Text: found.ProvisionState}}}
	return v.wait()
}

// nodeFields are the fields of a node that say where it is and who uses it.
func (v *visit) nodeFields(node baremetal.Node) []Field {
	field := func(name, text string) Field { return Field{Name: name, Values: []Link{{Text: text}}} }
	fields := []Field{
		field("class", value(node.ResourceClass)), field("driver", node.Driver), field("power", value(node.PowerState)),
		field("conductor", value(node.Conductor)), field("maintenance", strconv.FormatBool(node.Maintenance)),
	}
	if node.Maintenance {
		fields = append(fields, field("reason", value(node.MaintenanceReason)))
	}
	if id := node.InstanceUUID; id != nil {
		fields = append(fields, Field{Name: "instance", Values: []Link{{Text: id.String(), Href: v.href("/consumers/" + id.String())}}})
	}
	if id := node.AllocationUUID; id != nil {
		fields = append(fields, Field{Name: "allocation", Values: []Link{{Text: id.String(), Href: v.href("/baremetal/allocations/" + id.String())}}})
	}
	for name, text := range map[string]*string{"owner": node.Owner, "lessee": node.Lessee, "fault": node.Fault, "description": node.Description} {
		if text != nil {
			fields = append(fields, field(name, *text))
		}
	}
	slices.SortStableFunc(fields[5:], func(a, b Field) int { return cmp.Compare(a.Name, b.Name) })
	return append(fields, field("created", moment(node.CreatedAt)))
}

func nodeName(node baremetal.Node) string {
	if node.Name != nil && *node.Name != "" {
		return *node.Name
	}
	return node.UUID.String()
}

// allocationPage is the data of a node allocation, with the explanation of one that has no node.
type allocationPage struct {
	Fields []Field
	Error  Notice
	Why    *Card
}

func (v *visit) nodeAllocation() error {
	found, err := v.c.machines.NodeAllocationShow(v.ctx(), v.r.PathValue("id"))
	if err != nil {
		return err
	}
	field := func(name, text string) Field { return Field{Name: name, Values: []Link{{Text: text}}} }
	page := allocationPage{Fields: []Field{
		field("state", found.State), field("class", value(found.ResourceClass)), field("owner", value(found.Owner)), field("created", moment(found.CreatedAt)),
	}}
	if id := found.NodeUUID; id != nil {
		page.Fields = append(page.Fields, Field{Name: "node", Values: []Link{{Text: id.String(), Href: v.href("/baremetal/nodes/" + id.String())}}})
	}
	for _, trait := range found.Traits {
		page.Fields = append(page.Fields, Field{Name: "trait", Values: []Link{{Text: trait, Href: v.href("/traits/" + trait)}}})
	}
	if found.LastError != nil {
		page.Error = Notice{Kind: "r", Title: "Error.", Text: *found.LastError}
	}
	if found.State != "active" {
		page.Why = v.card("why", "Which nodes fit", func(ctx context.Context) (any, error) { return v.nodesThatFit(ctx, found.UUID.String()) })
	}
	v.frame.Title, v.frame.Nav, v.frame.Body = found.UUID.String(), "baremetal", page
	if found.Name != nil {
		v.frame.Title = *found.Name
	}
	v.frame.Facts = []Fact{{Link: Link{Text: found.UUID.String()}, Copy: true}}
	v.frame.Crumbs = []Link{{Text: "Bare metal", Href: v.href("/baremetal")}, {Text: "Allocations", Href: v.href("/baremetal/allocations")}}
	return v.wait()
}

// fitting is which nodes pass each condition of a node allocation.
type fitting struct {
	Summary string
	Funnel  Hist
}

func (v *visit) nodesThatFit(ctx context.Context, id string) (any, error) {
	found, err := v.c.machines.NodeAllocationExplain(ctx, id)
	if err != nil {
		return nil, err
	}
	shown := fitting{Summary: found.Summary, Funnel: Hist{Label: found.Summary}}
	previous, whole := 0.0, 0.0
	for i, stage := range found.Funnel {
		nodes := float64(stage.Nodes)
		if i == 0 {
			previous, whole = nodes, nodes
		}
		shown.Funnel.Rows = append(shown.Funnel.Rows, HistRow{
			Text: stage.Stage, Sub: stage.Value, Count: number(stage.Nodes), Bar: histBar(236, 10, nodes, previous, whole, draw.Used),
		})
		previous = nodes
	}
	return shown, nil
}
