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

// What the service takes for fields that are left to it.
const (
	defaultRatio    = 1.0
	defaultReserved = 0
	defaultUnit     = 1
	defaultMaxUnit  = math.MaxInt32
)

// inventoryUsage is what a provider has of one class and how much of it is used.
type inventoryUsage struct {
	class  string
	record client.InventoryRecord
	// missing: consumers use a class of which the provider has no inventory.
	missing bool
	// used is what consumers have; counted tells whether that is known.
	used    int64
	counted bool
}

// holdings are sorted by class.
func (b *treeNode) holdings() []inventoryUsage {
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

// valueOr is what the service takes when nothing is said.
func valueOr[T any](field *T, fallback T) T {
	if field == nil {
		return fallback
	}
	return *field
}

func (h inventoryUsage) total() int64    { return int64(h.record.Total) }
func (h inventoryUsage) reserved() int64 { return int64(valueOr(h.record.Reserved, defaultReserved)) }
func (h inventoryUsage) ratio() float64  { return valueOr(h.record.AllocationRatio, defaultRatio) }

// capacity is how much consumers may have altogether.
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

// fill is the part of the capacity that is used, from 0 to 1; 1 also for more than
// all of it.
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

// level sorts fills into those that need no look, some, and a hard one.
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

// cells tells how many of so many cells a bar fills. Something is never drawn as
// nothing, and not quite everything never as everything.
func (h inventoryUsage) cells(of int) int {
	fill := h.fill()
	switch cells := int(math.Round(fill * float64(of))); {
	case fill > 0 && cells == 0:
		return 1
	case fill < 1 && cells == of:
		return of - 1
	default:
		return cells
	}
}

// notes say, in few words, what a bar cannot: readable units, and whatever is not
// as the service would choose.
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
		add("over by %d", h.used-h.capacity())
	}
	// Without a ratio, the total is seen from what is reserved.
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

func (h inventoryUsage) unitNotes() []string {
	var notes []string
	if unit := valueOr(h.record.MinUnit, defaultUnit); unit != defaultUnit {
		notes = append(notes, fmt.Sprintf("min_unit %d", unit))
	}
	// Most owners name everything they have as the most that one may take.
	if unit := valueOr(h.record.MaxUnit, defaultMaxUnit); int64(unit) < h.total() {
		notes = append(notes, fmt.Sprintf("max_unit %d", unit))
	}
	if step := valueOr(h.record.StepSize, defaultUnit); step != defaultUnit {
		notes = append(notes, fmt.Sprintf("step_size %d", step))
	}
	return notes
}

// ratioText always has a point, so that a ratio is not taken for an amount.
func ratioText(ratio float64) string {
	text := strconv.FormatFloat(ratio, 'g', 6, 64)
	if strings.ContainsAny(text, ".eIN") {
		return text
	}
	return text + ".0"
}

// scale is the readable form of the amounts of some classes.
type scale struct {
	suffix string
	step   float64
	units  []string
}

// scales know a class by the end of its name; that of the standard classes and of
// custom ones made like them tells the unit. The services that made the names mean
// binary units by MB and GB.
var scales = []scale{
	{"_MB", 1024, []string{"MiB", "GiB", "TiB", "PiB"}},
	{"_GB", 1024, []string{"GiB", "TiB", "PiB", "EiB"}},
	{"_KILOBIT_PER_SEC", 1000, []string{"kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"}},
	{"_KILOPACKET_PER_SEC", 1000, []string{"kpacket/s", "Mpacket/s", "Gpacket/s"}},
}

// readable is such as "4 of 64 GiB", or empty where the number says it already.
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

// fit finds the unit in which the amount is a small number.
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

// scaled has three digits, or more where the whole number has more.
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

// classes are the keys of inventories, sorted.
func classes(inventories client.Inventories) []string {
	return slices.Sorted(maps.Keys(inventories))
}
