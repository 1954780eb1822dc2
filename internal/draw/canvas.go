package draw

import (
	"bufio"
	"io"
	"sort"
	"strings"

	"github.com/berthd/berth/internal/terminal"
)

// Style is the set of options for text output.
type Style struct {
	// Color adds the escape sequences of ANSI terminals.
	Color bool
	// Width is the number of columns of the terminal; 0: 80. Lines are wrapped, but no name is truncated: a long name
	// makes a long line.
	Width int
	// ASCII draws with ASCII characters only, and escapes all others.
	ASCII bool
	// Usages shows usages with bars, if the forest has them.
	Usages bool
	// UUIDs shows the UUIDs of providers.
	UUIDs bool
	// All shows all traits, and with UUIDs the full UUIDs of aggregates.
	All bool
}

const (
	defaultWidth = 80
	// minColumns is the minimum width of the output, for terminals that are narrower.
	minColumns = 36
)

func (s Style) columns() int {
	if s.Width <= 0 {
		return defaultWidth
	}
	return max(s.Width, minColumns)
}

// paint is the number of an ANSI attribute; empty: none.
type paint string

const (
	plain  paint = ""
	bold   paint = "1"
	dim    paint = "2"
	red    paint = "31"
	green  paint = "32"
	yellow paint = "33"
	cyan   paint = "36"
)

// span is a part of a line in one color.
type span struct {
	text  string
	paint paint
}

// line is a sequence of spans. Their texts are escaped already.
type line []span

// cells returns the width of the line in terminal cells.
func (l line) cells() int {
	n := 0
	for _, s := range l {
		n += terminal.Cells(s.text)
	}
	return n
}

// with returns a copy of the line with more spans, because several lines share one prefix.
func (l line) with(more ...span) line {
	return append(append(make(line, 0, len(l)+len(more)), l...), more...)
}

// padTo returns the line padded to a column, with at least two spaces.
func (l line) padTo(column int) line {
	return l.with(span{strings.Repeat(" ", max(column-l.cells(), 2)), plain})
}

// glyphs is the set of characters for the lines of trees and for bars.
type glyphs struct {
	fork, last, down, blank string
	full, empty             string
	arrow, short            string
}

var (
	boxGlyphs = glyphs{
		fork: "├─ ", last: "└─ ", down: "│  ", blank: "   ",
		full: "▇", empty: "░", arrow: "→", short: "…",
	}
	asciiGlyphs = glyphs{
		fork: "|- ", last: "`- ", down: "|  ", blank: "   ",
		full: "#", empty: ".", arrow: "->", short: "...",
	}
)

// canvas is a writer of lines. Like bufio.Writer, it returns the first error at Flush.
type canvas struct {
	out *bufio.Writer
	Style
	glyphs
}

func newCanvas(w io.Writer, style Style) *canvas {
	c := &canvas{out: bufio.NewWriter(w), Style: style, glyphs: boxGlyphs}
	if style.ASCII {
		c.glyphs = asciiGlyphs
	}
	return c
}

// safe escapes control characters in a text from the network.
func (c *canvas) safe(text string) string { return terminal.Escape(text, c.ASCII) }

// put writes a line without trailing spaces.
func (c *canvas) put(l line) {
	for len(l) > 0 && strings.TrimRight(l[len(l)-1].text, " ") == "" {
		l = l[:len(l)-1]
	}
	for i, s := range l {
		if i == len(l)-1 {
			s.text = strings.TrimRight(s.text, " ")
		}
		if strings.TrimLeft(s.text, " ") == "" || !c.Color {
			s.paint = plain
		}
		if s.paint != plain {
			s.text = "\x1b[" + string(s.paint) + "m" + s.text + "\x1b[0m"
		}
		c.out.WriteString(s.text)
	}
	c.out.WriteByte('\n')
}

// list writes start and then items, wrapped to the width. Later lines begin with indent and are aligned with the first
// item.
func (c *canvas) list(start, indent line, items []string, separator string, p paint) {
	column := start.cells()
	rows := wrap(items, max(c.columns()-column, minColumns/2), separator)
	if len(rows) == 0 {
		c.put(start)
	}
	for i, row := range rows {
		if i > 0 {
			start = indent.with(span{strings.Repeat(" ", max(column-indent.cells(), 0)), plain})
		}
		c.put(start.with(span{row, p}))
	}
}

// wrap joins items to rows of at most the given width. An item that is wider has a row of its own.
func wrap(items []string, columns int, separator string) []string {
	var rows []string
	used := 0
	for _, item := range items {
		size := terminal.Cells(item)
		last := len(rows) - 1
		if last >= 0 && used+terminal.Cells(separator)+size <= columns {
			rows[last] += separator + item
			used += terminal.Cells(separator) + size
			continue
		}
		if last >= 0 {
			rows[last] += strings.TrimRight(separator, " ")
		}
		rows, used = append(rows, item), size
	}
	return rows
}

// shorten omits items at the end so that the rest fits into the given number of rows. The last item is then the number
// of omitted ones.
func shorten(items []string, columns, rows int) []string {
	with := func(n int) []string {
		if n == len(items) {
			return items
		}
		return append(items[:n:n], "+"+count(len(items)-n)+" more")
	}
	fits := func(n int) bool { return len(wrap(with(n), columns, " ")) <= rows }
	if fits(len(items)) {
		return items
	}
	return with(max(sort.Search(len(items), func(n int) bool { return !fits(n) })-1, 0))
}
