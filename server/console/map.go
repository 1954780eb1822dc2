package console

import (
	"cmp"
	"context"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/draw"
)

// Bounds of a map: the trees of a page of the API, the pages of a map, the members of aggregates that are read to group
// trees, and the aggregates.
const (
	mapPage       = 1000
	maxMapPages   = 4
	maxAggregates = 200
)

// mapView is a map of a class. A block is an aggregate with a square for each tree, or with a bar alone if the trees are
// too many.
type mapView struct {
	Class, Sentence string
	Blocks          []mapBlock
	Trees           int64 // the squares
	Larger          Link
	asOf            time.Time
}

type mapBlock struct {
	Name    Link
	Used    string
	Picture template.HTML
}

// providerMap is the list of providers as a map.
func (v *visit) providerMap() error {
	class := cmp.Or(v.query("class"), "VCPU")
	card := v.card("map", class+" by tree", func(ctx context.Context) (*content, error) {
		view, err := v.mapOf(ctx, class, maxMapPages)
		return &content{Map: &view}, err
	})
	v.head("Providers", "providers", &listPage{Card: card, Tabs: v.providerTabs("Map"), Filters: []Input{
		{ID: "class", Name: "class", Label: "Class", Type: "search", Value: class}, {Name: "view", Type: "hidden", Value: "map"},
	}})
	err := v.wait()
	if card.Data != nil {
		v.frame.AsOf = card.Data.Map.asOf
	}
	return err
}

// providerTabs returns the tabs of the lists of providers.
func (v *visit) providerTabs(current string) []Link {
	tabs := []Link{
		{Text: "Trees", Href: v.with("view", "", "q", "", "marker", "", "sort", "", "from", "")},
		{Text: "Providers", Href: v.with("view", "list", "marker", "", "sort", "", "from", "")},
		{Text: "Map", Href: v.href("/providers", "view", "map", "class", v.query("class"))},
	}
	for i := range tabs {
		tabs[i].Current = tabs[i].Text == current
	}
	return tabs
}

// mapOf returns the map of a class from at most 2 + pages calls. With more trees it is one of aggregates.
func (v *visit) mapOf(ctx context.Context, class string, pages int) (mapView, error) {
	view := mapView{Class: class}
	ids, members, err := v.aggregates(ctx)
	if err != nil {
		return view, err
	}
	var sums []api.ClassCapacity
	tooMany := members > int64(pages*mapPage)
	for page, marker := 1, ""; !tooMany; page++ {
		found, err := v.c.api.ListPage(ctx, "capacity", url.Values{
			"group_by": {"tree"}, "resource_class": {class}, "limit": {strconv.Itoa(mapPage)}, "marker": {marker},
		})
		if err != nil {
			return view, err
		}
		sums, marker, view.asOf = append(sums, found.Sums...), found.Marker, found.AsOf
		if marker == "" {
			break
		}
		tooMany = page == pages
	}
	switch {
	case len(sums) == 0 && tooMany:
		return v.aggregateMap(ctx, view, ids)
	case tooMany: // most are in no aggregate
		view.Sentence = "There are more: these are of the oldest " + number(int64(pages*mapPage)) + " trees. "
	}
	if members > mapPage {
		return v.treeMap(view, sums, nil, "all trees"), nil
	}
	of, err := v.memberships(ctx, ids)
	return v.treeMap(view, sums, of, "no aggregate"), err
}

// aggregates returns the first aggregates, and the number of providers in them.
func (v *visit) aggregates(ctx context.Context) (ids []uuid.UUID, members int64, err error) {
	for aggregate, err := range v.c.api.Aggregates(ctx, client.AggregateQuery{PageSize: maxAggregates}) {
		if err != nil {
			return nil, 0, err
		}
		ids, members = append(ids, aggregate.UUID), members+aggregate.ResourceProviderCount
		if len(ids) == maxAggregates {
			break
		}
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return cmp.Compare(v.aggregateName(a), v.aggregateName(b)) })
	return ids, members, nil
}

// memberships returns the aggregates of the providers in them.
func (v *visit) memberships(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID][]uuid.UUID, error) {
	of := map[uuid.UUID][]uuid.UUID{}
	if len(ids) == 0 {
		return of, nil
	}
	query := client.ProviderQuery{Include: []string{"aggregates"}, PageSize: mapPage}
	query.MemberOf = []string{"in:" + strings.Join(uuidTexts(ids), ",")}
	for provider, err := range v.c.api.Providers(ctx, query) {
		if err != nil {
			return nil, err
		}
		of[provider.UUID] = provider.Aggregates
	}
	return of, nil
}

// treeMap fills a map with a square for each tree, in a block for each aggregate and one of a name for the other trees.
func (v *visit) treeMap(view mapView, sums []api.ClassCapacity, of map[uuid.UUID][]uuid.UUID, others string) mapView {
	groups := draw.MapGroups(sums, of, func(root uuid.UUID) string { return v.href("/providers/" + root.String()) })
	columns, linked := 56, len(sums) <= mapPage
	if !linked {
		columns = 96 // too small to point at in narrow windows
	}
	columns = max(7, columns/max(len(groups), 1))
	for _, group := range groups {
		block := mapBlock{Name: Link{Text: others}, Used: percent(group.Used, group.Capacity)}
		if group.ID != uuid.Nil {
			block.Name = Link{Text: v.aggregateName(group.ID), Href: v.href("/aggregates/" + group.ID.String())}
		}
		block.Picture = template.HTML(group.Fragment(columns, linked))
		view.Blocks, view.Trees = append(view.Blocks, block), view.Trees+int64(len(group.Squares))
	}
	view.sort()
	view.Sentence += "One square is a tree with " + view.Class + ", shaded by its used part."
	return view
}

// aggregateMap fills a map with a bar for each aggregate.
func (v *visit) aggregateMap(ctx context.Context, view mapView, ids []uuid.UUID) (mapView, error) {
	found, err := v.c.api.CapacityList(ctx, client.CapacityQuery{Classes: []string{view.Class}, Aggregates: uuidTexts(ids)})
	width := 104
	if len(found.Capacity) <= 24 {
		width = 200
	}
	for _, sum := range found.Capacity {
		picture := bar(Bar{Width: width, Capacity: sum.Capacity, Pieces: []draw.Piece{{Amount: sum.Used, Kind: draw.Used}}})
		view.Blocks = append(view.Blocks, mapBlock{Name: v.groupOf(sum), Used: percent(sum.Used, sum.Capacity), Picture: picture})
	}
	view.sort()
	view.asOf = found.AsOf
	view.Sentence = "There are too many trees for a square each: one bar is an aggregate. Trees in no aggregate are not shown."
	return view, err
}

// sort sorts the blocks by name.
func (m *mapView) sort() {
	slices.SortFunc(m.Blocks, func(a, b mapBlock) int { return cmp.Compare(a.Name.Text, b.Name.Text) })
}

func uuidTexts(ids []uuid.UUID) []string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	return texts
}
