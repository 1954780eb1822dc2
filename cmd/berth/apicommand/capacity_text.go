package apicommand

import (
	"fmt"
	"slices"
	"strconv"

	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/draw"
)

// capacityText lays out capacities as tables.
type capacityText struct {
	// wide adds the provider with the largest free capacity; ascii avoids other characters in bars.
	wide, ascii bool
}

// Lengths of bars in columns.
const (
	usageBarLength = 10
	sizeBarLength  = 20
)

// table returns a row for each sum. The columns for units are there if a sum has them.
func (t capacityText) table(sums []api.ClassCapacity) [][]string {
	hasUnits := slices.ContainsFunc(sums, func(sum api.ClassCapacity) bool { return sum.Unit != nil })
	heading := append(groupHeading(sums), "CLASS", "PROVIDERS", "TOTAL", "RESERVED", "CAPACITY", "USED", "FREE", "LARGEST", "FULL")
	if hasUnits {
		heading = append(heading, "UNIT", "UNITS", "STRANDED", "OF FREE")
	}
	if t.wide {
		heading = append(heading, "LARGEST AT")
	}
	table := [][]string{append(heading, "USAGE")}
	for i := range sums {
		sum := &sums[i]
		row := append(groupCells(sum), sum.ResourceClass, strconv.FormatInt(sum.ResourceProviders, 10), strconv.FormatInt(sum.Total, 10),
			strconv.FormatInt(sum.Reserved, 10), amountText(sum.Capacity), amountText(sum.Used), amountText(sum.Free),
			strconv.FormatInt(sum.Largest, 10), strconv.FormatInt(sum.Full, 10))
		if hasUnits {
			row = append(row, unitCells(sum)...)
		}
		if t.wide {
			row = append(row, providerCell(sum.LargestAt))
		}
		table = append(table, append(row, t.usage(sum)))
	}
	return table
}

// usage returns a bar of the used part of the capacity, with its percentage.
func (t capacityText) usage(sum *api.ClassCapacity) string {
	fraction := 0.0
	switch {
	case sum.Used > 0 && sum.Used >= sum.Capacity:
		fraction = 1
	case sum.Used > 0:
		fraction = sum.Used / sum.Capacity
	}
	text := fmt.Sprintf("%s %3s", draw.Bar(fraction, usageBarLength, t.ascii), percentText(fraction))
	if sum.OverCapacity > 0 {
		text += ", over capacity by " + amountText(sum.OverCapacity)
	}
	return text
}

// sizeTable returns a row for each sum and size. The bar is the part of the free capacity that providers of this size have.
func (t capacityText) sizeTable(sums []api.ClassCapacity) [][]string {
	table := [][]string{append(groupHeading(sums), "CLASS", "FREE ON ONE", "PROVIDERS", "FREE", "PART")}
	for i := range sums {
		sum := &sums[i]
		leading := append(groupCells(sum), sum.ResourceClass)
		for j, size := range sum.Sizes {
			if j > 0 {
				leading = make([]string, len(leading)) // a repeated class is harder to read
			}
			part := size.Free / sum.Free
			table = append(table, append(slices.Clone(leading), rangeText(size.AtLeast), strconv.FormatInt(size.ResourceProviders, 10),
				amountText(size.Free), fmt.Sprintf("%s %3s", draw.Bar(part, sizeBarLength, t.ascii), percentText(part))))
		}
	}
	return table
}

// groupHeading returns the heading of the group of sums, if they have one.
func groupHeading(sums []api.ClassCapacity) []string {
	switch {
	case len(sums) > 0 && sums[0].Tree != nil:
		return []string{"TREE"}
	case len(sums) > 0 && sums[0].Aggregate != nil:
		return []string{"AGGREGATE"}
	default:
		return nil
	}
}

func groupCells(sum *api.ClassCapacity) []string {
	switch {
	case sum.Tree != nil:
		return []string{sum.Tree.Name}
	case sum.Aggregate != nil:
		return []string{sum.Aggregate.String()}
	default:
		return nil
	}
}

func unitCells(sum *api.ClassCapacity) []string {
	if sum.Unit == nil || sum.Units == nil || sum.Stranded == nil || sum.Fragmentation == nil {
		return []string{"-", "-", "-", "-"}
	}
	return []string{strconv.FormatInt(*sum.Unit, 10), amountText(*sum.Units), amountText(*sum.Stranded), percentText(*sum.Fragmentation)}
}

func providerCell(of *api.NamedProvider) string {
	if of == nil {
		return "-"
	}
	return of.Name
}

// maxDigits is the amount from which texts have an exponent.
const maxDigits = 1e18

// amountText formats a whole number.
func amountText(amount float64) string {
	if amount >= maxDigits || amount <= -maxDigits {
		return strconv.FormatFloat(amount, 'g', 4, 64)
	}
	return strconv.FormatFloat(amount, 'f', 0, 64)
}

// rangeText formats the amounts from a power of two to the next.
func rangeText(least float64) string {
	if least == 1 {
		return "1"
	}
	if least >= maxDigits {
		return amountText(least) + " or more"
	}
	return amountText(least) + " to " + amountText(2*least-1)
}

// percentText formats a fraction. Only 0 is "0%", and only the whole is "100%".
func percentText(fraction float64) string {
	percent := int(fraction*100 + 0.5)
	switch {
	case fraction > 0 && percent == 0:
		return "<1%"
	case fraction < 1 && percent == 100:
		percent = 99
	}
	return strconv.Itoa(percent) + "%"
}
