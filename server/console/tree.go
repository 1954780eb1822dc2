package console

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/draw"
)

// maxTreeRows is the number of rows of a tree table. Of a larger tree only two levels are open.
const maxTreeRows = 300

// treePage is the body of the page of a tree.
type treePage struct {
	Tabs           []Link
	Notice         *Notice
	Chosen, Clear  Link
	Held           string
	Tree           *Tree
	Legend         []Swatch
	Pager          *Pager
	Panel          treePanel
	Exports, Links []Link
}

// tree shows the tree around a provider.
func (v *visit) tree() error {
	id, err := v.idOf()
	if err != nil {
		return err
	}
	if path.Ext(v.r.URL.Path) == ".json" {
		var raw json.RawMessage
		include := url.Values{"include": {"inventories,usages,traits,aggregates,consumers"}}
		if err := v.c.api.Get(v.ctx(), &raw, "resource_providers/"+id.String()+"/tree", include); err != nil {
			return err
		}
		v.export("application/json", raw)
		return nil
	}
	at, chosen, opened, err := v.selected()
	if err != nil {
		return err
	}
	shown, notice, err := v.loadTree(id)
	if err != nil {
		return err
	}
	if at == uuid.Nil {
		at = id
	}
	t := newTreeView(shown, at, chosen, opened)
	switch path.Ext(v.r.URL.Path) {
	case ".csv":
		return v.exportCSV("uuid,name,parent_provider_uuid,resource_class,total,reserved,allocation_ratio,capacity,used", t.records())
	case ".svg":
		return v.exportSVG(shown)
	}
	page := &treePage{Tabs: v.treeFrame(shown, ""), Notice: notice, Panel: v.treePanel(t, notice), Exports: v.exports("/providers/"+shown.Root.String(), "svg", "csv", "json")}
	lines := v.linesOf(t)
	page.Pager, lines = v.treeSlice(lines)
	page.Tree = newTree("Providers of the tree, and their usage by resource class", v.query("class"), lines)
	page.Legend = []Swatch{{swatch("cut"), "used, one piece for each consumer"}, {swatch("held"), "reserved"}}
	if chosen != uuid.Nil {
		page.Legend = slices.Insert(page.Legend, 1, Swatch{swatch("mark"), "the highlighted consumer"})
		page.Chosen = Link{Text: chosen.String()[:8], Href: v.base + "/consumers/" + chosen.String(), Kind: "a"}
		page.Clear = Link{Text: "Clear", Href: v.with("consumer", ""), Kind: "small"}
		page.Held = t.heldText(chosen)
	}
	v.frame.AsOf, v.frame.Body = time.Now(), page
	return nil
}

// selected returns the provider of the panel, the consumer to highlight, and the provider whose children are shown.
func (v *visit) selected() (at, chosen, opened uuid.UUID, err error) {
	for name, into := range map[string]*uuid.UUID{"at": &at, "consumer": &chosen, "open": &opened} {
		if text := v.query(name); text != "" && err == nil {
			if *into, err = uuid.Parse(text); err != nil {
				err = invalid("%s=%q is not a UUID.", name, text)
			}
		}
	}
	return at, chosen, opened, err
}

// loadTree requests a tree with its consumers, and its sharing providers in a request of its own: together they would
// add all consumers of the sharing providers. The notice is why the consumers are unknown.
func (v *visit) loadTree(id uuid.UUID) (*client.ShownTree, *Notice, error) {
	parts := []client.TreePart{client.TreeInventories, client.TreeUsages, client.TreeTraits, client.TreeAggregates}
	var held *client.ShownTree
	var lacking error
	var asking sync.WaitGroup
	asking.Go(func() { held, lacking = v.c.api.TreeShow(v.ctx(), id, append(parts[:4:4], client.TreeConsumers)...) })
	shown, err := v.c.api.TreeShow(v.ctx(), id, append(parts[:4:4], client.TreeSharing)...)
	asking.Wait()
	switch {
	case err != nil:
		return nil, nil, err
	case errors.Is(lacking, client.ErrTooManyConsumers):
		return shown, &Notice{Kind: "s", Title: "Over 10,000 consumers.", Text: "The bars are whole.",
			Links: []Link{{Text: "Page through the consumers", Href: v.base + "/providers/" + shown.Root.String() + "/consumers"}}}, nil
	case errors.Is(lacking, client.ErrForbidden):
		return shown, &Notice{Kind: "s", Title: "Consumers are not shown.", Text: v.problem(lacking).Text}, nil
	case lacking != nil:
		return nil, nil, lacking
	}
	shown.Providers, shown.Consumers = held.Providers, held.Consumers
	return shown, nil, nil
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
	v.frame.Title, v.frame.Nav = root.Name, "providers"
	v.frame.Crumbs = []Link{{Text: "Providers", Href: v.base + "/providers"}, {Text: root.Name}}
	v.frame.Facts = []Fact{
		{Link: Link{Text: root.UUID.String()}, Copy: true},
		{Link: Link{Text: plural(len(shown.Providers), "provider")}}, {Link: Link{Text: "generation " + number(*root.Generation)}},
	}
	v.frame.Actions = []Link{{Text: "Find candidates here", Href: v.href("/candidates", "in_tree", root.UUID.String())}, {Text: "Compare…", Href: here + "/compare"}}
	tabs := []Link{{Text: "Tree", Href: here}, {Text: "Consumers", Href: here + "/consumers"}, {Text: "Traits", Href: here + "/traits", Count: number(int64(len(traits)))}, {Text: "API", Href: here + "/api"}}
	if len(shown.Consumers) > 0 {
		tabs[1].Count = number(int64(len(shown.Consumers)))
	}
	for i := range tabs {
		tabs[i].Current = tabs[i].Text == cmp.Or(current, "Tree")
	}
	return tabs
}

// linesOf returns the rows of a tree in depth-first order, and those of the sharing providers.
func (v *visit) linesOf(t *treeView) (lines []treeLine) {
	isLarge := len(t.Providers) > maxTreeRows
	var walk func(*client.ShownProvider, int)
	walk = func(p *client.ShownProvider, depth int) {
		line := t.line(p, depth, fewTraits(p.Traits))
		line.Href = v.with("at", p.UUID.String())
		children := t.children[p.UUID]
		if isLarge && depth > 0 && len(children) > 0 && !t.opened[p.UUID] {
			line.Chips = []Link{{Text: "open " + number(int64(len(children))), Href: v.with("open", p.UUID.String(), "from", ""), Kind: "dashed"}}
			children = nil
		}
		lines = append(lines, line)
		for _, child := range children {
			walk(child, depth+1)
		}
	}
	for _, root := range t.children[uuid.Nil] {
		walk(root, 0)
	}
	for i := range t.Sharing {
		p := &t.Sharing[i]
		line := t.line(p, 0, "shares by aggregate "+strings.Join(v.common(t, p), ", "))
		line.Href, line.Mode = v.with("at", p.UUID.String()), cmp.Or(line.Mode, "shared")
		lines = append(lines, line)
	}
	return lines
}

// common returns the names of the aggregates that a sharing provider has in common with the tree.
func (v *visit) common(t *treeView, sharing *client.ShownProvider) (names []string) {
	for _, aggregate := range sharing.Aggregates {
		if slices.ContainsFunc(t.Providers, func(p client.ShownProvider) bool { return slices.Contains(p.Aggregates, aggregate) }) {
			names = append(names, v.aggregateLink(aggregate).Text)
		}
	}
	return names
}

// treeSlice returns the rows of a page of a very large tree, and its pager.
func (v *visit) treeSlice(lines []treeLine) (*Pager, []treeLine) {
	from, _ := strconv.Atoi(v.query("from"))
	from = max(0, min(from, len(lines)-1))
	until := min(from+maxTreeRows, len(lines))
	if until-from == len(lines) {
		return nil, lines
	}
	pager := &Pager{Text: number(int64(until-from)) + " of " + number(int64(len(lines))) + " rows"}
	if from > 0 {
		pager.First = v.with("from", "")
	}
	if until < len(lines) {
		pager.Next = v.with("from", strconv.Itoa(until))
	}
	return pager, lines[from:until]
}

// exportSVG sends the picture of a tree, with a style for light and dark windows.
func (v *visit) exportSVG(shown *client.ShownTree) error {
	forest := draw.Forest{Usages: map[uuid.UUID]client.Resources{}}
	for _, p := range slices.Concat(shown.Providers, shown.Sharing) {
		forest.Nodes, forest.Usages[p.UUID] = append(forest.Nodes, p.Node), p.Usages
	}
	var body bytes.Buffer
	err := draw.SVG(&body, forest)
	v.export("image/svg+xml", body.Bytes())
	return err
}
