package soak

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// series is a quantity that is sampled during a run.
type series struct {
	name, unit string
	of         func(sample) float64
	// The bound of growth: the greater of this share of the earlier value and this
	// amount; 0 and 0: there is none.
	maxGrowthShare, minGrowth float64
	// timed reports whether other load on the machine changes it.
	timed bool
}

const mebi = 1 << 20

// watched are all of them, with the bounds of growth from the second quarter of a run to
// its last. The first quarter is excluded, because caches, pools and
// the free space of tables still grow.
var watched = []series{
	{"memory of the service", "MiB", func(s sample) float64 { return s.memory / mebi }, 0.15, 10, false},
	{"heap in use", "MiB", func(s sample) float64 { return s.heap / mebi }, 0.25, 10, false},
	{"goroutines", "", func(s sample) float64 { return s.goroutines }, 0.1, 8, false},
	{"open files", "", func(s sample) float64 { return s.files }, 0.1, 8, false},
	{"connections to PostgreSQL", "", func(s sample) float64 { return s.connections }, 0, 2, false},
	{"tables", "MiB", func(s sample) float64 { return s.tables / mebi }, 0.2, 1, false},
	{"indexes", "MiB", func(s sample) float64 { return s.indexes / mebi }, 0.2, 1, false},
	{"latency, median", "ms", func(s sample) float64 { return milliseconds(s.p50) }, 1, 3, true},
	{"latency, 99th percentile", "ms", func(s sample) float64 { return milliseconds(s.p99) }, 0, 0, false},
	{"dead rows", "", func(s sample) float64 { return s.deadTuples }, 0, 0, false},
	{"requests per second", "", func(s sample) float64 { return s.rate }, 0, 0, false},
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// judge compares the medians of the second quarter and of the last. Medians, since a
// garbage collection or a vacuum makes a single sample mean little.
func (s series) judge(taken []sample) (early, late float64, grew bool) {
	quarter := len(taken) / 4
	early, late = s.median(taken[quarter:2*quarter]), s.median(taken[len(taken)-quarter:])
	bound := max(early*s.maxGrowthShare, s.minGrowth)
	return early, late, bound > 0 && late-early > bound
}

func (s series) median(of []sample) float64 {
	values := make([]float64, len(of))
	for i, one := range of {
		values[i] = s.of(one)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// verdict prints each series with its earlier and later median, and reports whether all
// are flat. With timed it checks latencies too.
func verdict(taken []sample, timed bool) (text string, flat bool) {
	if len(taken) < 8 {
		return fmt.Sprintf("only %d samples, too few to compare\n", len(taken)), false
	}
	var table strings.Builder
	flat = true
	fmt.Fprintf(&table, "%-28s %12s %12s %10s  %s\n", "", "2nd quarter", "last", "may grow", "")
	for _, one := range watched {
		early, late, grew := one.judge(taken)
		said, bound := "flat", fmt.Sprintf("%.1f", max(early*one.maxGrowthShare, one.minGrowth))
		switch {
		case one.maxGrowthShare == 0 && one.minGrowth == 0, one.timed && !timed:
			said, bound = "", ""
		case grew:
			said, flat = "GREW", false
		}
		fmt.Fprintf(&table, "%-28s %12.1f %12.1f %10s  %s\n", strings.TrimSpace(one.name+" "+one.unit), early, late, bound, said)
	}
	return table.String(), flat
}
