package draw

import (
	"fmt"
	"math"
	"strings"
)

// Dimensions of a map in pixels.
const (
	mapSquare = 12
	mapStep   = mapSquare + 2
	mapShades = 6
)

// Square is a provider tree on a map: the fraction of its capacity that is used. A negative fraction means that the tree
// has no inventory of the class.
type Square float64

// NoInventory is the square of a tree without an inventory of the class.
const NoInventory Square = -1

// Map returns squares in rows of the given number of columns: six shades from unused to full, a cross for trees over
// capacity, and a dashed outline for trees without inventory. All squares of a shade are one path, so 10,000 squares take
// about 200 kB.
func Map(squares []Square, columns int, label string) string {
	columns = max(columns, 1)
	rows := (len(squares) + columns - 1) / columns
	across := min(columns, max(len(squares), 1))
	f := newFragment("map", across*mapStep-2, max(rows*mapStep-2, 0), label)
	var shades [mapShades]strings.Builder
	var over, none, crosses strings.Builder
	for i, square := range squares {
		x, y := i%columns*mapStep, i/columns*mapStep
		switch {
		case square < 0:
			fmt.Fprintf(&none, "M%d.5 %d.5h11v11h-11z", x, y)
		case square > 1:
			fmt.Fprintf(&over, "M%d %dh8v8h-8z", x+2, y+2)
			fmt.Fprintf(&crosses, "M%d %dl4 4m0-4l-4 4", x+4, y+4)
		default:
			fmt.Fprintf(&shades[shade(square)], "M%d %dh8v8h-8z", x+2, y+2)
		}
	}
	f.WriteString(`<g class="sq">`) // its stroke of 4 pixels rounds the corners
	for i := range shades {
		f.pathOf(fmt.Sprintf("h%d", i), &shades[i])
	}
	f.pathOf("f-over", &over)
	f.WriteString("</g>")
	f.pathOf("s-cut", &crosses)
	f.pathOf("s-none", &none)
	return f.end()
}

// pathOf adds a path unless it is empty.
func (f *fragment) pathOf(class string, steps *strings.Builder) {
	if steps.Len() > 0 {
		f.path(class, steps.String())
	}
}

// shade returns the shade of a fraction: the first for an unused tree, the last from 90 %.
func shade(square Square) int {
	if math.IsNaN(float64(square)) {
		return 0
	}
	return min(int(math.Ceil(float64(square)*100/18)), mapShades-1)
}

// MapKey returns the key of a map's shades for a legend: "shades", "over" or "none".
func MapKey(kind string) string {
	switch kind {
	case "over":
		return Map([]Square{2}, 1, "")
	case "none":
		return Map([]Square{NoInventory}, 1, "")
	}
	f := newFragment("swatch", mapShades*16, 8, "")
	for i := range mapShades {
		f.rect(fmt.Sprintf("h%d", i), float64(i*16), 0, 15, 8, 2)
	}
	return f.end()
}
