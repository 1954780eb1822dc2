package console

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/draw"
)

// treeTab loads what the other tabs of a tree show: the traits of its providers.
func (v *visit) treeTab(current string) (*client.ShownTree, []Link, error) {
	id, err := v.idOf()
	if err != nil {
		return nil, nil, err
	}
	shown, err := v.c.api.TreeShow(v.ctx(), id, client.TreeTraits)
	if err != nil {
		return nil, nil, err
	}
	v.frame.AsOf = time.Now()
	return shown, v.treeFrame(shown, current), nil
}

// treeConsumers lists the consumers of a tree, the newest first.
func (v *visit) treeConsumers() error {
	shown, tabs, err := v.treeTab("Consumers")
	if err != nil {
		return err
	}
	found, page, err := v.consumerList(shown.Root.String(), "/consumers")
	if err != nil {
		return err
	}
	if found.Total != nil {
		tabs[1].Count = number(found.Total.Count)
	}
	page.Tabs, page.Empty = tabs, Message{Text: "No consumer has anything of this tree."}
	for i, export := range page.Exports {
		page.Exports[i].Href = v.href(strings.TrimPrefix(strings.Split(export.Href, "?")[0], v.base), "tree", shown.Root.String())
	}
	v.frame.Body = page
	return nil
}

// treeTraits lists the traits of the providers of a tree.
func (v *visit) treeTraits() error {
	shown, tabs, err := v.treeTab("Traits")
	if err != nil {
		return err
	}
	having := map[string][]string{}
	for _, p := range shown.Providers {
		for _, trait := range p.Traits {
			having[trait] = append(having[trait], p.Name)
		}
	}
	table := &Table{Caption: "Traits of the tree", Heads: []Cell{{Link: Link{Text: "Trait"}}, {Link: Link{Text: "Providers"}, Number: true}, {Link: Link{Text: "Which"}}}}
	for _, trait := range classesOf(having) {
		names := having[trait]
		slices.SortFunc(names, draw.CompareNames)
		which := strings.Join(names[:min(len(names), 5)], ", ")
		if len(names) > 5 {
			which += " and " + strconv.Itoa(len(names)-5) + " more"
		}
		table.Rows = append(table.Rows, Row{
			First: Cell{Link: Link{Text: trait, Href: v.base + "/traits/" + trait, Kind: "mono"}},
			Cells: []Cell{{Link: Link{Text: number(int64(len(names)))}, Number: true}, {Link: Link{Text: which}}},
		})
	}
	page := &listPage{Tabs: tabs, Title: "Traits", Table: table, Empty: Message{Text: "No provider of this tree has a trait.", Command: "berth trait add --help"}}
	page.Pager.Text = plural(len(having), "trait")
	v.frame.Body = page
	return nil
}

// treeAPI shows the request of the page of the tree, to be sent in other ways.
func (v *visit) treeAPI() error {
	shown, tabs, err := v.treeTab("API")
	if err != nil {
		return err
	}
	id, service := shown.Root.String(), requestBase(v.r)+v.c.options.Prefix
	address := service + "/resource_providers/" + id + "/tree?include=inventories,usages,traits,aggregates,consumers"
	v.frame.Body = &listPage{Tabs: tabs, Title: "The same, without the console", Commands: []Link{
		{Text: "URL", Href: "GET " + address},
		{Text: "curl", Href: "curl -H \"X-Auth-Token: $TOKEN\" -H 'OpenStack-API-Version: placement 1.39, berth " + extensions + "' \\\n  '" + address + "'"},
		{Text: "berth", Href: "berth tree " + id + " --consumers --url " + service},
		{Text: "Go", Href: "api, err := client.New(\"" + service + "\")\n…\ntree, err := api.TreeShow(ctx, uuid.MustParse(\"" + id + "\"),\n\tclient.TreeInventories, client.TreeUsages, client.TreeTraits, client.TreeAggregates, client.TreeConsumers)"},
	}}
	return nil
}

// plural returns a number with a noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return number(int64(n)) + " " + noun + "s"
}
