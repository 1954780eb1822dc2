package e2e

import (
	"fmt"
	"html"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// funnelPage is the page whose first explanation the pictures show.
const funnelPage = "../docs/why-nothing-fits.md"

// funnelRow is a line with a number in the text of an explanation.
type funnelRow struct {
	label string
	count int
}

// The lines of TREES, and of a part with its steps: label, providers, trees.
var (
	treesLine = regexp.MustCompile(`^ +(\d+)  (\S.*)$`)
	stepLine  = regexp.MustCompile(`^  (\S.*?)  +(\d+)  +\d+$`)
)

// TestDocs_FunnelPictures_ShowDocumentedExplanation draws the first explanation of the page. With -update it writes the
// pictures.
func TestDocs_FunnelPictures_ShowDocumentedExplanation(t *testing.T) {
	t.Parallel()
	text := readText(t, funnelPage)
	_, shown, _ := strings.Cut(text, "Nothing fits: no_tree\n")
	shown, _, _ = strings.Cut(shown, "```")
	for name, drawing := range map[string]string{
		"nothing-fits-trees": drawFunnel("Trees that are left after each condition of the query", "trees", treeRows(shown)),
		"nothing-fits-part":  drawFunnel("Providers that pass each step of the part _GPU, 2 VGPU", "providers", stepRows(shown, "Group _GPU")),
	} {
		path := "../docs/plots/" + name + ".svg"
		if *update {
			if err := os.WriteFile(path, []byte(drawing), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if readText(t, path) != drawing {
			t.Errorf("%s is not the drawing of %s; write it with -update", path, funnelPage)
		}
	}
}

// treeRows returns the lines of TREES.
func treeRows(explanation string) (rows []funnelRow) {
	_, section, _ := strings.Cut(explanation, "\nTREES")
	section, _, _ = strings.Cut(section, "\n\n")
	for line := range strings.SplitSeq(section, "\n") {
		if found := treesLine.FindStringSubmatch(line); found != nil {
			count, _ := strconv.Atoi(found[1]) // they are digits
			rows = append(rows, funnelRow{found[2], count})
		}
	}
	return rows
}

// stepRows returns the steps of a part.
func stepRows(explanation, part string) (rows []funnelRow) {
	_, section, _ := strings.Cut(explanation, "\n"+part)
	_, section, _ = strings.Cut(section, "\n")
	for line := range strings.SplitSeq(section, "\n") {
		found := stepLine.FindStringSubmatch(line)
		if found == nil {
			break
		}
		count, _ := strconv.Atoi(found[2]) // they are digits
		rows = append(rows, funnelRow{found[1], count})
	}
	return rows
}

// The drawing, in pixels.
const (
	funnelWidth, funnelTop, funnelRowHeight = 860, 56, 34
	funnelLabelEnd, funnelBarStart          = 352, 364
	funnelBarMax, funnelBarHeight           = 400, 22
)

const funnelStyle = `
  text { font: 12px system-ui, sans-serif; fill: #444; }
  .title { font-size: 14px; font-weight: 600; }
  .left { fill: #4e79a7; }
  .gone { fill: #8884; }
  .none { fill: #d9534f; font-weight: 600; }
  @media (prefers-color-scheme: dark) { text { fill: #bbb; } .none { fill: #ef7f7f; } }
`

// drawFunnel draws a bar for each row. Behind it, a gray bar has the length of the row above.
func drawFunnel(title, unit string, rows []funnelRow) string {
	var out strings.Builder
	height := funnelTop + funnelRowHeight*len(rows) + 12
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" role="img">`+"\n", funnelWidth, height)
	fmt.Fprintf(&out, "<title>%s</title>\n<style>%s</style>\n", html.EscapeString(title), funnelStyle)
	fmt.Fprintf(&out, `<text class="title" x="20" y="24">%s</text>`+"\n", html.EscapeString(title))
	fmt.Fprintf(&out, `<text x="20" y="42">blue: %s that are left; gray: those that the line removes</text>`+"\n", unit)
	for i, row := range rows {
		y := funnelTop + funnelRowHeight*i
		before := rows[max(0, i-1)].count
		fmt.Fprintf(&out, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", funnelLabelEnd, y+15, html.EscapeString(row.label))
		bar := func(class string, from, to int) {
			if from < to {
				fmt.Fprintf(&out, `<rect class="%s" x="%d" y="%d" width="%d" height="%d"/>`+"\n", class, funnelBarStart+from, y, to-from, funnelBarHeight)
			}
		}
		length := func(count int) int { return funnelBarMax * count / max(1, rows[0].count) }
		bar("left", 0, length(row.count))
		bar("gone", length(row.count), length(before))
		number, class := strconv.Itoa(row.count), ""
		if row.count == 0 {
			class = ` class="none"`
		}
		if gone := before - row.count; gone > 0 {
			number += fmt.Sprintf(" (−%d)", gone)
		}
		fmt.Fprintf(&out, `<text%s x="%d" y="%d">%s</text>`+"\n", class, funnelBarStart+length(before)+8, y+15, number)
	}
	out.WriteString("</svg>\n")
	return out.String()
}
