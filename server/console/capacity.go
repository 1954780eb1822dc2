package console

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

func (c *Console) capacityRoutes() {
	c.page("GET /capacity", "capacity", (*visit).capacity)
	c.page("GET /capacity.json", "capacity", (*visit).capacityExport)
	c.page("GET /capacity.csv", "capacity", (*visit).capacityExport)
	c.page("GET /capacity/what-if", "what-if", (*visit).whatIf)
}

// capacityPage is the number of trees of a page.
const capacityPage = 100

// groupedSums are the sums of a class by aggregate or tree.
type groupedSums struct {
	client.CapacityPage
	Table Table
	Pager Pager
}

// grouped returns the sums that the address asks for: of a class, and of those of the shape, by aggregate or tree.
func (v *visit) grouped(ctx context.Context, class, by string, shape asked) (found groupedSums, err error) {
	query := client.CapacityQuery{Classes: slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(shape.Classes), class)))), Units: shape.Units}
	if by == "tree" {
		found.CapacityPage, err = v.c.api.CapacityTreePage(ctx, query, capacityPage, v.query("marker"))
	} else {
		var ids []uuid.UUID
		if ids, _, err = v.aggregates(ctx); err != nil || len(ids) == 0 {
			return found, err
		}
		query.Aggregates = uuidTexts(ids)
		found.Capacity, err = v.c.api.CapacityList(ctx, query)
		if len(ids) == maxAggregates {
			found.Pager.Text = "The oldest " + number(maxAggregates) + " aggregates."
		}
	}
	found.Table = v.capacityTable(found.Sums, class, shape)
	found.Table.Heads[0].Text = strings.ToUpper(by[:1]) + by[1:]
	if found.Next != "" {
		found.Pager.Next = v.with("marker", found.Next, "card", "")
	}
	if v.query("marker") != "" {
		found.Pager.First = v.with("marker", "")
	}
	if by == "tree" {
		found.Pager.Text = number(int64(len(found.Table.Rows))) + " trees with " + class + ", the oldest first."
	}
	return found, err
}

// capacity shows the sums of a class by aggregate or tree, and its pieces.
func (v *visit) capacity() error {
	shape, err := v.shape()
	if err != nil {
		return err
	}
	class, by := cmp.Or(v.query("class"), "VCPU"), cmp.Or(v.query("group_by"), "aggregate")
	if by != "aggregate" && by != "tree" {
		return invalid("The capacity is by aggregate or by tree, not by %q.", by)
	}
	found, sums := v.sums(shape)
	v.card("left", class, func(ctx context.Context) (any, error) {
		all, err := sums(ctx)
		return v.capacityTable(all, class, shape), err
	})
	v.card("pieces", "Free "+class+" in pieces", func(ctx context.Context) (any, error) {
		all, err := sums(ctx)
		return pieces(all, class), err
	})
	v.card("groups", class+" by "+by, func(ctx context.Context) (any, error) { return v.grouped(ctx, class, by, shape) })
	if shape.Text != "" {
		v.fitCard(shape)
	}
	if err := v.wait(); err != nil {
		return err
	}
	v.frame.Title, v.frame.Nav, v.frame.AsOf = "Capacity", "capacity", found.AsOf
	for _, kind := range []string{"json", "csv"} {
		export := strings.Replace(v.with("card", ""), "/capacity", "/capacity."+kind, 1)
		v.frame.Actions = append(v.frame.Actions, Link{Text: strings.ToUpper(kind), Href: export, Download: true})
	}
	v.frame.Actions = append(v.frame.Actions, Link{Text: "What if…", Href: v.href("/capacity/what-if", "shape", shape.Text, "class", class)})
	v.frame.Body = v.planPage(v.classField(class, found.Sums), Input{ID: "by", Name: "group_by", Label: "by", Options: []Link{
		{Text: "aggregate", Href: "aggregate", Current: by == "aggregate"}, {Text: "tree", Href: "tree", Current: by == "tree"},
	}}, v.shapeField())
	return nil
}

// capacityExport sends the sums of a page of the list as JSON of the API or as CSV.
func (v *visit) capacityExport() error {
	shape, err := v.shape()
	if err != nil {
		return err
	}
	found, err := v.grouped(v.ctx(), cmp.Or(v.query("class"), "VCPU"), cmp.Or(v.query("group_by"), "aggregate"), shape)
	if err != nil {
		return err
	}
	v.done = true
	if strings.HasSuffix(v.r.URL.Path, ".json") {
		v.w.Header().Set("Content-Type", "application/json")
		return json.NewEncoder(v.w).Encode(found.Capacity)
	}
	v.w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	v.w.Header().Set("Content-Disposition", `attachment; filename="capacity.csv"`)
	lines := csv.NewWriter(v.w)
	_ = lines.Write([]string{"name", "uuid", "resource_class", "resource_providers", "total", "reserved", "capacity", "used", "free", "over_capacity", "largest", "full"})
	for _, s := range found.Sums {
		_ = lines.Write([]string{
			csvCell(v.groupOf(s).Text), path.Base(v.groupOf(s).Href), s.Class, fmt.Sprint(s.Providers), fmt.Sprint(s.Total), fmt.Sprint(s.Reserved), fmt.Sprint(whole(s.Capacity)),
			fmt.Sprint(whole(s.Used)), fmt.Sprint(whole(s.Free)), fmt.Sprint(whole(s.OverCapacity)), fmt.Sprint(s.Largest), fmt.Sprint(s.Full),
		})
	}
	lines.Flush()
	return lines.Error()
}
