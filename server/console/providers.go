package console

import (
	"net/url"

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
	path, tab, title, noun := "capacity", "Trees", "Trees, oldest first", "tree"
	if isList {
		path, tab, title, noun = "resource_providers", "Providers", "Providers by name", "provider"
		query["q"], query["sort"], query["total"], query["include"] = []string{v.query("q")}, []string{"name"}, []string{"true"}, []string{"inventories,usages,traits"}
	} else {
		query["group_by"], query["resource_class"] = []string{"tree"}, []string{v.query("class")}
	}
	found, err := v.list(path, query)
	if err != nil || v.done {
		return err
	}
	rows := usageRows(found)
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
	v.head("Providers", "providers", &listPage{
		Title: title, Filters: v.providerFilters(), Tree: v.treeTable("What they have, and how much of it is used", rows, uuid.Nil, here),
		Tabs:  v.providerTabs(tab),
		Empty: Message{Text: "No provider matches the filter, or none exists yet.", Links: []Link{{Text: "Show all providers", Href: v.href("/providers")}, {Text: "First steps", Href: v.href("/start")}}},
		Pager: v.pager(found, len(rows), noun), Exports: exports(v.with(), "csv", "json"),
	})
	if !isList {
		v.frame.AsOf = found.AsOf
	}
	return nil
}

// providerFilters returns the form above the list. Without the names of all classes, the class is a text field.
func (v *visit) providerFilters() []Input {
	inputs := v.filters("name or uuid", "trait", "aggregate", "class")
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
		rows[len(rows)-1].Bars[sum.Class] = Bar{Capacity: sum.Capacity, Pieces: []draw.Piece{{Amount: sum.Used, Kind: draw.Used}}}
	}
	for _, p := range found.Providers {
		row := usageRow(p.UUID, p.Name, p.Traits)
		if row.Depth = 1; p.RootProviderUUID != root {
			row.Depth, root = 0, p.UUID
		}
		for class, record := range p.Inventories {
			row.Bars[class] = draw.InventoryBar(record, p.Usages[class])
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
