package candidates

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// The drawing of CPU times, in pixels. The width is that of the other plot.
const (
	barsRight          = 836
	barsTop, barsFloor = 84, 420
	barsHeight         = 476
	maxBarWidth        = 34.0
	barGap             = 4.0
	// preferredTrees is the size of the cloud, if it was measured.
	preferredTrees = 10_000
)

// cpuPlotStyle gives the older version paler colors, which hide the grid behind them.
const cpuPlotStyle = plotStyle + `  .postgresql { fill: #4e79a7; }
  .server { fill: #e8852b; }
  .postgresql.older { fill: #b8c9dc; }
  .server.older { fill: #f6cfa7; }
  .value { font-size: 11px; }
  @media (prefers-color-scheme: dark) { .postgresql.older { fill: #2c405a; } .server.older { fill: #6b421c; } }
`

// bar is a row of the plot: a label of one or two lines, and its figures.
type bar struct {
	label [2]string
	query string
	limit int
	found result
}

// bars are the rows that are drawn if they were measured.
func bars() []bar {
	return []bar{
		{label: [2]string{"flat"}, query: "flat", limit: many},
		{label: [2]string{"flat", "randomized"}, query: "flat-random", limit: many},
		{label: [2]string{"nested"}, query: "nested", limit: many},
		{label: [2]string{"nested", "limit=3000"}, query: "nested", limit: manyNested},
		{label: [2]string{"nested", "randomized"}, query: "nested-random", limit: many},
		{label: [2]string{"nested", "root_required"}, query: "root-dense", limit: many},
		{label: [2]string{"shared", "storage"}, query: "shared", limit: many},
		{label: [2]string{"NIC affinity"}, query: "nic", limit: many},
	}
}

// plotCPU draws the CPU time of requests for many candidates in an unused cloud:
// PostgreSQL below, the server above it, and those of --against beside them.
func plotCPU(of []result) string {
	trees, all := barsOf(of)
	if len(all) == 0 {
		return `<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>` + "\n"
	}
	highest, hasOlder := 0.0, false
	for _, one := range all {
		highest = max(highest, one.found.CPU.sum())
		if older := one.found.Against; older != nil {
			highest, hasOlder = max(highest, older.CPU.sum()), true
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" role="img">`+"\n", plotWidth, barsHeight)
	fmt.Fprintf(&out, "<title>CPU time of allocation candidates with limit=1000</title>\n<style>%s</style>\n", cpuPlotStyle)
	fmt.Fprintf(&out, `<text class="title" x="%d" y="24">GET /allocation_candidates?limit=1000: CPU time of one request</text>`+"\n", plotLeft)
	fmt.Fprintf(&out, `<text x="%d" y="42">%s trees, nothing used up, without the client</text>`+"\n", plotLeft, grouped(float64(trees)))
	legend(&out, hasOlder)
	scale := newScale(highest)
	scale.grid(&out)
	for i, one := range all {
		scale.drawGroup(&out, one, i, len(all))
	}
	out.WriteString("</svg>\n")
	return out.String()
}

// barsOf returns the bars at preferredTrees, or at the largest size without them.
func barsOf(of []result) (int, []bar) {
	var sizes []int
	wanted := func(one result) bool {
		return one.Kind == latency && one.Error == "" && one.Used == utilization{}.String() && !one.singleSize &&
			slices.ContainsFunc(bars(), func(of bar) bool { return of.query == one.Query && of.limit == one.Limit })
	}
	for _, one := range of {
		if wanted(one) {
			sizes = append(sizes, one.Trees)
		}
	}
	if len(sizes) == 0 {
		return 0, nil
	}
	trees := slices.Max(sizes)
	if slices.Contains(sizes, preferredTrees) {
		trees = preferredTrees
	}
	var all []bar
	for _, drawn := range bars() {
		at := slices.IndexFunc(of, func(one result) bool {
			return wanted(one) && one.Trees == trees && one.Query == drawn.query && one.Limit == drawn.limit
		})
		if at >= 0 {
			drawn.found = of[at]
			all = append(all, drawn)
		}
	}
	return trees, all
}

// legend names the colors, and the paler ones if there are any.
func legend(out *strings.Builder, hasOlder bool) {
	entries := []struct{ class, name string }{{"postgresql", "PostgreSQL"}, {"server", "Go"}}
	if hasOlder {
		entries = append(entries, struct{ class, name string }{"postgresql older", "PostgreSQL, older version"},
			struct{ class, name string }{"server older", "Go, older version"})
	}
	at := plotLeft
	for _, one := range entries {
		fmt.Fprintf(out, `<rect class="%s" x="%d" y="54" width="11" height="11" rx="2"/>`+"\n", one.class, at)
		fmt.Fprintf(out, `<text x="%d" y="64">%s</text>`+"\n", at+16, one.name)
		at += 16 + 6*len(one.name) + 24
	}
}

// linearScale is the scale of milliseconds, from 0 to its top.
type linearScale struct{ step, top float64 }

// newScale returns a scale with at most seven steps of 1, 2 or 5 times a power of ten.
func newScale(highest float64) linearScale {
	highest = max(highest, 0.01)
	power := math.Pow(10, math.Floor(math.Log10(highest/7)))
	step := 10 * power
	for _, factor := range []float64{1, 2, 5} {
		if highest <= 7*factor*power {
			step = factor * power
			break
		}
	}
	return linearScale{step, step * math.Ceil(highest/step)}
}

func (s linearScale) y(milliseconds float64) float64 {
	return barsFloor - milliseconds/s.top*(barsFloor-barsTop)
}

// grid draws a line and a number for each step.
func (s linearScale) grid(out *strings.Builder) {
	for number := 0; float64(number)*s.step <= s.top*1.0001; number++ {
		value := float64(number) * s.step
		fmt.Fprintf(out, `<path class="grid" d="M%d %.1f H%d"/>`+"\n", plotLeft, s.y(value), barsRight)
		fmt.Fprintf(out, `<text x="%d" y="%.1f" text-anchor="end">%.4g</text>`+"\n", plotLeft-8, s.y(value)+4, value)
	}
	middle := (barsTop + barsFloor) / 2
	fmt.Fprintf(out, `<text x="18" y="%d" text-anchor="middle" transform="rotate(-90 18 %[1]d)">milliseconds of CPU</text>`+"\n", middle)
}

// drawGroup draws the bar of a row, that of --against to its left, and the label.
func (s linearScale) drawGroup(out *strings.Builder, of bar, number, count int) {
	slot := float64(barsRight-plotLeft) / float64(count)
	center := plotLeft + slot*(float64(number)+0.5)
	width := min(maxBarWidth, slot/3)
	if older := of.found.Against; older != nil {
		s.drawStack(out, older.CPU, center-width-barGap/2, width, " older")
		s.drawStack(out, of.found.CPU, center+barGap/2, width, "")
	} else {
		s.drawStack(out, of.found.CPU, center-width/2, width, "")
	}
	for i, text := range of.label {
		if text != "" {
			fmt.Fprintf(out, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", center, barsFloor+18+15*i, html.EscapeString(text))
		}
	}
}

// drawStack draws PostgreSQL below, the server above it and the sum on top.
func (s linearScale) drawStack(out *strings.Builder, cost cpuTime, left, width float64, class string) {
	middle, top := s.y(cost.Postgres), s.y(cost.sum())
	fmt.Fprintf(out, `<rect class="postgresql%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`+"\n", class, left, middle, width, barsFloor-middle)
	fmt.Fprintf(out, `<rect class="server%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`+"\n", class, left, top, width, middle-top)
	fmt.Fprintf(out, `<text class="value" x="%.1f" y="%.1f" text-anchor="middle">%.3g</text>`+"\n", left+width/2, top-5, cost.sum())
}
