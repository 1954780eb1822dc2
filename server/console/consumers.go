package console

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/draw"
)

// maxPlaces is the number of trees that the page of a consumer draws: a call each, beside those for it and its node.
const maxPlaces = 3

// consumers lists consumers, the newest first, or in the order of the address. A reader of a project, who may not list all, is led to those of the project.
func (v *visit) consumers() error {
	hasLeases := v.selectLeases()
	order, fields, err := v.consumerOrder(hasLeases)
	if err != nil {
		return err
	}
	page := &listPage{Title: sentence(order.Text)}
	found, err := v.consumersOf(page)
	if errors.Is(err, client.ErrForbidden) && v.session.Project != "" && v.query("project") == "" {
		return v.redirect(v.with("project", v.session.Project))
	}
	if err != nil || v.done {
		return err
	}
	if v.kind() == ".csv" {
		var rows [][]any
		for _, c := range found.Consumers {
			for _, held := range c.Resources {
				row := []any{c.UUID, c.Type, c.ProjectID, c.UserID, c.Generation, stamp(c.CreatedAt), stamp(c.UpdatedAt), held.Class, held.Amount}
				rows = append(rows, append(row, leaseValues(c.Lease)...))
			}
		}
		return v.exportCSV("uuid,consumer_type,project_id,user_id,consumer_generation,created_at,updated_at,resource_class,amount,"+
			"lease_seconds,lease_until,lease_expires_at", rows)
	}
	page.Filters = append(v.filters("uuid"), v.input(Input{Name: "tree", Label: "host", Placeholder: "name or UUID"}), v.aggregateField(page))
	for _, name := range []string{"project", "user", "type", "class"} {
		page.Filters = append(page.Filters, v.entry(name, name))
	}
	if v.query("provider") != "" {
		page.Filters = append(page.Filters, v.entry("provider", "provider"))
	}
	page.Filters = append(page.Filters, fields...)
	page.Exports = exports(v.with(), "csv", "json")
	v.head("Consumers", "consumers", page)
	return nil
}

// consumersOf fills a page with the consumers of the host and the aggregate in the address. With an invalid one there are none.
func (v *visit) consumersOf(page *listPage) (found client.ListPage, err error) {
	providers := v.query("provider")
	host, err := v.providerNamed("tree")
	if err == nil && providers == "" && v.query("aggregate") != "" {
		providers, err = v.membersOf(page)
	}
	switch {
	case err != nil:
		return found, err
	case len(v.faults) > 0 && v.kind() != "":
		return found, invalid("%s", slices.Collect(maps.Values(v.faults))[0])
	case len(v.faults) > 0:
		page.Empty.Text = "There is no such host or aggregate."
		return found, nil
	case host == uuid.Nil:
		return v.consumerList(page, "", providers)
	}
	return v.consumerList(page, host.String(), providers)
}

// maxMembers is the number of providers of an aggregate whose consumers a page has: the API takes as many in a list. maxScanned is
// the number of providers among which it looks for those below the members.
const maxMembers, maxScanned = 500, 3 * mapPage

// membersOf returns the providers of the aggregate in the address and those below its roots, as a list of the API. The notice
// of the page says if it has not all of them.
func (v *visit) membersOf(page *listPage) (string, error) {
	aggregate, err := uuid.Parse(v.aggregateID(v.query("aggregate")))
	if err != nil {
		v.fault("aggregate", "%q is neither the UUID nor the name of an aggregate.", v.query("aggregate"))
		return "", nil
	}
	members, isPart, err := v.someProviders(url.Values{"member_of": {aggregate.String()}}, 1)
	if err != nil {
		return "", err
	}
	ids, known, roots := []uuid.UUID{uuid.Nil}, map[uuid.UUID]bool{}, map[uuid.UUID]bool{} // an unknown one has no consumers
	for _, p := range members {
		known[p.UUID], roots[p.UUID] = true, p.UUID == p.RootProviderUUID
		ids = append(ids, p.UUID)
	}
	if len(members) > 0 {
		all, more, err := v.someProviders(url.Values{}, maxScanned/mapPage)
		if err != nil {
			return "", err
		}
		for _, p := range all {
			if roots[p.RootProviderUUID] && !known[p.UUID] {
				ids = append(ids, p.UUID)
			}
		}
		isPart = isPart || more
	}
	isPart = isPart || len(ids) > maxMembers
	if isPart {
		page.Notice = &Notice{Kind: "s", Title: "A part of the aggregate.", Text: "These are consumers of " + number(int64(min(len(ids), maxMembers)-1)) +
			" of its providers: a page looks at " + number(maxScanned) + ", and asks for the consumers of " + number(maxMembers) + ". Name a host for the others."}
	}
	return "in:" + strings.Join(uuidTexts(ids[:min(len(ids), maxMembers)]), ","), nil
}

// someProviders returns the oldest providers of a query, of a number of pages of the API, and whether there are more.
func (v *visit) someProviders(query url.Values, pages int) (found []api.ProviderWithParts, isMore bool, err error) {
	query["limit"], query["fields"] = []string{strconv.Itoa(mapPage)}, []string{"name,root_provider_uuid"}
	for range pages {
		page, err := v.c.api.ListPage(v.ctx(), "resource_providers", query)
		if err != nil {
			return nil, false, err
		}
		found = append(found, page.Providers...)
		if query["marker"] = []string{page.Marker}; page.Marker == "" {
			return found, false, nil
		}
	}
	return found, true, nil
}

// consumerList fills a page with the consumers of a tree and of providers, or of all.
func (v *visit) consumerList(page *listPage, tree, providers string) (client.ListPage, error) {
	query := url.Values{
		"q": {v.query("q")}, "project_id": {v.query("project")}, "user_id": {v.query("user")}, "consumer_type": {v.query("type")}, "resource_class": {v.query("class")},
		"in_tree": {tree}, "resource_provider": {providers}, "sort": {createdConsumers[v.query("sort")]}, "leased": {leasedValues[v.query("lease")]}, "total": {"true"},
	}
	if v.query("q") != "" {
		page.Title, query["sort"] = "By uuid", nil
	}
	found, err := v.list("consumers", query)
	names := []string{"Consumer", "Type", "Project, user", "Holds", "#Providers", "#Created"}
	hasLeases := v.extensions == leaseExtensions
	if hasLeases {
		names = append(names, "#Lease")
	}
	page.Table = &Table{Caption: "Consumers", Heads: heads(names...)}
	for _, c := range found.Consumers {
		owner := linked(c.ProjectID, v.href("/consumers", "project", c.ProjectID))
		owner.Sub = &Link{Text: c.UserID, Href: v.href("/consumers", "user", c.UserID)}
		row := []Cell{
			linked(short(c.UUID.String()), v.base+"/consumers/"+c.UUID.String()), linked(c.Type, v.with("type", c.Type, "marker", "")), owner,
			plain(heldText(amountsOf(c.Resources))), figure(number(int64(c.ProviderCount))), figure(age(c.CreatedAt, time.Now())),
		}
		if hasLeases {
			row = append(row, leaseCell(c.Lease, time.Now()))
		}
		page.Table.Rows = append(page.Table.Rows, row)
	}
	page.Pager = v.pager(found, len(found.Consumers), "consumer")
	page.Empty = Message{Text: "No consumer matches. Instances, migrations and volumes are here once they hold something.", Command: "berth consumer list"}
	return found, err
}

func amountsOf(listed client.ClassAmounts) map[string]int64 {
	amounts := map[string]int64{}
	for _, classAmount := range listed {
		amounts[classAmount.Class] = classAmount.Amount
	}
	return amounts
}

// consumerPage is the body of the page of a consumer.
type consumerPage struct {
	Holds, Fields []Field
	Trees         *Card
}

// consumer shows a consumer, and its pieces of the trees that it uses.
func (v *visit) consumer() error {
	id, err := parseID(v.r.PathValue("uuid"))
	if err != nil {
		return err
	}
	hasLeases := v.selectLeases()
	found, err := v.c.api.ConsumerShow(v.ctx(), id)
	if err != nil {
		return err
	}
	page := &consumerPage{Fields: []Field{
		field("type", found.Type), {Name: "project", Values: []Link{{Text: found.ProjectID, Href: v.href("/consumers", "project", found.ProjectID)}}},
		{Name: "user", Values: []Link{{Text: found.UserID, Href: v.href("/consumers", "user", found.UserID)}}}, field("generation", number(found.Generation)), field("created", moment(found.CreatedAt)), field("changed", moment(found.UpdatedAt)),
	}}
	if hasLeases {
		page.Fields = append(page.Fields, leaseFields(found.Lease, time.Now())...)
	}
	for _, held := range found.Resources {
		page.Holds = append(page.Holds, field(held.Class, amount(held.Class, held.Amount)))
	}
	if found.NodeAllocation != nil {
		page.Fields = append(page.Fields, v.nodeOf(found.NodeAllocation))
	}
	page.Trees = v.card("trees", "Where it is", func(ctx context.Context) (*content, error) {
		trees, err := v.treesOf(ctx, found)
		return &content{Trees: trees, Empty: "It holds nothing."}, err
	})
	page.Trees.Kind = "w9"
	v.head("Consumer "+short(id.String()), "consumers", page, Link{Text: "Consumers", Href: v.base + "/consumers"}, Link{Text: short(id.String())})
	v.frame.Facts = uuidFact(id)
	v.frame.Actions = v.historyLinks("consumer", id.String())
	return v.wait()
}

// nodeOf returns the node allocation of a consumer, and its node if the Bare Metal API shows it.
func (v *visit) nodeOf(named *api.NodeAllocationName) Field {
	id := named.UUID.String()
	allocation, err := v.c.machines.NodeAllocationShow(v.ctx(), id)
	links := []Link{{Text: short(id), Href: v.base + "/baremetal/allocations/" + id}}
	if named.Name != nil {
		links[0].Text = *named.Name
	}
	if err == nil && allocation.NodeUUID != nil {
		node := v.nodeLink(*allocation.NodeUUID, short(allocation.NodeUUID.String()))
		node.Text = "node " + node.Text
		links = append(links, node)
	}
	return Field{Name: "node allocation", Values: links}
}

// consumerTree is a tree with the pieces of one consumer; without Tree it is the number of further trees.
type consumerTree struct {
	Root, Show Link
	Tree       *Tree
}

// treesOf returns the trees of a consumer: its providers, and those above them.
func (v *visit) treesOf(ctx context.Context, c client.ListedConsumer) (trees []consumerTree, err error) {
	held := &client.ShownConsumer{Consumer: client.Consumer{Allocations: map[uuid.UUID]client.Resources{}}}
	var roots []uuid.UUID
	for _, a := range c.Allocations {
		if held.Allocations[a.Provider] = amountsOf(a.Resources); !slices.Contains(roots, a.Root) {
			roots = append(roots, a.Root)
		}
	}
	for _, root := range roots[:min(len(roots), maxPlaces)] {
		shown, err := v.showTree(ctx, root, client.TreeInventories, client.TreeUsages)
		if err != nil {
			return nil, err
		}
		shown.Consumers = map[uuid.UUID]*client.ShownConsumer{c.UUID: held}
		address := func(id uuid.UUID) string {
			return v.href("/providers/"+root.String(), "consumer", c.UUID.String(), "at", id.String())
		}
		name := shown.Providers[0].Name
		trees = append(trees, consumerTree{
			Root: Link{Text: name, Href: address(root)}, Show: Link{Text: "Show in the tree", Href: address(root), Kind: "small"},
			Tree: v.treeTable("What the consumer has of "+name, draw.NewUsageTree(shown).RowsOf(c.UUID), uuid.Nil, address),
		})
	}
	if more := len(roots) - len(trees); more > 0 {
		trees = append(trees, consumerTree{Root: Link{Text: counted(int64(more), "more tree")}})
	}
	return trees, nil
}
