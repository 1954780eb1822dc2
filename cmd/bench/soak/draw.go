package soak

import (
	"fmt"
	"strings"
)

// asCSV has a row for each sample and a column for each series.
func asCSV(taken []sample) string {
	var text strings.Builder
	text.WriteString("seconds")
	for _, one := range watched {
		fmt.Fprintf(&text, ",%q", strings.TrimSpace(one.name+" "+one.unit))
	}
	text.WriteString("\n")
	for _, at := range taken {
		fmt.Fprintf(&text, "%.0f", at.after.Seconds())
		for _, one := range watched {
			fmt.Fprintf(&text, ",%.3f", one.of(at))
		}
		text.WriteString("\n")
	}
	return text.String()
}

// Sizes of the picture: a line for each series, one below the other.
const (
	drawWidth, drawHeight = 640, 48
	drawMargin, drawLabel = 12, 230
)

// asSVG draws every series from 0 to its highest value.
func asSVG(taken []sample) string {
	var text strings.Builder
	fmt.Fprintf(&text, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n",
		drawLabel+drawWidth+2*drawMargin, (drawHeight+drawMargin)*len(watched)+drawMargin)
	text.WriteString(`<rect width="100%" height="100%" fill="white"/>` + "\n")
	for row, one := range watched {
		top := drawMargin + row*(drawHeight+drawMargin)
		highest := 0.0
		for _, at := range taken {
			highest = max(highest, one.of(at))
		}
		fmt.Fprintf(&text, `<text x="%d" y="%d">%s</text>`+"\n", drawMargin, top+18, one.name)
		fmt.Fprintf(&text, `<text x="%d" y="%d" fill="gray">0 to %.1f %s</text>`+"\n", drawMargin, top+34, highest, one.unit)
		fmt.Fprintf(&text, `<path d="M%d %dh%d" stroke="lightgray"/>`+"\n", drawLabel, top+drawHeight, drawWidth)
		fmt.Fprintf(&text, `<polyline fill="none" stroke="steelblue" stroke-width="1.5" points="%s"/>`+"\n", points(taken, one, highest, top))
	}
	text.WriteString("</svg>\n")
	return text.String()
}

func points(taken []sample, of series, highest float64, top int) string {
	var text []string
	for i, at := range taken {
		x := drawLabel + float64(i)*drawWidth/float64(max(1, len(taken)-1))
		y := float64(top + drawHeight)
		if highest > 0 {
			y -= of.of(at) / highest * drawHeight
		}
		text = append(text, fmt.Sprintf("%.1f,%.1f", x, y))
	}
	return strings.Join(text, " ")
}
