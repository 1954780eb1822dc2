package console

import (
	"html/template"
	"math"
	"strings"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/draw"
)

// sumTable is a table of sums: a row for each class, aggregate or tree. With a Shape it has columns for it; Fits: also how
// often it fits.
type sumTable struct {
	Head, Shape string
	Fits        bool
	Rows        []sumRow
}

type sumRow struct {
	Name  Link
	Warn  string
	Bar   template.HTML
	Cells []Cell
}

// whole returns an amount as an integer. Ratios of inventories permit more than an integer can hold.
func whole(amount float64) int64 { return int64(min(amount, 1<<62)) }

// sumRow returns the row of a sum: used, free, the largest piece, and for a shape what is stranded.
func (v *visit) sumRow(s client.CapacitySum, name Link, shape asked) sumRow {
	cell := func(text, below, href string) Cell {
		return Cell{Link: Link{Text: text}, Number: true, Sub: &Link{Text: below, Href: href}}
	}
	reserved := float64(s.Reserved)
	if s.Total > s.Reserved { // as large in the bar as it is in the total
		reserved *= s.Capacity / float64(s.Total-s.Reserved)
	}
	row := sumRow{Name: name, Bar: bar(Bar{Width: 236, Height: 10, Capacity: s.Capacity, Reserved: reserved, Pieces: []draw.Piece{{Amount: s.Used, Kind: draw.Used}}})}
	if s.OverCapacity > 0 {
		row.Warn = amount(s.Class, whole(s.OverCapacity)) + " over capacity"
	}
	of := "of " + amount(s.Class, whole(s.Capacity))
	if s.Reserved > 0 {
		of += ", " + amount(s.Class, s.Reserved) + " reserved"
	}
	free := cell(amount(s.Class, whole(s.Free)), of, "")
	free.Strong = true
	largest := cell(none, "", "")
	if s.LargestAt != nil {
		largest = cell(amount(s.Class, s.Largest), s.LargestAt.Name, v.href("/providers/"+s.LargestAt.UUID.String()))
	}
	row.Cells = []Cell{cell(share(s.Used, s.Capacity), amount(s.Class, whole(s.Used)), ""), free, largest}
	if shape.Text != "" {
		stranded := cell(none, "", "")
		if s.Stranded != nil {
			stranded = cell(amount(s.Class, whole(*s.Stranded)), share(*s.Stranded, s.Free), "")
		}
		row.Cells = append(row.Cells, stranded)
	}
	return row
}

// classTable returns the sums of each class.
func (v *visit) classTable(sums []client.CapacitySum, shape asked) sumTable {
	table := sumTable{Head: "Resource class", Shape: shape.Text}
	for _, sum := range sums {
		table.Rows = append(table.Rows, v.sumRow(sum, Link{Text: sum.Class, Href: v.href("/classes/" + sum.Class)}, shape))
	}
	return table
}

// groupTable returns the sums of a class by aggregate or tree, and how often the shape fits at most: as often as the
// amount of the scarcest class.
func (v *visit) groupTable(sums []client.CapacitySum, class string, shape asked) sumTable {
	table := sumTable{Head: "Tree", Shape: shape.Text, Fits: true}
	fits := map[string]float64{}
	for _, sum := range sums {
		if key := v.groupOf(sum).Href; sum.Units != nil {
			if known, ok := fits[key]; !ok || *sum.Units < known {
				fits[key] = *sum.Units
			}
		}
	}
	for _, sum := range sums {
		if sum.Class != class {
			continue
		}
		if sum.Aggregate != nil {
			table.Head = "Aggregate"
		}
		name := v.groupOf(sum)
		row := v.sumRow(sum, name, shape)
		if shape.Text != "" {
			row.Cells = append(row.Cells, Cell{Link: Link{Text: number(whole(fits[name.Href]))}, Number: true, Strong: true})
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// groupOf returns the link of the tree or the aggregate of a sum.
func (v *visit) groupOf(sum client.CapacitySum) Link {
	if sum.Tree != nil {
		return Link{Text: sum.Tree.Name, Href: v.href("/providers/" + sum.Tree.UUID.String())}
	}
	return Link{Text: v.aggregateName(*sum.Aggregate), Href: v.href("/aggregates/" + sum.Aggregate.String())}
}

// pieces returns the providers of a class by the size of their free capacity.
func pieces(sums []client.CapacitySum, class string) Hist {
	hist := Hist{Label: "Providers by their free " + class + "."}
	for _, sum := range sums {
		if sum.Class != class {
			continue
		}
		most := sum.Full
		for _, size := range sum.Sizes {
			most = max(most, size.Providers)
		}
		row := func(text string, providers int64) {
			hist.Label += " " + text + ": " + number(providers) + "."
			hist.Rows = append(hist.Rows, HistRow{Text: text, Count: number(providers), Bar: histBar(200, 10, float64(providers), float64(most), float64(most), draw.Used)})
		}
		if sum.Full > 0 {
			row("none", sum.Full) // or less than min_unit
		}
		for _, size := range sum.Sizes {
			from := whole(size.AtLeast)
			to := from*2 - 1
			if strings.HasSuffix(class, "_MB") || strings.HasSuffix(class, "_GB") {
				to = from * 2
			}
			low, high := amounts(class, from, to)
			if from == to {
				low = high
			} else {
				low += "–" + high
			}
			row(low, size.Providers)
		}
	}
	return hist
}

// fitText returns how often a shape fits.
func fitText(fit client.CapacityFitCount) string {
	switch {
	case fit.Exact:
		return times(fit.Fit)
	case fit.AtMost != nil && *fit.AtMost < math.MaxInt32:
		return number(fit.Fit) + " to " + times(*fit.AtMost)
	}
	return times(fit.Fit) + " or more"
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return number(n) + " times"
}
