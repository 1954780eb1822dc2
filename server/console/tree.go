package console

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/draw"
)

// maxTreeRows is the number of rows of a tree table. Of a larger tree only two levels are open.
const maxTreeRows = 200

// treePage is the body of the page of a tree.
type treePage struct {
	Tabs, Exports []Link
	Notice        *Notice
	Chosen, Clear Link
	Held          string
	Tree          *Tree
	Legend        []Swatch
	Panel         treePanel
}

// tree shows the tree around a provider, or exports it.
func (v *visit) tree() error {
	var ids [4]uuid.UUID // the provider, the one of the panel, the consumer to highlight, the provider to open
	for i, text := range []string{strings.TrimSuffix(v.r.PathValue("uuid"), v.kind()), v.query("at"), v.query("consumer"), v.query("open")} {
		var err error
		if ids[i], err = parseID(text); err != nil {
			return err
		}
	}
	if v.kind() == ".json" {
		return v.exportJSON("resource_providers/"+ids[0].String()+"/tree", url.Values{"include": {treeInclude}})
	}
	shown, notice, err := v.loadTree(ids[0])
	if err != nil {
		return err
	}
	t, at, chosen := draw.NewUsageTree(shown), ids[1], ids[2]
	if t.ByID[at] == nil {
		at = ids[0]
	}
	switch v.kind() {
	case ".csv":
		return v.exportCSV(draw.InventoryHeads, t.Inventories())
	case ".svg":
		return v.exportSVG(shown)
	}
	if first := slices.IndexFunc(shown.Providers, func(p client.ShownProvider) bool { return len(p.Inventories) > 0 }); at == shown.Root && ids[1] != at && first > 0 {
		at = shown.Providers[first].UUID // more to see than of a root without inventories
	}
	page := &treePage{Tabs: v.treeFrame(shown, "Tree"), Notice: notice, Panel: v.treePanel(t, t.ByID[at], chosen, notice == nil)}
	page.Exports = exports(v.base+"/providers/"+shown.Root.String(), "svg", "csv", "json")
	rows := t.Rows(chosen, maxTreeRows, ids[3], t.ByID[at].Parent)
	if all := len(rows); all > maxTreeRows {
		rows = rows[:maxTreeRows]
		page.Notice = &Notice{Kind: "s", Title: "A very large tree.", Text: "These are " + number(maxTreeRows) + " of " + counted(int64(all), "row") + "; the CSV has all."}
	}
	page.Tree = v.treeTable("Providers of the tree, and their usage by resource class", rows, at, func(id uuid.UUID) string { return v.with("at", id.String()) })
	page.Legend = []Swatch{{swatch("cut"), "used, one piece for each consumer"}, {swatch("held"), "reserved"}}
	if notice != nil {
		page.Legend[0] = Swatch{swatch("used"), "used"}
	}
	if chosen != uuid.Nil {
		page.Legend = slices.Insert(page.Legend, 1, Swatch{swatch("mark"), "the highlighted consumer"})
		page.Chosen = Link{Text: chosen.String()[:8], Href: v.base + "/consumers/" + chosen.String(), Kind: "a"}
		page.Clear = Link{Text: "Clear", Href: v.with("consumer", ""), Kind: "small"}
		if page.Held = "is highlighted: " + heldText(t.Held(chosen)); len(t.Held(chosen)) == 0 {
			page.Held = "holds nothing in this tree"
		}
	}
	v.frame.Body = page
	return nil
}

// treeInclude are the parts of the request that the page of a tree shows.
const treeInclude = "inventories,usages,traits,aggregates,consumers"

// loadTree requests a tree with its consumers, and its sharing providers in a request of its own: together they would
// add all consumers of the sharing providers. The notice is why the consumers are unknown.
func (v *visit) loadTree(id uuid.UUID) (*client.ShownTree, *Notice, error) {
	parts := []client.TreePart{client.TreeInventories, client.TreeUsages, client.TreeTraits, client.TreeAggregates, client.TreeSharing}
	shown, err := v.showTree(v.ctx(), id, parts...)
	if err != nil {
		return nil, nil, err
	}
	parts[4] = client.TreeConsumers
	v.selectLeases()
	ctx, cancel := v.ctx(), func() {}
	if v.query("consumer")+v.query("wait") == "" {
		ctx, cancel = context.WithTimeout(ctx, v.c.options.CardWait)
	}
	defer cancel()
	held, err := v.showTree(ctx, id, parts...)
	switch {
	case errors.Is(err, context.DeadlineExceeded) && v.r.Context().Err() == nil:
		wait := Link{Text: "Wait for them", Href: v.with("wait", "true")}
		return shown, &Notice{Kind: "s", Title: "Many consumers.", Text: "Reading them takes longer than the page waits, so the bars are whole.", Links: []Link{wait}}, nil
	case errors.Is(err, client.ErrTooManyConsumers):
		pages := Link{Text: "Page through the consumers", Href: v.base + "/providers/" + shown.Root.String() + "/consumers"}
		return shown, &Notice{Kind: "s", Title: "Over 10,000 consumers.", Text: "The bars are whole.", Links: []Link{pages}}, nil
	case errors.Is(err, client.ErrForbidden):
		return shown, &Notice{Kind: "s", Title: "The consumers are not shown.", Text: v.problem(err).Text}, nil
	case err != nil:
		return nil, nil, err
	}
	held.Sharing = shown.Sharing
	return held, nil, nil
}

// errNoRoot is the error of a response that no service of the API sends.
var errNoRoot = errors.New("the service returned a tree without providers")

// showTree requests a tree, whose root is the first provider.
func (v *visit) showTree(ctx context.Context, id uuid.UUID, parts ...client.TreePart) (*client.ShownTree, error) {
	shown, err := v.c.api.TreeShow(ctx, id, parts...)
	if err == nil && len(shown.Providers) == 0 {
		err = errNoRoot
	}
	return shown, err
}

// exportSVG sends the picture of a tree, with a style for light and dark windows.
func (v *visit) exportSVG(shown *client.ShownTree) error {
	forest := draw.Forest{Usages: map[uuid.UUID]client.Resources{}}
	for _, p := range slices.Concat(shown.Providers, shown.Sharing) {
		forest.Nodes, forest.Usages[p.UUID] = append(forest.Nodes, p.Node), p.Usages
	}
	var body bytes.Buffer
	if err := draw.SVG(&body, forest); err != nil {
		return err
	}
	return v.export("image/svg+xml", body.Bytes())
}

// treeFrame fills the head of the pages of a tree, and returns the tabs.
func (v *visit) treeFrame(shown *client.ShownTree, current string) []Link {
	root, traits := shown.Providers[0], map[string]bool{}
	for _, p := range shown.Providers {
		for _, trait := range p.Traits {
			traits[trait] = true
		}
	}
	here := v.base + "/providers/" + root.UUID.String()
	v.head(root.Name, "providers", nil, Link{Text: "Providers", Href: v.base + "/providers"}, Link{Text: root.Name})
	v.frame.Facts = append(uuidFact(root.UUID), Fact{Link: Link{Text: counted(int64(len(shown.Providers)), "provider")}}, Fact{Link: Link{Text: "generation " + number(*root.Generation)}})
	v.frame.Actions = []Link{{Text: "Find candidates here", Href: v.href("/candidates", "in_tree", root.UUID.String())}, {Text: "Compare…", Href: here + "/compare"}}
	v.frame.Actions = append(v.frame.Actions, v.historyLinks("tree", root.UUID.String())...)
	tabs := []Link{
		{Text: "Tree", Href: here}, {Text: "Consumers", Href: here + "/consumers"},
		{Text: "Traits", Href: here + "/traits", Count: number(int64(len(traits)))}, {Text: "API", Href: here + "/api"},
	}
	if len(shown.Consumers) > 0 {
		tabs[1].Count = number(int64(len(shown.Consumers)))
	}
	for i := range tabs {
		tabs[i].Current = tabs[i].Text == current
	}
	return tabs
}

// treeTab loads what the other tabs of a tree show: the traits of its providers.
func (v *visit) treeTab(current string) (shown *client.ShownTree, page *listPage, err error) {
	id, err := parseID(v.r.PathValue("uuid"))
	if err != nil {
		return nil, nil, err
	}
	if shown, err = v.showTree(v.ctx(), id, client.TreeTraits); err != nil {
		return nil, nil, err
	}
	page = &listPage{Title: current, Tabs: v.treeFrame(shown, current)}
	v.frame.Body = page
	return shown, page, nil
}

// treeConsumers lists the consumers of a tree, the newest first, or in the order of the address.
func (v *visit) treeConsumers() error {
	shown, page, err := v.treeTab("Consumers")
	if err != nil {
		return err
	}
	if _, _, err := v.consumerOrder(v.selectLeases()); err != nil {
		return err
	}
	root := shown.Root.String()
	found, err := v.consumerList(page, root, v.query("provider"))
	if err == nil && found.Total != nil {
		page.Tabs[1].Count = number(found.Total.Count)
	}
	page.Exports = exports(v.href("/consumers", "tree", root), "csv", "json")
	return err
}

// treeTraits lists the traits of the providers of a tree.
func (v *visit) treeTraits() error {
	shown, page, err := v.treeTab("Traits")
	if err != nil {
		return err
	}
	having := map[string][]string{}
	for _, p := range shown.Providers {
		for _, trait := range p.Traits {
			having[trait] = append(having[trait], p.Name)
		}
	}
	page.Table = &Table{Caption: "Traits of the tree", Heads: heads("Trait", "#Providers", "Which")}
	for _, trait := range draw.Classes(having) {
		names := having[trait]
		slices.SortFunc(names, draw.CompareNames)
		which := strings.Join(names[:min(len(names), 5)], ", ")
		if len(names) > 5 {
			which += " and " + number(int64(len(names)-5)) + " more"
		}
		cells := []Cell{linked(trait, v.base+"/traits/"+trait), figure(number(int64(len(names)))), plain(which)}
		page.Table.Rows = append(page.Table.Rows, cells)
	}
	page.Empty.Text = "No provider of this tree has a trait."
	return nil
}

// treeAPI shows the request of the page of the tree, to be sent in other ways.
func (v *visit) treeAPI() error {
	shown, page, err := v.treeTab("API")
	if err != nil {
		return err
	}
	id, service := shown.Root.String(), requestBase(v.r)+v.c.options.Prefix
	address := service + "/resource_providers/" + id + "/tree?include=" + treeInclude
	page.Title = "The same, without the console"
	page.Commands = []Link{
		{Text: "URL", Href: address},
		{Text: "curl", Href: "curl -H \"X-Auth-Token: $TOKEN\" -H 'OpenStack-API-Version: placement 1.39, berth " + minExtensions + "' \\\n  '" + address + "'"},
		{Text: "berth", Href: "berth tree " + id + " --consumers --url " + service},
		{Text: "Go", Href: "tree, err := api.TreeShow(ctx, uuid.MustParse(\"" + id + "\"),\n\tclient.TreeInventories, client.TreeUsages, client.TreeTraits, client.TreeAggregates, client.TreeConsumers)"},
	}
	return nil
}
