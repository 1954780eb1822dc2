package console

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/draw"
)

// The orders of the lists of trees and of providers, with the values of the parameter sort. The first is the default. The
// API has no order of trees: it lists them from the oldest on.
var (
	treeOrders = []Link{
		{Text: "oldest first"}, {Text: "newest first", Href: "newest"}, {Text: "by name", Href: "name"}, {Text: "fullest first", Href: "fullest"},
	}
	providerOrders = []Link{{Text: "by name"}, {Text: "newest first", Href: "newest"}, {Text: "oldest first", Href: "oldest"}}
)

// createdOrders are the orders of providers in the words of the API.
var createdOrders = map[string]string{"": "name", "newest": "-created_at", "oldest": "created_at"}

// maxSorted is the number of trees that a page reads to sort them. It has pages of mapPage.
const maxSorted = 4 * mapPage

// order returns the order that the address selects, and the field to choose another one.
func (v *visit) order(orders []Link) (Link, Input, error) {
	field := Input{ID: "sort", Name: "sort", Label: "order", Options: slices.Clone(orders)}
	at := slices.IndexFunc(orders, func(link Link) bool { return link.Href == v.query("sort") })
	if at < 0 {
		return Link{}, field, invalid("The list has no order %q.", v.query("sort"))
	}
	field.Options[at].Current = true
	return orders[at], field, nil
}

// sortedTrees fills a page with trees in an order, from the number in the address on. The API lists trees from the oldest
// on, so it reads all of them, or the oldest maxSorted.
func (v *visit) sortedTrees(page *listPage, query url.Values, order string) (rows []draw.UsageRow, found client.ListPage, err error) {
	query["limit"] = []string{strconv.Itoa(mapPage)}
	var sums []api.ClassCapacity
	for range maxSorted / mapPage {
		if found, err = v.c.api.ListPage(v.ctx(), "capacity", query); err != nil {
			return nil, found, err
		}
		sums = append(sums, found.Sums...)
		if query["marker"] = []string{found.Marker}; found.Marker == "" {
			break
		}
	}
	if found.Marker != "" {
		page.Notice = &Notice{Kind: "s", Title: "There are more trees.", Text: "A page sorts the oldest " + number(maxSorted) + ". All are in the lists:", Links: []Link{
			{Text: "trees, oldest first", Href: v.with("sort", "", "from", "")}, {Text: "providers by name", Href: v.href("/providers", "view", "list")},
			{Text: "providers, newest first", Href: v.href("/providers", "view", "list", "sort", "newest")},
		}}
	}
	all := usageRows(client.ListPage{Sums: sums})
	sortTrees(all, order)
	most := maxRows
	if v.kind() != "" {
		most = maxExported
	}
	from, end, pager := v.part(len(all), most)
	pager.Text = counted(int64(len(all)), "tree")
	if end-from < len(all) {
		pager.Text = number(int64(min(from+1, end))) + " to " + number(int64(end)) + " of " + pager.Text
	}
	page.Pager = pager
	return all[from:end], found, nil
}

// sortTrees sorts rows of trees, which are in the order of their creation.
func sortTrees(rows []draw.UsageRow, order string) {
	byName := func(a, b draw.UsageRow) int { return draw.CompareNames(a.Provider.Name, b.Provider.Name) }
	switch order {
	case "newest":
		slices.Reverse(rows)
	case "name":
		slices.SortStableFunc(rows, byName)
	case "fullest":
		slices.SortStableFunc(rows, func(a, b draw.UsageRow) int { return cmp.Or(cmp.Compare(fullness(b), fullness(a)), byName(a, b)) })
	}
}

// fullness is the used part of the fullest class of a tree.
func fullness(row draw.UsageRow) (most float64) {
	for _, bar := range row.Bars {
		if used := bar.Pieces[0].Amount; used > 0 {
			most = max(most, used/max(bar.Capacity, 1e-9))
		}
	}
	return most
}
