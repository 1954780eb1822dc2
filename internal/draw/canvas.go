package draw

import (
	"bufio"
	"io"
	"sort"
	"strings"

	"github.com/berthd/berth/internal/terminal"
)

// Style is how text is drawn.
type Style struct {
	// Color paints with the escape sequences of ANSI terminals.
	Color bool
	// Width is how many columns there are; 0 stands for 80. Lines are broken to fit,
	// but nothing is cut off: a long name makes a long line.
	Width int
	// ASCII draws with letters that every terminal has, and escapes all others.
	ASCII bool
	// Usages, with bars, are shown where the forest has them.
	Usages bool
	// UUIDs shows those of the providers, and those of aggregates in full.
	UUIDs bool
	// All traits are shown, however many there are.
	All bool
}

const (
	defaultWidth = 80
	// minColumns is what is left to write in below any number of levels.
	minColumns = 36
)

func (s Style) columns() int {
	if s.Width <= 0 {
		return defaultWidth
	}
	return max(s.Width, minColumns)
}

// paint is the number of an ANSI attribute; empty for none.
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

// span is a piece of a line in one colour.
type span struct {
	text  string
	paint paint
}

// line is what stands beside each other. Its texts are harmless already.
type line []span

func (l line) cells() int {
	n := 0
	for _, s := range l {
		n += terminal.Cells(s.text)
	}
	return n
}

// with copies, because lines that go on from the same beginning share it.
func (l line) with(more ...span) line {
	return append(append(make(line, 0, len(l)+len(more)), l...), more...)
}

// to pads up to a column; at least two blanks stand between texts.
func (l line) to(column int) line {
	return l.with(span{strings.Repeat(" ", max(column-l.cells(), 2)), plain})
}

// glyphs are what trees and bars are made of.
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

// canvas writes lines. Like bufio.Writer it keeps the first error for the end.
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

// safe makes a text of the network fit for a line.
func (c *canvas) safe(text string) string { return terminal.Escape(text, c.ASCII) }

// put writes one line without blanks at its end.
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

// list writes items after a beginning, and goes on below the first of them where
// the line is full. The second and later lines begin with indent.
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

// wrap fills rows of a width with items; one that is wider has a row alone.
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

// shorten leaves out items at the end so that the rest fits into so many rows, and
// says how many.
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
