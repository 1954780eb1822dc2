package console

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// maxPlaces is the number of trees that the page of a consumer draws.
const maxPlaces = 4

// consumers lists consumers, the newest first.
func (v *visit) consumers() error {
	found, page, err := v.consumerList(v.query("tree"), "/consumers")
	if errors.Is(err, client.ErrForbidden) && v.session.Project != "" && v.query("project") == "" {
		return v.redirect(v.with("project", v.session.Project)) // readers of a project see those of the project
	}
	if err != nil || v.done {
		return err
	}
	if found.kind == ".csv" {
		var rows [][]any
		for _, c := range found.Consumers {
			for _, held := range c.Resources {
				rows = append(rows, []any{c.UUID, c.Type, c.ProjectID, c.UserID, c.Generation, stamp(c.CreatedAt), stamp(c.UpdatedAt), held.Class, held.Amount})
			}
		}
		return v.exportCSV("uuid,consumer_type,project_id,user_id,consumer_generation,created_at,updated_at,resource_class,amount", rows)
	}
	field := func(name, hint string) Input {
		return Input{ID: name, Name: name, Value: v.query(name), Placeholder: hint}
	}
	page.Filters = []Input{field("q", "uuid begins with…"), field("project", "project"), field("type", "type, e.g. INSTANCE"), field("class", "resource class"), field("tree", "provider of the tree")}
	page.Filters[0].Type = "search"
	v.frame.Title, v.frame.Nav, v.frame.AsOf, v.frame.Body = "Consumers", "consumers", time.Now(), page
	return nil
}

// consumerList returns a page of consumers that use a tree, or any; path is that of its exports.
func (v *visit) consumerList(tree, path string) (apiPage, *listPage, error) {
	query := url.Values{
		"q": {v.query("q")}, "project_id": {v.query("project")}, "consumer_type": {v.query("type")}, "resource_class": {v.query("class")},
		"in_tree": {tree}, "sort": {"-created_at"}, "total": {"true"},
	}
	page := &listPage{Action: v.base + path, Title: "Newest first", Table: &Table{Caption: "Consumers"}}
	if v.query("q") != "" {
		page.Title = "By uuid"
		query.Del("sort")
	}
	found, err := v.list("consumers", query)
	for _, name := range []string{"Consumer", "Type", "Project, user", "Holds", "Providers", "Created"} {
		page.Table.Heads = append(page.Table.Heads, Cell{Link: Link{Text: name}, Number: name == "Providers" || name == "Created"})
	}
	now := time.Now()
	for _, c := range found.Consumers {
		page.Table.Rows = append(page.Table.Rows, Row{
			First: Cell{Link: Link{Text: short(c.UUID.String()), Href: v.base + "/consumers/" + c.UUID.String(), Kind: "mono"}},
			Cells: []Cell{
				{Link: Link{Text: c.Type}}, {Link: Link{Text: c.ProjectID}, Sub: &Link{Text: c.UserID}}, {Link: Link{Text: heldText(sumsOf(c.Resources))}},
				{Link: Link{Text: number(int64(c.ProviderCount))}, Number: true}, {Link: Link{Text: age(c.CreatedAt, now)}, Number: true},
			},
		})
	}
	page.Pager = v.pager(found, len(found.Consumers), "consumers")
	page.Exports = v.exports(path, "csv", "json")
	page.Empty = Message{Text: "No consumer matches. Without a filter this page shows each instance, migration and volume, and what it holds.", Command: "berth consumer list"}
	return found, page, err
}

func sumsOf(amounts client.ClassAmounts) map[string]int64 {
	sums := map[string]int64{}
	for _, one := range amounts {
		sums[one.Class] += one.Amount
	}
	return sums
}

// consumerPage is the body of the page of a consumer.
type consumerPage struct {
	Holds, Fields []Field
	Trees         *Card
}

// consumer shows a consumer, and its pieces of the trees that it uses.
func (v *visit) consumer() error {
	id, err := v.idOf()
	if err != nil {
		return err
	}
	found, err := v.c.api.ConsumerShow(v.ctx(), id)
	if err != nil {
		return err
	}
	page := &consumerPage{Fields: []Field{
		textField("type", found.Type, ""), {Name: "project", Values: []Link{{Text: found.ProjectID, Href: v.href("/consumers", "project", found.ProjectID)}}},
		textField("user", found.UserID, ""), textField("generation", number(found.Generation), ""), textField("created", stamp(found.CreatedAt), ""), textField("changed", stamp(found.UpdatedAt), ""),
	}}
	for _, held := range found.Resources {
		page.Holds = append(page.Holds, Field{Name: held.Class, Values: []Link{{Text: amount(held.Class, held.Amount)}}})
	}
	if found.NodeAllocation != nil {
		page.Fields = append(page.Fields, v.nodeOf(found.NodeAllocation))
	}
	page.Trees = v.card("trees", "Where it is", func(ctx context.Context) (any, error) { return v.treesOf(ctx, found) })
	v.frame.Title, v.frame.Nav, v.frame.AsOf = "Consumer "+short(id.String()), "consumers", time.Now()
	v.frame.Crumbs = []Link{{Text: "Consumers", Href: v.base + "/consumers"}, {Text: short(id.String())}}
	v.frame.Facts = []Fact{{Link: Link{Text: id.String()}, Copy: true}}
	v.frame.Body = page
	return v.wait()
}

// nodeOf returns the node of a node allocation, as far as the Bare Metal API shows it.
func (v *visit) nodeOf(named *client.NodeAllocationName) Field {
	text := short(named.UUID.String())
	if named.Name != nil {
		text = *named.Name
	}
	field := Field{Name: "node allocation", Values: []Link{{Text: text, Href: v.base + "/baremetal/allocations"}}}
	if made, err := v.c.machines.NodeAllocationShow(v.ctx(), named.UUID.String()); err == nil && made.NodeUUID != nil {
		field.Values = append(field.Values, Link{Text: "node " + short(made.NodeUUID.String()), Href: v.base + "/baremetal/nodes/" + made.NodeUUID.String()})
	}
	return field
}

// consumerTree is a tree with the pieces of one consumer.
type consumerTree struct {
	Root Link
	Show Link
	Tree *Tree
}

// treesOf returns the trees of a consumer: its providers, and those above them.
func (v *visit) treesOf(ctx context.Context, c client.ListedConsumer) (trees []consumerTree, err error) {
	held := &client.ShownConsumer{Consumer: client.Consumer{Allocations: map[uuid.UUID]client.Resources{}}, Places: map[uuid.UUID]client.ShownPlace{}}
	var roots []uuid.UUID
	for _, a := range c.Allocations {
		if held.Allocations[a.Provider] = sumsOf(a.Resources); !slices.Contains(roots, a.Root) {
			roots = append(roots, a.Root)
		}
	}
	for i, root := range roots {
		if i == maxPlaces {
			return append(trees, consumerTree{Root: Link{Text: plural(len(roots)-maxPlaces, "more tree")}}), nil
		}
		shown, err := v.c.api.TreeShow(ctx, root, client.TreeInventories, client.TreeUsages)
		if err != nil {
			return nil, err
		}
		shown.Consumers = map[uuid.UUID]*client.ShownConsumer{c.UUID: held}
		trees = append(trees, v.consumerTree(newTreeView(shown, uuid.Nil, c.UUID, uuid.Nil)))
	}
	return trees, nil
}

// consumerTree draws the providers of a tree that the chosen consumer uses, with those above them.
func (v *visit) consumerTree(t *treeView) consumerTree {
	uses := map[uuid.UUID]bool{}
	for provider := range t.holders {
		for p := t.providers[provider]; p != nil; p = t.providers[p.Parent] {
			uses[p.UUID] = true
		}
	}
	var lines []treeLine
	var walk func(*client.ShownProvider, int)
	walk = func(p *client.ShownProvider, depth int) {
		if !uses[p.UUID] {
			return
		}
		line := t.line(p, depth, "")
		for class := range line.bars {
			if t.Consumers[t.chosen].Allocations[p.UUID][class] == 0 {
				delete(line.bars, class)
			}
		}
		line.Href = v.href("/providers/"+t.Root.String(), "consumer", t.chosen.String(), "at", p.UUID.String())
		lines = append(lines, line)
		for _, child := range t.children[p.UUID] {
			walk(child, depth+1)
		}
	}
	walk(t.children[uuid.Nil][0], 0)
	here := v.href("/providers/"+t.Root.String(), "consumer", t.chosen.String())
	return consumerTree{Root: Link{Text: t.Providers[0].Name, Href: here}, Show: Link{Text: "Show in the tree", Href: here, Kind: "small"}, Tree: newTree("What the consumer has of "+t.Providers[0].Name, "", lines)}
}
