package console

import (
	"html/template"
	"strings"
)

// Cell is a cell or a head cell of a table. Sub is a second line. Numbers are right-aligned.
type Cell struct {
	Link
	Number, Strong bool
	Sub            *Link
	Bar            template.HTML
	Lines          []string // a line each
	Sentences      [][]Link // a line each, of texts and links
}

// Table is a list: a row for each object, which its first cell names. The Kind of that cell is the class of the row.
type Table struct {
	Caption string
	Kind    string // a class of the style sheet, or empty
	Heads   []Cell
	Rows    [][]Cell
}

// heads returns head cells; those that begin with # are of numbers.
func heads(names ...string) []Cell {
	cells := make([]Cell, len(names))
	for i, name := range names {
		text, isNumber := strings.CutPrefix(name, "#")
		cells[i] = Cell{Link: Link{Text: text}, Number: isNumber}
	}
	return cells
}

// plain returns a cell with a text, linked one with a link, and figure one with a number.
func plain(value string) Cell        { return Cell{Link: Link{Text: value}} }
func linked(value, href string) Cell { return Cell{Link: Link{Text: value, Href: href}} }
func figure(value string) Cell       { return Cell{Link: Link{Text: value}, Number: true} }

// Tree is the table of a provider tree: a row for each provider, a column for each class.
type Tree struct {
	Caption, Head string
	Classes       []string
	Rows          []TreeRow
}

// TreeRow is a provider. Amounts has an entry for each class of the tree, in the same order. Mode is "at" for the
// selected row, "mark" for a highlighted one, "shared" for a sharing provider, or empty.
type TreeRow struct {
	Link
	Sub     string
	Chips   []Link
	Lines   template.HTML // from treeLines
	Mode    string
	Amounts []Amount
}

// Amount is the usage of a class on a provider. Without a Capacity the cell is empty. Plus is the part of a candidate.
type Amount struct {
	Class, Used, Capacity string
	Plus                  *Link
	Over                  bool
	Bar                   template.HTML
}

// Field is an entry of a field list. Strong follows the values.
type Field struct {
	Name   string
	Values []Link
	Strong string
}

// Input is a field of a form: a text field, with Rows a text area, with Options a list.
type Input struct {
	ID, Label, Name, Type, Value string
	Class                        string // of "resource": the resource class, beside the amount in Value
	Placeholder, List, Hint      string
	Autocomplete, Kind           string
	Rows                         int
	Invalid, Required            bool
	Options                      []Link
	Tokens                       []Token
}

// Token is a chip of a token field, posted as Name.
type Token struct{ Name, Text, Kind string }

// Swatch is an entry of a legend.
type Swatch struct {
	Swatch template.HTML
	Text   string
}

// Notice is a paragraph on a colored ground. Kind is empty (amber), "r", "g" or "s".
type Notice struct {
	Kind, Title, Text string
	Links             []Link
}

// Reason is an entry of a list of reasons. Link is its main line, Dot the color of a dot before it, Times is at the right.
type Reason struct {
	Link
	At, Times, Code, Sub, Dot string
	Chips                     []Link
	More                      Link
}

// Badge is a number on a round ground.
type Badge struct {
	Text string
	On   bool
}

// QueryPart is a part of a request line. Key is shown in bold, followed by "=".
type QueryPart struct{ Key, Text string }

// Hist is a histogram, or with Funnel a funnel: rows of a text, a number and a bar.
type Hist struct {
	Label  string
	Funnel bool
	Rows   []HistRow
}

// HistRow is a row of a histogram.
type HistRow struct {
	Text, Sub, Count string
	Bar              template.HTML
}

// Message is shown in place of an empty list, with a command to copy.
type Message struct {
	Text, Command string
	Links         []Link
}

// Pager is the line below a list: the count, and the addresses of the first and the next page.
type Pager struct{ Text, First, Next string }
