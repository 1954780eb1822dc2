package console

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

func (c *Console) capacityRoutes() {
	for _, kind := range []string{"", ".json", ".csv"} {
		c.page("GET /capacity"+kind, "capacity", (*visit).capacity)
	}
	c.page("GET /capacity/what-if", "what-if", (*visit).whatIf)
}

// groupQuery returns the parameters of the sums of a class, and of the classes of a shape, by aggregate or tree.
func (v *visit) groupQuery(ctx context.Context, class, by string, shape asked) (url.Values, error) {
	classes, units := []string{class}, []string{}
	for _, unit := range shape.Units {
		units = append(units, unit.Class+":"+strconv.FormatInt(unit.Amount, 10))
		if unit.Class != class {
			classes = append(classes, unit.Class)
		}
	}
	query := url.Values{"group_by": {by}, "resource_class": {"in:" + strings.Join(classes, ",")}, "unit": {strings.Join(units, ",")}}
	if by == "tree" {
		query["limit"], query["marker"] = []string{strconv.Itoa(maxRows)}, []string{v.query("marker")}
		return query, nil
	}
	ids, _, err := v.aggregates(ctx)
	if len(ids) == 0 {
		ids = []uuid.UUID{uuid.Nil} // an unknown one has no sums
	}
	query.Set("aggregate", "in:"+strings.Join(uuidTexts(ids), ","))
	return query, err
}

// groupedSums are the sums of a class by aggregate or tree.
type groupedSums struct {
	Table
	Pager Pager
}

func (v *visit) groupedSums(ctx context.Context, class, by string, shape asked) (found groupedSums, err error) {
	query, err := v.groupQuery(ctx, class, by, shape)
	if err != nil {
		return found, err
	}
	page, err := v.c.api.ListPage(ctx, "capacity", query)
	found.Table = v.capacityTable(page.Sums, class, shape)
	found.Table.Heads[0].Text = strings.ToUpper(by[:1]) + by[1:]
	found.Pager = v.pager(page, len(found.Table.Rows), by)
	if len(found.Table.Rows) == maxAggregates {
		found.Pager.Text += ", the oldest ones"
	}
	return found, err
}

// capacity shows the sums of a class by aggregate or tree, and its pieces.
func (v *visit) capacity() error {
	shape, class, by := v.shape(), cmp.Or(v.query("class"), "VCPU"), cmp.Or(v.query("group_by"), "aggregate")
	if by != "aggregate" && by != "tree" {
		return invalid("The capacity is by aggregate or by tree, not by %q.", by)
	}
	if v.kind() != "" {
		return v.exportSums(class, by, shape)
	}
	found, sums := v.sums(shape)
	v.card("left", class, func(ctx context.Context) (any, error) {
		all, err := sums(ctx)
		return groupedSums{Table: v.capacityTable(all, class, shape)}, err
	})
	v.card("pieces", "Free "+class+" in pieces", func(ctx context.Context) (any, error) {
		all, err := sums(ctx)
		return pieces(all, class), err
	})
	v.card("groups", class+" by "+by, func(ctx context.Context) (any, error) { return v.groupedSums(ctx, class, by, shape) })
	if shape.Text != "" {
		v.fitCard(shape)
	}
	if err := v.wait(); err != nil {
		return err
	}
	v.frame.Title, v.frame.Nav, v.frame.AsOf = "Capacity", "capacity", found.AsOf
	v.frame.Actions = append(exports(v.with(), "csv", "json"), Link{Text: "What if…", Href: v.href("/capacity/what-if", "shape", shape.Text)})
	v.frame.Body = v.planPage(v.classField(class, found.Sums), v.choices("group_by", "by", "aggregate", "tree"), v.shapeField())
	return nil
}

// exportSums sends the sums of a page of the list.
func (v *visit) exportSums(class, by string, shape asked) error {
	if text := v.faults["shape"]; text != "" {
		return invalid("%s", text)
	}
	query, err := v.groupQuery(v.ctx(), class, by, shape)
	if err != nil {
		return err
	}
	if v.kind() == ".json" {
		return v.exportJSON("capacity", query)
	}
	page, err := v.c.api.ListPage(v.ctx(), "capacity", query)
	if err != nil {
		return err
	}
	var rows [][]any
	for _, s := range page.Sums {
		group := v.groupOf(s)
		rows = append(rows, []any{
			group.Text, path.Base(group.Href), s.Class, s.Providers, s.Total, s.Reserved, fmt.Sprintf("%.0f", s.Capacity), fmt.Sprintf("%.0f", s.Used),
			fmt.Sprintf("%.0f", s.Free), fmt.Sprintf("%.0f", max(s.OverCapacity, 0)), s.Largest, s.Full,
		})
	}
	return v.exportCSV("name,uuid,resource_class,resource_providers,total,reserved,capacity,used,free,over_capacity,largest,full", rows)
}
