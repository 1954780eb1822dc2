package console

import (
	"cmp"
	"context"
	"errors"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/client/baremetal"
	"github.com/berthd/berth/internal/draw"
	"github.com/berthd/berth/server/work/provision"
)

// record is the data of the page of one object: its fields and traits, and cards. A node also has its place among the
// states, and the verbs that its state permits.
type record struct {
	Note, Title string
	Error       Notice
	States      template.HTML
	Next        []string
	Fields      []Field
	Traits      []Link
	Cards       []*Card
}

// lastError returns the notice of an error, if there is one.
func lastError(text *string) (notice Notice) {
	if text != nil {
		notice = Notice{Kind: "r", Title: "Last error.", Text: *text}
	}
	return notice
}

func (v *visit) node() error {
	found, err := v.c.machines.NodeShow(v.ctx(), v.r.PathValue("id"))
	if err != nil {
		return err
	}
	page := &record{Title: "Node", Error: lastError(found.LastError), Traits: v.traitLinks(found.Traits), States: statePicture(found.ProvisionState), Fields: v.nodeFields(found)}
	for _, verb := range provisionVerbs {
		if edge, ok := provision.EdgeForVerb(found.ProvisionState, verb); ok {
			page.Next = append(page.Next, verb+" (to "+cmp.Or(edge.Target, edge.To)+")")
		}
	}
	// With the backend placement a node is a provider with the same UUID.
	v.card("provider", "Resource provider", func(ctx context.Context) (*content, error) {
		provider, err := v.c.api.ProviderShow(ctx, found.UUID)
		if errors.Is(err, client.ErrNotFound) {
			return &content{Empty: "The node is no resource provider: the server runs without --baremetal-backend placement."}, nil
		}
		return &content{Reasons: []Reason{{Link: Link{Text: provider.Name, Href: v.href("/providers/" + found.UUID.String())}}}}, err
	})
	page.Cards = v.cards
	v.head(nodeName(found), "baremetal", page, Link{Text: "Bare metal", Href: v.href("/baremetal")})
	v.frame.Facts = append(uuidFact(found.UUID), Fact{Link: Link{Text: found.ProvisionState}})
	v.frame.Actions = v.historyLinks("provider", found.UUID.String())
	return v.wait()
}

// nodeFields are the fields of a node that say where it is and who uses it.
func (v *visit) nodeFields(node baremetal.Node) []Field {
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
		name := id.String()
		if allocation, err := v.c.machines.NodeAllocationShow(v.ctx(), name); err == nil && allocation.Name != nil {
			name = *allocation.Name
		}
		fields = append(fields, Field{Name: "allocation", Values: []Link{{Text: name, Href: v.href("/baremetal/allocations/" + id.String())}}})
	}
	for name, text := range map[string]*string{"owner": node.Owner, "lessee": node.Lessee, "fault": node.Fault, "description": node.Description} {
		if text != nil {
			fields = append(fields, field(name, *text))
		}
	}
	slices.SortStableFunc(fields[5:], func(a, b Field) int { return cmp.Compare(a.Name, b.Name) })
	return append(fields, field("created", moment(node.CreatedAt)))
}

// nodeLink returns the link of a node with its name, or with a text if the caller may not read the node.
func (v *visit) nodeLink(id uuid.UUID, text string) Link {
	if node, err := v.c.machines.NodeShow(v.ctx(), id.String()); err == nil {
		text = nodeName(node)
	}
	return Link{Text: text, Href: v.href("/baremetal/nodes/" + id.String())}
}

// allocationName returns the name of a node allocation, or its UUID, shortened.
func allocationName(allocation baremetal.Allocation) string {
	return cmp.Or(strings.Trim(value(allocation.Name), none), short(allocation.UUID.String()))
}

func nodeName(node baremetal.Node) string {
	if node.Name != nil && *node.Name != "" {
		return *node.Name
	}
	return node.UUID.String()
}

func (v *visit) nodeAllocation() error {
	found, err := v.c.machines.NodeAllocationShow(v.ctx(), v.r.PathValue("id"))
	if err != nil {
		return err
	}
	page := &record{Title: "Node allocation", Error: lastError(found.LastError), Traits: v.traitLinks(found.Traits), Fields: []Field{
		field("state", found.State), field("class", value(found.ResourceClass)), field("owner", value(found.Owner)), field("created", moment(found.CreatedAt)),
	}}
	if id := found.NodeUUID; id != nil {
		page.Fields = append(page.Fields, Field{Name: "node", Values: []Link{v.nodeLink(*id, id.String())}})
	}
	if found.State != "active" {
		v.card("why", "Which nodes fit", func(ctx context.Context) (*content, error) { return v.nodesThatFit(ctx, found.UUID.String()) })
	}
	page.Cards = v.cards
	v.head(found.UUID.String(), "baremetal", page, Link{Text: "Bare metal", Href: v.href("/baremetal")}, Link{Text: "Allocations", Href: v.href("/baremetal/allocations")})
	if found.Name != nil {
		v.frame.Title = *found.Name
	}
	v.frame.Facts = uuidFact(found.UUID)
	return v.wait()
}

// nodesThatFit shows which nodes pass each condition of a node allocation.
func (v *visit) nodesThatFit(ctx context.Context, id string) (*content, error) {
	found, err := v.c.machines.NodeAllocationExplain(ctx, id)
	if err != nil {
		return nil, err
	}
	shown := &content{Text: found.Summary, Hist: Hist{Label: found.Summary}, Empty: found.Summary}
	for i, stage := range found.Funnel {
		bar := histBar(236, 10, float64(stage.Nodes), float64(found.Funnel[max(i-1, 0)].Nodes), float64(found.Funnel[0].Nodes), draw.Used)
		shown.Hist.Rows = append(shown.Hist.Rows, HistRow{Text: stage.Stage, Sub: stage.Value, Count: number(stage.Nodes), Bar: bar})
	}
	return shown, nil
}
