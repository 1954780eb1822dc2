package candidates

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// The drawing, in pixels.
const (
	plotWidth, plotHeight         = 860, 560
	plotLeft, plotRight           = 64, 640
	plotTop, plotBottom           = 56, 508
	labelGap              float64 = 15
)

// Colors that can be told apart on white and on black.
var plotColors = []string{
	"#4e79a7", "#e8852b", "#d9534f", "#3fa7a0", "#59a14f", "#c9a227", "#a86fa1", "#ef7f92", "#9c755f", "#7d8da1",
}

const plotStyle = `
  text { font: 12px system-ui, sans-serif; fill: #444; }
  .title { font-size: 14px; font-weight: 600; }
  .grid { stroke: #8884; stroke-width: 1; }
  .line { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
  .again { stroke-dasharray: 1.5 3; }
  .baseline { stroke: #888; stroke-dasharray: 6 5; }
  @media (prefers-color-scheme: dark) { text { fill: #bbb; } }
`

// series is a line of the plot.
type series struct {
	name     string
	baseline bool
	points   []point
}

type point struct{ trees, milliseconds float64 }

// plot draws sizes against latencies of one client, both on scales of powers of
// ten: a line for each query at its worst utilization, and one for F.
func plot(of []result) string {
	lines := seriesOf(of)
	if len(lines) == 0 {
		return `<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>` + "\n"
	}
	chart := frame(lines)
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" role="img">`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(&out, "<title>Latency of allocation candidates by size of the cloud</title>\n<style>%s</style>\n", plotStyle)
	fmt.Fprintf(&out, `<text class="title" x="%d" y="24">GET /allocation_candidates?limit=10: median latency, one client</text>`+"\n", plotLeft)
	fmt.Fprintf(&out, `<text x="%d" y="42">each query at its slowest utilization; dashed: F, an HTTP handler with one SELECT 1</text>`+"\n", plotLeft)
	chart.grid(&out)
	for i, line := range lines {
		chart.draw(&out, line, i)
	}
	chart.labels(&out, lines)
	out.WriteString("</svg>\n")
	return out.String()
}

// seriesOf takes the slowest utilization of each query with the usual limit and size. F is the median of
// what was measured beside the queries.
func seriesOf(of []result) []series {
	var lines []series
	baselines := map[float64][]float64{}
	for _, one := range of {
		if one.Kind != latency || one.Limit != few || one.Error != "" || one.singleSize {
			continue
		}
		at := slices.IndexFunc(lines, func(line series) bool { return line.name == one.Query })
		if at < 0 {
			at, lines = len(lines), append(lines, series{name: one.Query})
		}
		trees := float64(one.Trees)
		baselines[trees] = append(baselines[trees], one.BaselineMilliseconds)
		points := lines[at].points
		if last := len(points) - 1; last >= 0 && points[last].trees == trees {
			points[last].milliseconds = max(points[last].milliseconds, one.Milliseconds)
		} else {
			lines[at].points = append(points, point{trees, one.Milliseconds})
		}
	}
	if len(lines) == 0 {
		return nil
	}
	baseline := series{name: "F", baseline: true}
	for trees, all := range baselines {
		slices.Sort(all)
		baseline.points = append(baseline.points, point{trees, all[len(all)/2]})
	}
	slices.SortFunc(baseline.points, func(a, b point) int { return cmp.Compare(a.trees, b.trees) })
	return append(lines, baseline)
}

// axes are the logarithms of what the edges stand for.
type axes struct{ left, right, bottom, top float64 }

func frame(lines []series) axes {
	a := axes{math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)}
	for _, line := range lines {
		for _, at := range line.points {
			a.left, a.right = min(a.left, math.Log10(at.trees)), max(a.right, math.Log10(at.trees))
			a.bottom, a.top = min(a.bottom, math.Log10(at.milliseconds)), max(a.top, math.Log10(at.milliseconds))
		}
	}
	if a.right-a.left < 1 { // one size only
		a.left, a.right = a.left-0.5, a.left+0.5
	}
	a.bottom, a.top = math.Floor(a.bottom), max(math.Ceil(a.top), math.Floor(a.bottom)+1)
	return a
}

func (a axes) x(trees float64) float64 {
	return plotLeft + (math.Log10(trees)-a.left)/(a.right-a.left)*(plotRight-plotLeft)
}

func (a axes) y(milliseconds float64) float64 {
	return plotBottom - (math.Log10(milliseconds)-a.bottom)/(a.top-a.bottom)*(plotBottom-plotTop)
}

// grid draws a line and a number for each power of ten.
func (a axes) grid(out *strings.Builder) {
	for power := math.Ceil(a.left); power <= a.right; power++ {
		at := a.x(math.Pow(10, power))
		fmt.Fprintf(out, `<path class="grid" d="M%.1f %d V%d"/>`+"\n", at, plotTop, plotBottom)
		fmt.Fprintf(out, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", at, plotBottom+18, grouped(math.Pow(10, power)))
	}
	for power := a.bottom; power <= a.top; power++ {
		at := a.y(math.Pow(10, power))
		fmt.Fprintf(out, `<path class="grid" d="M%d %.1f H%d"/>`+"\n", plotLeft, at, plotRight)
		fmt.Fprintf(out, `<text x="%d" y="%.1f" text-anchor="end">%g</text>`+"\n", plotLeft-8, at+4, math.Pow(10, power))
	}
	fmt.Fprintf(out, `<text x="%d" y="%d" text-anchor="middle">trees</text>`+"\n", (plotLeft+plotRight)/2, plotBottom+38)
	middle := (plotTop + plotBottom) / 2
	fmt.Fprintf(out, `<text x="18" y="%d" text-anchor="middle" transform="rotate(-90 18 %[1]d)">milliseconds</text>`+"\n", middle)
}

// grouped writes 100000 as 100,000.
func grouped(number float64) string {
	digits := fmt.Sprintf("%.0f", number)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// draw draws a line. Lines beyond the number of colors repeat them, dotted.
func (a axes) draw(out *strings.Builder, line series, number int) {
	color, class := plotColors[number%len(plotColors)], "line"
	if number >= len(plotColors) {
		class = "line again"
	}
	stroke := ` stroke="` + color + `"`
	if line.baseline {
		class, stroke, color = "line baseline", "", "#888"
	}
	fmt.Fprintf(out, `<path class="%s"%s d="`, class, stroke)
	for i, at := range line.points {
		command := "L"
		if i == 0 {
			command = "M"
		}
		fmt.Fprintf(out, "%s%.1f %.1f ", command, a.x(at.trees), a.y(at.milliseconds))
	}
	out.WriteString("\"/>\n")
	for _, at := range line.points {
		fmt.Fprintf(out, `<circle cx="%.1f" cy="%.1f" r="2.6" fill="%s"/>`+"\n", a.x(at.trees), a.y(at.milliseconds), color)
	}
}

// labels names the lines on the right, each as near to its end as the others let
// it be.
func (a axes) labels(out *strings.Builder, lines []series) {
	type label struct {
		name, color       string
		fromX, fromY, atY float64
	}
	var all []label
	for i, line := range lines {
		last := line.points[len(line.points)-1]
		one := label{line.name, plotColors[i%len(plotColors)], a.x(last.trees), a.y(last.milliseconds), a.y(last.milliseconds)}
		if line.baseline {
			one.color = "#888"
		}
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b label) int { return cmp.Compare(a.fromY, b.fromY) })
	for i := range all {
		if i > 0 {
			all[i].atY = max(all[i].atY, all[i-1].atY+labelGap)
		}
	}
	for i := len(all) - 1; i >= 0; i-- { // back up, those pushed below the edge
		lowest := float64(plotBottom)
		if i < len(all)-1 {
			lowest = all[i+1].atY - labelGap
		}
		all[i].atY = min(all[i].atY, lowest)
	}
	for _, one := range all {
		fmt.Fprintf(out, `<path d="M%.1f %.1f L%d %.1f H%d" fill="none" stroke="%s" stroke-opacity="0.5"/>`+"\n",
			one.fromX+4, one.fromY, plotRight+26, one.atY, plotRight+32, one.color)
		fmt.Fprintf(out, `<text x="%d" y="%.1f" style="fill: %s">%s</text>`+"\n", plotRight+36, one.atY+4, one.color, html.EscapeString(one.name))
	}
}
