package draw

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/berthd/berth/client"
)

// Defaults of the Placement API for omitted fields of an inventory.
const (
	defaultRatio    = 1.0
	defaultReserved = 0
	defaultUnit     = 1
	defaultMaxUnit  = math.MaxInt32
)

// inventoryUsage is the inventory of one class on a provider, with its usage.
type inventoryUsage struct {
	class  string
	record client.InventoryRecord
	// missing is set if consumers hold allocations of the class, but the provider has no inventory of it.
	missing bool
	// used is the sum of the allocations. It is valid only if counted is set.
	used    int64
	counted bool
}

// inventoryUsages returns the inventories and usages of a provider, sorted by class.
func (b *treeNode) inventoryUsages() []inventoryUsage {
	var all []inventoryUsage
	for class, record := range b.Inventories {
		all = append(all, inventoryUsage{class: class, record: record, used: b.usages[class], counted: b.usages != nil})
	}
	for class, used := range b.usages {
		if _, has := b.Inventories[class]; !has && used != 0 {
			all = append(all, inventoryUsage{class: class, missing: true, used: used, counted: true})
		}
	}
	slices.SortFunc(all, func(x, y inventoryUsage) int { return strings.Compare(x.class, y.class) })
	return all
}

// valueOr returns the value of an optional field, or its default.
func valueOr[T any](field *T, fallback T) T {
	if field == nil {
		return fallback
	}
	return *field
}

func (h inventoryUsage) total() int64    { return int64(h.record.Total) }
func (h inventoryUsage) reserved() int64 { return int64(valueOr(h.record.Reserved, defaultReserved)) }
func (h inventoryUsage) ratio() float64  { return valueOr(h.record.AllocationRatio, defaultRatio) }

// capacity returns (total - reserved) * allocation_ratio, rounded down.
func (h inventoryUsage) capacity() int64 {
	allowed := float64(h.total()-h.reserved()) * h.ratio()
	switch {
	case h.missing, !(allowed > 0):
		return 0
	case allowed >= math.MaxInt64:
		return math.MaxInt64
	default:
		return int64(allowed)
	}
}

// fill returns the used fraction of the capacity, from 0 to 1. It is 1 if the usage is over capacity.
func (h inventoryUsage) fill() float64 {
	switch capacity := h.capacity(); {
	case h.used <= 0:
		return 0
	case h.used >= capacity:
		return 1
	default:
		return float64(h.used) / float64(capacity)
	}
}

// level returns the level of the usage, which selects the color of a bar.
func (h inventoryUsage) level() level {
	switch fill := h.fill(); {
	case h.used > h.capacity():
		return over
	case fill >= 0.9:
		return high
	case fill >= 0.7:
		return middle
	default:
		return low
	}
}

type level int

const (
	low level = iota
	middle
	high
	over
)

// cells returns the number of filled cells of a bar. Any usage fills at least one cell, and only a usage of the whole
// capacity fills all of them.
func (h inventoryUsage) cells(length int) int { return filledCells(h.fill(), length) }

// notes returns the texts beside a bar: the amount in readable units, the amount over capacity, and the fields that
// differ from their defaults.
func (h inventoryUsage) notes() []string {
	if h.missing {
		return []string{"no inventory"}
	}
	var notes []string
	add := func(format string, values ...any) { notes = append(notes, fmt.Sprintf(format, values...)) }
	if unit := h.readable(); unit != "" {
		add("(%s)", unit)
	}
	if h.counted && h.used > h.capacity() {
		add("over capacity by %d", h.used-h.capacity())
	}
	// With a ratio of 1, the total is the sum of the capacity and reserved.
	if h.counted && h.ratio() != defaultRatio {
		add("total %d", h.total())
	}
	if h.reserved() != defaultReserved {
		add("reserved %d", h.reserved())
	}
	if h.ratio() != defaultRatio {
		add("ratio %s", ratioText(h.ratio()))
	}
	return append(notes, h.unitNotes()...)
}

// unitNotes returns the notes on min_unit, max_unit and step_size.
func (h inventoryUsage) unitNotes() []string {
	var notes []string
	if unit := valueOr(h.record.MinUnit, defaultUnit); unit != defaultUnit {
		notes = append(notes, fmt.Sprintf("min_unit %d", unit))
	}
	// Clients often set max_unit to the total, so it is worth a note only below the total.
	if unit := valueOr(h.record.MaxUnit, defaultMaxUnit); int64(unit) < h.total() {
		notes = append(notes, fmt.Sprintf("max_unit %d", unit))
	}
	if step := valueOr(h.record.StepSize, defaultUnit); step != defaultUnit {
		notes = append(notes, fmt.Sprintf("step_size %d", step))
	}
	return notes
}

// ratioText formats a ratio. It always has a decimal point, which distinguishes a ratio from an amount.
func ratioText(ratio float64) string {
	text := strconv.FormatFloat(ratio, 'g', 6, 64)
	if strings.ContainsAny(text, ".eIN") {
		return text
	}
	return text + ".0"
}

// scale is a series of readable units for the classes with one suffix.
type scale struct {
	suffix string
	step   float64
	units  []string
}

// scales lists the scales by suffix of the class. The suffix names the unit of standard classes, and of custom classes
// that follow their pattern. Nova and Placement mean binary units by MB and GB.
var scales = []scale{
	{"_MB", 1024, []string{"MiB", "GiB", "TiB", "PiB"}},
	{"_GB", 1024, []string{"GiB", "TiB", "PiB", "EiB"}},
	{"_KILOBIT_PER_SEC", 1000, []string{"kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"}},
	{"_KILOPACKET_PER_SEC", 1000, []string{"kpacket/s", "Mpacket/s", "Gpacket/s"}},
}

// readable returns the amounts in a larger unit, for example "4/64 GiB". It is empty if the class has no scale or the
// amount is below the next unit.
func (h inventoryUsage) readable() string {
	shown := h.capacity()
	if !h.counted {
		shown = h.total()
	}
	for _, s := range scales {
		if !strings.HasSuffix(h.class, s.suffix) || float64(shown) < s.step {
			continue
		}
		divisor, unit := s.fit(shown)
		if !h.counted {
			return scaled(shown, divisor) + " " + unit
		}
		return scaled(h.used, divisor) + "/" + scaled(shown, divisor) + " " + unit
	}
	return ""
}

// fit returns the largest unit in which the amount is at least 1, and the divisor for it.
func (s scale) fit(amount int64) (divisor float64, unit string) {
	divisor, unit = 1, s.units[0]
	for _, larger := range s.units[1:] {
		if float64(amount)/divisor < s.step {
			break
		}
		divisor, unit = divisor*s.step, larger
	}
	return divisor, unit
}

// scaled formats a quotient with three significant digits, or with all digits of its integer part.
func scaled(amount int64, divisor float64) string {
	value := float64(amount) / divisor
	digits := 2
	switch {
	case value >= 100 || value == 0:
		digits = 0
	case value >= 10:
		digits = 1
	}
	text := strconv.FormatFloat(value, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	if text == "0" && amount > 0 {
		return "<0.01"
	}
	return text
}

// classes returns the sorted keys of inventories.
func classes(inventories client.Inventories) []string {
	return slices.Sorted(maps.Keys(inventories))
}
