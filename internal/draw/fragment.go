package draw

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/berthd/berth/internal/terminal"
)

// Fragments are SVG images for web pages: they have classes and no <style>, so that the style sheet of the page decides
// the colors. An image with a label is announced by it. One without a label is hidden from screen readers, because the
// text beside it has the same content.

// Escape returns text with control, direction and invisible characters escaped, as in the other drawings. It keeps line
// breaks and tabs. It does not escape markup.
func Escape(text string) string {
	var out strings.Builder
	out.Grow(len(text))
	start := 0
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' || text[i] == '\t' {
			out.WriteString(terminal.Escape(text[start:i], false))
			out.WriteByte(text[i])
			start = i + 1
		}
	}
	out.WriteString(terminal.Escape(text[start:], false))
	return out.String()
}

// fragment is an SVG image under construction.
type fragment struct{ strings.Builder }

func newFragment(class string, width, height int, label string) *fragment {
	f := &fragment{}
	role := `aria-hidden="true"`
	if label != "" {
		role = `role="img" aria-label="` + markup(label) + `"`
	}
	if class == "bar" {
		role += ` preserveAspectRatio="none"` // bars stretch with their column
	}
	fmt.Fprintf(f, `<svg class="%s" width="%d" height="%d" viewBox="0 0 %d %d" %s>`, class, width, height, width, height, role)
	return f
}

func (f *fragment) rect(class string, x, y, width, height, radius float64) {
	fmt.Fprintf(f, `<rect class="%s"%s%s width="%s" height="%s"`, class, attribute("x", x), attribute("y", y), decimal(width), decimal(height))
	if radius > 0 {
		fmt.Fprintf(f, ` rx="%s"`, decimal(radius))
	}
	f.WriteString("/>")
}

func (f *fragment) path(class, steps string) {
	f.WriteString("<path")
	if class != "" {
		f.WriteString(` class="` + class + `"`)
	}
	f.WriteString(` d="` + steps + `"/>`)
}

func (f *fragment) end() string { return f.String() + "</svg>" }

// attribute returns an attribute, or nothing if it is zero, which is its default.
func attribute(name string, value float64) string {
	if value == 0 {
		return ""
	}
	return ` ` + name + `="` + decimal(value) + `"`
}

// decimal returns a number with at most two decimals.
func decimal(value float64) string {
	text := strconv.FormatFloat(value, 'f', 2, 64)
	text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	if text == "-0" || text == "" {
		return "0"
	}
	return text
}

// Kinds of pieces of a usage bar. Those after Marked are the groups of a candidate.
const (
	Used    = "used"  // allocated
	UsedNow = "used2" // allocated, beside the pieces of a candidate
	Marked  = "mark"  // allocated to the highlighted consumer
	Amber   = "a"
	Violet  = "v"
	Green   = "g"
	Red     = "r"
	Gray    = "s"
)

// MaxPieces is the maximum number of pieces of a usage bar. A bar with more pieces is drawn whole.
const MaxPieces = 40

// Piece is a part of a usage bar, for example the allocation of one consumer.
type Piece struct {
	Amount float64
	Kind   string
}

// UsageBar is a bar of the usage of an inventory. Reserved is drawn at its end, in addition to the capacity. What exceeds
// the capacity is drawn as a crossed red piece.
type UsageBar struct {
	Width, Height      int // default 104 × 8
	Capacity, Reserved float64
	Pieces             []Piece
	Label              string
}

// Fragment returns the bar as an SVG fragment.
func (b UsageBar) Fragment() string {
	width, height := b.Width, b.Height
	if width <= 0 || height <= 0 {
		width, height = 104, 8
	}
	f := newFragment("bar", width, height, b.Label)
	f.rect("f-track", 0, 0, float64(width), float64(height), 2)
	capacity, reserved := max(b.Capacity, 0), max(b.Reserved, 0)
	pieces, used := b.pieces()
	whole := max(capacity+reserved, used)
	if whole <= 0 {
		return f.end()
	}
	scale := float64(width) / whole
	if reserved > 0 && used <= capacity {
		f.hatched(capacity*scale, reserved*scale, height)
	}
	at := 0.0
	for i, piece := range pieces {
		from, to := at, min(at+piece.Amount, capacity)
		at += piece.Amount
		if to <= from {
			continue
		}
		length := (to - from) * scale
		if i < len(pieces)-1 && length > 2 {
			length-- // the gap between two pieces
		}
		f.rect("f-"+piece.Kind, from*scale, 0, max(length, 0.75), float64(height), min(2, length/2))
	}
	if used > capacity {
		f.over(capacity*scale, float64(width), height)
	}
	return f.end()
}

// pieces returns the pieces to draw and their sum. Too many pieces are merged with the neighbors of their kind.
func (b UsageBar) pieces() ([]Piece, float64) {
	var all []Piece
	used := 0.0
	for _, piece := range b.Pieces {
		if piece.Amount <= 0 {
			continue
		}
		used += piece.Amount
		last := len(all) - 1
		if len(b.Pieces) > MaxPieces && last >= 0 && all[last].Kind == piece.Kind {
			all[last].Amount += piece.Amount
			continue
		}
		all = append(all, piece)
	}
	return all, used
}

// hatched draws the reserved part. The inner SVG clips the lines.
func (f *fragment) hatched(x, width float64, height int) {
	width = max(width, 3)
	fmt.Fprintf(f, `<svg x="%s" width="%s" height="%d">`, decimal(x), decimal(width), height)
	var steps strings.Builder
	for line := -2; line < int(width)+height; line += 5 {
		fmt.Fprintf(&steps, "M%d %dl%d-%d", line-height/2, height+1, height+2, height+2)
	}
	f.path("s-held", steps.String())
	f.WriteString("</svg>")
}

// over draws the part above the capacity: red, with crosses, so that it differs from the rest without colors.
func (f *fragment) over(from, to float64, height int) {
	from = min(from, to-float64(height))
	f.rect("f-over", from, 0, to-from, float64(height), 2)
	var steps strings.Builder
	size := float64(height) - 4
	for x := from + 2; x+size <= to-1; x += size + 4 {
		fmt.Fprintf(&steps, "M%s 2l%s %sm0-%[3]sl-%[2]s %[3]s", decimal(x), decimal(size), decimal(size))
	}
	f.path("s-cut", steps.String())
}

// Swatch returns a rectangle for a legend: of a kind of piece, "track", "held" for reserved, "over", or "h0" to "h5" for
// the shades of a map.
func Swatch(kind string) string {
	f := newFragment("swatch", 20, 8, "")
	switch {
	case kind == "held":
		f.rect("f-track", 0, 0, 20, 8, 2)
		f.hatched(0, 20, 8)
	case kind == "over":
		f.over(0, 20, 8)
	case kind == "cut":
		f.rect("f-used", 0, 0, 19.5, 8, 2)
		f.path("s-cut", "M10 0v8")
	case len(kind) == 2 && kind[0] == 'h':
		f.rect(markup(kind), 0, 0, 20, 8, 2)
	default:
		f.rect("f-"+markup(kind), 0, 0, 20, 8, 2)
	}
	return f.end()
}

// Key returns a square for a list of colors, of a kind of piece.
func Key(kind string) string {
	f := newFragment("swatch", 10, 10, "")
	f.rect("f-"+markup(kind), 0, 0, 10, 10, 2)
	return f.end()
}

// levelIndent is the indentation of a level of a tree, and treeRow the height of a row with its border, in pixels.
const (
	levelIndent = 22
	treeRow     = 51
)

// TreePosition is the position of a row in a drawn tree.
type TreePosition struct {
	Depth  int
	Guides []bool // for each level above the row's own, whether its line continues below the row
	Parent bool   // the row has children
}

// TreePositions returns the positions of rows in depth-first order, from their depths.
func TreePositions(depths []int) []TreePosition {
	positions := make([]TreePosition, len(depths))
	var below []bool // for each level, whether a later row of the same parent follows
	for i := len(depths) - 1; i >= 0; i-- {
		depth := max(depths[i], 0)
		parent := i+1 < len(depths) && depths[i+1] > depth
		for len(below) <= depth {
			below = append(below, false)
		}
		positions[i] = TreePosition{Depth: depth, Parent: parent, Guides: append([]bool(nil), below[1:depth+1]...)}
		below = below[:depth+1]
		below[depth] = true
	}
	return positions
}

// Fragment returns the lines of the row: a vertical line for each level that continues, an elbow from the parent, and a
// dot, which is filled for a root or a provider with children.
func (p TreePosition) Fragment() string {
	width := p.Depth*levelIndent + levelIndent
	f := newFragment("lines", width, treeRow, "")
	const middle, center = treeRow/2 + 1, 9.5
	x := func(level int) string { return decimal(center + float64(level*levelIndent)) }
	var steps strings.Builder
	for level, continues := range p.Guides {
		switch own := level == len(p.Guides)-1; {
		case continues:
			fmt.Fprintf(&steps, "M%s 0V%d", x(level), treeRow)
			if own {
				fmt.Fprintf(&steps, "M%s %dh14.5", x(level), middle)
			}
		case own:
			fmt.Fprintf(&steps, "M%s 0V%dh14.5", x(level), middle)
		}
	}
	if p.Parent {
		fmt.Fprintf(&steps, "M%s %dV%d", x(p.Depth), middle+9, treeRow)
	}
	if steps.Len() > 0 {
		f.path("", steps.String())
	}
	class := "dot-open"
	if p.Parent || p.Depth == 0 {
		class = "dot-full"
	}
	fmt.Fprintf(f, `<circle class="%s" cx="%s" cy="%d" r="4"/>`, class, x(p.Depth), middle)
	return f.end()
}
