package console

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/draw"
)

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
func (v *visit) groupedSums(ctx context.Context, class, by string, shape asked) (*content, error) {
	query, err := v.groupQuery(ctx, class, by, shape)
	if err != nil {
		return nil, err
	}
	page, err := v.c.api.ListPage(ctx, "capacity", query)
	found := &content{Sums: v.capacityTable(page.Sums, class, shape), Empty: "Nothing here has inventory of this class."}
	found.Sums.Heads[0].Text = strings.ToUpper(by[:1]) + by[1:]
	found.Pager = v.pager(page, len(found.Sums.Rows), by)
	if len(found.Sums.Rows) == maxAggregates {
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
	found, of := v.sums(shape)
	v.fitCard(shape)
	v.card("left", class, of(func(all []api.ClassCapacity) *content {
		return &content{Sums: v.capacityTable(all, class, shape), Empty: noInventory}
	})).Kind = "w8"
	v.card("pieces", "Free "+class+" in pieces", of(func(all []api.ClassCapacity) *content { return pieces(all, class) })).Kind = "w4"
	v.card("groups", class+" by "+by, func(ctx context.Context) (*content, error) { return v.groupedSums(ctx, class, by, shape) })
	if err := v.wait(); err != nil {
		return err
	}
	v.head("Capacity", "capacity", v.planPage(v.classField(class, found.Capacity), v.choices("group_by", "by", "aggregate", "tree"), v.shapeField()))
	v.frame.AsOf = found.AsOf
	v.frame.Actions = append(exports(v.with(), "csv", "json"), Link{Text: "What if…", Href: v.href("/capacity/what-if", "shape", shape.Text)})
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
			group.Text, path.Base(group.Href), s.ResourceClass, s.ResourceProviders, s.Total, s.Reserved, fmt.Sprintf("%.0f", s.Capacity), fmt.Sprintf("%.0f", s.Used),
			fmt.Sprintf("%.0f", s.Free), fmt.Sprintf("%.0f", max(s.OverCapacity, 0)), s.Largest, s.Full,
		})
	}
	return v.exportCSV("name,uuid,resource_class,resource_providers,total,reserved,capacity,used,free,over_capacity,largest,full", rows)
}

// whole returns an amount as an integer. Ratios of inventories permit more than an integer can hold.
func whole(amount float64) int64 { return int64(min(amount, 1<<62)) }

// capacityTable returns the sums of a class by aggregate or tree, or those of all classes if class is empty. With a shape it
// has what is stranded, and how often the shape fits at most: as often as the amount of the scarcest class of the group.
func (v *visit) capacityTable(sums []api.ClassCapacity, class string, shape asked) Table {
	fits := map[Link]float64{}
	for _, sum := range sums {
		if group := v.groupOf(sum); sum.Units != nil {
			if known, ok := fits[group]; !ok || *sum.Units < known {
				fits[group] = *sum.Units
			}
		}
	}
	sums = slices.DeleteFunc(slices.Clone(sums), func(sum api.ClassCapacity) bool { return class != "" && sum.ResourceClass != class })
	table := v.sumTable(sums)
	if shape.Text != "" {
		table.Heads = append(table.Heads, heads("#Stranded", "#Fits at most")...)
	}
	for i, sum := range sums {
		row := table.Rows[i]
		if row[0] = (Cell{Link: v.groupOf(sum)}); sum.OverCapacity > 0 {
			row[0].Sub = &Link{Text: amount(sum.ResourceClass, whole(sum.OverCapacity)) + " over capacity"}
		}
		drawn := sumBar(sum)
		if sum.Total > sum.Reserved { // as large in the bar as it is in the total
			drawn.Reserved = float64(sum.Reserved) * sum.Capacity / float64(sum.Total-sum.Reserved)
		}
		row[1].Bar, row[2].Sub = bar(drawn), &Link{Text: amount(sum.ResourceClass, whole(sum.Used))}
		row[3].Text, row[3].Sub.Text = amount(sum.ResourceClass, whole(sum.Free)), "of "+amount(sum.ResourceClass, whole(sum.Capacity))
		if sum.Reserved > 0 {
			row[3].Sub.Text += ", " + amount(sum.ResourceClass, sum.Reserved) + " reserved"
		}
		if sum.Stranded != nil {
			stranded := figure(amount(sum.ResourceClass, whole(*sum.Stranded)))
			stranded.Sub = &Link{Text: share(*sum.Stranded, sum.Free)}
			table.Rows[i] = append(row, stranded, figure(number(whole(fits[v.groupOf(sum)]))))
		} else if shape.Text != "" {
			table.Rows[i] = append(row, figure(none), figure(none))
		}
	}
	return table
}

// noInventory is shown where no class has a sum.
const noInventory = "No provider has inventory. What was added within the last 15 s may be missing."

// classSums returns the sums of all classes. Of very many, a page has those with the largest used part.
func (v *visit) classSums(all []api.ClassCapacity, shape asked) *content {
	found := &content{Empty: noInventory}
	if len(all) > maxRows {
		all = slices.SortedStableFunc(slices.Values(all), func(a, b api.ClassCapacity) int {
			return cmp.Compare(b.Used/max(b.Capacity, 1), a.Used/max(a.Capacity, 1))
		})
		from, end, pager := v.part(len(all), maxRows)
		pager.Text = fmt.Sprintf("%s to %s of %s classes, by their used part", number(int64(from+1)), number(int64(end)), number(int64(len(all))))
		found.Pager, all = pager, all[from:end]
	}
	found.Sums = v.capacityTable(all, "", shape)
	return found
}

// groupOf returns the link of what a sum is of: a tree, an aggregate, or else its class.
func (v *visit) groupOf(sum api.ClassCapacity) Link {
	switch {
	case sum.Tree != nil:
		return Link{Text: sum.Tree.Name, Href: v.href("/providers/" + sum.Tree.UUID.String())}
	case sum.Aggregate != nil:
		return Link{Text: v.aggregateName(*sum.Aggregate), Href: v.href("/aggregates/" + sum.Aggregate.String())}
	}
	return Link{Text: sum.ResourceClass, Href: v.href("/classes/" + sum.ResourceClass)}
}

// pieces returns the number of providers with a class by the size of their free capacity.
func pieces(sums []api.ClassCapacity, class string) *content {
	hist := Hist{Label: "Providers by their free " + class + "."}
	at := slices.IndexFunc(sums, func(sum api.ClassCapacity) bool { return sum.ResourceClass == class })
	if at < 0 {
		return &content{Empty: "No provider has inventory of this class."}
	}
	sizes, most := append([]api.CapacitySize{{ResourceProviders: sums[at].Full}}, sums[at].Sizes...), int64(0)
	for _, size := range sizes {
		most = max(most, size.ResourceProviders)
	}
	for _, size := range sizes {
		row := HistRow{Text: "from " + amount(class, whole(size.AtLeast)), Count: number(size.ResourceProviders)}
		if size.AtLeast == 0 {
			row.Text = "too little" // for min_unit
		}
		row.Bar = histBar(200, 10, float64(size.ResourceProviders), float64(most), float64(most), draw.Used)
		hist.Rows, hist.Label = append(hist.Rows, row), hist.Label+" "+row.Text+": "+row.Count+"."
	}
	return &content{Hist: hist, Note: "Providers by the free amount on each. An allocation is from one provider."}
}

// fitText returns how often a shape fits.
func fitText(fit int64, isExact bool, atMost *int64) string {
	switch {
	case isExact:
		return counted(fit, "time")
	case atMost != nil:
		return number(fit) + " to " + counted(*atMost, "time")
	}
	return counted(fit, "time") + " or more"
}
