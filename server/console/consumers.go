package console

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/draw"
)

// maxPlaces is the number of trees that the page of a consumer draws.
const maxPlaces = 4

// consumers lists consumers, the newest first. A reader of a project, who may not list all, is led to those of the project.
func (v *visit) consumers() error {
	page := &listPage{Title: "Newest first"}
	found, err := v.consumerList(page, v.query("tree"))
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
				rows = append(rows, []any{c.UUID, c.Type, c.ProjectID, c.UserID, c.Generation, stamp(c.CreatedAt), stamp(c.UpdatedAt), held.Class, held.Amount})
			}
		}
		return v.exportCSV("uuid,consumer_type,project_id,user_id,consumer_generation,created_at,updated_at,resource_class,amount", rows)
	}
	page.Filters = v.filters("uuid", "project", "type", "class", "tree")
	if v.query("provider") != "" {
		page.Filters = append(page.Filters, v.entry("provider", "provider"))
	}
	page.Exports = exports(v.with(), "csv", "json")
	v.head("Consumers", "consumers", page)
	return nil
}

// consumerList fills a page with the consumers of a tree, or of all.
func (v *visit) consumerList(page *listPage, tree string) (client.ListPage, error) {
	query := url.Values{
		"q": {v.query("q")}, "project_id": {v.query("project")}, "consumer_type": {v.query("type")}, "resource_class": {v.query("class")},
		"in_tree": {tree}, "resource_provider": {v.query("provider")}, "sort": {"-created_at"}, "total": {"true"},
	}
	if v.query("q") != "" {
		page.Title, query["sort"] = "By uuid", nil
	}
	found, err := v.list("consumers", query)
	page.Table = &Table{Caption: "Consumers", Heads: heads("Consumer", "Type", "Project, user", "Holds", "#Providers", "#Created")}
	for _, c := range found.Consumers {
		owner := Cell{Link: Link{Text: c.ProjectID}, Sub: &Link{Text: c.UserID}}
		page.Table.Rows = append(page.Table.Rows, []Cell{
			linked(short(c.UUID.String()), v.base+"/consumers/"+c.UUID.String()), plain(c.Type), owner, plain(heldText(amountsOf(c.Resources))),
			figure(number(int64(c.ProviderCount))), figure(age(c.CreatedAt, time.Now())),
		})
	}
	page.Pager = v.pager(found, len(found.Consumers), "consumer")
	page.Empty = Message{Text: "No consumer matches. Instances, migrations and volumes are here once they hold something.", Command: "berth consumer list"}
	return found, err
}

func amountsOf(listed client.ClassAmounts) map[string]int64 {
	amounts := map[string]int64{}
	for _, one := range listed {
		amounts[one.Class] = one.Amount
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
	found, err := v.c.api.ConsumerShow(v.ctx(), id)
	if err != nil {
		return err
	}
	page := &consumerPage{Fields: []Field{
		field("type", found.Type), {Name: "project", Values: []Link{{Text: found.ProjectID, Href: v.href("/consumers", "project", found.ProjectID)}}},
		field("user", found.UserID), field("generation", number(found.Generation)), field("created", moment(found.CreatedAt)), field("changed", moment(found.UpdatedAt)),
	}}
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
	return v.wait()
}

// nodeOf returns the node allocation of a consumer, and its node if the Bare Metal API shows it.
func (v *visit) nodeOf(named *client.NodeAllocationName) Field {
	id := named.UUID.String()
	made, err := v.c.machines.NodeAllocationShow(v.ctx(), id)
	links := []Link{{Text: short(id), Href: v.base + "/baremetal/allocations/" + id}}
	if named.Name != nil {
		links[0].Text = *named.Name
	}
	if err == nil && made.NodeUUID != nil {
		links = append(links, Link{Text: "node " + short(made.NodeUUID.String()), Href: v.base + "/baremetal/nodes/" + made.NodeUUID.String()})
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
