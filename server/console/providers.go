package console

import (
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/draw"
)

// providers shows the sums of whole trees, or single providers in the order of their names.
func (v *visit) providers() error {
	if v.query("view") == "map" {
		return v.providerMap()
	}
	isList := v.query("q") != "" || v.query("view") == "list"
	query := url.Values{"required": {v.query("trait")}, "member_of": {v.aggregateID(v.query("aggregate"))}}
	page, order, err := v.providerPage(isList)
	if err != nil {
		return err
	}
	var rows []draw.UsageRow
	var found client.ListPage
	switch {
	case isList:
		query["q"], query["sort"], query["total"], query["include"] = []string{v.query("q")}, []string{createdOrders[order]}, []string{"true"}, []string{"inventories,usages,traits"}
		found, err = v.list("resource_providers", query)
	case order == "" || v.kind() == ".json":
		query["group_by"], query["resource_class"] = []string{"tree"}, []string{v.query("class")}
		found, err = v.list("capacity", query)
	default:
		query["group_by"], query["resource_class"] = []string{"tree"}, []string{v.query("class")}
		rows, found, err = v.sortedTrees(page, query, order)
	}
	if err != nil || v.done {
		return err
	}
	if isList || order == "" {
		rows = usageRows(found)
		page.Pager = v.pager(found, len(rows), map[bool]string{true: "provider", false: "tree"}[isList])
	}
	if v.kind() == ".csv" {
		var records [][]any
		for _, row := range rows {
			for _, class := range draw.Classes(row.Bars) {
				bar := row.Bars[class]
				records = append(records, []any{row.Provider.UUID, row.Provider.Name, class, bar.Capacity, bar.Pieces[0].Amount})
			}
		}
		return v.exportCSV("uuid,name,resource_class,capacity,used", records)
	}
	here := func(id uuid.UUID) string { return v.href("/providers/"+id.String(), "class", v.query("class")) }
	page.Tree = v.treeTable("What they have, and how much of it is used", rows, uuid.Nil, here)
	v.head("Providers", "providers", page)
	if !isList {
		v.frame.AsOf = found.AsOf
	}
	return nil
}

// providerPage returns the page of trees or of providers without its rows, and the value of their order. Providers that
// begin with a text are by name.
func (v *visit) providerPage(isList bool) (*listPage, string, error) {
	tab, title, orders := "Trees", "Trees", treeOrders
	if isList {
		tab, title, orders = "Providers", "Providers", providerOrders
	}
	order, field := orders[0], Input{}
	if v.query("q") == "" {
		var err error
		if order, field, err = v.order(orders); err != nil {
			return nil, "", err
		}
	}
	title += map[bool]string{true: " ", false: ", "}[strings.HasPrefix(order.Text, "by ")] + order.Text
	switch class := v.query("class"); {
	case order.Href == "fullest" && class != "":
		title += ", by the used part of " + class
	case order.Href == "fullest":
		title += ", by the used part of their fullest class"
	}
	page := &listPage{
		Title: title, Tabs: v.providerTabs(tab), Exports: exports(v.with(), "csv", "json"),
		Empty: Message{Text: "No provider matches the filter, or none exists yet.", Links: []Link{{Text: "Show all providers", Href: v.href("/providers")}, {Text: "First steps", Href: v.href("/start")}}},
	}
	page.Filters = v.providerFilters(page)
	if field.Options != nil {
		page.Filters = append(page.Filters, field)
	}
	if isList {
		page.Filters = append(page.Filters, Input{Name: "view", Type: "hidden", Value: "list"})
	}
	return page, order.Href, nil
}

// providerFilters returns the form above the list. Without the names of all classes, the class is a text field.
func (v *visit) providerFilters(page *listPage) []Input {
	inputs := append(v.filters("name or uuid", "trait"), v.aggregateField(page), v.entry("class", "class"))
	if names, err := v.c.api.ResourceClassList(v.ctx()); err == nil {
		inputs[3] = v.choices("class", "class", "all", names...)
	}
	return inputs
}

// usageRows returns a row for each tree of sums, or for each provider; providers are indented where they follow their root.
func usageRows(found client.ListPage) (rows []draw.UsageRow) {
	var root uuid.UUID
	for _, sum := range found.Sums {
		if sum.Tree.UUID != root {
			root = sum.Tree.UUID
			rows = append(rows, usageRow(root, sum.Tree.Name, nil))
		}
		rows[len(rows)-1].Bars[sum.ResourceClass] = Bar{Capacity: sum.Capacity, Pieces: []draw.Piece{{Amount: sum.Used, Kind: draw.Used}}}
	}
	for _, p := range found.Providers {
		row := usageRow(p.UUID, p.Name, p.Traits)
		if row.Depth = 1; p.RootProviderUUID != root {
			row.Depth, root = 0, p.UUID
		}
		for class, record := range p.Inventories {
			row.Bars[class] = draw.InventoryBar(client.RecordOf(record), p.Usages[class])
		}
		rows = append(rows, row)
	}
	return rows
}

func usageRow(id uuid.UUID, name string, traits []string) draw.UsageRow {
	return draw.UsageRow{Provider: &client.ShownProvider{Node: client.Node{UUID: id, Name: name, Traits: traits}}, Bars: map[string]Bar{}}
}

// aggregateID returns the UUID of the name of an aggregate, and other text as it is.
func (v *visit) aggregateID(text string) string {
	for id, name := range v.c.names.Load().aggregates {
		if name == text {
			return id.String()
		}
	}
	return text
}
