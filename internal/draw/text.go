package draw

import (
	"io"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/terminal"
)

// Measures of the text form, in columns.
const (
	barCells, shortBarCells = 10, 8
	// roomForBars is what is left for bars, numbers and notes beside the names of
	// classes; a longer name pushes its own bar only.
	roomForBars   = 54
	minBarColumns = 18
	// numberCells are enough for the usual amounts; a longer one pushes its notes.
	numberCells = 6
	// traitRows are shown unless all are asked for.
	traitRows = 2
	uuidCells = 36
)

// Text draws the trees one below the other: a line for each provider with its
// generation, below it a line for each class with how much of its capacity is
// used, then traits and aggregates.
func Text(w io.Writer, forest Forest, style Style) error {
	c := newCanvas(w, style)
	for i, tree := range forest.trees() {
		if i > 0 {
			c.put(nil)
		}
		p := picture{canvas: c}
		p.measure(tree, 0)
		p.provider(tree, nil, nil)
	}
	return c.out.Flush()
}

// picture is one tree with the columns that its lines share.
type picture struct {
	*canvas
	nameEnd, classEnd, usedCells, capacityCells int
}

// measure finds the columns. Each level is indented by one glyph, and what belongs
// to a provider by one more than its name.
func (p *picture) measure(b *treeNode, depth int) {
	b.walk(depth, func(b *treeNode, depth int) {
		indent := len(boxGlyphs.blank) * depth
		p.nameEnd = max(p.nameEnd, p.endOfName(b, indent))
		for _, h := range b.holdings() {
			if end := indent + len(p.blank) + terminal.Cells(p.safe(h.class)); end <= max(p.columns()-roomForBars, minBarColumns) {
				p.classEnd = max(p.classEnd, end)
			}
			used, capacity := h.numbers(p.Usages)
			p.usedCells = max(p.usedCells, min(len(used), numberCells))
			p.capacityCells = max(p.capacityCells, min(len(capacity), numberCells))
		}
	})
}

// endOfName is where the name ends that stands after an indent; 0 if it is too long
// for others to be aligned with it.
func (c *canvas) endOfName(b *treeNode, indent int) int {
	end := indent + terminal.Cells(c.safe(b.Name))
	room := c.columns() - len("  gen 00")
	if c.UUIDs {
		room -= uuidCells + 2
	}
	if end > room {
		return 0
	}
	return end
}

// bar is how long bars are.
func (c *canvas) bar() int {
	if c.columns() < 100 {
		return shortBarCells
	}
	return barCells
}

// numbers are the two columns of a holding; without usages only the total is told.
func (h inventoryUsage) numbers(usages bool) (used, capacity string) {
	if !usages || !h.counted {
		return "", strconv.FormatInt(h.total(), 10)
	}
	return strconv.FormatInt(h.used, 10), strconv.FormatInt(h.capacity(), 10)
}

// provider draws one and those below. Head is what stands before its own name,
// base what stands before the lines below it.
func (p *picture) provider(b *treeNode, head, base line) {
	body := base.with(span{p.bodyGlyph(b), dim})
	p.heading(b, p.nameEnd+2, head, body, bold, b.generation())
	if b.cut {
		p.put(body.with(span{"below " + b.Parent.String() + ", which is not shown", dim}))
	}
	for _, h := range b.holdings() {
		p.inventoryUsage(h, body)
	}
	p.traits(b, body)
	if len(b.Aggregates) > 0 {
		start := body.with(span{"aggregates", dim}).to(0)
		p.list(start, body, p.aggregates(b.Aggregates), " ", dim)
	}
	for i, child := range b.children {
		if i == len(b.children)-1 {
			p.provider(child, base.with(span{p.last, dim}), base.with(span{p.blank, plain}))
			continue
		}
		p.provider(child, base.with(span{p.fork, dim}), base.with(span{p.down, dim}))
	}
}

// bodyGlyph leads from a provider past its own lines to its children.
func (c *canvas) bodyGlyph(b *treeNode) string {
	if len(b.children) > 0 {
		return c.down
	}
	return c.blank
}

// generation says which one, and what a provider is that has none yet.
func (b *treeNode) generation() string {
	if b.Generation == nil {
		return "new"
	}
	return "gen " + strconv.FormatInt(*b.Generation, 10)
}

// heading is the line of a provider itself: name, generation from a column on,
// uuid. The last goes below where it does not fit.
func (c *canvas) heading(b *treeNode, column int, head, body line, name paint, generation string) {
	l := head.with(span{c.safe(b.Name), name}).to(column).with(span{generation, dim})
	if !c.UUIDs {
		c.put(l)
		return
	}
	id := span{b.UUID.String(), dim}
	if wide := l.to(column + len("gen 00  ")); wide.cells()+uuidCells <= c.columns() {
		c.put(wide.with(id))
		return
	}
	c.put(l)
	c.put(body.with(id))
}

// inventoryUsage is the line of one class.
func (p *picture) inventoryUsage(h inventoryUsage, body line) {
	if !p.Usages {
		h.counted = false
	}
	used, capacity := h.numbers(p.Usages)
	l := body.with(span{p.safe(h.class), plain}).to(p.classEnd + 2)
	bar := l.cells()
	if h.counted {
		length := p.bar()
		filled := h.cells(length)
		l = l.with(
			span{strings.Repeat(p.full, filled), h.level().paint()},
			span{strings.Repeat(p.empty, length-filled) + "  ", dim},
			span{pad(p.usedCells-len(used)) + used, h.level().paint()},
			span{"/" + capacity, plain},
		)
	} else {
		l = l.with(span{pad(p.capacityCells-len(capacity)) + capacity, plain})
	}
	notes := h.notes()
	if len(notes) == 0 {
		p.put(l)
		return
	}
	if h.counted {
		l = l.with(span{pad(p.capacityCells - len(capacity)), plain})
	}
	l = l.to(0)
	if room := p.columns() - l.cells(); room < terminal.Cells(notes[0])+1 || room < minColumns/2 && len(notes) > 1 {
		p.put(l)
		if p.columns()-bar < minColumns/2 {
			bar = body.cells() + len(p.blank)
		}
		l = body.to(bar)
	}
	p.list(l, body, notes, ", ", dim)
}

func pad(columns int) string { return strings.Repeat(" ", max(columns, 0)) }

func (l level) paint() paint {
	switch l {
	case low:
		return green
	case middle:
		return yellow
	default:
		return red
	}
}

func (p *picture) traits(b *treeNode, body line) {
	if len(b.Traits) > 0 {
		start := body.with(span{"traits", dim}).to(0)
		p.list(start, body, p.someTraits(sorted(b.Traits), start.cells()), " ", dim)
	}
}

// someTraits are those that fit into a few rows from a column on, unless all are
// asked for.
func (c *canvas) someTraits(traits []string, column int) []string {
	items := make([]string, len(traits))
	for i, trait := range traits {
		items[i] = c.safe(trait)
	}
	if c.All {
		return items
	}
	return shorten(items, max(c.columns()-column, minColumns/2), traitRows)
}

// aggregates are told apart by their first digits, which leaves room.
func (c *canvas) aggregates(ids []uuid.UUID) []string {
	var items []string
	for _, id := range sortedIDs(ids) {
		if text := id.String(); c.UUIDs && c.All {
			items = append(items, text)
		} else {
			items = append(items, text[:8]+c.short)
		}
	}
	return items
}

// count writes a number with commas between thousands.
func count(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
