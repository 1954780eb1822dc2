package draw

import (
	"io"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/terminal"
)

// Dimensions of the text output in columns.
const (
	barCells, shortBarCells = 10, 8
	// barColumns is the width that bars, numbers and notes have beside the names of classes. A longer name moves
	// only its own bar.
	barColumns    = 54
	minBarColumns = 18
	// numberCells is the width of a number. A longer number moves only its own notes.
	numberCells = 6
	// traitRows is the number of rows of traits without Style.All.
	traitRows = 2
	uuidCells = 36
)

// Text draws the trees. Each provider has a line with its generation, a line for each class with its usage and capacity,
// and lines for its traits and aggregates.
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

// picture is the drawing of one tree, with the columns that its lines share.
type picture struct {
	*canvas
	nameEnd, classEnd, usedCells, capacityCells int
}

// measure computes the columns. Each level is indented by one glyph, and the lines of a provider by one more than its
// name.
func (p *picture) measure(b *treeNode, depth int) {
	b.walk(depth, func(b *treeNode, depth int) {
		indent := len(boxGlyphs.blank) * depth
		p.nameEnd = max(p.nameEnd, p.endOfName(b, indent))
		for _, h := range b.inventoryUsages() {
			if end := indent + len(p.blank) + terminal.Cells(p.safe(h.class)); end <= max(p.columns()-barColumns, minBarColumns) {
				p.classEnd = max(p.classEnd, end)
			}
			used, capacity := h.numbers(p.Usages)
			p.usedCells = max(p.usedCells, min(len(used), numberCells))
			p.capacityCells = max(p.capacityCells, min(len(capacity), numberCells))
		}
	})
}

// endOfName returns the column after an indented name; 0 for a long name, with which no other line is aligned.
func (c *canvas) endOfName(b *treeNode, indent int) int {
	end := indent + terminal.Cells(c.safe(b.Name))
	limit := c.columns() - len("  gen 00")
	if c.UUIDs {
		limit -= uuidCells + 2
	}
	if end > limit {
		return 0
	}
	return end
}

// bar returns the length of bars.
func (c *canvas) bar() int {
	if c.columns() < 100 {
		return shortBarCells
	}
	return barCells
}

// numbers returns the texts of the usage and the capacity; without usages, the total only.
func (h inventoryUsage) numbers(usages bool) (used, capacity string) {
	if !usages || !h.counted {
		return "", strconv.FormatInt(h.total(), 10)
	}
	return strconv.FormatInt(h.used, 10), strconv.FormatInt(h.capacity(), 10)
}

// provider draws a provider and its descendants. head is the prefix of the line with its name, base that of the lines
// below.
func (p *picture) provider(b *treeNode, head, base line) {
	body := base.with(span{p.bodyGlyph(b), dim})
	p.heading(b, p.nameEnd+2, head, body, bold, b.generation())
	if b.detached {
		p.put(body.with(span{"parent (not shown): " + b.Parent.String(), dim}))
	}
	for _, h := range b.inventoryUsages() {
		p.inventoryUsage(h, body)
	}
	p.traits(b, body)
	if len(b.Aggregates) > 0 {
		start := body.with(span{"aggregates", dim}).padTo(0)
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

// bodyGlyph returns the prefix of the lines of a provider: a vertical line if it has children.
func (c *canvas) bodyGlyph(b *treeNode) string {
	if len(b.children) > 0 {
		return c.down
	}
	return c.blank
}

// generation returns the text of the generation; "new" if the provider is not created yet.
func (b *treeNode) generation() string {
	if b.Generation == nil {
		return "new"
	}
	return "gen " + strconv.FormatInt(*b.Generation, 10)
}

// heading draws the first line of a provider: its name, its generation at a column, and its UUID. A UUID that does not
// fit has a line of its own.
func (c *canvas) heading(b *treeNode, column int, head, body line, name paint, generation string) {
	l := head.with(span{c.safe(b.Name), name}).padTo(column).with(span{generation, dim})
	if !c.UUIDs {
		c.put(l)
		return
	}
	id := span{b.UUID.String(), dim}
	if wide := l.padTo(column + len("gen 00  ")); wide.cells()+uuidCells <= c.columns() {
		c.put(wide.with(id))
		return
	}
	c.put(l)
	c.put(body.with(id))
}

// inventoryUsage draws the line of one class.
func (p *picture) inventoryUsage(h inventoryUsage, body line) {
	if !p.Usages {
		h.counted = false
	}
	used, capacity := h.numbers(p.Usages)
	l := body.with(span{p.safe(h.class), plain}).padTo(p.classEnd + 2)
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
	l = l.padTo(0)
	if free := p.columns() - l.cells(); free < terminal.Cells(notes[0])+1 || free < minColumns/2 && len(notes) > 1 {
		p.put(l)
		if p.columns()-bar < minColumns/2 {
			bar = body.cells() + len(p.blank)
		}
		l = body.padTo(bar)
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
		start := body.with(span{"traits", dim}).padTo(0)
		p.list(start, body, p.someTraits(sorted(b.Traits), start.cells()), " ", dim)
	}
}

// someTraits returns the traits that fit into traitRows rows from a column on; all of them with Style.All.
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

// aggregates returns the first eight digits of the UUIDs of aggregates, or the full UUIDs with Style.UUIDs and Style.All.
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
