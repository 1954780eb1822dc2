package draw

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/terminal"
)

// dotBar is the width of a bar in points.
const dotBar = 80

// DOT writes the forest as a graph for Graphviz. It has a box for each provider with its inventories and bars, arrows
// from parents to children, and dashed lines from sharing providers to the providers in their aggregates. Traits are in
// the tooltips only, because they would make the boxes too large.
func DOT(w io.Writer, forest Forest) error {
	out := bufio.NewWriter(w)
	out.WriteString(`digraph providers {
  graph [rankdir=LR, nodesep=0.25, ranksep=0.6]
  node [shape=plain, fontname="Helvetica", fontsize=10]
  edge [color="#8c959f", arrowsize=0.6]
`)
	var all []*treeNode
	for _, tree := range forest.trees() {
		tree.walk(0, func(b *treeNode, _ int) {
			all = append(all, b)
			fmt.Fprintf(out, "  %s [tooltip=%s, label=<%s>]\n", quote(b.UUID.String()), quote(b.tooltip()), b.dotLabel())
			for _, child := range b.children {
				fmt.Fprintf(out, "  %s -> %s\n", quote(b.UUID.String()), quote(child.UUID.String()))
			}
		})
	}
	for _, sharing := range all {
		if !sharing.isSharing() {
			continue
		}
		for _, user := range all {
			if aggregate, common := commonAggregate(sharing, user); common && user != sharing {
				fmt.Fprintf(out, "  %s -> %s [style=dashed, dir=none, constraint=false, tooltip=%s]\n",
					quote(sharing.UUID.String()), quote(user.UUID.String()), quote("through aggregate "+aggregate.String()))
			}
		}
	}
	out.WriteString("}\n")
	return out.Flush()
}

// commonAggregate returns the first aggregate that both providers are in.
func commonAggregate(x, y *treeNode) (uuid.UUID, bool) {
	for _, id := range sortedIDs(x.Aggregates) {
		if slices.Contains(y.Aggregates, id) {
			return id, true
		}
	}
	return uuid.Nil, false
}

// quote returns a string literal of the DOT language. It doubles backslashes, because they begin escape sequences there.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(terminal.Escape(text, false)) + `"`
}

// markup escapes text for HTML-like labels and for XML.
func markup(text string) string { return html.EscapeString(terminal.Escape(text, false)) }

// tooltip returns the UUID and the traits of a provider.
func (b *treeNode) tooltip() string {
	return strings.Join(append([]string{b.UUID.String()}, sorted(b.Traits)...), " ")
}

// color returns the color of a bar in DOT output.
func (l level) color() string {
	switch l {
	case low:
		return "#2da44e"
	case middle:
		return "#d4a72c"
	default:
		return "#cf222e"
	}
}

// dotLabel returns the HTML-like label of a provider: a table with a row for each class.
func (b *treeNode) dotLabel() string {
	var label strings.Builder
	label.WriteString(`<table border="1" color="#8c959f" bgcolor="#ffffff" style="rounded" cellborder="0" cellspacing="2" cellpadding="2">`)
	fmt.Fprintf(&label, `<tr><td align="left" colspan="3"><b>%s</b></td></tr>`, markup(b.Name))
	for _, h := range b.inventoryUsages() {
		used, capacity := h.numbers(true)
		numbers := capacity
		if h.counted {
			numbers = used + "/" + capacity
		}
		if notes := strings.Join(h.notes(), ", "); notes != "" {
			numbers += "  " + notes
		}
		fmt.Fprintf(&label, `<tr><td align="left">%s</td><td>%s</td><td align="left">%s</td></tr>`,
			markup(h.class), h.dotBar(), markup(numbers))
	}
	label.WriteString(`</table>`)
	return label.String()
}

// dotBar returns a table of up to two cells. Graphviz rejects a cell of width 0.
func (h inventoryUsage) dotBar() string {
	if !h.counted {
		return ""
	}
	filled := h.cells(dotBar)
	cell := func(width int, color string) string {
		if width == 0 {
			return ""
		}
		return `<td fixedsize="true" width="` + strconv.Itoa(width) + `" height="8" bgcolor="` + color + `"></td>`
	}
	return `<table border="0" cellborder="0" cellspacing="0" cellpadding="0"><tr>` +
		cell(filled, h.level().color()) + cell(dotBar-filled, "#e6e9ed") + `</tr></table>`
}
