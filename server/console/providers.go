package console

import (
	"net/url"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/draw"
)

func (c *Console) providerRoutes() {
	c.page("GET /find", "list", (*visit).find)
	for _, kind := range []string{"", ".json", ".csv"} {
		c.page("GET /providers"+kind, "list", (*visit).providers)
		c.page("GET /consumers"+kind, "list", (*visit).consumers)
	}
	c.page("GET /consumers/{uuid}", "consumer", (*visit).consumer)
	c.page("GET /providers/{uuid}", "tree", (*visit).tree)
	c.page("GET /providers/{uuid}/consumers", "list", (*visit).treeConsumers)
	c.page("GET /providers/{uuid}/traits", "list", (*visit).treeTraits)
	c.page("GET /providers/{uuid}/api", "list", (*visit).treeAPI)
}

// providers shows the sums of whole trees, or single providers in the order of their names.
func (v *visit) providers() error {
	isList := v.query("q") != "" || v.query("view") == "list"
	page := v.providerFilters(isList)
	query := url.Values{"required": {v.query("trait")}, "member_of": {v.aggregateID(v.query("aggregate"))}}
	of, show := "capacity", v.treeSums
	if isList {
		of, show = "resource_providers", v.providerRows
		query["q"], query["sort"], query["total"] = []string{v.query("q")}, []string{"name"}, []string{"true"}
		query["include"] = []string{"inventories,usages,traits"}
	} else {
		query["group_by"], query["resource_class"] = []string{"tree"}, []string{v.query("class")}
	}
	found, err := v.list(of, query)
	if err != nil || v.done {
		return err
	}
	if found.kind == ".csv" {
		return v.exportCSV("uuid,name,resource_class,capacity,used", csvOf(found))
	}
	page.Tree = show(found)
	page.Pager = v.pager(found, len(page.Tree.Rows), map[bool]string{false: "trees", true: "providers"}[isList])
	v.frame.Title, v.frame.Nav, v.frame.AsOf, v.frame.Body = "Providers", "providers", found.AsOf, page
	return nil
}

// providerFilters returns the form above the list. Without the names of all classes, the class is a text field.
func (v *visit) providerFilters(isList bool) *listPage {
	class := Input{ID: "class", Name: "class", Options: []Link{{Text: "all classes"}}}
	names, err := v.c.api.ResourceClassList(v.ctx())
	for _, name := range names {
		class.Options = append(class.Options, Link{Text: name, Href: name, Current: name == v.query("class")})
	}
	if err != nil {
		class.Options, class.Value = nil, v.query("class")
	}
	return &listPage{
		Action: v.base + "/providers", Title: map[bool]string{false: "Trees, oldest first", true: "Providers by name"}[isList],
		Filters: []Input{
			{ID: "q", Name: "q", Type: "search", Value: v.query("q"), Placeholder: "begins with…"},
			{ID: "trait", Name: "trait", Value: v.query("trait"), Placeholder: "HW_NUMA_ROOT, !CUSTOM_OLD"},
			{ID: "aggregate", Name: "aggregate", Value: v.query("aggregate"), Placeholder: "uuid or name"}, class,
		},
		Tabs: []Link{
			{Text: "Trees", Href: v.with("view", "", "q", "", "marker", ""), Current: !isList},
			{Text: "Providers", Href: v.with("view", "list", "marker", ""), Current: isList},
		},
		Empty: Message{
			Text:    "No provider matches. Without a filter this page shows each host with its devices, and what is used of them.",
			Command: "berth provider list",
		},
		Exports: v.exports("/providers", "csv", "json"),
	}
}

// treeSums returns a row for each tree of sums by tree and class.
func (v *visit) treeSums(found apiPage) *Tree {
	rows, places := []treeLine{}, map[uuid.UUID]int{}
	for _, sum := range found.Sums {
		at, has := places[sum.Tree.UUID]
		if !has {
			at, places[sum.Tree.UUID] = len(rows), len(rows)
			rows = append(rows, treeLine{TreeRow: v.treeRow(sum.Tree.UUID, sum.Tree.Name, ""), bars: map[string]Bar{}})
		}
		rows[at].bars[sum.Class] = Bar{Capacity: sum.Capacity, Pieces: []draw.Piece{{Amount: sum.Used, Kind: draw.Used}}}
	}
	return newTree("What the trees have, and how much of it is used", v.query("class"), rows)
}

// providerRows returns a row for each provider.
func (v *visit) providerRows(found apiPage) *Tree {
	rows := []treeLine{}
	for _, p := range found.Providers {
		line := treeLine{TreeRow: v.treeRow(p.UUID, p.Name, fewTraits(p.Traits)), bars: map[string]Bar{}}
		for class, record := range p.Inventories {
			line.bars[class] = barOf(record, p.Usages[class])
		}
		rows = append(rows, line)
	}
	return newTree("What the providers have, and how much of it is used", v.query("class"), rows)
}

func (v *visit) treeRow(id uuid.UUID, name, sub string) TreeRow {
	return TreeRow{Link: Link{Text: name, Href: v.href("/providers/"+id.String(), "class", v.query("class"))}, Sub: sub}
}

// csvOf returns a row for each class of a tree or provider.
func csvOf(found apiPage) (rows [][]any) {
	for _, sum := range found.Sums {
		rows = append(rows, []any{sum.Tree.UUID, sum.Tree.Name, sum.Class, sum.Capacity, sum.Used})
	}
	for _, p := range found.Providers {
		for _, class := range classesOf(p.Inventories) {
			rows = append(rows, []any{p.UUID, p.Name, class, barOf(p.Inventories[class], 0).Capacity, p.Usages[class]})
		}
	}
	return rows
}

// aggregateID returns the UUID of the name of an aggregate, and other text as it is.
func (v *visit) aggregateID(text string) string {
	for id, name := range v.c.options.Settings.AggregateNames {
		if name == text && text != "" {
			return id.String()
		}
	}
	return text
}

// aggregateLink returns the link to an aggregate, with its name if the settings have one.
func (v *visit) aggregateLink(id uuid.UUID) Link {
	text := short(id.String())
	if name := v.c.options.Settings.AggregateNames[id]; name != "" {
		text = name
	}
	return Link{Text: text, Href: v.base + "/aggregates/" + id.String()}
}
