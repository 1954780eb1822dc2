package console

import (
	"slices"
	"strings"
	"time"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/draw"
)

// treeFrame fills the head of the pages of a tree, and returns the tabs.
func (v *visit) treeFrame(shown *client.ShownTree, current string) []Link {
	root, traits := shown.Providers[0], map[string]bool{}
	for _, p := range shown.Providers {
		for _, trait := range p.Traits {
			traits[trait] = true
		}
	}
	here := v.base + "/providers/" + root.UUID.String()
	v.frame.Title, v.frame.Nav, v.frame.AsOf = root.Name, "providers", time.Now()
	v.frame.Crumbs = []Link{{Text: "Providers", Href: v.base + "/providers"}, {Text: root.Name}}
	v.frame.Facts = []Fact{
		{Link: Link{Text: root.UUID.String()}, Copy: true},
		{Link: Link{Text: counted(int64(len(shown.Providers)), "provider")}}, {Link: Link{Text: "generation " + number(*root.Generation)}},
	}
	v.frame.Actions = []Link{{Text: "Find candidates here", Href: v.href("/candidates", "in_tree", root.UUID.String())}, {Text: "Compare…", Href: here + "/compare"}}
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

// treeConsumers lists the consumers of a tree, the newest first.
func (v *visit) treeConsumers() error {
	shown, page, err := v.treeTab("Consumers")
	if err != nil {
		return err
	}
	root := shown.Root.String()
	found, err := v.consumerList(page, root)
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
		{Text: "curl", Href: "curl -H \"X-Auth-Token: $TOKEN\" -H 'OpenStack-API-Version: placement 1.39, berth " + extensions + "' \\\n  '" + address + "'"},
		{Text: "berth", Href: "berth tree " + id + " --consumers --url " + service},
		{Text: "Go", Href: "tree, err := api.TreeShow(ctx, uuid.MustParse(\"" + id + "\"),\n\tclient.TreeInventories, client.TreeUsages, client.TreeTraits, client.TreeAggregates, client.TreeConsumers)"},
	}
	return nil
}
