package draw

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"strings"

	"github.com/berthd/berth/internal/terminal"
)

// svgStyle is the style sheet of the SVG. It follows the reader's preference for a light or dark color scheme.
//
//go:embed svg.css
var svgStyle string

// Dimensions of the SVG in pixels. The columns of bars and numbers are the same for all levels, so that readers can
// compare bars across the image.
const (
	svgWidth     = 960
	svgMargin    = 20
	svgIndent    = 28
	svgPadding   = 14
	svgDeepest   = svgMargin + 5*svgIndent
	svgBar       = 340
	svgBarEnd    = 505
	svgNumbers   = 650
	svgNotes     = 664
	svgNoteCells = 43
	svgRow       = 21
	svgNoteRow   = 15
	svgPillRow   = 21
	svgGap       = 12
	// Character widths: exact for the small monospaced font, estimates for the others.
	svgSmall  = 6.02
	svgLetter = 7.8
	svgBold   = 8.4
)

// SVG writes the forest as a standalone image with a card for each provider, indented below its parent. Cards have all
// traits. Names that are too long are truncated; their tooltips have the full text.
func SVG(w io.Writer, forest Forest) error {
	var cards strings.Builder
	s := &sheet{cards: &cards, y: svgMargin}
	trees := forest.trees()
	for i, tree := range trees {
		if i > 0 {
			s.y += svgGap
		}
		s.provider(tree, svgMargin)
	}
	if len(trees) == 0 {
		s.text(svgMargin, s.y+svgRow, "muted", "No resource providers.")
		s.y += 2 * svgRow
	}
	out := bufio.NewWriter(w)
	height := s.y - svgGap + svgMargin
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="Resource providers">`+"\n",
		svgWidth, height, svgWidth, height)
	fmt.Fprintf(out, "<title>Resource providers</title>\n<style>\n%s</style>\n", svgStyle)
	fmt.Fprintf(out, `<rect class="page" width="%d" height="%d"/>`+"\n", svgWidth, height)
	out.WriteString(cards.String())
	out.WriteString("</svg>\n")
	return out.Flush()
}

// sheet is the part of the image that is drawn so far.
type sheet struct {
	cards *strings.Builder
	y     int // its lower end
}

func (s *sheet) add(format string, values ...any) { fmt.Fprintf(s.cards, format+"\n", values...) }

func (s *sheet) text(x, y int, class, text string) {
	s.add(`<text class="%s" x="%d" y="%d">%s</text>`, class, x, y, markup(text))
}

// fitted draws a text in width pixels. It truncates a longer text and adds a tooltip.
func (s *sheet) fitted(x, y int, class, text string, width int, letter float64) {
	text = terminal.Escape(text, false)
	short := truncate(text, int(float64(width)/letter))
	if short == text {
		s.text(x, y, class, text)
		return
	}
	s.add(`<text class="%s" x="%d" y="%d"><title>%s</title>%s</text>`, class, x, y, markup(text), markup(short))
}

// truncate returns the text, or its beginning and an ellipsis if it has more than the given number of cells.
func truncate(text string, cells int) string {
	if terminal.Cells(text) <= cells {
		return text
	}
	used := 0
	for i, r := range text {
		if used += terminal.RuneCells(r); used > cells-1 {
			return text[:i] + "…"
		}
	}
	return text
}

// provider draws the cards of a provider and its descendants, and the lines between them.
func (s *sheet) provider(b *treeNode, x int) {
	top := s.y
	s.cards.WriteString(`<g class="provider">` + "\n")
	content := &strings.Builder{}
	inner := &sheet{cards: content, y: top}
	inner.body(b, x+svgPadding)
	s.add(`<rect class="card" x="%d" y="%d" width="%d" height="%d" rx="8"/>`, x, top, svgWidth-svgMargin-x, inner.y-top)
	s.cards.WriteString(content.String())
	s.cards.WriteString("</g>\n")
	bottom := inner.y
	s.y = bottom + svgGap
	for _, child := range b.children {
		// Deep levels share one indentation, so that their cards are wide enough.
		to := min(x+svgIndent, svgDeepest)
		if to > x {
			s.add(`<path class="line" d="M%d %dV%dH%d"/>`, x+svgIndent/2, bottom, s.y+20, to)
		}
		s.provider(child, to)
	}
}

// body draws the content of a card and moves y to its end.
func (s *sheet) body(b *treeNode, x int) {
	generation := "not created yet"
	if b.Generation != nil {
		generation = fmt.Sprintf("generation %d", *b.Generation)
	}
	right := svgWidth - svgMargin - svgPadding
	s.fitted(x, s.y+25, "name", b.Name, right-x-130, svgBold)
	s.add(`<text class="muted end" x="%d" y="%d">%s</text>`, right, s.y+25, generation)
	s.text(x, s.y+41, "uuid", b.UUID.String())
	s.y += 50
	if b.detached {
		s.text(x, s.y+12, "muted", "parent (not shown): "+b.Parent.String())
		s.y += svgRow
	}
	for _, h := range b.inventoryUsages() {
		s.inventoryUsage(h, x)
	}
	s.y += 4
	s.pills(sorted(b.Traits), x, "trait")
	var aggregates []string
	for _, id := range sortedIDs(b.Aggregates) {
		aggregates = append(aggregates, id.String())
	}
	s.pills(aggregates, x, "aggregate")
	s.y += 6
}

// inventoryUsage draws the row of a class: its name, bar, numbers and notes.
func (s *sheet) inventoryUsage(h inventoryUsage, x int) {
	base := s.y + 14
	s.fitted(x, base, "class", h.class, svgBar-x-10, svgLetter)
	used, capacity := h.numbers(true)
	numbers := capacity
	if h.counted {
		numbers = used + "/" + capacity
		long := svgBarEnd - svgBar
		s.add(`<rect class="empty" x="%d" y="%d" width="%d" height="9" rx="4.5"/>`, svgBar, base-9, long)
		if filled := h.cells(long); filled > 0 {
			// Below 9 pixels, the rounded ends do not fit.
			s.add(`<rect class="%s" x="%d" y="%d" width="%d" height="9" rx="4.5"><title>%.0f %%</title></rect>`,
				h.level().class(), svgBar, base-9, max(filled, 9), h.fill()*100)
		}
	}
	s.add(`<text class="number end" x="%d" y="%d">%s</text>`, svgNumbers, base, markup(numbers))
	s.y += svgRow
	for i, row := range wrap(h.notes(), svgNoteCells, ", ") {
		s.text(svgNotes, base+i*svgNoteRow, "muted", row)
		if i > 0 {
			s.y += svgNoteRow
		}
	}
}

// class returns the CSS class of a bar.
func (l level) class() string {
	switch l {
	case low:
		return "low"
	case middle:
		return "middle"
	default:
		return "high"
	}
}

// pills draws texts as rounded labels, in as many rows as they need.
func (s *sheet) pills(texts []string, left int, class string) {
	right := svgWidth - svgMargin - svgPadding
	x := left
	for _, text := range texts {
		text = truncate(terminal.Escape(text, false), int(float64(right-left-14)/svgSmall))
		long := int(float64(terminal.Cells(text))*svgSmall) + 14
		if x > left && x+long > right {
			x = left
			s.y += svgPillRow
		}
		s.add(`<rect class="%s" x="%d" y="%d" width="%d" height="17" rx="8.5"/>`, class, x, s.y, long)
		s.text(x+7, s.y+12, "pill", text)
		x += long + 6
	}
	if len(texts) > 0 {
		s.y += svgPillRow
	}
}
